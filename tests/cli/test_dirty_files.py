"""Files as people have them: each is read right by all commands, or refused by all with a word on the matter."""

import csv
import gzip
import io
import json
import zipfile
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from command_line import do

from sepc.cli import main
from sepc.cli.labelled_tables import read_labelled_table
from sepc.cli.parser import make_parser

N = 24
RNG = np.random.default_rng(7)
SIZES = [round(float(x), 2) for x in RNG.normal(size=N) + np.tile([0.0, 5.0], N // 2)]
LABELS = ["no", "yes"] * (N // 2)
# The first is past the twelfth of its month, so that the order of day and month is plain.
DAYS = [datetime(2020 + k % 2, 1 + k % 12, 31 if k == 0 else 1 + k) for k in range(N)]


def table(columns=None, sep=",", labels=LABELS, newline="\n", quote=csv.QUOTE_MINIMAL):
    """Return a text file of columns, the labels last; sizes alone unless there are others."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=sep, lineterminator=newline, quoting=quote)
    columns = {"size": SIZES, **(columns or {})}
    writer.writerow([*columns, "label"])
    writer.writerows(zip(*columns.values(), labels, strict=True))
    return out.getvalue()


def archive(*names):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name in names:
            file.writestr(name, table())
    return packed.getvalue()


def comma(values):
    return [str(value).replace(".", ",") for value in values]


def amounts(sep):
    return [f"{700 + 333 * k:,}".replace(",", sep) for k in range(N)]


AMOUNTS = [700.0 + 333 * k for k in range(N)]
CODES = ["red", "blue", "red", "green"] * (N // 4)
LONG_IDS = [f"1234567890123456{k:04d}" for k in range(N)]

# Name: the file, what the command is told besides, and the columns that it must find; None stands for no value.
READ = {
    "plain": (table(), "", {"size": SIZES}),
    "utf-8 with a mark": (table().encode("utf-8-sig"), "", {"size": SIZES}),
    "utf-16": (table({"größe": CODES}).encode("utf-16"), "--encoding utf-16", {"größe": CODES}),
    "latin-1": (table({"größe": CODES}).encode("latin-1"), "--encoding latin-1", {"größe": CODES}),
    "lines of Windows": (table({"code": CODES}, newline="\r\n"), "", {"size": SIZES, "code": CODES}),
    "packed": (gzip.compress(table().encode()), "", {"size": SIZES}),
    "semicolons and decimal commas": (table({"size": comma(SIZES)}, ";"), "", {"size": SIZES}),
    "tabs": (table({"code": CODES}, "\t"), "", {"size": SIZES, "code": CODES}),
    "bars": (table({"code": CODES}, "|"), "", {"size": SIZES, "code": CODES}),
    "a separator of one's own": (table({"code": CODES}, ":"), "--sep :", {"size": SIZES, "code": CODES}),
    "a comma in a name that no quote guards": (
        table({"size": comma(SIZES), "w": ["1"] * 12 + ["2"] * 12}, ";").replace("w;", "weight, kg;"),
        "",
        {"size": SIZES, "weight, kg": [1.0] * 12 + [2.0] * 12},
    ),
    "everything in quotes": (table({"code": CODES}, quote=csv.QUOTE_ALL), "", {"size": SIZES, "code": CODES}),
    "line breaks within": (table({"code": ["a\nb", "c"] * 12}), "", {"size": SIZES, "code": ["a\nb", "c"] * 12}),
    "empty lines": (table().replace("\n", "\n\n"), "", {"size": SIZES}),
    "decimal commas in quotes": (table({"size": comma(SIZES)}), "", {"size": SIZES}),
    "points between thousands": (
        table({"size": comma(SIZES), "income": amounts(".")}, ";"),
        "",
        {"size": SIZES, "income": AMOUNTS},
    ),
    "commas between thousands": (table({"income": amounts(",")}), "", {"income": AMOUNTS}),
    "blanks between thousands": (table({"income": amounts("\u202f")}), "", {"income": AMOUNTS}),
    "apostrophes between thousands": (table({"income": amounts("'")}), "", {"income": AMOUNTS}),
    "thousands that options tell": (
        table({"size": amounts("."), "code": CODES}, ";"),
        "--thousands .",
        {"size": AMOUNTS},
    ),
    "three decimals that options tell": (
        table({"size": amounts("."), "code": CODES}, ";"),
        "--decimal .",
        {"size": [a if a < 1000 else a / 1000 for a in AMOUNTS]},
    ),
    "dollars": (table({"pay": [f"${a}" for a in amounts(",")]}), "", {"pay": AMOUNTS}),
    "euros": (
        table({"size": comma(SIZES), "pay": [f"{a} €" for a in amounts(".")]}, ";"),
        "",
        {"size": SIZES, "pay": AMOUNTS},
    ),
    "percent": (table({"rate": [f"{x:.1f}%" for x in SIZES]}), "", {"rate": [float(f"{x:.1f}") / 100 for x in SIZES]}),
    "dates with points": (table({"since": [f"{d:%d.%m.%Y}" for d in DAYS]}), "", {"since": DAYS}),
    "dates of America": (table({"since": [f"{d:%m/%d/%Y}" for d in DAYS]}), "", {"since": DAYS}),
    "dates with times": (table({"since": [f"{d:%Y-%m-%d %H:%M}" for d in DAYS]}), "", {"since": DAYS}),
    "dates with names": (table({"since": [f"{d:%d-%b-%Y}".upper() for d in DAYS]}), "", {"since": DAYS}),
    "dates that options tell": (
        table({"since": [f"{d.month:02d}/{d.month % 7 + 1:02d}/{d.year}" for d in DAYS]}),
        "--date mdy",
        {"since": [datetime(d.year, d.month, d.month % 7 + 1) for d in DAYS]},
    ),
    "gaps of all kinds": (
        table({"w": ["", "NA", "n/a", "?", "nan", "NULL", *range(6, N)]}),
        "",
        {"w": [None] * 6 + [float(k) for k in range(6, N)]},
    ),
    "gaps with a name": (
        table({"w": ["-99", *map(str, range(1, N))]}),
        "--missing=-99",
        {"w": [None, *map(float, range(1, N))]},
    ),
    "blanks around all": (
        table({"size": [f" {x} " for x in SIZES], "code": [f" {c}" for c in CODES]}, labels=[" no ", "yes"] * 12),
        "",
        {"size": SIZES},
    ),
    "ids of twenty digits": (table({"id": LONG_IDS}), "", {"id": LONG_IDS}),
    "a text that differs in each row": (table({"name": [f"n{k}" for k in range(N)]}), "", {"size": SIZES}),
    "a column that tells the label": (table({"leak": [f"{y}!" for y in LABELS]}), "", {"size": SIZES}),
    "a column without a name": (table({"": range(N)}), "", {"size": SIZES}),
    "truths": (table({"ok": ["True", "FALSE", "true"] * 8}), "", {"ok": ["True", "FALSE", "true"] * 8}),
    "numbers as labels": (table(labels=["0", "1"] * 12), "", {"size": SIZES}),
    "labels with accents": (table(labels=["Ärger", "😀"] * 12), "", {"size": SIZES}),
    "names of ours": (table({"trust": SIZES}), "", {"trust": SIZES}),
    "lines above the names": ("Export of May; by us\n\n" + table(), "--skip-rows 2", {"size": SIZES}),
    "a line of totals": (table({"code": CODES}) + "Total,24,\n\n", "--skip-footer 1", {"size": SIZES, "code": CODES}),
    "a separator that the first line states": ("sep=;\n" + table({"size": comma(SIZES)}, ";"), "", {"size": SIZES}),
    "lines of an old Mac": (table({"code": CODES}, newline="\r"), "", {"size": SIZES, "code": CODES}),
    "a separator at the end of each line": (table().replace("\n", ",\n"), "", {"size": SIZES}),
    "minus signs of typesetters": (
        table({"size": [f"{x}".replace("-", "\u2212") for x in SIZES]}),
        "",
        {"size": SIZES},
    ),
    "postcodes that begin with a zero": (
        table({"plz": ["01067", "01099", "99974", "01067"] * 6}),
        "--categorical-features plz",
        {"plz": ["01067", "01099", "99974", "01067"] * 6},
    ),
    "times of day": (
        table({"at": [f"{k % 12 + 1}:45 {'AM' if k % 2 else 'PM'}" for k in range(N)]}),
        "",
        {"at": [(k % 12 + 1) % 12 + 0.75 + 12 * (k % 2 == 0) for k in range(N)]},
    ),
    "degrees": (table({"t": [f"{x} °C" for x in SIZES]}), "", {"t": SIZES}),
    "times with a zone": (
        table({"since": [f"{d:%Y-%m-%dT%H:%M:%S}+02:00" for d in DAYS]}),
        "",
        {"since": [d - timedelta(hours=2) for d in DAYS]},
    ),
    "a sentinel in three notations": (
        table({"w": ["-999", "-999.0", "-9.99E2", *map(str, range(3, N))]}),
        "--missing=-999",
        {"w": [None] * 3 + [float(k) for k in range(3, N)]},
    ),
    "large numbers": (table({"far": [x * 1e120 for x in SIZES]}), "", {"far": [x * 1e120 for x in SIZES]}),
}

# Name: the file, what the command is told besides, and what the refusal names.
REFUSED = {
    "nothing": ("", "", "dirty.csv"),
    "names alone": ("size,label\n", "", "dirty.csv"),
    "no names": (table().split("\n", 1)[1], "", "'label'"),
    "wrong letters": (table({"größe": CODES}).encode("latin-1"), "", "utf-8"),
    "wide letters": (table().encode("utf-16-le"), "", "--encoding utf-16-le"),
    "a name twice": ("size,size,label\n1,2,a\n2,3,b\n", "", "'size'"),
    "a row too long": (table() + "1,2,3\n", "", "row 25"),
    "a quote that never ends": (table() + '"1,no\n' * 3, "", "row 26"),
    "two separators": (table({"size": comma(SIZES)}, ";").replace("size", "size,cm"), "", "--sep ,"),
    "thousands or decimals": (table({"size": amounts(".")}, ";"), "", "--decimal ,"),
    "points and commas": (table({"size": ["1.5", "1,5"] * 12}, ";"), "", "'1,5'"),
    "commas against the option": (table({"size": comma(SIZES)}, ";"), "--decimal .", "--decimal"),
    "day or month": (table({"since": ["01/02/2020", "03/04/2021"] * 12}), "", "2020-02-01"),
    "the day against the option": (table({"since": [f"{d:%d/%m/%Y}" for d in DAYS]}), "--date mdy", "--date mdy"),
    "no century": (table({"since": [f"{d:%d.%m.%y}" for d in DAYS]}), "", ".20"),
    "two currencies": (table({"pay": ["$5", "7€"] * 12}), "", "'€'"),
    "percent and not": (table({"rate": ["5%", "0.05"] * 12}), "", "%"),
    "a text among numbers": (table({"size": ["old", *SIZES[1:]]}), "", "'old' in row 1"),
    "a text among dates": (
        table({"since": [*(f"{d:%d.%m.%Y}" for d in DAYS[1:]), "later"]}),
        "",
        "'later' in row 24",
    ),
    "amounts below zero in brackets": (
        table({"pay": [f"({a})" if k % 2 else a for k, a in enumerate(amounts(","))]}),
        "",
        "'(1,033)' in row 2",
    ),
    "infinity": (table({"size": [*SIZES[1:], "inf"]}), "", "'inf' in row 24"),
    "a number too large": (table({"size": [*SIZES[1:], "1e300"]}), "", "'1e300' in data row 24"),
    "one class": (table(labels=["no"] * N), "", "'no'"),
    "no label": (table(labels=["", *LABELS[1:]]), "", "1 of 24"),
    "labels with NUL": (table(labels=["a\x00", "b"] * 12), "", r"'a\x00'"),
    "measurements as labels": (table({"size": range(120)}, labels=range(120)), "", "120 "),
    "units below the names": (table().replace("label\n", "label\ncm,\n"), "", "'cm' in row 1"),
    "the names again in the middle": (table() + table(), "", "'size' in row 25"),
    "a row too short": (table({"code": CODES}) + "1,red\n", "", "row 25"),
    "words below the table": (table() + "(24 rows affected)\n", "", "--skip-footer"),
    "a comment above the names": ("# by us\n" + table(), "", "--skip-rows"),
    "a footer among numbers": (table() + "Total,yes\n", "", "--skip-footer 1"),
    "two pressures in one": (table({"bp": [f"{110 + k}/{70 + k}" for k in range(N)]}), "", "'110/70' in row 1"),
    "below what can be detected": (table({"w": ["<5", *range(1, N)]}), "", "'<5' in row 1"),
    "an error of a spreadsheet": (table({"w": [*range(1, N), "#DIV/0!"]}), "", "'#DIV/0!' in row 24"),
    "minus signs behind": (table({"w": [f"{k}.5-" for k in range(N)]}), "", "'0.5-' in row 1"),
    "groups of two digits": (table({"w": [f"{1 + k % 9},{10 + k},000" for k in range(N)]}), "", "'1,10,000' in row 1"),
    "halves": (table({"w": [f"{k} 1/2" for k in range(N)]}), "", "'0 1/2' in row 1"),
    "a web page": ("<html><table><tr><td>1</table>", "", "a web page"),
    "an archive of two files": (archive("one.csv", "two.csv"), "", "'two.csv'"),
}

# Reports read with the other commands; here are kinds of columns and labels that they have to show.
SHOWN = (
    "plain",
    "semicolons and decimal commas",
    "line breaks within",
    "euros",
    "percent",
    "dates with times",
    "gaps of all kinds",
    "ids of twenty digits",
    "a text that differs in each row",
    "a column without a name",
    "labels with accents",
    "large numbers",
)


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(content):
    Path("dirty.csv").write_bytes(content if isinstance(content, bytes) else content.encode())


def test_there_are_enough_of_them():
    assert len(READ) >= 50
    assert len(READ) + len(REFUSED) >= 90


@pytest.mark.usefixtures("in_folder")
class TestDirtyFiles:
    @pytest.mark.slow
    @pytest.mark.parametrize("case", READ)
    def test_what_can_be_read_is_read_right_by_all_commands(self, case, capsys):
        content, extra, expected = READ[case]
        write(content)
        options = make_parser().parse_args(["fit", "dirty.csv", "--target", "label", *extra.split(), "-o", "m.sepc"])
        data = read_labelled_table(options)
        assert data.table.num_rows == N
        for name, values in expected.items():
            assert data.table.column(name).to_pylist() == values
        assert [str(label) for label in data.labels[:2]] == [label.strip() for label in _labels(content, options)[:2]]
        for line in (
            "fit dirty.csv --target label -o m.sepc",
            "predict m.sepc dirty.csv -o out.csv",
            "explain m.sepc dirty.csv --row 3 --json",
        ):
            capsys.readouterr()
            told = extra if line.startswith("fit") else extra.partition("--categorical-features")[0]
            assert main([*line.split(), *told.split()]) == 0, line
        told = json.loads(capsys.readouterr().out)
        verdicts = _rows(Path("out.csv").read_bytes(), "utf-8", options.sep)
        assert len(verdicts) == N + 1
        before = _rows(content, options.encoding, options.sep, options.skip_rows)
        before = before[: len(before) - options.skip_footer]
        assert [row[: len(before[0])] for row in verdicts] == before
        trust = verdicts[3][verdicts[0].index("sepc_trust" if case == "names of ours" else "trust")]
        assert float(trust.replace(",", ".")) == told["trust"]

    @pytest.mark.slow
    @pytest.mark.parametrize("case", SHOWN)
    def test_landscapes_and_reports_read_them_too(self, case):
        content, extra, _ = READ[case]
        write(content)
        assert do(f"landscape dirty.csv --target label {extra}") == 0
        assert do(f"report dirty.csv --target label --max-records 3 -o r.json {extra}") == 0
        assert json.loads(Path("r.json").read_text())

    @pytest.mark.slow
    @pytest.mark.parametrize("case", REFUSED)
    def test_what_cannot_is_refused_by_all_commands(self, case, in_folder, capsys):
        content, extra, value = REFUSED[case]
        write(content)
        for line in (
            "landscape dirty.csv --target label",
            "fit dirty.csv --target label -o m.sepc",
            "report dirty.csv --target label -o r.html",
        ):
            assert main([*line.split(), *extra.split()]) in (1, 2), line
            told = capsys.readouterr()
            assert value in told.err, line
            assert told.out == ""
        assert {path.name for path in in_folder.iterdir()} == {"dirty.csv"}


def _rows(content, encoding, sep=None, n_skipped=0):
    """Return the fields of a text file by Python's own reader."""
    raw = content.encode() if isinstance(content, str) else content
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode(encoding).removeprefix("\ufeff")
    lines = text.split("\n")[n_skipped:]
    text = "\n".join(lines[lines[0].startswith("sep=") :])
    first = text.split("\n")[0]
    sep = sep or max(";|\t,", key=lambda mark: (mark in first, -";|\t,".index(mark)))
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=sep) if row]


def _labels(content, options):
    names, *rows = _rows(content, options.encoding, options.sep, options.skip_rows)
    return [row[names.index("label")] for row in rows]
