"""Compiled Newton systems of small working sets: those of dense linear algebra."""

import numpy as np
import pytest

from sepc.geometry._kernels import cholesky
from sepc.geometry._mve.small_interior_point import fill_matrices, fill_pairs, newton_direction


def design(n, k, seed=0):
    """Return points in lifted coordinates, their ratios of slack and weight, and a right-hand side."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, k)), 10.0 ** rng.uniform(-6.0, 3.0, k), rng.standard_normal(k)


@pytest.mark.parametrize("fill", [fill_pairs, fill_matrices])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 5), (3, 6), (4, 9), (7, 20), (7, 28), (7, 90), (8, 33), (14, 60)])
def test_both_forms_solve_the_same_system(n, k, fill):
    Z, w, b = design(n, k)
    order = k if fill is fill_pairs else n * (n + 1) // 2
    H, found = np.full((order, order), np.nan), np.empty(k)
    fill(Z, w, H)
    cholesky(H)
    newton_direction(Z, w, H, fill is fill_pairs, b, found)
    system = np.square(Z.T @ Z) + np.diag(w)
    expected = np.linalg.solve(system, b)
    np.testing.assert_allclose(system @ found, b, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


def test_what_is_no_number_is_not_overlooked():
    Z, w, b = design(5, 12)
    Z[2, 7] = np.nan
    H, found = np.empty((12, 12)), np.empty(12)
    fill_pairs(Z, w, H)
    cholesky(H)
    newton_direction(Z, w, H, True, b, found)
    assert not np.isfinite(found).all()
