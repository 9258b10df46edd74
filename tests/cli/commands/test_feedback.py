"""`sepc feedback`: wrong verdicts make a new model."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from command_line import as_csv, do, files

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
