"""Packed symmetric matrices: what SciPy's wrappers of LAPACK find, without the interpreter's lock."""

import sys
import threading

import numpy as np
import pytest
from scipy.linalg import get_lapack_funcs

from sepc.geometry._mve import packed_matrices as packed

ORDERS = (1, 2, 3, 8, 41, 64)
BOTH = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def products(k, dtype, n=5):
    """Return a packed matrix, the points whose products it is made of, and SciPy's routines for it."""
    rows = np.random.default_rng(k).standard_normal((n, k)).astype(dtype)
    H = np.zeros(k * (k + 1) // 2, dtype)
    packed.add_products(H, rows, False)
    return H, rows, get_lapack_funcs(("sfrk", "pftrf", "pftrs", "tfttr"), (H,))


def definite(k, dtype):
    H, rows, routines = products(k, dtype)
    packed.raise_diagonal(H, np.ones(k), 1.0)
    return H, rows.T @ rows + np.eye(k, dtype=dtype), routines


@BOTH
@pytest.mark.parametrize("k", ORDERS)
def test_products_are_those_of_scipy(k, dtype):
    H, rows, (sfrk, *_, tfttr) = products(k, dtype)
    np.testing.assert_array_equal(H, sfrk(k, len(rows), 1.0, rows.T, 0.0, np.zeros_like(H), uplo="L"))
    again = np.ones_like(H)
    packed.add_products(again, np.ascontiguousarray(rows.T), True)
    full = np.tril(tfttr(k, again, uplo="L")[0])
    np.testing.assert_allclose(full, np.tril(rows.T @ rows + 1.0), rtol=1e-5, atol=1e-5)


@BOTH
@pytest.mark.parametrize("k", ORDERS)
def test_factors_are_those_of_scipy_and_so_are_solutions_but_for_rounding(k, dtype):
    H, dense, (_, pftrf, pftrs, _) = definite(k, dtype)
    expected, failed = pftrf(k, H, uplo="L")
    assert not failed
    assert packed.factorise(H, k)
    np.testing.assert_array_equal(H, expected)
    b = np.arange(1.0, k + 1.0).astype(dtype)
    x = b.copy()
    packed.solve(H, x)
    digits = 1e4 * np.finfo(dtype).eps
    np.testing.assert_allclose(
        x, pftrs(k, expected, b[:, None], uplo="L")[0][:, 0], rtol=0.0, atol=digits * abs(x).max()
    )
    np.testing.assert_allclose(dense @ x, b, rtol=0.0, atol=digits * k)


@BOTH
@pytest.mark.parametrize("k", ORDERS)
def test_the_diagonal_is_where_lapack_has_it(k, dtype):
    H, rows, (*_, tfttr) = products(k, dtype)
    values = np.arange(1.0, k + 1.0)
    packed.raise_diagonal(H, values, 2.0)
    expected = rows.T @ rows
    expected[np.diag_indices(k)] = 2.0 * (expected.diagonal() + values)
    np.testing.assert_allclose(np.tril(tfttr(k, H, uplo="L")[0]), np.tril(expected), rtol=1e-5, atol=1e-5)


def test_an_indefinite_matrix_has_no_factor():
    H = np.zeros(15)
    packed.raise_diagonal(H, np.full(5, -1.0), 1.0)
    assert not packed.factorise(H, 5)


@BOTH
@pytest.mark.parametrize("k", ORDERS)
def test_squared_products(k, dtype):
    _, rows, (_, _, _, tfttr) = products(k, dtype)
    w = np.arange(1.0, k + 1.0)
    factor, is_definite = packed.squared_products_factor(rows, w, np.array([0.0]))
    L = np.tril(tfttr(k, factor, uplo="L")[0]).astype(np.float64)
    expected = np.square((rows.T @ rows).astype(np.float64)) + np.diag(w)
    assert is_definite
    np.testing.assert_allclose(L @ L.T, expected, rtol=0.0, atol=1e3 * np.finfo(dtype).eps * expected.max())


def test_ridges_are_tried_one_after_the_other():
    columns, less = np.ones((1, 2)), np.full(2, -1e-3)
    assert not packed.squared_products_factor(columns, less, np.array([0.0, 1e-9]))[1]
    factor, is_definite = packed.squared_products_factor(columns, less, np.array([0.0, 1e-9, 1e-2]))
    assert is_definite
    assert np.isfinite(factor).all()


def test_other_threads_run_meanwhile():
    """Without the lock the other thread goes on while this one is in LAPACK, for longer than it takes to start."""
    H, _, _ = definite(2000, np.float64)
    packed.factorise(H.copy(), 2000)  # compiled, or loaded, before anything is counted
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(1e-4):
            ticks.append(None)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e3)  # so that the lock is never taken away, only given up
    other = threading.Thread(target=tick)
    try:
        other.start()
        seen = len(ticks)
        packed.factorise(H, 2000)
        seen = len(ticks) - seen
    finally:
        done.set()
        other.join()
        sys.setswitchinterval(before)
    assert seen >= 3
