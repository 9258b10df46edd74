"""Hashes of records."""

import numpy as np
from hypothesis import given
from strategies import seeds

from sepc.common.record_hashes import apart, record_hashes


@given(seeds())
def test_equal_records_have_equal_hashes_wherever_they_stand(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(40, 2)).astype(float)
    order = rng.permutation(40)
    hashes = record_hashes(X)
    assert np.array_equal(record_hashes(X[order]), hashes[order])
    assert len(np.unique(hashes)) == len(np.unique(X, axis=0))


def test_columns_are_told_apart():
    one, other = record_hashes(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert one != other


def test_arrays_in_any_order_of_memory():
    X = np.random.default_rng(0).normal(size=(30, 4))
    assert np.array_equal(record_hashes(np.asfortranarray(X)), record_hashes(X))
    assert np.array_equal(record_hashes(X[:, ::2]), record_hashes(X[:, ::2].copy()))


def test_zero_has_one_sign():
    assert len(np.unique(record_hashes(np.array([[0.0], [-0.0]])))) == 1


def test_bits_are_even():
    hashes = record_hashes(np.arange(4096.0)[:, None])
    ones = ((hashes[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).mean(axis=0)
    assert np.abs(ones - 0.5).max() < 0.05


def test_equal_records_are_told_apart_where_it_is_asked_for():
    assert len(np.unique(apart(np.full(500, 7, dtype=np.uint64)))) == 500
