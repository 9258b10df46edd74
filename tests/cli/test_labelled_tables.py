"""Labelled tables: columns by name, and training data that is refused with a reason."""

import gzip
import json
from pathlib import Path

import pytest
from command_line import COLUMNS, GOOD, as_csv, do, files, read, records

from sepc.cli import main


@pytest.mark.usefixtures("here")
class TestColumns:
    def test_numbers_can_be_names(self, capsys):
        code = {"red": "10", "green": "11", "blue": "12"}
        rows = [[code[row[2]], *row[:2], row[-1]] for row in records(100)]
        Path("codes.csv").write_text(as_csv(rows, ("code", "size", "weight", "label")))
        assert do("fit codes.csv --target label -o m.sepc --categorical-features code --json") == 0
        assert {"name": "code", "kind": "category"} in json.loads(capsys.readouterr().out)["columns"]

    def test_a_column_without_a_name_is_left_out_with_a_word(self, capsys):
        rows = [[str(i), *row] for i, row in enumerate(records(60))]
        Path("indexed.csv").write_text(as_csv(rows, ("", *COLUMNS, "label")))
        assert do("fit indexed.csv --target label -o m.sepc --json") == 0
        told = capsys.readouterr()
        assert "column without a name, number 1; it is left out" in told.err
        assert "" not in [column["name"] for column in json.loads(told.out)["columns"]]
        assert do("predict m.sepc indexed.csv -o out.csv") == 0
        assert [row[""] for row in read("out.csv")] == [str(i) for i in range(60)]


BAD_TRAINING = {
    "no such target": (GOOD, "--target lable", "has no column 'lable'. Did you mean 'label'?"),
    "nothing like it": (GOOD, "--target zzz", "It has 'size', 'weight', 'colour', 'note', 'label'"),
    "no such column to drop": (GOOD, "--drop colours", "has no column 'colours'. Did you mean 'colour'?"),
    "nothing left": ("label\na\nb\n", "", "no column left to learn from"),
    "nothing that differs": ("x,label\n1,a\n1,b\n1,a\n1,b\n", "", "tells its rows apart"),
    "empty": ("", "", "is empty"),
    "header only": (GOOD.splitlines()[0], "", "has column names but no rows"),
    "one class": (as_csv([r for r in records(40) if r[-1] == "no"]), "", "y has 1 class"),
    "a row too long": (GOOD + "1,2,red,,no,7\n", "", "row 41 has 6 field(s); expected 5"),
    "a row too short": (GOOD + "1,2\n", "", "row 41 has 2 field(s); expected 5"),
    "wrong encoding": (GOOD.encode() + b"1,2,caf\xe9,,no\n", "", "is not utf-8: byte 0xe9"),
    "wide characters": (GOOD.encode("utf-16"), "", "--encoding utf-16"),
    "two columns of a name": (GOOD.replace("weight", "size"), "", "more than one column named 'size'"),
    "no label": (GOOD + "1,2,red,,\n1,2,red,,NA\n", "", "has no label in 2 of 42 rows, first in row 41"),
    "measurements as labels": (
        "x,label\n" + "".join(f"{i},{i / 7:.3f}\n" for i in range(80)),
        "",
        "80 different numbers",
    ),
    "a text among numbers": (GOOD + "old,2,red,,no\n", "", "column 'size' holds numbers, but 'old' in row 41"),
    "a text that a shell takes apart": (GOOD + "n. a.,2,red,,no\n", "", "--missing 'n. a.' if"),
    "a text that looks like an option": (GOOD + "-x,2,red,,no\n", "", "--missing=-x if"),
    "a number beyond all": (GOOD + "1e400,2,red,,no\n", "", "column 'size' holds '1e400' in data row 41"),
    "thousands with commas or decimal commas": (
        "x,label\n" + "".join(f'"{i * 777:,}",{"ab"[i % 2]}\n' for i in range(20)),
        "",
        "column 'x' holds '10,101': is that 10.101 or 10101? Nothing in the file tells. Say it: --decimal , for 10.101",
    ),
    "points and commas for the same": ("x;label\n1.5;a\n1,5;b\n", "", "column 'x' holds '1.5' and '1,5'"),
    "a number that is too large": (GOOD + "1e300,2,red,,no\n", "", "holds '1e300' in data row 41 (the first is 1);"),
    "too few to hold some back": (GOOD, "--holdout 0.001", "0.1 % of each class is no row at all"),
    "one row of each class": ("x,label\n1,a\n2,b\n", "--holdout 0.5", "the largest class of bad.csv has 1 row"),
    "labels with NUL": (GOOD.replace("yes", "y\x00"), "--holdout 0.2", "a label with a NUL character"),
    "half a spreadsheet": (b"PK\x03\x04" + b"x" * 99, "", "Is the file complete?"),
    "an old spreadsheet": (b"\xd0\xcf\x11\xe0" + b"x" * 99, "", "expected .xlsx"),
    "no names": ("5.1,3.5,a\n4.9,3.0,b\n", "", "Is its first line data?"),
    "half a file": (gzip.compress(GOOD.encode() * 50)[:-99], "", "Is the file complete?"),
    "an endless quote": (GOOD + '"1,2,red,,no\n' + GOOD, "", "row 41 has 1 field(s)"),
}


@pytest.mark.usefixtures("here")
class TestBadData:
    @pytest.mark.parametrize("case", BAD_TRAINING)
    def test_bad_training_data_is_refused_with_a_reason_and_nothing_is_written(self, here, case, capsys):
        content, arguments, message = BAD_TRAINING[case]
        Path("bad.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
        target = [] if "--target" in arguments else ["--target", "label"]
        assert main(["fit", "bad.csv", *target, *arguments.split(), "-o", "out.sepc"]) == 1
        told = capsys.readouterr()
        assert message in told.err
        assert told.err.startswith("sepc fit: ")
        assert told.out == ""
        assert files(here) == {"bad.csv"}
