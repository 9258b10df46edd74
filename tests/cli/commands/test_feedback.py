"""`sepc feedback`: wrong verdicts make a new model."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from command_line import as_csv, do, files, records

import sepc


@pytest.mark.usefixtures("here")
class TestFeedback:
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

    def test_feedback_needs_a_single_partition(self, capsys):
        assert do("fit train.csv --target label -o m.sepc --ensemble") == 0
        assert do("feedback m.sepc train.csv --target label") == 1
        assert "Fit a model without --ensemble" in capsys.readouterr().err

    def test_feedback_needs_the_training_records(self, capsys):
        assert do("fit train.csv --target label -o bare.sepc --no-training-rows") == 0
        assert do("feedback bare.sepc train.csv --target label -o m2.sepc") == 1
        assert "Fit a model without --no-training-rows." in capsys.readouterr().err
        assert not Path("m2.sepc").exists()

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

    def test_rows_that_the_model_has_learned_from_are_told(self, capsys):
        Path("labelled.csv").write_text(as_csv([*records(5, seed=3), *records(2)]))
        assert do("feedback model.sepc labelled.csv --target label") == 0
        assert "the model has learned from 2 rows of these (6, 7)" in capsys.readouterr().err

    def test_the_remedy_is_one_of_the_command_line(self, capsys):
        rows = [[*row[:-1], "no" if row[-1] == "yes" else "yes"] for row in records(60, seed=3)]
        Path("labelled.csv").write_text(as_csv(rows))
        assert do("feedback model.sepc labelled.csv --target label") == 0
        told = capsys.readouterr().out
        assert "-o MODEL takes these rows into the training records" in told
        assert "repartition()" not in told
        assert "wrong by the model itself" in told
        assert "by 3 models that each leave a part of the training records out" in told
