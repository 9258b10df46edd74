"""`sepc inspect`: the content of a model."""

import json

import pytest
from command_line import do

import sepc


@pytest.mark.usefixtures("here")
class TestInspect:
    def test_inspect_shows_what_is_in_the_model(self, capsys):
        assert do("inspect model.sepc") == 0
        assert "learned from 300 rows" in capsys.readouterr().out
        assert do("inspect model.sepc --json") == 0
        found = json.loads(capsys.readouterr().out)
        assert {"name": "colour", "kind": "category"} in found["columns"]
        assert found["n_regions"] == len(sepc.load("model.sepc").regions())
        assert found["rules"]
