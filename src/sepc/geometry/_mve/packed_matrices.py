"""Symmetric positive definite matrices as lower triangles in LAPACK's rectangular full packed format, compiled.

It takes half a square of memory. Products and factors are LAPACK's, called from compiled code, which does without the
interpreter's lock: problems can be solved side by side in the threads of one process.
"""

from typing import Any

import llvmlite.binding
import numpy as np
from numba import types
from numba.extending import get_cython_function_address
from numpy.typing import NDArray

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.compilation import kernel


def _routine(name: str, n_arguments: int) -> Any:
    """Return a routine of LAPACK for compiled code, which finds it by its name: an address would not last."""
    symbol = f"sepc_{name}"
    llvmlite.binding.add_symbol(symbol, get_cython_function_address("scipy.linalg.cython_lapack", name))
    return types.ExternalFunction(symbol, types.void(*[types.voidptr] * n_arguments))


# All arguments are addresses.
_SSFRK, _DSFRK = _routine("ssfrk", 10), _routine("dsfrk", 10)
_SPFTRF, _DPFTRF = _routine("spftrf", 5), _routine("dpftrf", 5)
_NORMAL, _LOWER, _TRANSPOSED = (ord(letter) for letter in "NLT")


@kernel
def add_products(packed: NDArray[Any], rows: NDArray[Any], of_rows: bool) -> None:
    """Add ``rows @ rows.T`` to a packed matrix, or ``rows.T @ rows``.

    Parameters
    ----------
    packed : ndarray of shape (k * (k + 1) // 2,)
        In single or double precision; overwritten.
    rows : ndarray of shape (k, n) for products of rows, (n, k) for those of columns
        Row by row in memory, in the same precision.
    of_rows : bool
    """
    text = np.array([_NORMAL, _LOWER, _TRANSPOSED if of_rows else _NORMAL], dtype=np.uint8)
    n, k = rows.shape
    sizes = np.array([n, k, k] if of_rows else [k, n, k], dtype=np.int32)
    one = np.ones(1, packed.dtype)
    order, depth, width = sizes[0:], sizes[1:], sizes[2:]
    arguments = (
        text.ctypes, text[1:].ctypes, text[2:].ctypes, order.ctypes, depth.ctypes, one.ctypes, rows.ctypes,
        width.ctypes, one.ctypes, packed.ctypes,
    )  # fmt: skip
    if packed.itemsize == 4:
        _SSFRK(*arguments)
    else:
        _DSFRK(*arguments)


@kernel
def factorise(packed: NDArray[Any], order: int) -> bool:
    """Replace a packed matrix by its Cholesky factor; return whether there is one."""
    text = np.array([_NORMAL, _LOWER], dtype=np.uint8)
    numbers = np.array([order, 0], dtype=np.int32)
    failed = numbers[1:]
    arguments = text.ctypes, text[1:].ctypes, numbers.ctypes, packed.ctypes, failed.ctypes
    if packed.itemsize == 4:
        _SPFTRF(*arguments)
    else:
        _DPFTRF(*arguments)
    return bool(failed[0] == 0)


@kernel
def raise_diagonal(packed: NDArray[Any], values: FloatArray, factor: float) -> None:
    """Add values, shape (order,), to the diagonal of a packed matrix, and then multiply it by a factor."""
    order = len(values)
    even = 1 - order % 2
    height = order + even
    at = even
    for i in range(order):
        if at >= len(packed):  # the second half of the diagonal
            at = (1 - even) * height
        packed[at] = (packed[at] + values[i]) * factor
        at += height + 1


@kernel
def squared_products_factor(
    columns: NDArray[Any], diagonal: FloatArray, ridges: FloatArray
) -> tuple[NDArray[Any], bool]:
    """Return the Cholesky factor of ``(Z'Z)^2 + diag(w)``, the square taken entry by entry, and whether there is one.

    Parameters
    ----------
    columns : ndarray of shape (n, k)
        Z, row by row in memory, in single or double precision; the factor is in the same.
    diagonal : ndarray of shape (k,)
        w.
    ridges : ndarray of shape (n_ridges,)
        What to try to add to the diagonal, relatively: where columns coincide rounding may make the matrix indefinite.
    """
    k = columns.shape[1]
    H = np.empty(k * (k + 1) // 2, columns.dtype)
    for ridge in ridges:
        for i in range(len(H)):
            H[i] = 0.0
        add_products(H, columns, False)
        for i in range(len(H)):
            H[i] *= H[i]
        raise_diagonal(H, diagonal, 1.0 + ridge)
        if factorise(H, k):
            return H, True
    return H, False


@kernel
def solve(factor: NDArray[Any], b: NDArray[Any]) -> None:
    """Replace b, shape (k,), by the solution of the system whose matrix has this Cholesky factor.

    The first half of the factor's columns are rows of a rectangle; the others make a triangle, row by row, in what is
    left of these rows. Each loop runs along rows, two at a time where they are columns.
    """
    n = len(b)
    width, even = n - n // 2, 1 - n % 2
    R = factor.reshape(width, n + even)
    tail = b[width:]
    pairs = width // 2 * 2
    for j in range(0, pairs, 2):
        one, two, rest = R[j, j + 2 + even :], R[j + 1, j + 2 + even :], b[j + 2 :]
        x = b[j] / R[j, j + even]
        y = (b[j + 1] - x * R[j, j + 1 + even]) / R[j + 1, j + 1 + even]
        for i in range(len(rest)):
            rest[i] -= x * one[i] + y * two[i]
        b[j] = x
        b[j + 1] = y
    for j in range(pairs, width):
        column, rest = R[j, j + 1 + even :], b[j + 1 :]
        x = b[j] / R[j, j + even]
        for i in range(len(rest)):
            rest[i] -= x * column[i]
        b[j] = x
    for p in range(len(tail)):
        row = R[p + 1 - even]
        total = tail[p]
        for q in range(p):
            total -= row[q] * tail[q]
        tail[p] = total / row[p]
    for p in range(len(tail) - 1, -1, -1):
        row = R[p + 1 - even]
        x = tail[p] / row[p]
        tail[p] = x
        for q in range(p):
            tail[q] -= x * row[q]
    for j in range(pairs, width):
        column, rest = R[j, j + 1 + even :], b[j + 1 :]
        total = b[j]
        for i in range(len(rest)):
            total -= column[i] * rest[i]
        b[j] = total / R[j, j + even]
    for j in range(pairs - 2, -1, -2):
        one, two, rest = R[j, j + 2 + even :], R[j + 1, j + 2 + even :], b[j + 2 :]
        x = b[j]
        y = b[j + 1]
        for i in range(len(rest)):
            x -= one[i] * rest[i]
            y -= two[i] * rest[i]
        y /= R[j + 1, j + 1 + even]
        b[j + 1] = y
        b[j] = (x - R[j, j + 1 + even] * y) / R[j, j + even]


@kernel
def conjugate_gradients(
    Z: FloatArray,
    w: FloatArray,
    scale: FloatArray,
    core: IntArray,
    factor: NDArray[Any],
    b: FloatArray,
    tol: float,
    max_iter: int,
) -> FloatArray:
    """Solve ``diag(scale) ((Z'Z)^2 + diag(w)) diag(scale) x = b``, the square taken entry by entry.

    The factor is that of a packed matrix which resembles the system's own over the core; elsewhere it resembles the
    identity. The system itself is never formed. Iterations leave a residual of `tol`, relatively.
    """
    n, k = Z.shape
    x, residual = np.zeros(k), b.copy()
    correction, direction, image = np.empty(k), np.zeros(k), np.empty(k)
    right = np.empty(len(core), factor.dtype)
    products, S = np.empty((n, k)), np.empty((n, n))
    first = before = 1.0
    for step in range(max_iter + 1):
        for p in range(k):
            correction[p] = residual[p]
        for i in range(len(core)):
            right[i] = residual[core[i]]
        solve(factor, right)
        for i in range(len(core)):
            correction[core[i]] = right[i]
        square = 0.0
        for p in range(k):
            square += residual[p] * correction[p]
        if step == 0:
            first = square
        if step == max_iter or square <= tol * tol * first:
            break
        turn = square / before if step else 0.0
        for p in range(k):
            direction[p] = correction[p] + turn * direction[p]
            image[p] = scale[p] * direction[p]
        for i in range(n):
            for p in range(k):
                products[i, p] = Z[i, p] * image[p]
        np.dot(products, Z.T, S)
        np.dot(S, Z, products)
        for p in range(k):
            image[p] *= w[p]
        for i in range(n):
            for p in range(k):
                image[p] += products[i, p] * Z[i, p]
        curvature = 0.0
        for p in range(k):
            image[p] *= scale[p]
            curvature += direction[p] * image[p]
        length = square / curvature
        for p in range(k):
            x[p] += length * direction[p]
            residual[p] -= length * image[p]
        before = square
    return x
