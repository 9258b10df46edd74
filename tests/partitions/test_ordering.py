"""The canonical order of points."""

import numpy as np
from hypothesis import given, settings
from strategies import labelled_points, seeds

from sepc.partitions.ordering import canonical_order, canonical_rows


@given(seeds())
def test_the_canonical_order_sorts_by_all_columns(seed):
    X = np.random.default_rng(seed).integers(0, 3, size=(20, 3)).astype(float)
    assert X[canonical_order(X)].tolist() == sorted(X.tolist())


@settings(max_examples=50)
@given(seeds())
def test_canonical_rows_sort_by_class_and_coordinates(seed):
    A, B, _ = labelled_points(seed)
    X, codes = np.vstack([A, B]), np.repeat([0, 1], [len(A), len(B)])
    order = np.random.default_rng(seed).permutation(len(X))
    found = canonical_rows(X[order], codes[order], 2)
    assert np.array_equal(codes[order][found], codes)
    assert np.array_equal(X[order][found], np.vstack([A[canonical_order(A)], B[canonical_order(B)]]))
