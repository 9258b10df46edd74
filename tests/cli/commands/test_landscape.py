"""`sepc landscape`: findings for a person and as JSON."""

import json
from pathlib import Path

import pytest
from command_line import as_csv, do, records


@pytest.mark.usefixtures("here")
class TestLandscape:
    def test_landscape_prints_findings_and_as_json_the_same(self, capsys):
        assert do("landscape train.csv --target label") == 0
        assert "300" in capsys.readouterr().out
        assert do("landscape train.csv --target label --json") == 0
        assert json.loads(capsys.readouterr().out)["n_records"] == 300

    def test_findings_speak_of_columns_and_rows_of_the_file(self, capsys):
        rows = [[str(1000 + i), *row, row[-1].upper()] for i, row in enumerate(records(200))]
        rows.append([*rows[3][:-2], "no" if rows[3][-2] == "yes" else "yes", rows[3][-1]])
        Path("leak.csv").write_text(as_csv(rows, ("id", "size", "weight", "colour", "note", "label", "copy")))
        assert do("landscape leak.csv --target label") == 0
        told = capsys.readouterr().out
        assert "rows 4 (" in told
        assert do("landscape leak.csv --target label --json") == 0
        found = json.loads(capsys.readouterr().out)
        assert found["contradictions"] == [[4, 201]]
        assert "linear-dependence" not in {one["code"] for one in found["findings"]}
        for code, column in (("label-leak", "copy"), ("id-as-feature", "id")):
            titles = [one["title"] for one in found["findings"] if one["code"] == code]
            assert [title in told for title in titles if title.startswith(f"{column} ")] == [True]

    def test_of_many_classes_the_terminal_is_told_of_the_switch_that_shows_all_pairs(self, capsys):
        rows = [[*row[:-1], f"class {i % 5}"] for i, row in enumerate(records(60))]
        Path("five.csv").write_text(as_csv(rows))
        assert do("landscape five.csv --target label") == 0
        told = capsys.readouterr().out
        assert "and 4 more pairs of classes: --json shows all" in told
        assert ".pairs" not in told
        assert do("landscape five.csv --target label --json") == 0
        assert len(json.loads(capsys.readouterr().out)["pairs"]) == 10
