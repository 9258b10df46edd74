"""Around another model by files alone: its answers are columns of the table."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import as_csv, do, read, records
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sepc
from sepc import TrustedClassifier

NAMES = ["size", "weight", "colour", "p_no", "p_yes", "said", "sure", "label"]


def answered(n, seed):
    """Return rows of texts, with the answers of a model that knows the size, and of noise; and the label."""
    rng = np.random.default_rng(seed + 100)
    rows = []
    for size, weight, colour, _, label in records(n, seed):
        p = 1.0 / (1.0 + np.exp(3.0 - float(size) + rng.normal()))
        said = "yes" if p > 0.5 else "no"
        rows.append([size, weight, colour, f"{1.0 - p:.6f}", f"{p:.6f}", said, f"{max(p, 1.0 - p):.6f}", label])
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with labelled and new rows, and models around their answers."""
    folder = tmp_path_factory.mktemp("given")
    (folder / "train.csv").write_text(as_csv(answered(200, 0), NAMES))
    (folder / "labelled.csv").write_text(as_csv(answered(100, 2), NAMES))
    (folder / "new.csv").write_text(as_csv([row[:-1] for row in answered(40, 1)], NAMES[:-1]))
    fit = f"fit {folder}/train.csv --target label"
    assert do(f"{fit} --scores p_no,p_yes --drop said sure -o {folder}/scores.sepc") == 0
    assert do(f"{fit} --given said --given-score sure --drop p_no p_yes -o {folder}/given.sepc") == 0
    return folder


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("here")
class TestFit:
    def test_labels_are_those_of_the_other_model_and_its_columns_make_no_regions(self):
        for name in ("scores", "given"):
            assert do(f"predict {name}.sepc new.csv -o out.csv") == 0
            assert [row["label"] for row in read("out.csv")] == [row["said"] for row in read("new.csv")]
            used = {column.name for column in sepc.load(f"{name}.sepc").table_encoder.columns_}
            assert used == {"size", "weight", "colour"}

    def test_for_two_labels_all_ways_to_name_the_same_probabilities_give_the_same_trust(self):
        assert do("predict scores.sepc new.csv -o out.csv") == 0
        trust = [float(row["trust"]) for row in read("out.csv")]
        for scores in ("yes=p_yes,no=p_no", "no=p_no", "p_yes"):
            assert do(f"predict scores.sepc new.csv --scores {scores} -o out.csv") == 0
            assert np.allclose([float(row["trust"]) for row in read("out.csv")], trust, atol=1e-5)
        assert do("predict scores.sepc new.csv --given said --given-score sure -o out.csv") == 0
        assert np.allclose([float(row["trust"]) for row in read("out.csv")], trust, atol=1e-5)

    def test_it_says_that_rows_count_as_held_out(self, capsys):
        assert do("fit train.csv --target label --scores p_yes --drop said sure p_no -o again.sepc") == 0
        told = capsys.readouterr()
        assert "p_yes. All rows count as held out" in told.err
        assert "TrustedClassifier(" in told.out

    def test_decimal_commas_per_cents_and_other_names_are_read(self):
        frame = pd.read_csv("new.csv", dtype=str, keep_default_na=False)
        assert do("predict scores.sepc new.csv -o out.csv") == 0
        labels = [row["label"] for row in read("out.csv")]
        frame["P ja"] = [f"{100 * float(p):.4f} %".replace(".", ",") for p in frame.p_yes]
        for name in ("size", "weight"):
            frame[name] = frame[name].str.replace(".", ",")
        frame.drop(columns=["p_no", "p_yes", "sure"]).to_csv("european.csv", sep=";", index=False)
        assert do("predict scores.sepc european.csv --scores 'yes=P ja' -o out.csv") == 0
        assert [row["label"] for row in pd.read_csv("out.csv", sep=";").to_dict("records")] == labels

    def test_whole_numbers_as_labels(self):
        frame = pd.read_csv("train.csv")
        frame = frame.assign(**{name: (frame[name] == "yes") * 1 for name in ("said", "label")})
        frame.drop(columns=["p_no", "p_yes"]).to_csv("numbers.csv", index=False)
        assert do("fit numbers.csv --target label --given said --given-score sure -o numbers.sepc") == 0
        new = frame.drop(columns="label").assign(said=frame.said.astype(float))[:20]
        new.to_csv("floats.csv", index=False)
        assert do("predict numbers.sepc floats.csv -o out.csv") == 0
        assert [int(row["label"]) for row in read("out.csv")] == frame.said[:20].tolist()


@pytest.mark.usefixtures("here")
class TestOtherCommands:
    def test_promise_compare_and_inspect_read_the_same_columns(self, capsys):
        assert do("promise scores.sepc labelled.csv --target label --max-error 0.3 --by label -o signed.sepc") == 0
        assert do("predict signed.sepc new.csv -o out.csv") == 0
        assert {row["promise"] for row in read("out.csv") if row["accepted"] == "true"} >= {"no: at most 30 % wrong"}
        assert do("compare scores.sepc given.sepc labelled.csv --target label") == 0
        capsys.readouterr()
        assert do("inspect scores.sepc") == 0
        assert "read from p_no and p_yes" in capsys.readouterr().out
        assert do("inspect scores.sepc --json") == 0
        content = json.loads(capsys.readouterr().out)
        assert content["parameters"]["estimator"] == "GivenScores"
        assert len(content["rules"]["weights"]) == 2
        assert not any("p_" in name for name in content["features"])


@pytest.mark.usefixtures("here")
class TestBadAnswers:
    @pytest.mark.parametrize("model", ["scores", "given"])
    def test_a_row_without_an_answer_gets_no_label_and_stops_nothing(self, model, capsys):
        rows = [row[:-1] for row in answered(40, 1)]
        rows[3][3:7] = ["", "NA", " ", ""]
        Path("gap.csv").write_text(as_csv(rows, NAMES[:-1]))
        assert do(f"predict {model}.sepc gap.csv -o out.csv --json") == 0
        assert json.loads(capsys.readouterr().out)["refused"]["no answer"] == 1
        assert do(f"predict {model}.sepc new.csv -o whole.csv") == 0
        out, whole = read("out.csv"), read("whole.csv")
        assert (out[3]["label"], out[3]["trust"], out[3]["refusal"]) == ("", "", "no answer")
        assert [row["trust"] for row in out[:3] + out[4:]] == [row["trust"] for row in whole[:3] + whole[4:]]

    def test_a_label_that_is_not_known_is_no_answer(self):
        rows = [row[:-1] for row in answered(40, 1)]
        rows[5][5] = "perhaps"
        Path("new_label.csv").write_text(as_csv(rows, NAMES[:-1]))
        assert do("predict given.sepc new_label.csv -o out.csv") == 0
        assert [k for k, row in enumerate(read("out.csv")) if row["refusal"] == "no answer"] == [5]

    @pytest.mark.parametrize(
        ("column", "value", "told"),
        [(4, "1.5", ("p_yes", "1.5", "row 8")), (4, "", ("p_yes", "row 8")), (3, "0.9999", ("row 8", "add up"))],
    )
    def test_labelled_rows_with_bad_answers_are_named_by_their_rows_in_the_file(self, column, value, told, capsys):
        rows = answered(60, 3)
        rows[7][column], rows[7][7 - column] = value, "0.5"
        rows[2][7] = ""
        Path("bad.csv").write_text(as_csv(rows, NAMES))
        fit = "fit bad.csv --target label --scores p_no,p_yes --holdout 0.5 --unlabelled drop -o bad.sepc"
        assert do(fit) == 1
        message = capsys.readouterr().err
        assert all(text in message for text in told), message

    @pytest.mark.parametrize(
        ("line", "code"),
        [
            ("fit train.csv --target label --scores p_no,yes=p_yes -o m.sepc", 2),
            ("fit train.csv --target label --given-score sure -o m.sepc", 2),
            ("fit train.csv --target label --scores p_no,p_yes --ensemble -o m.sepc", 2),
            ("fit train.csv --target label --scores p_no,p_yes --drop p_no -o m.sepc", 2),
            ("fit train.csv --target label --given label -o m.sepc", 2),
            ("fit train.csv --target label --scores p_no,nowhere -o m.sepc", 1),
            ("fit train.csv --target label --scores maybe=p_no -o m.sepc", 1),
            ("predict scores.sepc new.csv --scores maybe=p_no -o out.csv", 1),
        ],
    )
    def test_options_that_cannot_be(self, line, code):
        assert do(line) == code
        assert not Path("m.sepc").exists()


@pytest.mark.usefixtures("here")
class TestWithoutTheEstimator:
    def test_commands_say_what_is_missing_and_take_columns_in_its_place(self, capsys):
        frame, y = (part(pd.read_csv("train.csv")) for part in (lambda t: t[["size"]], lambda t: t.label))
        model = make_pipeline(StandardScaler(), LogisticRegression())
        clf = TrustedClassifier(model, cv=2).fit(frame, y)
        sepc.save(clf, "python.sepc")
        assert do("predict python.sepc new.csv -o out.csv") == 1
        assert "a Pipeline, which is not in the file" in capsys.readouterr().err
        assert do("inspect python.sepc") == 0
        assert "of the class Pipeline, is not in the file" in capsys.readouterr().out
        new = pd.read_csv("new.csv")[["size"]]
        new.assign(p=clf.estimator_.predict_proba(new)[:, 1]).to_csv("scored.csv", index=False)
        assert do("predict python.sepc scored.csv --scores yes=p -o out.csv") == 0
        assert [float(row["trust"]) for row in read("out.csv")] == pytest.approx(clf.trust_score(new).tolist())

    def test_scores_are_not_for_models_of_regions_alone(self):
        assert do("fit train.csv --target label --drop said sure colour p_no p_yes -o regions.sepc") == 0
        assert do("predict regions.sepc new.csv --scores p_no,p_yes -o out.csv") == 2
        assert do("compare regions.sepc scores.sepc labelled.csv --scores p_no,p_yes --target label") == 0


@pytest.mark.usefixtures("here")
def test_row_numbers_of_the_file_go_with_the_regions_that_were_fitted_to_them():
    fit = "fit train.csv --target label --scores p_yes --drop said sure p_no colour --holdout 0.3"
    assert do(f"{fit} -o held.sepc") == 0
    clf = sepc.load("held.sepc")
    sizes = pd.read_csv("train.csv")["size"].to_numpy()
    known = clf.model_.original(clf.model_.records.points)[:, 0]
    assert np.allclose(sizes[clf.row_numbers_[clf.model_.records.rows] - 1], known)
    assert clf.under(class_prior={"yes": 0.2}).row_numbers_ is clf.row_numbers_
    assert do(f"{fit} --no-training-rows -o held.sepc") == 0
    assert sepc.load("held.sepc").row_numbers_ is None
