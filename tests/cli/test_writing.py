"""Tables to files: in the form of the suffix, columns as they came, and places that cannot be written."""

from pathlib import Path

import pyarrow as pa
import pytest
from command_line import COLUMNS, as_csv, do, read
from pyarrow import parquet

from sepc.cli import main, reading


@pytest.mark.usefixtures("here")
class TestWriting:
    def test_input_columns_come_out_as_they_went_in(self):
        rows = [
            ["1.50", " 2", "blue", 'say "no", or\nyes'],
            ["+3e0", "007.0", "green", ""],
            ["0.1000000000000000055", "NA", "red", "é 🙂 עברית"],
        ]
        Path("odd.csv").write_text(as_csv(rows, COLUMNS), encoding="utf-8")
        assert do("predict model.sepc odd.csv -o out.csv") == 0
        assert [[row[name] for name in COLUMNS] for row in read("out.csv")] == rows

    @pytest.mark.parametrize("form", ["csv", "tsv", "csv.gz", "parquet", "arrow", "arrows"])
    def test_verdicts_are_written_in_the_form_of_the_suffix(self, form):
        assert do("predict model.sepc new.csv -o plain.csv") == 0
        assert main(["predict", "model.sepc", "new.csv", "-o", f"out.{form}"]) == 0
        with reading.open_table(f"out.{form}") as source:
            found = pa.Table.from_batches(list(source.batches)).to_pylist()
        plain = read("plain.csv")
        assert [row["trust"] for row in found] == [
            pytest.approx(float(row["trust"])) if form in ("parquet", "arrow", "arrows") else row["trust"]
            for row in plain
        ]
        assert [[row[name] for name in (*COLUMNS, "region")] for row in found] == [
            [row[name] for name in (*COLUMNS, "region")] for row in plain
        ]


@pytest.mark.usefixtures("here")
class TestRefused:
    def test_what_fails_at_the_first_row_leaves_a_pipe_empty(self, capsys):
        Path("bad.csv").write_text("size,weight,colour\n1,two,red\n")
        parquet.write_table(
            pa.table({"size": [1.0], "weight": [2.0], "colour": ["red"], "list": [[1]]}), "list.parquet"
        )
        for name in ("bad.csv", "list.parquet"):
            assert do(f"predict model.sepc {name}") == 1
            assert capsys.readouterr().out == ""

    @pytest.mark.parametrize("path", ["nowhere/out.csv", ".", "nowhere.csv/x"])
    def test_a_place_that_cannot_be_written_is_named_before_the_work(self, path, capsys):
        assert main(["predict", "model.sepc", "new.csv", "-o", path]) in (1, 2)
        assert path in capsys.readouterr().err
