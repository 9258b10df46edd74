"""`sepc compare`: two models side by side, and the rows on which they differ."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import as_csv, do, read, records
from said import said
from scipy.stats import binomtest

import sepc
from sepc.cli.commands.compare import Comparison, ModelVerdicts, _differing_rows
from sepc.common.intervals import exact_interval
from sepc.common.text import percent


@pytest.fixture(scope="module")
def compared(folder, tmp_path_factory):
    """A folder with two models of different columns, and a labelled file that neither has seen."""
    here = tmp_path_factory.mktemp("compare")
    (here / "test.csv").write_text(as_csv(records(200, seed=7)))
    fit = f"fit {folder}/train.csv --target label -q"
    assert do(f"{fit} --drop size -o {here}/a.sepc") == 0
    assert do(f"{fit} --drop weight colour --trust paper -o {here}/b.sepc") == 0
    return here


@pytest.fixture
def there(compared, monkeypatch):
    monkeypatch.chdir(compared)
    return compared


@pytest.mark.usefixtures("there")
class TestCompare:
    def test_numbers_are_those_of_the_models(self, capsys):
        assert do("compare a.sepc b.sepc test.csv --target label --json -o out.csv") == 0
        found = json.loads(capsys.readouterr().out)
        rows = read("test.csv")
        frame = pd.DataFrame(rows)
        truth = frame["label"].to_numpy()
        says = {}
        for name in "ab":
            model = sepc.load(f"{name}.sepc")
            a = model.assess(frame)
            says[name] = a.label
            right, accepted = a.label == truth, a.accepted(0.95)
            result = found[name]
            assert (result["right"], result["accepted"]) == (np.count_nonzero(right), np.count_nonzero(accepted))
            assert result["accepted_right"] == np.count_nonzero(right & accepted)
            assert result["right_interval"] == list(exact_interval(result["right"], 200))
            proba = model.predict_proba(frame)[np.arange(200), np.searchsorted(model.classes_, truth)]
            assert np.isclose(result["log_loss"], -np.log(np.maximum(proba, np.finfo(float).eps)).mean())
        differ = says["a"] != says["b"]
        only_a, only_b = (np.count_nonzero(differ & (says[name] == truth)) for name in "ab")
        assert (found["n_differ"], found["only_a_right"], found["only_b_right"]) == (differ.sum(), only_a, only_b)
        assert np.isclose(found["p_value"], binomtest(int(only_a), int(only_a + only_b)).pvalue)

        written = read("out.csv")
        assert [int(row["row"]) for row in written] == (np.flatnonzero(differ) + 1).tolist()
        for row in written:
            assert row["size"] == rows[int(row["row"]) - 1]["size"]
            assert row["right"] == ("A" if row["label_a"] == row["label"] else "B")
        assert sum(pair["n"] for pair in found["pairs"]) == len(written)

    def test_a_person_reads_results_test_and_rows(self, capsys):
        assert do("compare a.sepc b.sepc test.csv --target label") == 0
        told = capsys.readouterr().out
        assert do("compare a.sepc b.sepc test.csv --target label --json") == 0
        found, shown = json.loads(capsys.readouterr().out), said(told)
        assert (shown["compared-labelled"].n, shown["compared-labelled"].n_labelled) == (200, 200)
        differ = shown["labels-differ-right"]
        assert (differ.rows, differ.a, differ.b) == (
            (found["n_differ"], 200),
            found["only_a_right"],
            found["only_b_right"],
        )
        assert {"better-by-mcnemar", "chance-by-mcnemar"} & set(shown)
        for one in (found["a"], found["b"]):
            assert f"{one['log_loss']:.4f}" in told
            assert percent(one["calibration_error"]) in told
            assert " to ".join(map(percent, one["accepted_right_interval"])) in told

    def test_without_labels_there_are_only_differences(self, capsys):
        assert do("compare a.sepc b.sepc test.csv --json") == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["n_labelled"], found["p_value"], found["only_a_right"]) == (0, None, None)
        assert found["n_differ"] > 0
        assert "right" not in found["a"]
        assert do("compare a.sepc b.sepc test.csv") == 0
        told = capsys.readouterr().out
        assert {"compared", "labels-differ"} <= set(said(told))
        assert not {"better-by-mcnemar", "chance-by-mcnemar", "labels-differ-right"} & set(said(told))

    def test_rows_without_a_label_do_not_count_for_who_is_right(self, capsys):
        some = [[*row[:-1], row[-1] if i % 2 else ""] for i, row in enumerate(records(60, seed=8))]
        Path("gaps.csv").write_text(as_csv(some))
        assert do("compare a.sepc b.sepc gaps.csv --target label --json") == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["n"], found["n_labelled"], found["a"]["right_of"]) == (60, 30, 30)

    def test_a_model_agrees_with_itself(self, capsys):
        assert do("compare a.sepc a.sepc test.csv --target label") == 0
        assert said(capsys.readouterr().out)["labels-differ"].rows == (0, 200)

    def test_rows_that_were_learned_are_told(self, folder, capsys):
        assert do(f"compare a.sepc b.sepc {folder}/train.csv --target label --quiet") == 0
        assert capsys.readouterr().err == ""
        assert do(f"compare a.sepc b.sepc {folder}/train.csv --target label") == 0
        learned = said(capsys.readouterr().err)["one-learned"].all
        assert [one.n for one in learned] == [300, 300]

    def test_columns_and_files_are_checked(self, capsys):
        assert do("compare a.sepc b.sepc test.csv --target labl") == 1
        assert "'label'" in capsys.readouterr().err
        assert do("compare a.sepc b.sepc test.csv -o test.csv") == 2
        assert do("compare a.sepc b.sepc test.csv -o -") == 2


def test_many_rows_are_shortened():
    labels = np.array(["a", "b"] * 20)
    how = np.ones(40), np.ones(40, dtype=bool), np.full((40, 2), 0.5), np.array(["a", "b"])
    sides = [ModelVerdicts(said, *how) for said in (labels, labels[::-1])]
    told = _differing_rows(Comparison(*sides, np.full(40, None, dtype=object)))
    assert said(told[-1])["more-differing-rows"].n == 30
    assert len(told[1].splitlines()) == 11


def verdicts(labels):
    labels = np.array(list(labels))
    proba = np.where(labels[:, None] == ["n", "y"], 0.9, 0.1)
    return ModelVerdicts(labels, np.full(len(labels), 0.9), labels == "y", proba, np.array(["n", "y"]))


def comparison(a, b, truth):
    return Comparison(verdicts(a), verdicts(b), np.array([None if t == "?" else t for t in truth], dtype=object))


@pytest.mark.parametrize(("only_a", "only_b"), [(0, 0), (1, 0), (5, 2), (9, 0), (30, 10)])
def test_the_test_is_exact(only_a, only_b):
    n = only_a + only_b + 1
    found = comparison("y" * only_a + "n" * only_b + "y", "n" * only_a + "y" * only_b + "y", "y" * n)
    assert found.only_right == (only_a, only_b)
    expected = binomtest(only_a, only_a + only_b).pvalue if only_a + only_b else 1.0
    assert np.isclose(found.p_value, expected)


def test_who_is_right_is_told_for_each_difference():
    found = comparison("yynny", "nynyn", "yynn?")
    assert found.differ.tolist() == [True, False, False, True, True]
    assert found.who_is_right() == ["A", "A", ""]
    assert [tuple(pair.values())[:4] for pair in found.pairs()] == [
        ("y", "n", 2, 1),
        ("n", "y", 1, 1),
    ]


def test_results_count_labelled_records_only():
    result = comparison("yynn", "yyyy", "yn??").to_dict()
    assert (result["n"], result["n_labelled"], result["a"]["right"], result["a"]["right_of"]) == (4, 2, 1, 2)
    assert (result["a"]["accepted"], result["a"]["accepted_right"], result["a"]["accepted_right_of"]) == (2, 1, 2)
    assert np.isclose(result["a"]["log_loss"], -np.log([0.9, 0.1]).mean())
    assert np.isclose(result["a"]["calibration_error"], 0.4)


def test_a_label_that_neither_knows_makes_both_wrong():
    found = comparison("yn", "nn", "zz")
    assert found.only_right == (0, 0)
    assert found.who_is_right() == ["neither"]
