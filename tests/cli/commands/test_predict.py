"""`sepc predict`: verdicts are those of Python."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import COLUMNS, as_csv, do, read, records, run
from said import said

import sepc
from sepc.cli.commands.predict import ADDED_COLUMNS
from sepc.cli.messages import printed
from sepc.model.acceptance import REFUSALS


@pytest.mark.usefixtures("here")
class TestPolicy:
    STATED = "--class-prior yes 0.1 --costs yes no 8 --costs no yes 1 --asking-cost 0.002"

    def test_shares_and_costs_decide_as_in_python(self, capsys):
        assert do(f"predict model.sepc new.csv -o out.csv {self.STATED}") == 0
        costs = {"yes": {"no": 8.0}, "no": {"yes": 1.0}, None: 0.002}
        a = sepc.load("model.sepc").assess(pd.read_csv("new.csv"), class_prior={"yes": 0.1}, costs=costs)
        out = read("out.csv")
        assert [row["label"] for row in out] == a.label.tolist()
        assert [float(row["trust"]) for row in out] == a.trust.tolist()
        assert [float(row["expected_cost"]) for row in out] == a.expected_cost.tolist()
        assert {row["asking_cost"] for row in out} == {"0.002"}
        assert [row["refusal"] or None for row in out] == a.refusals().tolist()
        assert {"cost"} < {row["refusal"] for row in out}
        shown = said(capsys.readouterr().err)
        assert shown["predicted"].condition == printed("by-asking-cost")
        assert REFUSALS["cost"] in shown["refused"].refusals

    def test_explanations_and_reports_tell_them(self, capsys):
        assert do(f"explain model.sepc new.csv --row 3 --json {self.STATED}") == 0
        policy = json.loads(capsys.readouterr().out)["policy"]
        assert (policy["class_prior"], policy["asking"]) == ({"no": 0.9, "yes": 0.1}, 0.002)
        assert do(f"report train.csv --target label --max-records 0 -o out.json {self.STATED}") == 0
        assert "no 90 %, yes 10 %" in json.loads(Path("out.json").read_text())["summary"]

    @pytest.mark.parametrize(
        ("asked", "code", "value"),
        [
            ("--class-prior maybe 0.1", 2, "'maybe'"),
            ("--class-prior yes some", 2, "'some'"),
            ("--asking-cost 1", 2, "--asking-cost"),
            ("--costs yes no 8", 1, "costs['no']"),
            ("--class-prior yes 1.5", 1, "1.5"),
        ],
    )
    def test_what_cannot_be_is_refused(self, asked, code, value, here, capsys):
        assert do(f"predict model.sepc new.csv -o out.csv {asked}") == code
        assert value in capsys.readouterr().err
        assert not (here / "out.csv").exists()


@pytest.mark.usefixtures("here")
class TestPredict:
    def test_verdicts_are_those_of_python(self, capsys):
        assert do("predict model.sepc new.csv -o out.csv --min-trust 0.9") == 0
        out, model = read("out.csv"), sepc.load("model.sepc")
        a = model.assess(pd.read_csv("new.csv"))
        assert [row["label"] for row in out] == a.label.tolist()
        assert [float(row["trust"]) for row in out] == a.trust.tolist()
        assert [row["reason"] for row in out] == a.reason.tolist()
        assert [row["region"] for row in out] == a.region.tolist()
        for name in ("distance", "typicality", "stability"):
            assert [float(row[name] or "nan") for row in out] == pytest.approx(getattr(a, name), abs=0.0, nan_ok=True)
        assert [row["accepted"] == "true" for row in out] == a.accepted(0.9).tolist()
        assert [row["refusal"] or None for row in out] == a.refusals(0.9).tolist()
        shown = said(capsys.readouterr().err)
        assert (shown["predicted"].n, shown["predicted"].n_accepted) == (120, np.count_nonzero(a.accepted(0.9)))
        assert (shown["by-trust"].min_trust, shown["predicted"].min_typicality) == (0.9, 0.01)

    def test_refusals_are_counted_by_their_reasons_in_plain_words(self, capsys):
        rows = [
            ["6000", "3", "red", ""],
            ["", "", "", ""],
            ["6", "3", "red", ""],
            ["2.9", "1.4", "blue", ""],
            ["8.3", "-1", "green", ""],
        ]
        Path("odd.csv").write_text(as_csv(rows, COLUMNS))
        assert do("predict model.sepc odd.csv -o out.csv --json") == 0
        told = capsys.readouterr()
        refusals = [row["refusal"] for row in read("out.csv")]
        assert [*refusals[:3], refusals[4]] == ["beyond", "no values", "", "strange"]
        assert refusals[3] in ("contested", "trust")
        shown = said(told.err)["refused"].refusals.split("; ")
        counts = {"no values": 1, "beyond": 1, "strange": 1, refusals[3]: 1}
        assert {printed("refused-since", n=n, share=n / 5, reason=REFUSALS[why]) for why, n in counts.items()} == set(
            shown
        )
        assert json.loads(told.out)["refused"] == counts
        assert json.loads(told.out)["accepted"] == 1

    def test_strange_rows_can_be_allowed(self, capsys):
        Path("odd.csv").write_text(as_csv([["9", "4", "red", ""], ["8", "4", "red", ""]], COLUMNS))
        assert do("predict model.sepc odd.csv -o out.csv --min-typicality 1 --min-trust 0") == 0
        assert [row["refusal"] for row in read("out.csv")] == ["beyond", "strange"]
        assert do("predict model.sepc odd.csv -o out.csv --min-typicality 0 --min-trust 0") == 0
        assert [row["refusal"] for row in read("out.csv")] == [""] * 2
        capsys.readouterr()
        assert do("predict model.sepc odd.csv -o out.csv --min-typicality 2") == 2
        assert "--min-typicality: 2 " in capsys.readouterr().err

    @pytest.mark.parametrize("trust", ["raw", "paper"])
    def test_a_model_that_does_not_know_what_is_typical_says_so_once(self, trust, capsys):
        assert do(f"fit train.csv --target label --trust {trust} -o other.sepc") == 0
        capsys.readouterr()
        assert do("predict other.sepc new.csv -o out.csv") == 0
        assert len(said(capsys.readouterr().err)["no-typicality"].all) == 1
        complete = [row for row in read("out.csv") if row["weight"]]
        assert {row["typicality"] for row in complete} == {row["stability"] for row in complete} == {""}
        assert do("predict other.sepc new.csv -o out.csv --min-typicality 0") == 0
        assert "no-typicality" not in said(capsys.readouterr().err)

    def test_names_that_are_taken_are_changed_and_told(self, capsys):
        assert do("predict model.sepc train.csv -o once.csv") == 0
        assert printed("renamed-column", name="sepc_label", usual="label") in capsys.readouterr().err
        assert do("predict model.sepc once.csv -o twice.csv") == 0
        names = list(read("twice.csv")[0])
        assert names[5:] == [
            "sepc_label",
            *list(ADDED_COLUMNS)[1:],
            "sepc_sepc_label",
            *(f"sepc_{name}" for name in list(ADDED_COLUMNS)[1:]),
        ]
        assert [row["label"] for row in read("twice.csv")] == [row["label"] for row in read("train.csv")]

    @pytest.mark.slow
    def test_without_a_file_verdicts_go_to_the_output_and_words_elsewhere(self):
        done = run("predict", "model.sepc", "-", input=Path("new.csv").read_bytes())
        assert done.returncode == 0
        assert done.stdout.decode().splitlines()[0] == ",".join((*COLUMNS, *ADDED_COLUMNS))
        assert len(done.stdout.decode().splitlines()) == 121
        assert said(done.stderr.decode())["predicted"].n == 120

    def test_an_unseen_category_works_and_is_reported(self, capsys):
        Path("pink.csv").write_text(as_csv([["1", "2", "pink", ""], ["1", "2", "pink", ""]], COLUMNS))
        assert do("predict model.sepc pink.csv -o out.csv --json") == 0
        told = capsys.readouterr()
        unseen = said(told.err)["unseen-values"]
        assert (unseen.column, unseen.values) == ("colour", "'pink' (2)")
        assert json.loads(told.out)["unseen"] == {"colour": {"pink": 2}}
        assert json.loads(told.out)["rows"] == len(read("out.csv")) == 2


@pytest.mark.usefixtures("here")
class TestLabelSets:
    def test_sets_are_those_of_the_library(self, capsys):
        assert do("fit train.csv --target label --holdout 0.3 -o m.sepc") == 0
        assert do("predict m.sepc new.csv --coverage 0.8 --per-class -o out.csv --json") == 0
        told = json.loads("{" + capsys.readouterr().out.partition("{")[2])["label_sets"]
        rows = read("out.csv")
        model = sepc.load("m.sepc")
        expected = model.predict_set(pd.DataFrame(read("new.csv")), 0.8, per_class=True)
        assert [row["label_set"] for row in rows] == ["|".join(labels) for labels in expected.labels()]
        assert [int(row["label_set_size"]) for row in rows] == expected.size.tolist()
        assert (told["coverage"], told["per_class"], sum(told["sizes"].values())) == (0.8, True, 120)

    def test_a_model_without_rows_held_back_has_none(self, capsys):
        assert do("predict model.sepc new.csv --coverage -o out.csv") == 1
        assert "--holdout" in capsys.readouterr().err

    def test_what_is_between_labels_is_in_none_of_them(self):
        rows = [[*row[:-1], f"{row[-1]}|{row[-1]}"] for row in records(200)]
        Path("odd.csv").write_text(as_csv(rows))
        assert do("fit odd.csv --target label --holdout 0.3 -o m.sepc") == 0
        assert do("predict m.sepc new.csv --coverage 0.999 -o out.csv") == 0
        assert {row["label_set"] for row in read("out.csv")} == {"no|no||yes|yes"}


@pytest.mark.usefixtures("here")
class TestGaps:
    def test_rows_with_gaps_are_judged_by_what_is_there(self, capsys):
        Path("gaps.csv").write_text(as_csv([["6", "", "red", ""], ["6", "3", "red", ""]], COLUMNS))
        assert do("predict model.sepc gaps.csv -o out.csv") == 0
        incomplete, whole = read("out.csv")
        assert incomplete["reason"] in ("incomplete", "contested", "outside")
        assert incomplete["distance"] == ""
        assert float(incomplete["typicality"]) > 0.01
        assert whole["distance"] != ""
        capsys.readouterr()
        assert do("explain model.sepc gaps.csv -o why.json") == 0
        assert json.loads(Path("why.json").read_text())[0]["missing"]["features"] == ["weight"]
