"""Tables from files: the kind of file does not matter, nor in which pieces it is read."""

import csv
import gzip
import io
from pathlib import Path
from time import monotonic, sleep

import pyarrow as pa
import pytest
from command_line import COLUMNS, GOOD, as_csv, do
from pyarrow import feather, ipc, parquet
from said import said

from sepc.cli import main, reading


@pytest.mark.usefixtures("here")
class TestReading:
    def test_small_and_large_pieces_give_the_same_file(self, monkeypatch):
        assert do("predict model.sepc new.csv -o whole.csv") == 0
        monkeypatch.setattr(reading, "BLOCK", 300)
        assert do("predict model.sepc new.csv -o pieces.csv") == 0
        assert Path("pieces.csv").read_bytes() == Path("whole.csv").read_bytes()

    @pytest.mark.parametrize(
        "form",
        [
            "csv",
            "tsv",
            "csv.gz",
            "tsv.gz",
            "parquet",
            "arrow",
            "arrows",
            "feather",
            "semicolons",
            "bom",
            "utf-16",
            "latin",
        ],
    )
    def test_the_kind_of_file_does_not_matter(self, form):
        assert do("predict model.sepc new.csv -o plain.csv") == 0
        path, extra = write_as(form)
        assert main(["predict", "model.sepc", path, "-o", "out.csv", *extra]) == 0
        plain = list(csv.reader(io.StringIO(Path("plain.csv").read_text())))
        delimiter = ";" if form == "semicolons" else ","
        found = list(csv.reader(io.StringIO(Path("out.csv").read_text(encoding="utf-8")), delimiter=delimiter))
        if form == "semicolons":
            found = [[cell.replace(",", ".") for cell in row] for row in found]
        assert [row[4:] for row in found] == [row[4:] for row in plain]


def write_as(form):
    """Write the new data in some form; return the path, and what the command has to be told."""
    text = Path("new.csv").read_text()
    rows = list(csv.reader(io.StringIO(text)))
    if form in ("parquet", "arrow", "arrows", "feather"):
        numbers = [
            [float(cell) if cell else None for cell in column] for column in list(zip(*rows[1:], strict=True))[:2]
        ]
        texts = list(zip(*rows[1:], strict=True))[2:]
        table = pa.table([*numbers, pa.array(texts[0]).dictionary_encode(), pa.array(texts[1])], names=list(COLUMNS))
        if form == "parquet":
            parquet.write_table(table, "in.parquet")
        elif form == "feather":
            feather.write_feather(table, "in.feather")
        else:
            with (ipc.new_file if form == "arrow" else ipc.new_stream)(f"in.{form}", table.schema) as file:
                file.write(table)
        return f"in.{form}", []
    if form == "semicolons":
        Path("in.csv").write_text(as_csv([[cell.replace(".", ",") for cell in row] for row in rows[1:]], COLUMNS, ";"))
        return "in.csv", []
    tabs = text.replace(",", "\t") if form.startswith("tsv") else text
    raw = tabs.encode({"bom": "utf-8-sig", "utf-16": "utf-16"}.get(form, "utf-8"))
    if form == "latin":
        raw = text.replace("same", "née").encode("latin-1")
    name = f"in.{form}" if form[:3] in ("csv", "tsv") else "in.csv"
    Path(name).write_bytes(gzip.compress(raw) if form.endswith(".gz") else raw)
    return name, {"utf-16": ["--encoding", "utf-16"], "latin": ["--encoding", "latin-1"]}.get(form, [])


@pytest.mark.usefixtures("here")
class TestBadFiles:
    def test_a_file_with_a_row_beyond_measure_is_refused(self, monkeypatch, capsys):
        monkeypatch.setattr(reading, "BLOCK", 100)
        Path("long.csv").write_text(f"size,weight,colour\n1,2,red\n1,2,{'x' * 400}\n")
        assert do("predict model.sepc long.csv -o out.csv") == 1
        assert "long.csv" in capsys.readouterr().err

    @pytest.mark.slow
    def test_an_odd_number_of_quotes_is_told(self, capsys):
        Path("odd.csv").write_text(GOOD + '1,2,red,5" pipe,no\n')
        assert do("fit odd.csv --target label -o m.sepc") == 0
        assert said(capsys.readouterr().err)["odd-quotes"].name == "odd.csv"


def test_nothing_is_read_once_a_table_was_left(tmp_path, monkeypatch):
    """A thread that reads ahead while the interpreter exits would abort it."""
    monkeypatch.setattr(reading, "BLOCK", 1 << 12)
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "1,2\n" * 100_000)
    read, times = reading.Utf8Stream._next, []

    def slow(stream, size):
        sleep(0.01)
        times.append(monotonic())
        return read(stream, size)

    monkeypatch.setattr(reading.Utf8Stream, "_next", slow)
    with pytest.raises(KeyError), reading.open_table(str(path)):
        raise KeyError
    left = monotonic()
    sleep(0.1)
    assert times
    assert max(times) <= left
