"""`sepc feedback`: wrong verdicts make a new model."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from command_line import as_csv, do, files, records
from pyarrow import csv as pacsv
from said import said

import sepc


@pytest.mark.usefixtures("here")
class TestFeedback:
    @pytest.mark.slow
    def test_feedback_with_wrong_verdicts_makes_a_new_model(self, capsys):
        rows = [["9", "6", "red", "", "no"] for _ in range(9)] + [["0", "0", "green", "", ""]]
        Path("labelled.csv").write_text(as_csv(rows))
        assert do("feedback model.sepc labelled.csv --target label -o new.sepc --json") == 0
        found = json.loads(capsys.readouterr().out)
        assert found["feedback"]["n"] == 10
        assert found["feedback"]["n_labelled"] == found["feedback"]["n_wrong"] == 9
        assert found["changes"]["n_added"] == 9
        new = sepc.load("new.sepc")
        assert new.predict(pa.table({"size": [9.0], "weight": [6.0], "colour": ["red"]})).tolist() == ["no"]

    @pytest.mark.slow
    def test_feedback_without_wrong_verdicts_has_nothing_to_teach(self, here, capsys):
        Path("labelled.csv").write_text(as_csv([["0", "0", "green", "", "no"]]))
        assert do("feedback model.sepc labelled.csv --target label -o new.sepc") == 0
        assert said(capsys.readouterr().err)["nothing-to-learn"].path == "new.sepc"
        assert do("predict model.sepc labelled.csv -o out.csv") == 0
        predicted = said(capsys.readouterr().err)["predicted"]
        assert (predicted.n, predicted.n_accepted, predicted.share) == (1, 1, 1.0)
        Path("out.csv").unlink()
        assert files(here) == {"labelled.csv"}

    @pytest.mark.slow
    @pytest.mark.usefixtures("few_members")
    def test_an_ensemble_is_watched_by_label(self, capsys):
        Path("few.csv").write_text(as_csv(records(80)))
        assert do("fit few.csv --target label -o m.sepc --ensemble") == 0
        rows = [[*row[:-1], "no"] for row in records(60, seed=3)]
        Path("labelled.csv").write_text(as_csv(rows))
        capsys.readouterr()
        assert do("feedback m.sepc labelled.csv --target label --labels all -o new.sepc --json") == 0
        found = json.loads(capsys.readouterr().out)
        assert {region["region"] for region in found["feedback"]["regions"]} <= {"no", "yes"}
        assert found["feedback"]["drift"]["what"] == "strange"
        assert found["changes"]["ellipsoids"] is None
        assert type(sepc.load("new.sepc")["classifier"]) is sepc.SEPEnsembleClassifier

    @pytest.mark.slow
    def test_it_is_said_how_labels_were_chosen(self, capsys):
        rows = [[*row[:-1], "no" if row[-1] == "yes" else "yes"] for row in records(60, seed=3)]
        Path("labelled.csv").write_text(as_csv(rows))
        table = pacsv.read_csv("labelled.csv")
        chances = pa.array([1.0, 0.5, 0.25] * 20)
        pacsv.write_csv(table.append_column("chance", chances), "chosen.csv")
        for chosen, n, code in (
            ("labelled.csv", 0, "errors-not-watched"),
            ("labelled.csv --labels all", 60, "watched-by-all"),
            ("chosen.csv --probability chance", 60, "watched-by-chance"),
        ):
            assert do(f"feedback model.sepc {chosen} --target label --json") == 0
            out = capsys.readouterr()
            assert code in said(out.err)
            found = json.loads(out.out)
            assert found["feedback"]["error_drift"]["n"] == n
            assert found["feedback"]["error_drift"]["n_unstated"] == 60 - n
            assert (found["labels"], found["probability"]) == (
                "all" if "--labels" in chosen else None,
                "chance" if "chance" in chosen else None,
            )

    @pytest.mark.slow
    def test_chances_that_are_none_are_refused(self, capsys):
        Path("labelled.csv").write_text(as_csv(records(9, seed=3)))
        for options, code, named in (
            ("--probability chance", 1, ("labelled.csv", "'chance'")),
            ("--probability colour", 1, ("'colour'", "--probability")),
            ("--probability size", 1, ("0", "1")),
            ("--probability size --labels all", 2, ("--labels", "--probability")),
        ):
            assert do(f"feedback model.sepc labelled.csv --target label {options}") == code
            told = capsys.readouterr().err
            assert all(value in told for value in named)

    def test_feedback_needs_the_training_records(self, capsys):
        assert do("fit train.csv --target label -o bare.sepc --no-training-rows") == 0
        assert do("feedback bare.sepc train.csv --target label -o m2.sepc") == 1
        assert "--no-training-rows" in capsys.readouterr().err
        assert not Path("m2.sepc").exists()

    @pytest.mark.slow
    def test_repeated_rows_are_told_and_can_be_counted_once(self, capsys):
        rows = records(30, seed=3)
        Path("labelled.csv").write_text(as_csv([*rows, rows[4], rows[9], [*rows[0][:-1], ""]]))
        assert do("feedback model.sepc labelled.csv --target label --json") == 0
        told = capsys.readouterr()
        found = json.loads(told.out)["feedback"]
        assert (found["n"], found["n_labelled"], found["n_repeated"]) == (33, 32, 2)
        repeated = said(told.err)["repeated"]
        assert (repeated.n, repeated.rows) == (2, "31, 32")
        assert do("feedback model.sepc labelled.csv --target label --json --once") == 0
        found = json.loads(capsys.readouterr().out)["feedback"]
        assert (found["n"], found["n_labelled"], found["n_repeated"]) == (31, 30, 0)

    @pytest.mark.slow
    def test_rows_that_the_model_has_learned_from_are_told(self, capsys):
        Path("labelled.csv").write_text(as_csv([*records(5, seed=3), *records(2)]))
        assert do("feedback model.sepc labelled.csv --target label") == 0
        learned = said(capsys.readouterr().err)["learned-before"]
        assert (learned.n, learned.rows) == (2, "6, 7")

    @pytest.mark.slow
    def test_the_remedy_is_one_of_the_command_line(self, capsys):
        rows = [[*row[:-1], "no" if row[-1] == "yes" else "yes"] for row in records(60, seed=3)]
        Path("labelled.csv").write_text(as_csv(rows))
        assert do("feedback model.sepc labelled.csv --target label --labels all") == 0
        told = capsys.readouterr().out
        assert "will-take-rows" in said(told)
        assert "repartition()" not in told
