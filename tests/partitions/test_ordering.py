"""The canonical order of points."""

import numpy as np
from hypothesis import given
from strategies import drawn_points, examples, labelled_points

from sepc.partitions.ordering import canonical_order, canonical_rows, without_last_bits


@given(drawn_points())
def test_the_canonical_order_sorts_by_all_columns(X):
    assert X[canonical_order(X)].tolist() == sorted(X.tolist())


@given(drawn_points(3, regimes=("lattice",)))
def test_without_last_bits_whole_numbers_keep_their_order_whatever_is_added_to_the_last_digits(X):
    rng = np.random.default_rng(0)
    ranks = without_last_bits(X, np.ones(3))
    for whole, rank in zip(X.T, ranks.T, strict=True):
        assert np.array_equal(np.unique(whole, return_inverse=True)[1], rank)
    assert np.array_equal(without_last_bits(X + rng.uniform(-1e-11, 1e-11, X.shape), np.ones(3)), ranks)


@examples(50)
@given(labelled_points())
def test_canonical_rows_sort_by_class_and_coordinates(data):
    A, B, _ = data
    X, codes = np.vstack([A, B]), np.repeat([0, 1], [len(A), len(B)])
    order = np.random.default_rng(0).permutation(len(X))
    found = canonical_rows(X[order], codes[order], 2)
    assert np.array_equal(codes[order][found], codes)
    assert np.array_equal(X[order][found], np.vstack([A[canonical_order(A)], B[canonical_order(B)]]))
