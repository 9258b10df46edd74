"""`sepc explain`: rows by their numbers in the file, in the columns of the file."""

import json
from types import SimpleNamespace

import pytest
from command_line import do, read

from sepc.cli.commands import explain


@pytest.mark.usefixtures("here")
class TestExplain:
    def test_rows_are_counted_from_one(self, capsys):
        assert do("predict model.sepc new.csv -o out.csv") == 0
        capsys.readouterr()
        for row in (1, 17, 120):
            assert do(f"explain model.sepc new.csv --row {row} --json") == 0
            told = json.loads(capsys.readouterr().out)
            assert told["row"] == row
            assert told["trust"] == float(read("out.csv")[row - 1]["trust"])
        assert do("explain model.sepc train.csv --row 5 --json") == 0
        nearest = min(json.loads(capsys.readouterr().out)["neighbours"], key=lambda neighbour: neighbour["distance"])
        assert (nearest["row"], nearest["distance"]) == (5, 0.0)
        assert do("explain model.sepc new.csv --row 121") == 1
        assert "has 120 rows; expected a row from 1 to 120" in capsys.readouterr().err

    def test_an_explanation_speaks_of_the_columns_of_the_file(self, capsys):
        assert do("explain model.sepc new.csv --row 3") == 0
        told = capsys.readouterr().out
        assert told.startswith("Predicted ")
        assert "size" in told
        assert max(map(len, told.splitlines())) <= 100


@pytest.mark.usefixtures("here")
class TestLines:
    def test_values_are_not_taken_apart_at_the_end_of_a_line(self, monkeypatch, capsys):
        long = "-".join(["long"] * 40)
        monkeypatch.setattr(explain, "read_model", lambda _: None)
        monkeypatch.setattr(
            explain,
            "BatchPredictor",
            lambda *_: SimpleNamespace(explain=lambda *_: SimpleNamespace(text=f"It is {long}, so.")),
        )
        assert do("explain model.sepc new.csv --row 1") == 0
        assert long in capsys.readouterr().out
