"""`sepc landscape`: findings for a person and as JSON."""

import json

import pytest
from command_line import do


@pytest.mark.usefixtures("here")
class TestLandscape:
    def test_landscape_prints_findings_and_as_json_the_same(self, capsys):
        assert do("landscape train.csv --target label") == 0
        assert "Landscape of 300 records" in capsys.readouterr().out
        assert do("landscape train.csv --target label --json") == 0
        assert json.loads(capsys.readouterr().out)["n_records"] == 300
