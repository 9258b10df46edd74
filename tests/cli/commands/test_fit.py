"""`sepc fit`: what it writes, and what it says of it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import COLUMNS, as_csv, do, read, records
from said import said
from sklearn.metrics import balanced_accuracy_score

import sepc
from sepc.metrics import class_report
from sepc.reports.baselines import baseline_results


@pytest.mark.usefixtures("here")
class TestFit:
    @pytest.mark.slow
    def test_it_says_what_it_did(self, capsys):
        assert do("fit train.csv --target label --drop note -o m.sepc --holdout 0.2 --n-imp 0.05") == 0
        told = capsys.readouterr()
        shown = said(told.out)
        assert shown["held-back"].share == 20
        assert shown["right-on"].right[1] == shown["rows-accepted"].accepted[1] == 60
        assert "right-on-learned" not in shown
        assert "n_imp=0.05" in shown["model"].parameters
        assert "note: colour: " in told.err
        assert said(told.err)["model-written"].path == "m.sepc"

    @pytest.mark.slow
    def test_columns_that_it_should_not_have_learned_from_are_told(self, capsys):
        rows = [[str(1000 + i), *row[:-1], f"case {row[-1]}", row[-1]] for i, row in enumerate(records(60))]
        Path("traps.csv").write_text(as_csv(rows, ("number", *COLUMNS, "outcome", "label")))
        assert do("fit traps.csv --target label -o m.sepc") == 0
        told = capsys.readouterr().err
        assert "note: [warning] id-as-feature: number " in told
        assert "note: [problem] label-leak: outcome " in told
        assert do("fit traps.csv --target label --drop number outcome -o m.sepc --json") == 0
        assert json.loads(capsys.readouterr().out)["findings"] == []

    @pytest.mark.slow
    def test_results_on_training_rows_are_called_so(self, capsys):
        assert do("fit train.csv --target label -o m.sepc") == 0
        assert said(capsys.readouterr().out)["right-on-learned"].right[1] == 300

    @pytest.mark.slow
    def test_a_test_file_counts_for_the_results(self, capsys):
        Path("test.csv").write_text(as_csv(records(50, seed=2)))
        assert do("fit train.csv --target label -o m.sepc --test test.csv --json") == 0
        found = json.loads(capsys.readouterr().out)
        model = sepc.load("m.sepc")
        rows = read("test.csv")
        right = model.predict(pd.DataFrame(rows)) == [row["label"] for row in rows]
        assert (found["test"]["rows"], found["test"]["right"]) == (50, np.count_nonzero(right))
        assert found["rows"] == 300
        assert sum(found["classes"].values()) == 300

    @pytest.mark.slow
    def test_labels_that_were_never_learned_are_told(self, capsys):
        Path("test.csv").write_text(as_csv([[*row[:-1], "maybe"] for row in records(3)] + records(20)))
        assert do("fit train.csv --target label -o m.sepc --test test.csv") == 0
        assert said(capsys.readouterr().err)["unknown-labels"].labels == "maybe (3)"

    @pytest.mark.slow
    def test_an_ensemble_and_a_model_without_records(self, capsys):
        assert do("fit train.csv --target label -o m.sepc --ensemble --no-training-rows") == 0
        assert said(capsys.readouterr().out)["model"].kind == "SEPEnsembleClassifier"
        assert do("predict m.sepc new.csv -o out.csv") == 0
        assert len(read("out.csv")) == 120


@pytest.mark.usefixtures("here")
class TestLimitsOfChanges:
    @pytest.fixture(autouse=True)
    def people(self, here):
        rows = [[str(20 + 7 * i % 50), *row] for i, row in enumerate(records(120))]
        (here / "people.csv").write_text(as_csv(rows, ("Age", *COLUMNS, "label")))
        (here / "one.csv").write_text(as_csv([row[:-1] for row in rows[:3]], ("Age", *COLUMNS)))

    def test_columns_that_people_cannot_change_are_noted_with_the_switch(self, capsys):
        assert do("fit people.csv --target label -o m.sepc") == 0
        noted = said(capsys.readouterr().err)["unchangeable"]
        assert (noted.columns, noted.switch) == ("Age", "--fixed Age")
        assert do("fit people.csv --target label -o m.sepc --fixed Age") == 0
        assert "unchangeable" not in said(capsys.readouterr().err)

    def test_explain_honours_what_the_model_keeps_unless_it_is_told_otherwise(self, capsys):
        assert do("fit people.csv --target label -o m.sepc --fixed Age --ranges size 0:12 -q") == 0
        assert do("inspect m.sepc") == 0
        kept = said(capsys.readouterr().out)["kept-limits"].limits
        assert kept == " with Age as it is and size from 0 to 12"
        for switch, limits in (
            ("", " with Age as it is and size from 0 to 12"),
            ("--fixed", " with size from 0 to 12"),
            ("--fixed colour", " with colour as it is and size from 0 to 12"),
            ("--ranges Age 20:60", " with Age from 20 to 60"),
        ):
            assert do(f"explain m.sepc one.csv --row 1 --json {switch}") == 0
            assert json.loads(capsys.readouterr().out)["limits"] == limits

    def test_what_cannot_be_is_refused(self, here, capsys):
        assert do("fit people.csv --target label -o m.sepc --fixed height") == 1
        assert "'height'" in capsys.readouterr().err
        assert do("fit people.csv --target label -o m.sepc --ranges colour 1:2") == 1
        assert not (here / "m.sepc").exists()


@pytest.mark.usefixtures("here")
class TestComparisons:
    @pytest.mark.slow
    def test_two_baselines_stand_beside_the_result(self, capsys):
        assert do("fit train.csv --target label --holdout 0.3 -o m.sepc") == 0
        told = capsys.readouterr().out
        baselines = said(told)["baselines"].baselines.split("; ")
        assert [said(one)["baseline"].right[1] for one in baselines] == [said(told)["right-on"].right[1]] * 2

    @pytest.mark.slow
    def test_baselines_are_those_of_the_same_split(self, capsys):
        Path("test.csv").write_text(as_csv(records(50, seed=2)))
        assert do("fit train.csv --target label -o m.sepc --test test.csv --json") == 0
        test = json.loads(capsys.readouterr().out)["test"]
        train, new = (pd.DataFrame(read(name)) for name in ("train.csv", "test.csv"))
        encoder = sepc.load("m.sepc")["columns"]
        expected = baseline_results(encoder.transform(train), train.label, encoder.transform(new), new.label)
        assert test["baselines"] == [result._asdict() for result in expected]
        assert test["log_loss"] > 0.0

    @pytest.mark.slow
    def test_results_on_training_rows_have_no_baselines(self, capsys):
        assert do("fit train.csv --target label -o m.sepc --json") == 0
        assert "baselines" not in json.loads(capsys.readouterr().out)["test"]

    @pytest.mark.slow
    def test_a_threshold_that_does_not_hold_is_told(self, capsys):
        # The labels of the test file have nothing to do with the values.
        rows = [[*row[:-1], "no" if i % 2 else "yes"] for i, row in enumerate(records(60, seed=2))]
        Path("test.csv").write_text(as_csv(rows))
        for rows, is_warned in (("--test test.csv", True), ("--holdout 0.3", False)):
            assert do(f"fit train.csv --target label -o m.sepc {rows} --json") == 0
            warning = json.loads(capsys.readouterr().out)["test"]["warning"]
            assert (warning is not None) == is_warned
            assert do(f"fit train.csv --target label -o m.sepc {rows}") == 0
            assert (f"note: {warning}" in capsys.readouterr().err) == is_warned

    def test_a_model_below_a_baseline_is_told(self, capsys):
        rows = [[*row[:-1], "yes" if row[-1] == "no" else "no"] for row in records(20, seed=2)]
        Path("test.csv").write_text(as_csv(rows))
        assert do("fit train.csv --target label -o m.sepc --test test.csv") == 0
        worse = said(capsys.readouterr().err)["worse-than-baseline"].all
        assert all(one.low <= one.right <= one.high < one.accuracy for one in worse)


def rare_rows(n, seed):
    """Return rows of which one in 15 is "bad", with values much like those of the others."""
    rng = np.random.default_rng(seed)
    bad = rng.permutation(n) < n // 15
    return [[f"{x + b / 2:.3f}", "bad" if b else "good"] for x, b in zip(rng.normal(size=n), bad, strict=True)]


@pytest.mark.usefixtures("here")
class TestRareLabels:
    @pytest.fixture(autouse=True)
    @staticmethod
    def _rare(here):  # noqa: ARG004  (the files belong into the empty folder)
        for name, seed in (("rare.csv", 0), ("test.csv", 1)):
            Path(name).write_text(as_csv(rare_rows(300, seed), ("value", "label")))

    def test_a_label_that_is_never_given_is_told(self, capsys):
        assert do("fit rare.csv --target label --test test.csv -o m.sepc") == 0
        told = capsys.readouterr()
        assert said(told.out)["by-label"].accuracy == 0.5
        assert "\nbad      20      0  0 %" in told.out
        assert "note: the model is right on 280 of 300 records (93.3 %), no more than the 280 (93.3 %)" in told.err
        assert "note: the model never predicts bad: 20 of 300 records have it" in told.err

    def test_json_has_the_results_of_each_label(self, capsys):
        assert do("fit rare.csv --target label --test test.csv -o m.sepc --json") == 0
        test = json.loads(capsys.readouterr().out)["test"]
        frame, model = pd.DataFrame(read("test.csv")), sepc.load("m.sepc")
        a, proba = model.assess(frame), model.predict_proba(frame)
        expected = class_report(frame.label, a.label, proba, labels=model.classes_, accepted=a.accepted(0.95))
        assert test["classes"] == [one._asdict() for one in expected]
        assert test["balanced_accuracy"] == 0.5
        assert len(test["label_notes"]) == 2

    def test_compare_has_them_for_both_models(self, capsys):
        for name, trust in (("a", "local"), ("b", "counts")):
            assert do(f"fit rare.csv --target label --trust {trust} -o {name}.sepc -q") == 0
        capsys.readouterr()
        assert do("compare a.sepc b.sepc test.csv --target label") == 0
        told = capsys.readouterr()
        head = [
            "label",
            "rows",
            *(f"{what} {name}" for what in ("recall", "precision", "AUC", "accepted") for name in "AB"),
        ]
        assert " ".join(head) in " ".join(told.out.split())
        assert "note: A: the model never predicts bad: 20 of 300 records have it" in told.err
        assert do("compare a.sepc b.sepc test.csv --target label --json") == 0
        found = json.loads(capsys.readouterr().out)
        frame = pd.DataFrame(read("test.csv"))
        for name in "ab":
            given = sepc.load(f"{name}.sepc").predict(frame)
            assert found[name]["balanced_accuracy"] == balanced_accuracy_score(frame.label, given)
            assert [one["n_given"] for one in found[name]["classes"]] == [sum(given == "bad"), sum(given == "good")]


@pytest.mark.usefixtures("here")
class TestWhatIsDrawn:
    @pytest.mark.slow
    def test_another_seed_holds_other_rows_back(self, capsys):
        models = []
        for seed in ("", "--random-state 0", "--random-state 1"):
            assert do(f"fit train.csv --target label --holdout 0.3 -o m.sepc --json {seed}") == 0
            capsys.readouterr()
            models.append(np.sort(sepc.load("m.sepc")["classifier"].model_.points, axis=0))
        assert np.array_equal(models[0], models[1])
        assert not np.array_equal(models[0], models[2])

    @pytest.mark.slow
    @pytest.mark.usefixtures("few_members")
    def test_the_seed_is_that_of_an_ensemble(self, capsys):
        assert do("fit train.csv --target label --ensemble --random-state 7 -o m.sepc --json") == 0
        assert json.loads(capsys.readouterr().out)["parameters"]["random_state"] == 7

    @pytest.mark.slow
    def test_n_imp_can_be_chosen(self, capsys):
        Path("few.csv").write_text(as_csv(records(120)))
        assert do("fit few.csv --target label --n-imp auto -o m.sepc") == 0
        told = capsys.readouterr().out
        data = pd.DataFrame(read("few.csv"))
        features = sepc.tables.TableEncoder().fit_transform(data.drop(columns="label"))
        path = sepc.select_n_imp(features, data.label)
        assert sepc.load("m.sepc")["classifier"].n_imp == said(told)["n-imp-tried"].best == path.best
        assert said(told)["n-imp-tried"].n_folds == 5
        assert told.count("*") == 1
        assert all(f"\n{value:<5g}" in told for value in path.candidates)


@pytest.mark.slow
def test_a_model_without_regions_says_why_and_can_be_reported_on(here, capsys):
    rng = np.random.default_rng(0)
    rows = [[f"{value:.3f}" for value in rng.normal(size=4)] + ["ab"[i % 2]] for i in range(8)]
    (here / "few.csv").write_text(as_csv(rows, ("p", "q", "r", "s", "label")))
    assert do("fit few.csv --target label --holdout 0.25 -o few.sepc") == 0
    assert "no-regions" in said(capsys.readouterr().out)
    assert do("explain few.sepc few.csv --row 1") == 0
    assert "100 %" not in " ".join(capsys.readouterr().out.split())
    for name in ("few.html", "few.md", "few.json"):
        assert do(f"report few.csv --target label -o {name}") == 0


@pytest.mark.usefixtures("here")
class TestWeights:
    @pytest.mark.slow
    def test_a_weight_of_k_is_the_row_k_times(self, capsys):
        rows = records(120)
        weights = [str(k % 3) for k in range(120)]
        Path("once.csv").write_text(as_csv([row for row, w in zip(rows, weights, strict=True) for _ in range(int(w))]))
        weighted = [[*row[:-1], w, row[-1]] for row, w in zip(rows, weights, strict=True)]
        Path("weighted.csv").write_text(as_csv(weighted, (*COLUMNS, "times", "label")))
        assert do("fit weighted.csv --target label --sample-weight times -o a.sepc") == 0
        assert do("fit once.csv --target label -o b.sepc") == 0
        for model in ("a", "b"):
            assert do(f"predict {model}.sepc new.csv -o {model}.csv") == 0
        assert read("a.csv") == read("b.csv")
        assert sum(sepc.load("a.sepc")["classifier"].class_count_) == sum(map(int, weights))
        capsys.readouterr()
        assert do("fit weighted.csv --target label --sample-weight times -o a.sepc --n-imp auto") == 2
        told = capsys.readouterr().err
        assert "--n-imp" in told
        assert "--sample-weight" in told

    @pytest.mark.parametrize(
        ("options", "code", "column"),
        [
            ("--sample-weight colour", 1, "'colour'"),
            ("--sample-weight nothing", 1, "'nothing'"),
            ("--sample-weight label", 2, "'label'"),
            ("--sample-weight size --drop size", 2, "'size'"),
        ],
    )
    def test_columns_that_are_no_weights_are_refused(self, options, code, column, capsys):
        assert do(f"fit train.csv --target label -o m.sepc {options}") == code
        assert column in capsys.readouterr().err

    @pytest.mark.slow
    def test_a_report_takes_them_and_a_test_file_need_not_have_them(self, capsys):
        rows = [[*row[:-1], "2", row[-1]] for row in records(90)]
        Path("weighted.csv").write_text(as_csv(rows, (*COLUMNS, "times", "label")))
        Path("test.csv").write_text(as_csv(records(40, seed=3)))
        asked = "weighted.csv --target label --sample-weight times --test test.csv"
        assert do(f"report {asked} -o r.json --max-records 1") == 0
        assert json.loads(Path("r.json").read_text())
        assert do("report weighted.csv --target label --sample-weight times --model model.sepc -o r.json") == 2
        assert "--sample-weight" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
class TestWideTables:
    @pytest.fixture
    def genes(self, here):
        rng = np.random.default_rng(0)
        y = np.arange(44) % 2
        X = rng.normal(size=(44, 600))
        X[:, [7, 70]] += 4.0 * y[:, None]
        table = pd.DataFrame(X.round(3), columns=[f"g{j}" for j in range(600)]).assign(label=np.where(y, "ill", "well"))
        table.to_csv(here / "genes.csv", index=False)
        return table

    def test_a_model_reads_some_columns_and_says_so(self, genes, capsys):
        assert do("fit genes.csv --target label -o m.sepc --fixed g599") == 0
        told = capsys.readouterr()
        model = sepc.load("m.sepc")
        known = model["classifier"].model_.features
        assert {"g7", "g70"} <= set(known)
        assert said(told.out)["model"].n_features == len(known)
        assert f"note: {600 - len(known)} of 600 columns are not read" in told.err
        assert do("inspect m.sepc --json") == 0
        assert json.loads(capsys.readouterr().out)["features"] == known
        verdicts = []
        for name, columns in (("all.csv", list(genes)), ("read.csv", known[::-1])):
            genes[columns].to_csv(name, index=False)
            assert do(f"predict m.sepc {name} -o out.csv") == 0
            verdicts.append(pd.read_csv("out.csv")["trust"].tolist())
            assert do(f"explain m.sepc {name} --row 2") == 0
        assert verdicts[0] == verdicts[1]
