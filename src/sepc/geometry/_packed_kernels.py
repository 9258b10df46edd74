"""Compiled solvers of packed systems with one right-hand side: LAPACK's own take several times as long."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.geometry._checks import FloatArray, Rows
from sepc.geometry._compile import kernel


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
    core: Rows,
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
        correction[:] = residual
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
