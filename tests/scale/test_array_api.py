"""Membership and distinct rows by the array API standard, against NumPy's."""

import array_api_strict as xp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import make_moons

from sepc import SEPClassifier
from sepc.geometry.ellipsoid import MEMBERSHIP_TOLERANCE
from sepc.scale.array_api import Place, distinct, inside


def test_membership_is_that_of_the_stack():
    rng = np.random.default_rng(0)
    X, y = make_moons(200, noise=0.3, random_state=0)
    stack = SEPClassifier().fit(X, y).model_.rules[0].stack
    Z = rng.normal(size=(500, 2))
    flags = inside(stack, xp.asarray(Z), Place.of(xp.asarray(Z)))
    assert np.array_equal(np.asarray(flags), stack.gauges(Z) <= 1.0 + MEMBERSHIP_TOLERANCE)


@given(arrays(np.int64, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=st.integers(-2, 1)))
def test_distinct_rows_are_those_of_numpy(table):
    table = table * 2**61
    rows, which = distinct([xp.asarray(column) for column in table.T.copy()], Place(xp, xp.Device("CPU_DEVICE")))
    expected, back = np.unique(table, axis=0, return_inverse=True)
    assert np.array_equal(rows, expected)
    assert np.array_equal(np.asarray(which), back.ravel())
