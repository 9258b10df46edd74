"""Compiled Newton systems of small working sets: those of dense linear algebra."""

import numpy as np
import pytest

from sepc.geometry._design_kernels import cholesky, fill_matrices, fill_pairs, newton_direction


def triangle(matrix):
    """Return the lower half, two rows after the other, the first of them with the entry beyond the diagonal."""
    return np.concatenate([row[: i - i % 2 + 2] for i, row in enumerate(matrix)])


def lower_half(kept, order):
    """Return what a triangle, or a whole matrix, holds of the lower half."""
    if len(kept) == order * order:
        return np.tril(kept.reshape(order, order))
    rows = np.split(kept, np.cumsum([i - i % 2 + 2 for i in range(order)])[:-1])
    return np.array([np.pad(row[: i + 1], (0, order - i - 1)) for i, row in enumerate(rows)])


def design(n, k, seed=0):
    """Return points in lifted coordinates, their ratios of slack and weight, and a right-hand side."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, k)), 10.0 ** rng.uniform(-6.0, 3.0, k), rng.standard_normal(k)


@pytest.mark.parametrize("keep", [triangle, np.ravel])
@pytest.mark.parametrize("order", [2, 4, 6, 28, 120])
def test_the_factor_is_that_of_lapack(order, keep):
    rows = np.random.default_rng(order).standard_normal((order, 2 * order))
    matrix = rows @ rows.T
    kept = keep(matrix.copy())
    cholesky(kept, order)
    np.testing.assert_allclose(lower_half(kept, order), np.linalg.cholesky(matrix), rtol=0, atol=1e-12 * order)


@pytest.mark.parametrize("keep", [triangle, np.ravel])
def test_a_pivot_that_rounding_has_lost_is_raised_to_it(keep):
    kept = keep(np.ones((4, 4)))
    cholesky(kept, 4)
    pivots = lower_half(kept, 4).diagonal()
    assert pivots[0] == 1.0
    assert (pivots[1:] > 0.0).all()
    assert (pivots[1:] < 1e-7).all()


@pytest.mark.parametrize("fill", [fill_pairs, fill_matrices])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 5), (3, 6), (4, 9), (7, 20), (7, 28), (7, 90), (8, 33), (14, 60)])
def test_both_forms_solve_the_same_system(n, k, fill):
    Z, w, b = design(n, k)
    order = k if fill is fill_pairs else n * (n + 1) // 2
    order += order % 2
    H, found = np.full(order * (order + 2) // 2, np.nan), np.empty(k)
    fill(Z, w, H, order)
    cholesky(H, order)
    newton_direction(Z, w, H, fill is fill_pairs, b, found)
    system = np.square(Z.T @ Z) + np.diag(w)
    expected = np.linalg.solve(system, b)
    np.testing.assert_allclose(system @ found, b, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


def test_what_is_no_number_is_not_overlooked():
    Z, w, b = design(5, 12)
    Z[2, 7] = np.nan
    H, found = np.empty(12 * 14 // 2), np.empty(12)
    fill_pairs(Z, w, H, 12)
    cholesky(H, 12)
    newton_direction(Z, w, H, True, b, found)
    assert not np.isfinite(found).all()
