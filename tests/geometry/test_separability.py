"""Linear separability against a linear program."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from linear_program import separable_by_a_linear_program
from strategies import point_set, seeds

from sepc.geometry.separability import linearly_separable


@given(seed=seeds(), d=st.integers(1, 6), apart=st.floats(0.0, 6.0), family=st.sampled_from(["gauss", "lattice"]))
@example(seed=0, d=2, apart=0.0, family="lattice")
@settings(max_examples=60, deadline=None)
def test_separability_agrees_with_a_linear_program(seed, d, apart, family):
    A, B = point_set(family, 60, d, seed), point_set(family, 40, d, seed + 1)
    B[:, 0] += np.round(apart)
    if family == "lattice" and np.round(apart) == apart:
        B[0] = A[0]
    expected = separable_by_a_linear_program(A, B)
    assert linearly_separable(A, B) == expected
    assert linearly_separable(B, A) == expected


@pytest.mark.parametrize("n", [50, 3000])
def test_one_point_beyond_decides(n):
    rng = np.random.default_rng(n)
    A, B = rng.uniform(0.0, 1.0, (n, 4)), rng.uniform(0.0, 1.0, (n, 4))
    B[:, 0] += 1.001
    assert linearly_separable(A, B)
    A[n // 2] = B.mean(axis=0)
    assert not linearly_separable(A, B)
