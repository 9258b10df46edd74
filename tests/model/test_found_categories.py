"""Categories that a training set shows by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import category_values, decimals

from sepc.geometry.chunks import Extents
from sepc.model.category_shares import found_categories, moments_about


def found(X, mean=None, scale=None):
    d = X.shape[1]
    mean, scale = np.zeros(d) if mean is None else mean, np.ones(d) if scale is None else scale
    Z = (X - mean) / scale
    extents = Extents.of([Z[::2], Z[1::2]])
    categories = found_categories(extents, lambda origin: moments_about(origin, Z), mean, scale)
    return None if categories is None else [group.tolist() for group in categories.groups]


# All values together with all others, so that no two features of different categories exclude each other.
EVERY = np.argwhere(np.ones((3, 4, 2)))


def mixed(values=EVERY, offset=0.0):
    """Return records of two numbers and three categories: at least one for each of their values together."""
    colour, size, flag = np.vstack([EVERY, values]).T
    numbers = np.random.default_rng(0).random((len(flag), 2)) + offset
    return np.column_stack([numbers[:, 0], np.eye(3)[colour], numbers[:, 1], np.eye(4)[size], flag])


@given(st.integers(1, 30).flatmap(lambda n: category_values((3, 4, 2), n)), decimals((1, 2)), st.booleans())
def test_they_are_found_among_numbers_in_whatever_units(values, offset, standardised):
    X = mixed(values, offset)
    units = (X.mean(axis=0), X.std(axis=0)) if standardised else ()
    assert found(X, *units) == [[1, 2, 3], [5, 6, 7, 8], [9]]


def test_their_numbers_are_those_of_0_and_1():
    X = mixed()
    mean, scale = X.mean(axis=0), X.std(axis=0)
    Z = (X - mean) / scale
    categories = found_categories(Extents.of([Z]), lambda origin: moments_about(origin, Z), mean, scale)
    assert categories.held((X - mean) / scale) == pytest.approx(X[:, [1, 2, 3, 5, 6, 7, 8, 9]])


@pytest.mark.parametrize("value", [0.5, 1e-3, 2.0, -1.0])
def test_a_feature_with_another_value_is_a_number(value):
    X = mixed()
    X[7, 9] = value
    assert found(X) == [[1, 2, 3], [5, 6, 7, 8]]
    X[8, 2] = value
    assert found(X) == [[1], [3], [5, 6, 7, 8]]


def test_a_set_of_numbers_has_none():
    assert found(np.random.default_rng(0).normal(size=(40, 3))) is None
    assert found(np.zeros((40, 3))) is None
    assert found(np.ones((40, 3))) is None
