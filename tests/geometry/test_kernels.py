"""Compiled Cholesky factors: those of LAPACK."""

import numpy as np
import pytest

from sepc.geometry._kernels import cholesky


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5, 6, 7, 28, 119, 120])
def test_the_factor_is_that_of_lapack(order):
    rows = np.random.default_rng(order).standard_normal((order, 2 * order))
    matrix = rows @ rows.T
    factor = matrix.copy()
    cholesky(factor)
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(matrix), rtol=0, atol=1e-12 * order)


@pytest.mark.parametrize("order", [4, 5])
def test_a_pivot_that_rounding_has_lost_is_raised_to_it(order):
    factor = np.ones((order, order))
    cholesky(factor)
    pivots = factor.diagonal()
    assert pivots[0] == 1.0
    assert (pivots[1:] > 0.0).all()
    assert (pivots[1:] < 1e-7).all()
