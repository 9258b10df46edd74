"""`sepc feedback`: wrong verdicts make a new model."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from command_line import as_csv, do, files, records
from pyarrow import csv as pacsv

import sepc


@pytest.mark.usefixtures("here")
class TestFeedback:
    @pytest.mark.slow
    def test_feedback_with_wrong_verdicts_makes_a_new_model(self, capsys):
        rows = [["9", "6", "red", "", "no"] for _ in range(9)] + [["0", "0", "green", "", ""]]
        Path("labelled.csv").write_text(as_csv(rows))
        assert do("feedback model.sepc labelled.csv --target label -o new.sepc --json") == 0
        found = json.loads(capsys.readouterr().out)
        assert found["feedback"]["n"] == 10
        assert found["feedback"]["n_labelled"] == found["feedback"]["n_wrong"] == 9
        assert found["changes"]["n_added"] == 9
        new = sepc.load("new.sepc")
        assert new.predict(pa.table({"size": [9.0], "weight": [6.0], "colour": ["red"]})).tolist() == ["no"]

    def test_feedback_without_wrong_verdicts_has_nothing_to_teach(self, here, capsys):
        Path("labelled.csv").write_text(as_csv([["0", "0", "green", "", "no"]]))
        assert do("feedback model.sepc labelled.csv --target label -o new.sepc") == 0
        told = capsys.readouterr()
        assert "nothing to learn, and new.sepc is not written" in told.err
        assert "1 record observed" in told.out
        assert do("predict model.sepc labelled.csv -o out.csv") == 0
        assert capsys.readouterr().err.splitlines()[1].startswith("1 row; 1 (100 %) accepted")
        Path("out.csv").unlink()
        assert files(here) == {"labelled.csv"}

    @pytest.mark.slow
    def test_an_ensemble_is_watched_by_label(self, capsys):
        Path("few.csv").write_text(as_csv(records(80)))
        assert do("fit few.csv --target label -o m.sepc --ensemble") == 0
        rows = [[*row[:-1], "no"] for row in records(60, seed=3)]
        Path("labelled.csv").write_text(as_csv(rows))
        capsys.readouterr()
        assert do("feedback m.sepc labelled.csv --target label --labels all -o new.sepc --json") == 0
        found = json.loads(capsys.readouterr().out)
        assert {region["region"] for region in found["feedback"]["regions"]} <= {"no", "yes"}
        assert found["feedback"]["drift"]["what"] == "strange"
        assert found["changes"]["ellipsoids"] is None
        assert type(sepc.load("new.sepc")["classifier"]) is sepc.SEPEnsembleClassifier

    @pytest.mark.slow
    def test_it_is_said_how_labels_were_chosen(self, capsys):
        rows = [[*row[:-1], "no" if row[-1] == "yes" else "yes"] for row in records(60, seed=3)]
        Path("labelled.csv").write_text(as_csv(rows))
        table = pacsv.read_csv("labelled.csv")
        chances = pa.array([1.0, 0.5, 0.25] * 20)
        pacsv.write_csv(table.append_column("chance", chances), "chosen.csv")
        for said, n, told in (
            ("labelled.csv", 0, "labelled rows have no part in the alarm on errors"),
            ("labelled.csv --labels all", 60, "every row was to get a label (--labels all)"),
            ("chosen.csv --probability chance", 60, "chosen with the chances in column chance"),
        ):
            assert do(f"feedback model.sepc {said} --target label --json") == 0
            out = capsys.readouterr()
            assert told in out.err
            found = json.loads(out.out)
            assert found["feedback"]["error_drift"]["n"] == n
            assert found["feedback"]["error_drift"]["n_unstated"] == 60 - n
            assert (found["labels"], found["probability"]) == (
                "all" if "--labels" in said else None,
                "chance" if "chance" in said else None,
            )

    @pytest.mark.slow
    def test_chances_that_are_none_are_refused(self, capsys):
        Path("labelled.csv").write_text(as_csv(records(9, seed=3)))
        for said, code, told in (
            ("--probability chance", 1, "labelled.csv has no column 'chance'"),
            ("--probability colour", 1, "column 'colour' holds something else than numbers, or has gaps"),
            ("--probability size", 1, "expected a number above 0 and at most 1"),
            ("--probability size --labels all", 2, "--labels and --probability both came"),
        ):
            assert do(f"feedback model.sepc labelled.csv --target label {said}") == code
            assert told in capsys.readouterr().err

    def test_feedback_needs_the_training_records(self, capsys):
        assert do("fit train.csv --target label -o bare.sepc --no-training-rows") == 0
        assert do("feedback bare.sepc train.csv --target label -o m2.sepc") == 1
        assert "Fit a model without --no-training-rows." in capsys.readouterr().err
        assert not Path("m2.sepc").exists()

    @pytest.mark.slow
    def test_repeated_rows_are_told_and_can_be_counted_once(self, capsys):
        rows = records(30, seed=3)
        Path("labelled.csv").write_text(as_csv([*rows, rows[4], rows[9], [*rows[0][:-1], ""]]))
        assert do("feedback model.sepc labelled.csv --target label --json") == 0
        told = capsys.readouterr()
        found = json.loads(told.out)["feedback"]
        assert (found["n"], found["n_labelled"], found["n_repeated"]) == (33, 32, 2)
        assert "2 rows repeat an earlier one, label included (31, 32)" in told.err
        assert do("feedback model.sepc labelled.csv --target label --json --once") == 0
        found = json.loads(capsys.readouterr().out)["feedback"]
        assert (found["n"], found["n_labelled"], found["n_repeated"]) == (31, 30, 0)

    @pytest.mark.slow
    def test_rows_that_the_model_has_learned_from_are_told(self, capsys):
        Path("labelled.csv").write_text(as_csv([*records(5, seed=3), *records(2)]))
        assert do("feedback model.sepc labelled.csv --target label") == 0
        assert "the model has learned from 2 rows of these (6, 7)" in capsys.readouterr().err

    @pytest.mark.slow
    def test_the_remedy_is_one_of_the_command_line(self, capsys):
        rows = [[*row[:-1], "no" if row[-1] == "yes" else "yes"] for row in records(60, seed=3)]
        Path("labelled.csv").write_text(as_csv(rows))
        assert do("feedback model.sepc labelled.csv --target label --labels all") == 0
        told = capsys.readouterr().out
        assert "-o MODEL takes these rows into the training records" in told
        assert "repartition()" not in told
        assert "wrong by the model itself" in told
        assert "by 3 models that each leave a part of the training records out" in told
