"""Two models on the same records: numbers by hand."""

import numpy as np
import pytest
from scipy.stats import binomtest

from sepc.reports.comparison import Comparison, ModelVerdicts


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
    assert [(pair.label_a, pair.label_b, pair.n, pair.a_right) for pair in found.pairs()] == [
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
