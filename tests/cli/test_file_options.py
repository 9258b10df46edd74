"""Files as programs write them: packed, JSON lines, sheets, lines above the names, rows without a label."""

import bz2
import gzip
import io
import json
import lzma
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
from command_line import COLUMNS, as_csv, do, read, records
from openpyxl import Workbook
from pyarrow import parquet
from said import said

from sepc import load
from sepc.cli.reading import Utf8Stream

NAMES = (*COLUMNS, "label")


def zipped(*files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files:
            archive.writestr(name, content)
    return packed.getvalue()


def as_json_lines(rows, names=COLUMNS, number=lambda text: text):
    """Return rows of texts as JSON lines; sizes and weights are numbers, and missing ones are null or absent."""
    lines = []
    for k, row in enumerate(rows):
        one = dict(zip(names, row, strict=False))
        for name in ("size", "weight"):
            one[name] = f"@{number(one[name])}@" if one[name] else None
        if one["weight"] is None and k:
            del one["weight"]
        lines.append(json.dumps(one).replace('"@', "").replace('@"', ""))
    return "\n".join(lines) + "\n"


def verdicts(line):
    assert do(f"predict model.sepc {line} -o out.csv") == 0
    return [(row["label"], row["trust"], row["typicality"]) for row in read("out.csv")]


@pytest.mark.usefixtures("here")
class TestPackedFiles:
    @pytest.mark.parametrize(
        ("name", "pack"),
        [
            ("new.csv.gz", gzip.compress),
            ("new.csv.bz2", bz2.compress),
            ("new.csv.xz", lzma.compress),
            ("new.zip", lambda raw: zipped(("data/", ""), ("data/new.csv", raw), ("__MACOSX/new.csv", b"x"))),
            ("noname", bz2.compress),
        ],
    )
    def test_packed_files_are_read(self, name, pack):
        Path(name).write_bytes(pack(Path("new.csv").read_bytes()))
        assert verdicts(name) == verdicts("new.csv")

    @pytest.mark.parametrize(
        "pack",
        [gzip.compress, bz2.compress, lzma.compress, lambda raw: zipped(("a.csv", raw))],
        ids=["gz", "bz2", "xz", "zip"],
    )
    def test_what_is_cut_off_or_damaged_is_refused(self, pack, capsys):
        raw = pack(Path("new.csv").read_bytes())
        for damaged in (raw[: len(raw) // 2], raw[:30] + b"\xff" * 20 + raw[50:]):
            Path("cut").write_bytes(damaged)
            assert do("predict model.sepc cut -o out.csv") == 1
            assert "cut" in capsys.readouterr().err
            assert not Path("out.csv").exists()

    def test_an_archive_of_several_files_is_refused_with_their_names(self, capsys):
        Path("two.zip").write_bytes(zipped(("a.csv", "x\n1\n"), ("b.csv", "x\n1\n")))
        assert do("predict model.sepc two.zip") == 1
        told = capsys.readouterr().err
        assert "a.csv" in told
        assert "b.csv" in told


@pytest.mark.usefixtures("here")
class TestJsonLines:
    @pytest.mark.parametrize("name", ["new.jsonl", "new.ndjson", "plain", "new.jsonl.bz2"])
    def test_json_lines_give_the_verdicts_of_the_csv_file(self, name):
        rows = [line.split(",") for line in Path("new.csv").read_text().splitlines()[1:]]
        content = as_json_lines(rows).encode()
        Path(name).write_bytes(bz2.compress(content) if name.endswith("bz2") else content)
        assert verdicts(name) == verdicts("new.csv")

    def test_a_model_can_be_fitted_to_them(self):
        Path("train.jsonl").write_text(as_json_lines(records(60), NAMES))
        Path("train2.csv").write_text(as_csv(records(60)))
        for name in ("train.jsonl", "train2.csv"):
            assert do(f"fit {name} --target label -o {Path(name).stem}.sepc") == 0
        one, other = (load(f"{name}.sepc")["columns"].columns_ for name in ("train", "train2"))
        assert {c.name: c for c in one} == {c.name: c for c in other}

    @pytest.mark.parametrize(
        ("line", "named"),
        [
            ('{"size": 1', "line 3"),
            ("[1, 2]", "line 3"),
            ('{"size": {"cm": 1}}', "'size' in line 3"),
            ('{"size": [1, 2]}', "'size' in line 3"),
            ('{"size": 1, "size": 2}', "line 3"),
            ('{"size": NaN1}', "line 3"),
        ],
    )
    def test_a_broken_line_is_named_by_its_number(self, line, named, capsys):
        Path("bad.jsonl").write_text(f'{{"size": 1, "weight": 2, "colour": "red"}}\n\n{line}\n')
        assert do("predict model.sepc bad.jsonl -o out.csv") == 1
        assert named in capsys.readouterr().err
        assert not Path("out.csv").exists()

    def test_a_json_array_is_refused_with_the_remedy(self, capsys):
        Path("array.json").write_text(json.dumps([{"size": 1, "weight": 2, "colour": "red"}], indent=1))
        assert do("predict model.sepc array.json") == 1
        assert "jq" in capsys.readouterr().err


def workbook(**sheets):
    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save("book.xlsx")


def typed(path):
    names, *rows = (line.split(",") for line in Path(path).read_text().splitlines())
    return [names, *([float(row[0]), float(row[1]) if row[1] else None, *row[2:]] for row in rows)]


@pytest.mark.usefixtures("here")
class TestSheetsAndSkippedRows:
    def test_a_sheet_is_named_or_numbered(self, capsys):
        workbook(notes=[["made in May"]], data=typed("new.csv"))
        expected = verdicts("new.csv")
        for which in ("data", "2"):
            capsys.readouterr()
            assert verdicts(f"book.xlsx --sheet {which}") == expected
            assert "other-sheets" not in said(capsys.readouterr().err)
        for which in ("dat", "3", "0"):
            assert do(f"predict model.sepc book.xlsx --sheet {which}") == 1
            told = capsys.readouterr().err
            assert all(one in told for one in (repr(which), "'notes'", "'data'"))

    def test_lines_above_the_names_are_skipped(self, capsys):
        expected = verdicts("new.csv")
        text = Path("new.csv").read_text()
        Path("head.csv").write_text(f'Export of May; by "us\n\n{text}')
        assert verdicts("head.csv --skip-rows 2") == expected
        workbook(data=[["Export of May"], [], *typed("new.csv")])
        assert verdicts("book.xlsx --skip-rows 2") == expected
        capsys.readouterr()
        assert do("explain model.sepc head.csv --skip-rows 2 --row 1 --json") == 0
        assert json.loads(capsys.readouterr().out)["trust"] == float(expected[0][1])

    @pytest.mark.parametrize("end", ["Total,,,\n", "\n(9 rows affected)\n \n"])
    def test_lines_at_the_end_are_skipped(self, end):
        expected = verdicts("new.csv")
        Path("foot.csv").write_text(Path("new.csv").read_text() + end, encoding="utf-16")
        assert verdicts("foot.csv --encoding utf-16 --skip-footer 1") == expected
        assert verdicts("foot.csv --encoding utf-16 --skip-footer 3") == expected[:-2]

    @pytest.mark.parametrize("end", ["Total", "Total\n\n", "Total\r\n \n"])
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
    def test_they_are_held_back_however_a_file_is_cut(self, end, encoding):
        raw = f"size\n\n1\nü\nby us\n{end}".encode(encoding)
        for size in (1, 2, 7, 100):
            stream = Utf8Stream(io.BytesIO(raw), "x", encoding, 0, 2)
            text = b"".join(iter(lambda size=size, stream=stream: stream.read(size), b"")).decode()
            assert text.removeprefix("\ufeff") == "size\n\n1\nü\n"

    def test_rows_at_the_end_of_sheets_and_json_lines_are_skipped(self):
        expected = verdicts("new.csv")
        workbook(data=[*typed("new.csv"), [], ["Total", 7], ["by us"]])
        assert verdicts("book.xlsx --skip-footer 2") == expected
        rows = [line.split(",") for line in Path("new.csv").read_text().splitlines()[1:]]
        Path("new.jsonl").write_text(as_json_lines(rows) + '{"total": 7}\n')
        assert verdicts("new.jsonl --skip-footer 1") == expected

    @pytest.mark.parametrize("word", ["Total", "grand total:", "AVERAGE (n=300)"])
    def test_a_word_of_footers_in_the_last_row_alone_is_noted_by_all_commands(self, word, capsys):
        rows = records(60)
        Path("foot.csv").write_text(as_csv([*rows, ["", "", word, "", "yes"]]))
        for line in ("landscape foot.csv --target label", "predict model.sepc foot.csv -o out.csv"):
            assert do(line) == 0
            noted = said(capsys.readouterr().err)["footer"]
            assert (noted.row, noted.column, noted.word) == (61, "colour", word)
        assert do(f"{line} --skip-footer 1") == 0
        assert "footer" not in said(capsys.readouterr().err)

    @pytest.mark.parametrize(
        "words", [["total", "total"], ["total", "red"], ["totality"], ["sum of all that was paid up to now"]]
    )
    def test_other_last_rows_are_not(self, words, capsys):
        Path("foot.csv").write_text(as_csv([*records(60), *(["1", "1", word, "", "yes"] for word in words)]))
        assert do("predict model.sepc foot.csv -o out.csv") == 0
        assert "footer" not in said(capsys.readouterr().err)

    def test_a_footer_of_fewer_fields_is_refused_with_its_row_and_the_switch(self, capsys):
        Path("foot.csv").write_text(as_csv(records(60)) + "(60 rows affected)\n")
        assert do("fit foot.csv --target label -o m.sepc") == 1
        told = capsys.readouterr().err
        assert "row 61" in told
        assert "--skip-footer" in told
        assert do("fit foot.csv --target label -o m.sepc --skip-footer 1 --json") == 0
        assert json.loads(capsys.readouterr().out)["rows"] == 60

    @pytest.mark.parametrize(
        ("line", "named"),
        [
            ("new.csv --skip-footer 500", "empty"),
            ("new.parquet --skip-footer 1", "--skip-footer"),
            ("new.csv --sheet 1", "--sheet"),
            ("new.csv --skip-rows 500", "500"),
            ("book.xlsx --skip-rows 500", "--skip-rows"),
            ("new.csv --skip-rows -1", "'-1'"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, line, named, capsys):
        workbook(data=[["size"], [1]])
        parquet.write_table(pa.table({"size": [1.0]}), "new.parquet")
        assert do(f"predict model.sepc {line}") in (1, 2)
        assert named in capsys.readouterr().err


@pytest.fixture
def gaps(tmp_path, monkeypatch):
    """A file without a label in three rows, which hold what no column of numbers does; and where they are."""
    monkeypatch.chdir(tmp_path)
    rows = records(80, seed=3)
    without = [0, 33, 79]
    for k in without:
        rows[k][-1] = ["", "NA", " "][without.index(k)]
    rows[79][0] = "Total"
    rows[40] = [*rows[41][:-1], "no" if rows[41][-1] == "yes" else "yes"]
    Path("gaps.csv").write_text(as_csv(rows))
    Path("whole.csv").write_text(as_csv([row for k, row in enumerate(rows) if k not in without]))
    return without


class TestUnlabelledRows:
    @pytest.mark.usefixtures("gaps")
    def test_they_are_an_error_that_names_the_switch(self, capsys):
        Path("gaps.csv").write_text(Path("gaps.csv").read_text().replace("Total", "1"))
        for line in ("fit gaps.csv --target label -o m.sepc", "landscape gaps.csv --target label"):
            assert do(line) == 1
            told = capsys.readouterr().err
            assert "3 of 80" in told
            assert "--unlabelled drop" in told

    def test_they_are_dropped_and_counted(self, gaps, capsys):
        assert do("fit gaps.csv --target label --unlabelled drop -o m.sepc --json") == 0
        told = capsys.readouterr()
        found = json.loads(told.out)
        assert (found["rows"], found["unlabelled"]) == (77, 3)
        noted = said(told.err)["unlabelled-dropped"]
        assert (noted.n, noted.rows) == (3, "rows 1, 34, 80")
        assert do("fit whole.csv --target label -o w.sepc") == 0
        one, other = load("m.sepc"), load("w.sepc")
        assert one["columns"].columns_ == other["columns"].columns_
        assert one.row_numbers_.tolist() == [k + 1 for k in range(80) if k not in gaps]
        assert do("fit whole.csv --target label --unlabelled drop -o w.sepc --json") == 0
        assert load("w.sepc").row_numbers_ is None

    @pytest.mark.usefixtures("gaps")
    def test_rows_keep_their_numbers(self, capsys):
        assert do("landscape gaps.csv --target label --unlabelled drop --json") == 0
        found = json.loads(capsys.readouterr().out)
        assert found["contradictions"] == [[41, 42]]
        assert found["unlabelled"] == 3
        assert "41 (" in json.dumps(found["findings"])
        assert do("report gaps.csv --target label --unlabelled drop --max-records 0 -o r.json") == 0
        ids = json.loads(Path("r.json").read_text())["records"]["id"]
        assert not {1, 34, 80} & set(ids)

    @pytest.mark.usefixtures("gaps")
    def test_a_promise_and_a_test_file_can_have_them(self, capsys):
        assert do("fit whole.csv --target label --test gaps.csv --unlabelled drop -o m.sepc --json") == 0
        assert json.loads(capsys.readouterr().out)["test"]["rows"] == 77
        Path("new.csv").write_text(as_csv([*records(60, seed=4), ["1", "1", "red", "", ""]]))
        assert do("promise m.sepc new.csv --target label --unlabelled drop --max-error 0.3 --json") == 0
        assert json.loads(capsys.readouterr().out)["unlabelled"] == 1

    @pytest.mark.usefixtures("gaps")
    def test_a_file_without_any_label_is_refused(self, capsys):
        Path("none.csv").write_text("size,label\n1,\n2,\n")
        assert do("fit none.csv --target label --unlabelled drop -o m.sepc") == 1
        assert "'label'" in capsys.readouterr().err
