"""`sepc promise`, and promises that `fit` makes and `predict` accepts by."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from command_line import do, read
from said import said

import sepc
from sepc.cli.commands.fit import split_for_promise
from sepc.cli.labelled_tables import LabelledTable
from sepc.cli.messages import printed
from sepc.model.acceptance import REFUSALS


@pytest.fixture
def patients(tmp_path, monkeypatch):
    """A folder with labelled rows of two sites, more of them to calibrate by, and new ones."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(1500) < 0.4, "ill", "well")
    X = rng.normal(size=(1500, 2)) + np.where(y == "ill", 2.0, 0.0)[:, None]
    site = np.where(rng.random(1500) < 0.5, "north", "south")
    table = pd.DataFrame({"age": X[:, 0].round(4), "dose": X[:, 1].round(4), "site": site, "y": y})
    table[:700].to_csv(tmp_path / "fit.csv", index=False)
    table[700:1200].to_csv(tmp_path / "cal.csv", index=False)
    table[1200:].drop(columns="y").to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return table


FIT = "fit fit.csv --target y --drop site -o model.sepc --max-error 0.1"


@pytest.mark.usefixtures("patients")
class TestFit:
    @pytest.mark.slow
    @pytest.mark.parametrize("by", ["", " --by label", " --by region", " --by site"])
    def test_the_promise_is_made_from_rows_that_were_kept_back_and_predict_accepts_by_it(self, by, capsys):
        assert do(f"{FIT} --json{by}") == 0
        told = json.loads(capsys.readouterr().out)
        assert told["rows"] == 490  # of 700, without three in ten
        model, new = sepc.load("model.sepc"), pd.read_csv("new.csv")
        assert json.loads(json.dumps(model.promise.to_dict())) == told["promise"]
        assert model.promise.made_from == printed("rows-kept-back", n=210, name="fit.csv")
        assert do("predict model.sepc new.csv -o out.csv") == 0
        groups = new["site"] if "site" in by else None
        given = model.predict_or_abstain(new, model.promise, groups=groups)
        out = read("out.csv")
        assert [row["accepted"] == "true" for row in out] == [label is not None for label in given]
        assert all(("10 %" in row["promise"]) == (row["accepted"] == "true") for row in out)
        assert {"by-promise", "by-promise-of-parts"} & set(said(capsys.readouterr().err))

    @pytest.mark.slow
    def test_calibration_rows_are_beside_those_held_back_and_another_share_is_another_number(self, capsys):
        assert do(f"{FIT} --json --holdout 0.2 --calibration 0.5") == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["rows"], told["test"]["rows"], told["promise"]["n_calibration"]) == (280, 140, 280)
        assert do(f"{FIT.replace('0.1', '0.2')} --holdout 0.2 --by label") == 0
        shown = capsys.readouterr().out
        assert said(shown)["promise-tested"].accepted[1] == 140
        assert "  well: " in shown
        assert do("inspect model.sepc") == 0
        assert said(capsys.readouterr().out)["promise-by"].by == "label"
        assert do("inspect model.sepc --json") == 0
        assert json.loads(capsys.readouterr().out)["promise"]["by"] == "label"

    def test_a_promise_that_cannot_be_kept_accepts_nothing_and_every_command_says_so(self, capsys):
        assert do(f"{FIT[:-3]}0.001") == 0
        assert sepc.load("model.sepc").promise.status == "too few records"
        told = capsys.readouterr()
        assert {"no-promise", "estimate"} <= set(said(told.err))
        assert "3,200" in said(told.err)["estimate"].rows
        assert "0.1 %" in said(told.out)["promise"].terms
        assert "promise-of-nothing" in said(told.out)
        assert do("inspect model.sepc") == 0
        assert "promise-of-nothing" in said(capsys.readouterr().out)
        assert do("inspect model.sepc --json") == 0
        promise = json.loads(capsys.readouterr().out)["promise"]
        assert (promise["is_kept"], promise["min_trust"]) == (False, None)
        assert do("predict model.sepc new.csv -o out.csv --json") == 0
        told = capsys.readouterr()
        assert {"nothing-promised", "by-void-promise"} <= set(said(told.err))
        counts = json.loads(told.out)
        assert (counts["accepted"], counts["promise"]["is_kept"], counts["promise_holds"]) == (0, False, False)
        assert {(row["accepted"], row["promise"]) for row in read("out.csv")} == {("false", "")}
        assert do("predict model.sepc new.csv -o out.csv --min-trust 0.9") == 0
        assert {row["accepted"] for row in read("out.csv")} == {"true", "false"}

    @pytest.mark.slow
    def test_min_trust_goes_before_the_promise(self, capsys):
        assert do(f"{FIT} --by label") == 0
        assert do("predict model.sepc new.csv -o out.csv --min-trust 0.99") == 0
        assert said(capsys.readouterr().err)["by-trust"].min_trust == 0.99
        assert "promise" not in read("out.csv")[0]

    def test_what_voids_the_promise_is_told(self, capsys):
        assert do(f"{FIT} --by label") == 0
        assert do("predict model.sepc new.csv -o out.csv --class-prior ill 0.1 --min-typicality 0.2") == 0
        shown = said(capsys.readouterr().err)
        assert {"nothing-promised", "by-void-promise"} <= set(shown)
        assert {(row["accepted"], row["promise"]) for row in read("out.csv")} == {("false", "")}
        assert do("predict model.sepc new.csv -o out.csv --min-typicality 0.2") == 0
        assert said(capsys.readouterr().err)["promised-for-typicality"].given == 0.2
        assert {(row["accepted"], row["promise"]) for row in read("out.csv")} == {("false", "")}

    @pytest.mark.slow
    def test_rare_labels_and_equal_rows_are_kept_back_like_others(self, patients, capsys):
        rare = patients[:700].copy()
        rare["y"] = np.where(np.arange(700) % 7 == 0, [f"rare {i}" for i in range(700)], rare["y"])
        rare.to_csv("rare.csv", index=False)
        assert do("fit rare.csv --target y --drop site -o m.sepc --max-error 0.1 --json") == 0
        told = json.loads(capsys.readouterr().out)["promise"]
        assert told["min_trust"] is None  # each rare label is one of its own, and so always wrong
        data = LabelledTable("a.csv", pa.table({"x": np.arange(60) % 20}), np.arange(60) % 20 % 3)
        train, cal = split_for_promise(data, 0.3, 0)
        assert not set(train.table["x"].to_pylist()) & set(cal.table["x"].to_pylist())

    @pytest.mark.slow
    def test_each_row_has_the_same_chance_to_be_kept_back(self):
        chances = np.zeros(40)
        table = LabelledTable("a.csv", pa.table({"x": np.arange(40)}), np.array([0] * 30 + [1] * 8 + [2, 3]))
        for seed in range(500):
            cal = split_for_promise(table, 0.3, seed)[1]
            assert len(cal.labels) == 12
            chances[cal.table["x"].to_pylist()] += 1 / 500
        assert np.abs(chances - 0.3).max() < 0.09

    def test_a_column_that_is_called_region_is_not_meant_and_the_note_says_so(self, patients, capsys):
        patients[:700].rename(columns={"site": "region"}).to_csv("r.csv", index=False)
        assert do("fit r.csv --target y -o m.sepc --max-error 0.2 --by region") == 0
        assert said(capsys.readouterr().err)["meaning-of-by"].by == "region"

    @pytest.mark.parametrize(
        ("line", "code", "values"),
        [
            ("fit fit.csv --target y -o m.sepc --by label", 2, ("--by", "--max-error")),
            ("fit fit.csv --target y -o m.sepc --confidence 0.9", 2, ("--confidence", "--max-error")),
            ("fit fit.csv --target y -o m.sepc --calibration 0.4", 2, ("--calibration", "--max-error")),
            ("fit fit.csv --target y -o m.sepc --max-error 0.1 --by y", 2, ("'y'", "--by label")),
            ("fit fit.csv --target y -o m.sepc --max-error 5", 2, ("--max-error: 5 ",)),
            ("fit fit.csv --target y -o m.sepc --max-error 0.1 --by sit", 1, ("'sit'", "'site'")),
        ],
    )
    def test_bad_requests(self, line, code, values, capsys):
        assert do(line) == code
        told = capsys.readouterr().err
        assert all(value in told for value in values)
        assert not Path("m.sepc").exists()

    @pytest.mark.slow
    def test_the_column_of_the_promise_has_to_be_there(self, patients, capsys):
        assert do(f"{FIT} --by site") == 0
        patients[1200:].drop(columns=["y", "site"]).to_csv("short.csv", index=False)
        assert do("predict model.sepc short.csv -o out.csv") == 1
        told = capsys.readouterr().err
        assert "short.csv" in told
        assert "'site'" in told
        other = patients[1200:].drop(columns="y").assign(site=["west", None] * 150)
        other.to_csv("west.csv", index=False)
        assert do("predict model.sepc west.csv -o out.csv") == 0
        assert {row["refusal"] for row in read("out.csv")} <= {"promise", "beyond", "strange", "contested"}
        assert REFUSALS["promise"] in said(capsys.readouterr().err)["refused"].refusals


@pytest.mark.usefixtures("patients")
class TestPromise:
    @pytest.mark.slow
    def test_it_is_that_of_python_and_the_model_keeps_it(self, capsys):
        assert do("fit fit.csv --target y --drop site -o plain.sepc") == 0
        assert do("promise plain.sepc cal.csv --target y --max-error 0.1 --by label -o model.sepc") == 0
        cal = pd.read_csv("cal.csv")
        model = sepc.load("model.sepc")
        found = sepc.select_min_trust(model, cal, cal["y"], max_error=0.1, by="label")
        assert model.promise.parts == found.parts
        assert model.promise.made_from == printed("rows-of", n=500, name="cal.csv")
        assert sepc.load("plain.sepc").promise is None
        assert said(capsys.readouterr().out)["promise-by"].by == "label"

    @pytest.mark.slow
    def test_it_renews_what_was_promised(self, capsys):
        assert do(f"{FIT} --by label --confidence 0.9") == 0
        capsys.readouterr()
        assert do("promise model.sepc cal.csv --target y -o new.sepc --json") == 0
        told, new = json.loads(capsys.readouterr().out), sepc.load("new.sepc").promise
        assert (told["model"], told["promise"]["n_calibration"]) == ("new.sepc", 500)
        assert (new.by, new.confidence, {part.limit for part in new.parts.values()}) == ("label", 0.9, {0.1})
        assert new.n_calibration == 500
        assert do(f"{FIT} --by site") == 0
        assert do("promise model.sepc cal.csv --target y -o new.sepc") == 0
        assert sepc.load("new.sepc").promise.group_column == "site"
        assert do("promise model.sepc cal.csv --target y --by all -o new2.sepc") == 0
        assert sepc.load("new2.sepc").promise.max_error == 0.1

    @pytest.mark.slow
    def test_costs(self):
        assert do("fit fit.csv --target y --drop site -o plain.sepc") == 0
        costs = "--costs ill well 5 --costs well ill 1 --max-cost 0.4"
        assert do(f"promise plain.sepc cal.csv --target y {costs} --by label -o dear.sepc") == 0
        model = sepc.load("dear.sepc")
        assert model.promise.bounds == "cost"
        assert model["classifier"].model_.policy.costs.tolist() == [[0.0, 5.0], [1.0, 0.0]]
        assert do("predict dear.sepc new.csv -o out.csv") == 0
        given = model.predict_or_abstain(pd.read_csv("new.csv"), model.promise)
        assert [row["accepted"] == "true" for row in read("out.csv")] == [label is not None for label in given]
        assert do("promise dear.sepc cal.csv --target y -o again.sepc") == 0
        again = sepc.load("again.sepc").promise
        assert (again.bounds, again.costs, again.parts) == ("cost", model.promise.costs, model.promise.parts)

    def test_what_cannot_be_renewed_as_it_was_asks_for_a_limit(self, capsys):
        assert do("fit fit.csv --target y --drop site -o plain.sepc") == 0
        model, cal = sepc.load("plain.sepc"), pd.read_csv("cal.csv")
        found = sepc.select_min_trust(model, cal, cal["y"], max_error={"ill": 0.2, "well": 0.1}, by="label")
        sepc.save(model.sign(found), "model.sepc")
        assert do("promise model.sepc cal.csv --target y") == 2
        assert "--max-error" in capsys.readouterr().err

    @pytest.mark.slow
    def test_a_model_is_written_that_accepts_nothing_where_nothing_can_be_promised(self, capsys):
        assert do("fit fit.csv --target y --drop site -o plain.sepc") == 0
        assert do("promise plain.sepc cal.csv --target y --max-error 0.001 -o new.sepc") == 0
        told = capsys.readouterr()
        assert "no-promise" in said(told.err)
        assert "promise-of-nothing" in said(told.out)
        assert not sepc.load("new.sepc").promise.is_kept
        assert do("promise plain.sepc cal.csv --target y --max-error 0.001 --by label -o by.sepc --json") == 0
        assert json.loads(capsys.readouterr().out)["promise"]["is_kept"] is False
        assert do("predict by.sepc new.csv -o out.csv") == 0
        assert {row["accepted"] for row in read("out.csv")} == {"false"}

    def test_rows_that_the_model_has_learned_from_are_refused_with_or_without_its_records(self, patients, capsys):
        assert do("fit fit.csv --target y --drop site -o plain.sepc --no-training-rows") == 0
        assert do("promise plain.sepc fit.csv --target y -o m.sepc") == 1
        assert not Path("m.sepc").exists()
        pd.concat([patients[700:800], patients[:2]]).to_csv("some.csv", index=False)
        capsys.readouterr()
        assert do("promise plain.sepc some.csv --target y -o m.sepc") == 1
        told = capsys.readouterr().err
        assert all(text in told for text in ("some.csv", "2 of the 102 ", "(101, 102)"))

    def test_rows_kept_back_that_differ_in_a_column_that_is_no_feature_are_left_out(self, patients, capsys):
        twice = pd.concat([patients[:400], patients[:400]]).assign(name=[f"patient {i}" for i in range(800)])
        twice.to_csv("twice.csv", index=False)
        assert do("fit twice.csv --target y --drop site -o m.sepc --max-error 0.3") == 0  # the names are no feature
        shown = said(capsys.readouterr().err)
        promise = sepc.load("m.sepc").promise
        assert 2 * promise.n_calibration == 240 - shown["learned-left-out"].n  # both of a pair, which count once
        assert promise.is_kept

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("line", "code", "value"),
        [
            ("promise plain.sepc cal.csv --target y --max-error 0.1 --max-cost 1", 2, "--max-cost"),
            ("promise plain.sepc cal.csv --target y --max-cost 1", 1, "max_cost"),
            ("promise plain.sepc cal.csv --target y -o plain.sepc", 2, "plain.sepc"),
            ("promise plain.sepc odd.csv --target y", 1, "'dead'"),
            ("promise plain.sepc cal.csv --target z", 1, "'z'"),
        ],
    )
    def test_bad_requests(self, line, code, value, patients, capsys):
        assert do("fit fit.csv --target y --drop site -o plain.sepc") == 0
        patients[700:1200].assign(y=["dead", *patients["y"][701:1200]]).to_csv("odd.csv", index=False)
        capsys.readouterr()
        assert do(line) == code
        assert value in capsys.readouterr().err

    def test_a_promise_by_groups_of_python_asks_for_another(self, capsys):
        assert do("fit fit.csv --target y --drop site -o plain.sepc") == 0
        model, cal = sepc.load("plain.sepc"), pd.read_csv("cal.csv")
        found = sepc.select_min_trust(model, cal, cal["y"], max_error=0.1, by=cal["site"])
        sepc.save(model.sign(found), "model.sepc")
        assert do("predict model.sepc new.csv -o out.csv") == 1
        assert "--by COLUMN" in capsys.readouterr().err
        assert do("predict model.sepc new.csv -o out.csv --min-trust 0.9") == 0
