"""Models from files, and new data that a model takes or refuses."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import as_csv, do, files, read

import sepc
from sepc.cli import reading


@pytest.mark.usefixtures("here")
class TestInputs:
    def test_columns_in_any_order_and_others_beside_them(self):
        assert do("predict model.sepc new.csv -o plain.csv") == 0
        rows = [[row["colour"], "x", row["weight"], row["size"]] for row in read("new.csv")]
        Path("other.csv").write_text(as_csv(rows, ("colour", "more", "weight", "size")))
        assert do("predict model.sepc other.csv -o out.csv") == 0
        assert [row["trust"] for row in read("out.csv")] == [row["trust"] for row in read("plain.csv")]

    def test_a_model_saved_in_python_works_too(self, capsys):
        frame = pd.read_csv("train.csv")[["size"]].assign(n=range(300))
        clf = sepc.SEPClassifier().fit(frame, np.repeat([0, 1], 150))
        sepc.save(clf, "plain.sepc")
        Path("numbers.csv").write_text("n,size\n3,1.5\n200,2\n")
        assert do("predict plain.sepc numbers.csv -o out.csv") == 0
        assert [row["label"] for row in read("out.csv")] == ["0", "1"]
        Path("numbers.csv").write_text("n,size\n3,1.5\n200,\n")
        assert do("predict plain.sepc numbers.csv -o out.csv") == 0
        assert [row["reason"] for row in read("out.csv")] == ["inside", "incomplete"]
        sepc.save(sepc.SEPClassifier(trust="paper").fit(frame, np.repeat([0, 1], 150)), "paper.sepc")
        assert do("predict paper.sepc numbers.csv -o out.csv") == 1
        assert "'size'" in capsys.readouterr().err
        sepc.save(sepc.SEPClassifier().fit(frame.to_numpy(), np.repeat([0, 1], 150)), "nameless.sepc")
        assert do("predict nameless.sepc numbers.csv -o out.csv") == 1


@pytest.mark.usefixtures("here")
class TestBadData:
    @pytest.mark.parametrize(
        ("content", "values"),
        [
            ("size,colour\n1,red\n", ("'weight'",)),
            ("size,wieght,colour\n1,2,red\n", ("'weight'", "'wieght'")),
            ("size,weight,colour\n1,2,red\n1,two,red\n", ("'weight'", "'two'", "row 2")),
            ("size,weight,colour\n" + "1,2,red\n" * 900 + "1e999,2,red\n", ("'size'", "'1e999'", "row 901")),
            ("size,weight,colour\n" + "1,2,red\n" * 900 + "1,2\n", ("row 901", "2")),
            ("", ("bad.csv",)),
        ],
    )
    def test_bad_new_data_is_refused_with_a_reason_and_nothing_is_written(
        self, here, content, values, monkeypatch, capsys
    ):
        monkeypatch.setattr(reading, "BLOCK", 1000)
        Path("bad.csv").write_text(content)
        assert do("predict model.sepc bad.csv -o out.csv") == 1
        told = capsys.readouterr().err
        assert all(value in told for value in values)
        assert files(here) == {"bad.csv"}

    def test_a_damaged_model_is_refused(self, capsys):
        Path("broken.sepc").write_bytes(Path("model.sepc").read_bytes()[:-100])
        assert do("predict broken.sepc new.csv -o out.csv") == 1
        assert "broken.sepc" in capsys.readouterr().err
