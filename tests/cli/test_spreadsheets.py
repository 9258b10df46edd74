"""Excel workbooks: read as what their cells are, written as what they were, and refused with a reason."""

import re
import sys
from datetime import datetime
from pathlib import Path

import pytest
from command_line import COLUMNS, do, read, records
from said import said

openpyxl = pytest.importorskip("openpyxl")


def workbook(path, *sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets, 1):
        sheet = book.create_sheet(f"sheet {number}")
        for row in rows:
            sheet.append(row)
    book.save(path)


def cells(n, seed=0):
    """Return the records of the other tests as cells of a sheet."""
    rows = [[float(r[0]), float(r[1]) if r[1] else None, *r[2:]] for r in records(n, seed)]
    return [[*COLUMNS, "label"], *rows]


@pytest.mark.usefixtures("here")
class TestSpreadsheets:
    @pytest.mark.slow
    def test_a_workbook_is_read_as_a_text_file_is(self, capsys):
        workbook("new.xlsx", [row[:-1] for row in cells(120, seed=1)])
        assert do("predict model.sepc new.csv -o plain.csv") == 0
        assert do("predict model.sepc new.xlsx -o out.csv") == 0
        assert [row["trust"] for row in read("out.csv")] == [row["trust"] for row in read("plain.csv")]
        workbook("train.xlsx", cells(60), [["another"]])
        assert do("fit train.xlsx --target label -o m.sepc") == 0
        others = said(capsys.readouterr().err)["other-sheets"]
        assert (others.n, others.sheet) == (2, "sheet 1")

    def test_dates_and_empty_rows_and_columns(self, capsys):
        rows = [[float(k), datetime(2020, 1, 1 + k), None, "ab"[k % 2]] for k in range(20)]
        workbook("dates.xlsx", [[], ["x", "since", None, "label"], [], *rows, []])
        assert do("landscape dates.xlsx --target label") == 0
        told = capsys.readouterr().err
        assert re.search("^note: since: .*2020-01-01", told, re.MULTILINE)
        assert said(told)["unnamed-column"].number == 3

    def test_verdicts_go_to_a_workbook(self):
        Path("odd.csv").write_text("size,weight,colour\n1,2,=1+1\n3,,red\n")
        assert do("predict model.sepc odd.csv -o out.xlsx") == 0
        assert do("predict model.sepc odd.csv -o out.csv") == 0
        sheet = openpyxl.load_workbook("out.xlsx").active
        names, *rows = sheet.iter_rows()
        assert [cell.value for cell in names] == list(read("out.csv")[0])
        assert rows[0][2].value == "=1+1"
        assert rows[0][2].data_type == "s"
        assert [row[4].value for row in rows] == [float(row["trust"]) for row in read("out.csv")]

    def test_a_workbook_that_cannot_be_read_is_refused(self, capsys):
        workbook("formula.xlsx", [["size", "weight", "colour"], ["=1+1", 2, "red"]])
        workbook("empty.xlsx", [])
        for name, values in (("formula", ("A2", "'sheet 1'")), ("empty", ("empty.xlsx",))):
            assert do(f"predict model.sepc {name}.xlsx -o out.csv") == 1
            told = capsys.readouterr().err
            assert all(value in told for value in values)

    def test_what_a_workbook_cannot_hold_is_refused(self, here, capsys):
        for text in ("r\x07d", "x" * 40_000):
            Path("odd.csv").write_text(f"size,weight,colour\n1,2,{text}\n")
            assert do("predict model.sepc odd.csv -o out.xlsx") == 1
            assert "row 1 " in capsys.readouterr().err
            assert not (here / "out.xlsx").exists()

    def test_without_openpyxl_there_is_a_remedy(self, monkeypatch, capsys):
        workbook("new.xlsx", cells(5))
        monkeypatch.setitem(sys.modules, "openpyxl", None)
        assert do("predict model.sepc new.xlsx -o out.csv") == 1
        missing = said(capsys.readouterr().err)["not-installed"]
        assert (missing.module, missing.extra) == ("openpyxl", "xlsx")
