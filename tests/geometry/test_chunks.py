"""Arithmetic a chunk at a time, against NumPy on all points at once."""

import numpy as np
import pytest

from sepc.geometry.chunks import Extents, by_column, mean_of


@pytest.mark.parametrize("n", [1, 31, 1000, 5003])
def test_extremes_and_means(n):
    X = np.random.default_rng(n).standard_normal((n, 3)) + 10.0
    assert np.array_equal(by_column(np.minimum, X), X.min(axis=0))
    assert np.array_equal(by_column(np.maximum, X), X.max(axis=0))
    np.testing.assert_allclose(mean_of(X), X.mean(axis=0), rtol=1e-13)


def test_the_mean_of_points_far_from_the_origin_is_exact():
    assert mean_of(np.array([[1e15], [1e15 + 2.0]])).tolist() == [1e15 + 1.0]


def test_extents_in_other_units():
    sets = [np.array([[1.0, 4.0], [3.0, 8.0]]), np.array([[5.0, 6.0]])]
    found = Extents.of(sets).in_units(np.array([1.0, 4.0]), np.array([2.0, 4.0]))
    assert found.n.tolist() == [2, 1]
    assert found.low.tolist() == [[0.0, 0.0], [2.0, 0.5]]
    assert found.high.tolist() == [[1.0, 1.0], [2.0, 0.5]]
    assert found.mean.tolist() == [[0.5, 0.5], [2.0, 0.5]]
