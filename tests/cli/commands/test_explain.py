"""`sepc explain`: rows by their numbers in the file, in the columns of the file."""

import json
from types import SimpleNamespace

import pytest
from command_line import do, read

from sepc.cli import model_inputs
from sepc.cli.commands import explain
from sepc.cli.commands.explain import COLUMNS
from sepc.cli.messages import printed


@pytest.mark.usefixtures("here")
class TestExplain:
    def test_rows_are_counted_from_one(self, capsys):
        assert do("predict model.sepc new.csv -o out.csv") == 0
        capsys.readouterr()
        for row in (1, 17, 120):
            assert do(f"explain model.sepc new.csv --row {row} --json") == 0
            told = json.loads(capsys.readouterr().out)
            assert told["row"] == row
            assert told["trust"] == float(read("out.csv")[row - 1]["trust"])
        assert do("explain model.sepc train.csv --row 5 --json") == 0
        nearest = min(json.loads(capsys.readouterr().out)["neighbours"], key=lambda neighbour: neighbour["distance"])
        assert (nearest["row"], nearest["distance"]) == (5, 0.0)
        assert do("explain model.sepc new.csv --row 121") == 1
        told = capsys.readouterr().err
        assert "120" in told
        assert "121" in told

    def test_an_explanation_speaks_of_the_columns_of_the_file(self, capsys):
        assert do("explain model.sepc new.csv --row 3") == 0
        told = capsys.readouterr().out
        assert "size" in told
        assert max(map(len, told.splitlines())) <= 100

    def test_a_change_is_as_ordinary_and_of_as_few_columns_as_asked(self, capsys):
        assert do("explain model.sepc new.csv --row 3 --min-typicality 0.3 --max-columns 1 --json") == 0
        told = json.loads(capsys.readouterr().out)
        few = told["actionable_change"]
        assert told["counterfactual"] is None or told["counterfactual"]["typicality"] >= 0.3
        assert few is None or len(few["changes"]) == 1
        assert told["nearest_other"]["label"] != told["label"]
        for wrong in ("--min-typicality 2", "--max-columns 0"):
            assert do(f"explain model.sepc new.csv --row 3 {wrong}") == 1
            assert wrong.split()[1] in capsys.readouterr().err

    def test_columns_can_be_held_in_a_change(self, capsys):
        assert do("explain model.sepc new.csv --row 3 --fixed colour size --ranges weight 0:9 --json") == 0
        told = json.loads(capsys.readouterr().out)
        assert all(word in told["limits"] for word in ("colour", "size", "weight", "0", "9"))
        change = told["counterfactual"]
        assert change is None or {one["feature"] for one in change["changes"]} == {"weight"}
        assert do("explain model.sepc new.csv --row 3 --fixed nothing") == 1
        assert "'nothing'" in capsys.readouterr().err
        for wrong, value in (("9:0", "9"), ("a:b", "'a'")):
            assert do(f"explain model.sepc new.csv --row 3 --ranges weight {wrong}") == 1
            assert value in capsys.readouterr().err
        assert do("explain model.sepc new.csv --row 3 --ranges weight 5") == 2


@pytest.mark.usefixtures("here")
class TestFiles:
    @pytest.mark.slow
    def test_each_form_has_a_row_for_each_record(self, here):
        for name in ("why.csv", "why.json", "why.jsonl", "why.txt"):
            assert do(f"explain model.sepc new.csv --row 9 2 4 --changes -o {name}") == 0
        table = read("why.csv")
        assert [row["row"] for row in table] == ["2", "4", "9"]
        assert set(table[0]) == {"row", "label", *COLUMNS}
        whole = json.loads((here / "why.json").read_text())
        lines = [json.loads(line) for line in (here / "why.jsonl").read_text().splitlines()]
        assert whole == lines
        assert [one["row"] for one in lines] == [2, 4, 9]
        assert [row["text"] for row in table] == [one["text"] for one in lines]
        assert [float(row["trust"]) for row in table] == [one["trust"] for one in lines]
        assert (here / "why.txt").read_text() == "\n".join(f"{printed('explained-row', **one)}\n" for one in lines)
        assert all(row["shares"] and " -> " in row["change"] for row in table)

    def test_all_rows_are_explained_unless_some_are_asked_for(self, here, capsys):
        (here / "few.csv").write_text("".join((here / "new.csv").read_text().splitlines(keepends=True)[:4]))
        assert do("explain model.sepc few.csv -o why.jsonl --json") == 0
        assert json.loads(capsys.readouterr().out) == {"output": "why.jsonl", "rows": 3}
        assert do("explain model.sepc few.csv") == 2
        assert "--row" in capsys.readouterr().err

    @pytest.mark.slow
    def test_a_file_is_written_whole_or_not_at_all(self, here):
        text = (here / "new.csv").read_text().splitlines(keepends=True)
        (here / "bad.csv").write_text("".join([*text[:3], "tall" + text[3][text[3].index(",") :]]))
        for name in ("why.csv", "why.json", "why.jsonl", "why.txt"):
            assert do(f"explain model.sepc bad.csv -o {name}") == 1
            assert not (here / name).exists()
        assert do("explain model.sepc new.csv --row 1 -o why.zip") == 2
        assert do("explain model.sepc new.csv --row 1 -o new.csv") == 2


@pytest.mark.usefixtures("here")
class TestLines:
    def test_values_are_not_taken_apart_at_the_end_of_a_line(self, monkeypatch, capsys):
        long = "-".join(["long"] * 40)
        monkeypatch.setattr(explain, "read_model", lambda *_: SimpleNamespace(table_encoder=None))
        predictor = SimpleNamespace(explain=lambda *_, **__: [SimpleNamespace(text=f"It is {long}, so.")])
        monkeypatch.setattr(model_inputs, "BatchPredictor", lambda *_: predictor)
        assert do("explain model.sepc new.csv --row 1") == 0
        assert long in capsys.readouterr().out
