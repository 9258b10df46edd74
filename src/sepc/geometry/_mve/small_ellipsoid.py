"""The ellipsoid of few points by the shortest way: one kernel after the other, with next to nothing in between.

A partition asks for thousands of ellipsoids of a few dozen points; what happens between the kernels takes most of the
time there. It is what `mve` does by way of `design` and `design_search`, which describe it, for working sets that are
small; where it does not end with a certificate, the search begins there.

The kernels are not made into one: of two copies of a compiled sum, in different kernels, the last bits may differ, and
which of them runs would depend on what a process has compiled and what it has found on disk.
"""

from math import sqrt

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._kernels import leverages, lift, moments, raw_factor, rows_svd, whitening
from sepc.geometry._mve.design import (
    BROKEN,
    DROPPING,
    FIRST,
    MAX_STEPS,
    SMALL_ORDER,
    SMALL_PRODUCTS,
    STICKING_OUT,
    TRIES,
    are_few,
    holding,
    mixed,
    optimal_design,
)
from sepc.geometry._mve.small_interior_point import POLISHED, interior_point
from sepc.geometry.compilation import kernel
from sepc.geometry.ellipsoid import FLAT, ULPS, Ellipsoid
from sepc.geometry.passes import EVERY_ROW


@kernel
def rows_above(values: FloatArray, level: float, most: int) -> IntArray:
    """Return the positions of the values above a level, ascending; if these are more than `most`, of the largest."""
    low, high, n = level, level, 0
    for i in range(len(values)):
        n += values[i] > level
        high = max(high, values[i])
    if n <= most:
        high = low
    for _ in range(60 if n > most else 0):
        middle, above = 0.5 * (low + high), 0
        for i in range(len(values)):
            above += values[i] > middle
        if above > most:
            low = middle
        else:
            high, n = middle, above
        if above == most:
            break
    # All above the upper level, and of those between the two the first.
    rows, room, count = np.empty(min(n, most) if high == low else most, np.int64), most, 0
    for i in range(len(values)):
        room -= values[i] > high
    for i in range(len(values)):
        if values[i] > high or (values[i] > low and room > 0):
            room -= values[i] <= high
            rows[count] = i
            count += 1
    return rows[:count]


@kernel
def outer_rows(leverage: FloatArray, n: int, is_even: bool) -> IntArray:
    """Return the rows to begin with: if they are hardly more than may carry weight, all but the inner ones.

    Those with less than half of the mean leverage, n, hardly ever come to carry weight; the others may fail to span the
    space, then the search begins anew with all of them.
    """
    N = len(leverage)
    size = max(FIRST * n, 45)
    if FIRST * n >= N:
        enough = N if is_even else max(4 * n, int(0.6 * N))
        outer = rows_above(leverage, 0.5 * n, enough)
        return outer if len(outer) >= 2 * n else np.arange(N)
    if 3 * size >= N:  # a comparison takes less time than a selection
        outer = rows_above(leverage, 1.1 * n, N)
        is_enough = len(outer) >= 4 * n and not is_even
        return outer if is_enough else rows_above(leverage, 0.9 * n, N)
    return rows_above(leverage, -1.0, size)


@kernel
def _entered(
    columns: FloatArray, offset: FloatArray, inverse: FloatArray, root: float
) -> tuple[FloatArray, FloatArray]:
    """Return the frame that is reached from another by ``root * inverse``, as `Design.enter` does."""
    d, n = columns.shape
    new_columns, new_offset = np.zeros((d, n)), np.zeros(n)
    for k in range(n):
        for j in range(k + 1):  # a lower triangle
            factor = root * inverse[k, j]
            new_offset[k] += factor * offset[j]
            for i in range(d):
                new_columns[i, k] += factor * columns[i, j]
    return new_columns, new_offset


def ellipsoid_of_few(
    X: FloatArray, given_unit: FloatArray, tol: float
) -> tuple[Ellipsoid, FloatArray, float, int, int, float] | None:
    """Return the smallest ellipsoid of some points, if it is found and certified at once.

    Parameters
    ----------
    X : ndarray of shape (N, d)
    given_unit : ndarray of shape (d,) or (0,)
        As for `moments`.
    tol : float

    Returns
    -------
    tuple or None
        The fields of `mve.MVE`, all but the last.
    """
    N, d = X.shape
    origin, center, unit, covariance = moments(X, given_unit)
    directions, variance = rows_svd(covariance)
    columns, offset, spread = base = whitening(directions, variance, unit, FLAT)
    n = len(offset)
    dim, bound, n_read, n_iter = n * (n + 1) // 2, np.empty(N), 2 * N, 0
    top = leverages(X, EVERY_ROW, origin, center, columns, offset, bound)
    gap = top / n - 1.0
    is_even = gap <= STICKING_OUT
    if not are_few(N, n, is_even) or not unit.all():
        return None
    rows, u = np.arange(N), np.full(N, 1.0 / N)  # one point, however often
    if n > 1:
        rows = outer_rows(bound, n, is_even)
        u = bound[rows]
        for i in range(TRIES):
            order = min(len(rows), dim)
            if order > SMALL_ORDER or (len(rows) + order) * order**2 > SMALL_PRODUCTS:
                return None
            Q, s = lift(X, rows, origin, center, columns, offset), np.empty(len(rows))
            _, inverse, mass, steps = optimal_design(interior_point, Q, u, s, 1.02, 0.3 * tol, MAX_STEPS, is_even)
            columns, offset = _entered(columns, offset, inverse, sqrt(mass))
            top = leverages(X, EVERY_ROW, origin, center, columns, offset, bound)
            gap, n_read, n_iter = top / n - 1.0, n_read + N, n_iter + steps
            if not gap > POLISHED or len(rows) == N:
                break
            others = bound.copy()
            others[rows] = 0.0
            new = rows_above(others, n * (1.0 + POLISHED), len(rows))
            if not len(new) and gap <= tol:
                break
            if i < DROPPING:
                held = holding(u, s, n, gap)
                rows, u = rows[held], u[held]
            rows, u = np.append(rows, new), mixed(np.append(u, np.zeros(len(new))), gap)
        else:
            return None
        u /= mass
    if not -BROKEN <= gap <= tol:
        return None
    stretch, thickness = 1.0, FLAT
    if n <= d:  # room for what deviates from the hull, in its directions and in the flat ones: see `mve`
        across = np.ascontiguousarray((directions[n - 1 :] / (unit * FLAT)).T)
        worst = leverages(X, EVERY_ROW, origin, center, across, np.zeros(d + 1 - n), bound)
        n_read += N
        widening = max(1.0, worst * d / (d + 1 - n))
        thickness = FLAT * sqrt(widening)
        stretch = 1.0 / sqrt(1.0 - worst / widening) if n > 1 else 1.0
    reach = stretch * sqrt(max(top - 1.0, 0.0))
    Q = lift(X, rows, origin, center, *base[:2])
    position, factor = raw_factor(Q, u, reach, origin, center, unit, directions, spread, thickness)
    turned, radii = rows_svd(factor)
    axes, nothing = turned.T.copy(), np.zeros(d)
    square = leverages(X, EVERY_ROW, position, nothing, axes / radii, nothing, bound)
    if square > 0.0:
        radii *= sqrt(square) * (1.0 + ULPS)
    bound.fill(0.0)  # its memory becomes the answer's
    bound[rows] = u
    bound.setflags(write=False)
    return Ellipsoid.trusted(position, axes, radii), bound, gap, n - 1, n_iter, (n_read + N) / N
