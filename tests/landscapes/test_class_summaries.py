"""Summaries of classes and of pairs of classes."""

from itertools import combinations

import numpy as np
import pytest
from landscape_data import two_classes

from sepc import landscape


def test_pairs_come_in_sorted_order():
    X, _ = two_classes(3, n=300)
    y = np.array(["c", "a", "b"])[np.arange(300) % 3]
    view = landscape(X, y)
    assert list(zip(view.pairs["class_a"], view.pairs["class_b"], strict=True)) == [("a", "b"), ("a", "c"), ("b", "c")]
    binary = landscape(X[y != "c"], y[y != "c"]).overlaps[0]
    # The unit of length is that of all records; it decides what is flat, no more.
    assert view.overlaps[0].ovr == pytest.approx(binary.ovr, rel=1e-6)


def test_classes_by_themselves():
    rng = np.random.default_rng(0)
    line = rng.standard_normal((50, 1)) * [1.0, 2.0, -1.0]
    view = landscape(np.concatenate([line, rng.standard_normal((50, 3)) + 5.0]), np.repeat(["line", "ball"], 50))
    ball, thin = view.notes
    assert (thin.dimension, thin.dimension_99, len(thin.nearly_flat)) == (1, 1, 2)
    assert (ball.dimension, ball.dimension_99, ball.nearly_flat) == (3, 3, ())
    assert thin.participation == pytest.approx(1.0)
    assert 2.0 < ball.participation <= 3.0
    assert (thin.n_records, thin.share) == (50, 0.5)


def test_pairs_table_is_that_of_the_overlaps():
    X, _ = two_classes(2, n=90)
    y = np.arange(90) % 3
    view = landscape(X, y)
    for row, pair, (a, b) in zip(view.pairs.to_dict("records"), view.overlaps, combinations(range(3), 2), strict=True):
        assert (row["class_a"], row["class_b"]) == (a, b)
        assert (row["ovr_a"], row["ovr_b"], row["ovl"]) == (*pair.ovr, pair.ovl)
        assert row["mean_error"] == pair.ovl / 2
