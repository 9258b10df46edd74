"""`sepc fit`: what it writes, and what it says of it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import as_csv, do, read, records

import sepc


@pytest.mark.usefixtures("here")
class TestFit:
    def test_it_says_what_it_did(self, capsys):
        assert do("fit train.csv --target label --drop note -o m.sepc --holdout 0.2 --n-imp 0.05") == 0
        told = capsys.readouterr()
        assert "20 % of the rows, held back: right on" in told.out
        assert "n_imp=0.05" in told.out
        assert "colour: text with 3 values" in told.err
        assert "model written to m.sepc" in told.err

    def test_results_on_training_rows_are_called_so(self, capsys):
        assert do("fit train.csv --target label -o m.sepc") == 0
        assert "this flatters" in capsys.readouterr().out

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

    def test_labels_that_were_never_learned_are_told(self, capsys):
        Path("test.csv").write_text(as_csv([[*row[:-1], "maybe"] for row in records(3)] + records(20)))
        assert do("fit train.csv --target label -o m.sepc --test test.csv") == 0
        assert "labels that the model has not learned; they count as wrong: maybe (3)." in capsys.readouterr().err

    def test_an_ensemble_and_a_model_without_records(self, capsys):
        assert do("fit train.csv --target label -o m.sepc --ensemble --no-training-rows") == 0
        assert "SEPEnsembleClassifier" in capsys.readouterr().out
        assert do("predict m.sepc new.csv -o out.csv") == 0
        assert len(read("out.csv")) == 120
