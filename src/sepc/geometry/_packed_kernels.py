"""The compiled part of packed matrices: with one right-hand side LAPACK's solution takes several times as long."""

from typing import Any

from numpy.typing import NDArray

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
