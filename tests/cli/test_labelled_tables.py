"""Labelled tables: columns by name, and training data that is refused with a reason."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from command_line import COLUMNS, GOOD, as_csv, do, files, read, records
from said import said

from sepc.cli import main


@pytest.mark.usefixtures("here")
class TestColumns:
    def test_numbers_can_be_names(self, capsys):
        code = {"red": "10", "green": "11", "blue": "12"}
        rows = [[code[row[2]], *row[:2], row[-1]] for row in records(100)]
        Path("codes.csv").write_text(as_csv(rows, ("code", "size", "weight", "label")))
        assert do("fit codes.csv --target label -o m.sepc --categorical-features code --json") == 0
        assert {"name": "code", "kind": "category"} in json.loads(capsys.readouterr().out)["columns"]

    @pytest.mark.slow
    def test_a_column_without_a_name_is_left_out_with_a_word(self, capsys):
        rows = [[str(i), *row] for i, row in enumerate(records(60))]
        Path("indexed.csv").write_text(as_csv(rows, ("", *COLUMNS, "label")))
        assert do("fit indexed.csv --target label -o m.sepc --json") == 0
        told = capsys.readouterr()
        assert said(told.err)["unnamed-column"].number == 1
        assert "" not in [column["name"] for column in json.loads(told.out)["columns"]]
        assert do("predict m.sepc indexed.csv -o out.csv") == 0
        assert [row[""] for row in read("out.csv")] == [str(i) for i in range(60)]


# Name: the file, options, and values that the refusal names.
BAD_TRAINING = {
    "no such target": (GOOD, "--target lable", ("'lable'", "'label'")),
    "nothing like it": (GOOD, "--target zzz", ("'size', 'weight', 'colour', 'note', 'label'",)),
    "no such column to drop": (GOOD, "--drop colours", ("'colours'", "'colour'")),
    "nothing left": ("label\na\nb\n", "", ("bad.csv",)),
    "nothing that differs": ("x,label\n1,a\n1,b\n1,a\n1,b\n", "", ()),
    "empty": ("", "", ("bad.csv",)),
    "header only": (GOOD.splitlines()[0], "", ("bad.csv",)),
    "one class": (as_csv([r for r in records(40) if r[-1] == "no"]), "", ("'no'",)),
    "a row too long": (GOOD + "1,2,red,,no,7\n", "", ("row 41", "6", "5")),
    "a row too short": (GOOD + "1,2\n", "", ("row 41", "2", "5")),
    "wrong encoding": (GOOD.encode() + b"1,2,caf\xe9,,no\n", "", ("utf-8", "0xe9")),
    "wide characters": (GOOD.encode("utf-16"), "", ("--encoding utf-16",)),
    "two columns of a name": (GOOD.replace("weight", "size"), "", ("'size'",)),
    "no label": (GOOD + "1,2,red,,\n1,2,red,,NA\n", "", ("2 of 42", "row 41")),
    "measurements as labels": (
        "x,label\n" + "".join(f"{i},{i / 7:.3f}\n" for i in range(80)),
        "",
        ("80 ",),
    ),
    "a text among numbers": (GOOD + "old,2,red,,no\n", "", ("'size'", "'old'", "row 41")),
    "a text that a shell takes apart": (GOOD + "n. a.,2,red,,no\n", "", ("--missing 'n. a.'",)),
    "a text that looks like an option": (GOOD + "-x,2,red,,no\n", "", ("--missing=-x",)),
    "a number beyond all": (GOOD + "1e400,2,red,,no\n", "", ("'size'", "'1e400'", "row 41")),
    "thousands with commas or decimal commas": (
        "x,label\n" + "".join(f'"{i * 777:,}",{"ab"[i % 2]}\n' for i in range(20)),
        "",
        ("'x'", "'10,101'", "10.101", "10101", "--decimal ,"),
    ),
    "points and commas for the same": ("x;label\n1.5;a\n1,5;b\n", "", ("'x'", "'1.5'", "'1,5'")),
    "a number that is too large": (GOOD + "1e300,2,red,,no\n", "", ("'1e300'", "row 41")),
    "too few to hold some back": (GOOD, "--holdout 0.001", ("0.1 %",)),
    "one row of each class": ("x,label\n1,a\n2,b\n", "--holdout 0.5", ("bad.csv", "1 row")),
    "labels with NUL": (GOOD.replace("yes", "y\x00"), "--holdout 0.2", (r"'y\x00'",)),
    "half a spreadsheet": (b"PK\x03\x04" + b"x" * 99, "", ("bad.csv",)),
    "an old spreadsheet": (b"\xd0\xcf\x11\xe0" + b"x" * 99, "", (".xlsx",)),
    "no names": ("5.1,3.5,a\n4.9,3.0,b\n", "", ("'label'",)),
    "half a file": (gzip.compress(GOOD.encode() * 50)[:-99], "", ("bad.csv",)),
    "an endless quote": (GOOD + '"1,2,red,,no\n' + GOOD, "", ("row 41", "1")),
}


@pytest.mark.usefixtures("here")
class TestBadData:
    @pytest.mark.parametrize("case", BAD_TRAINING)
    def test_bad_training_data_is_refused_with_a_reason_and_nothing_is_written(self, here, case, capsys):
        content, arguments, values = BAD_TRAINING[case]
        Path("bad.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
        target = [] if "--target" in arguments else ["--target", "label"]
        assert main(["fit", "bad.csv", *target, *arguments.split(), "-o", "out.sepc"]) == 1
        told = capsys.readouterr()
        assert all(value in told.err for value in values)
        assert told.err.startswith("sepc fit: ")
        assert told.out == ""
        assert files(here) == {"bad.csv"}

    def test_a_missing_column_is_told_with_a_similar_one(self, capsys):
        Path("other.csv").write_text(as_csv(records(3), ("sise", "weight", "colour", "note", "label")))
        assert do("predict model.sepc other.csv") == 1
        assert "has no column 'size'. Did you mean 'sise'?" in capsys.readouterr().err

    def test_many_missing_columns_are_told_in_short_and_with_a_doubt_in_the_file(self, capsys):
        rng, names = np.random.default_rng(0), [f"height{j}" for j in range(9)]
        rows = [[*(f"{x:.3f}" for x in rng.normal(size=9) + 3 * (i % 2)), "ab"[i % 2]] for i in range(40)]
        Path("nine.csv").write_text(as_csv(rows, (*names, "label")))
        assert do("fit nine.csv --target label -o nine.sepc -q") == 0
        others = [name if j < 2 else f"weight{j}" for j, name in enumerate(names)]
        Path("other.csv").write_text(as_csv([row[:-1] for row in rows], others))
        capsys.readouterr()
        assert do("predict nine.sepc other.csv") == 1
        told = capsys.readouterr().err
        assert "has no column 'height2', 'height3', 'height4', 'height5', 'height6' and 2 more. " in told
        assert "It has similar ones: 'weight2' for 'height2', " in told
        assert "Did you mean" not in told
        assert told.strip().endswith("7 of 9 columns are missing: is it the right file?")
