"""`sepc predict`: verdicts are those of Python."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import COLUMNS, as_csv, do, read, run

import sepc
from sepc.cli.commands.predict import ADDED_COLUMNS


@pytest.mark.usefixtures("here")
class TestPredict:
    def test_verdicts_are_those_of_python(self, capsys):
        assert do("predict model.sepc new.csv -o out.csv --min-trust 0.9") == 0
        out, model = read("out.csv"), sepc.load("model.sepc")
        a = model.assess(pd.read_csv("new.csv"))
        assert [row["label"] for row in out] == a.label.tolist()
        assert [float(row["trust"]) for row in out] == a.trust.tolist()
        assert [row["reason"] for row in out] == a.reason.tolist()
        assert [row["region"] for row in out] == a.region.tolist()
        assert [row["accepted"] == "true" for row in out] == a.accepted(0.9).tolist()
        told = capsys.readouterr().err
        assert told.startswith(f"120 rows; {np.count_nonzero(a.accepted(0.9))} (")

    def test_names_that_are_taken_are_changed_and_told(self, capsys):
        assert do("predict model.sepc train.csv -o once.csv") == 0
        assert "sepc_label for label" in capsys.readouterr().err
        assert do("predict model.sepc once.csv -o twice.csv") == 0
        names = list(read("twice.csv")[0])
        assert names[5:] == [
            "sepc_label",
            *ADDED_COLUMNS[1:],
            "sepc_sepc_label",
            *(f"sepc_{name}" for name in ADDED_COLUMNS[1:]),
        ]
        assert [row["label"] for row in read("twice.csv")] == [row["label"] for row in read("train.csv")]

    def test_without_a_file_verdicts_go_to_the_output_and_words_elsewhere(self):
        done = run("predict", "model.sepc", "-", input=Path("new.csv").read_bytes())
        assert done.returncode == 0
        assert done.stdout.decode().splitlines()[0] == ",".join((*COLUMNS, *ADDED_COLUMNS))
        assert len(done.stdout.decode().splitlines()) == 121
        assert done.stderr.decode().startswith("120 rows")

    def test_an_unseen_category_works_and_is_reported(self, capsys):
        Path("pink.csv").write_text(as_csv([["1", "2", "pink", ""], ["1", "2", "pink", ""]], COLUMNS))
        assert do("predict model.sepc pink.csv -o out.csv --json") == 0
        told = capsys.readouterr()
        assert "column 'colour' has values that the model has never seen: 'pink' (2)" in told.err
        assert json.loads(told.out)["unseen"] == {"colour": {"pink": 2}}
        assert json.loads(told.out)["rows"] == len(read("out.csv")) == 2
