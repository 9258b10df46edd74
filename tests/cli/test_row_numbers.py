"""A record has one number in all commands: its row in the user's file, whatever was held back."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command_line import as_csv, do, records

from sepc import load

NAMES = ("size", "weight", "colour", "note", "label")


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """Rows of a file in the current folder; every tenth is repeated with the other label."""
    monkeypatch.chdir(tmp_path)
    found = records(120, seed=4)
    for k in range(0, 120, 10):
        found[k + 1] = [*found[k][:-1], "no" if found[k][-1] == "yes" else "yes"]
    Path("data.csv").write_text(as_csv(found))
    return found


def explained(row, capsys):
    capsys.readouterr()
    assert do(f"explain model.sepc data.csv --row {row} --json") == 0
    return json.loads(capsys.readouterr().out)


HELD_BACK = ["", "--holdout 0.4", "--max-error 0.2 --holdout 0.3", "--ensemble --holdout 0.4"]


@pytest.mark.parametrize("held_back", HELD_BACK)
@pytest.mark.usefixtures("few_members")
def test_explanations_name_training_records_by_their_rows_in_the_file(rows, held_back, capsys):
    assert do(f"fit data.csv --target label {held_back} -o model.sepc") == 0
    known = load("model.sepc").row_numbers_
    assert (known is None) == (not held_back)
    for row in (3, 64, 118) if known is None else known[[2, -1]].tolist():
        why = explained(row, capsys)
        near = why["neighbours"]
        at_distance_0 = [one["row"] for one in near if one["distance"] == 0.0]
        assert row in at_distance_0
        assert f"row {near[0]['row']} (" in why["details"]
        for one in [*near, why["nearest_other"]]:
            assert one["label"] == rows[one["row"] - 1][-1]
            assert one["values"]["size"] == pytest.approx(float(rows[one["row"] - 1][0]), rel=1e-12)


def test_a_report_names_the_same_records_as_the_landscape(rows, capsys):
    capsys.readouterr()
    assert do("landscape data.csv --target label --json") == 0
    groups = {tuple(group) for group in json.loads(capsys.readouterr().out)["contradictions"]}
    assert groups == {(k + 1, k + 2) for k in range(0, 120, 10)}
    assert do("report data.csv --target label --max-records 5 -o r.json") == 0
    content = json.loads(Path("r.json").read_text())
    assert set(content["records"]["id"]) <= set(range(1, 121))
    held_back = set(content["records"]["id"])
    found = {finding["code"]: finding["evidence"] for finding in content["landscape"]["findings"]}
    pairs = re.findall(r"(\d+) \(\w+\) and (\d+) \(", found["contradictory-duplicates"])
    named = {(int(one), int(other)) for one, other in pairs}
    assert named <= groups
    assert len(named) >= 3
    assert not {row for pair in named for row in pair} & held_back
    listed = re.search(r"rows ([\d, ]+)", found["impure-records"])[1]
    assert not set(map(int, re.findall(r"\d+", listed))) & held_back
    for number, values in content["neighbours"].items():
        assert values[0] == pytest.approx(float(rows[int(number) - 1][0]), rel=1e-5)


@pytest.mark.usefixtures("rows")
def test_a_file_without_training_records_holds_no_row_numbers():
    assert do("fit data.csv --target label --holdout 0.4 --no-training-rows -o model.sepc") == 0
    assert load("model.sepc").row_numbers_ is None


def test_row_numbers_are_those_of_the_rows_that_were_learned_from(rows):
    assert do("fit data.csv --target label --holdout 0.4 -o model.sepc") == 0
    model = load("model.sepc")
    sizes = model["classifier"].model_.original(model["classifier"].model_.points)[:, 0]
    own = model.row_numbers_[model["classifier"].model_.rows]
    assert np.allclose(sizes, [float(rows[row - 1][0]) for row in own])
