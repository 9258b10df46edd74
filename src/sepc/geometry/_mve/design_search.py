"""The search for the optimal design among points in memory: few of them at once, many by working sets.

A partition asks for thousands of ellipsoids of a few dozen points; what happens between the kernels takes most of the
time there. `ellipsoid_of_few` goes the shortest way for working sets that are small: one kernel after the other, with
next to nothing in between. Where it does not end with a certificate, `solve` begins anew. The kernels are not made
into one: of two copies of a compiled sum, in different kernels, the last bits may differ, and which of them runs would
depend on what a process has compiled and what it has found on disk.
"""

from math import sqrt

import numpy as np
from scipy.linalg.lapack import dtrtri

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
    Design,
    are_few,
    holding,
    largest,
    mixed,
    optimal_design,
)
from sepc.geometry._mve.small_interior_point import POLISHED, interior_point
from sepc.geometry.compilation import kernel
from sepc.geometry.ellipsoid import FLAT, ULPS, Ellipsoid
from sepc.geometry.passes import EVERY_ROW

# A working set is solved to this part of the gap before, since what it leaves out shows up only then.
_GAIN = 0.07
# Rounds after the tolerance is certified, for points that stick out from a polished working set.
MORE_ROUNDS = 2


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

    It comes as the fields of `mve.MVE`, all but the last; units of length are those of `moments`.
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


def solve(design: Design, tol: float) -> tuple[IntArray, FloatArray]:
    """Return the rows that may carry weight, and their weights."""
    N = len(design.X)
    if design.rank == 0:
        return np.arange(N), np.full(N, 1.0 / N)
    if are_few(N, design.n, design.is_even):
        rows, weights = solve_at_once(design, tol)
        if design.certified(tol):
            return rows, weights
        design.columns, design.offset = design.base
        design.top = design.read(EVERY_ROW)
        design.n_read += N
    return refine(design, *explore(design), tol)


def solve_at_once(design: Design, tol: float) -> tuple[IntArray, FloatArray]:
    """Solve to the end on the outer points, let in those that stick out, and again: short for few points."""
    rows = outer_rows(design.bound, design.n, design.is_even)
    u = design.bound[rows]
    for i in range(TRIES):
        Q = design.lift(rows, design.columns, design.offset) if i else design.lift_to_base(rows)
        s = np.empty(len(rows))
        weights, _, transform = design.step(Q, u, s, 1.02, 0.3 * tol, MAX_STEPS)
        design.enter(transform)
        design.top = design.read(EVERY_ROW)
        design.n_read += len(design.X)
        design.report()
        if not design.gap > POLISHED or len(rows) == len(design.X):
            break
        new = design.others_above(design.n * (1.0 + POLISHED), rows, len(rows))
        if not len(new) and design.gap <= tol:
            break
        if i < DROPPING:
            held = design.holds(u, s)
            rows, weights = rows[held], weights[held]
        rows = np.append(rows, new)
        u = design.mixed(np.append(weights, np.zeros(len(new))))
    return rows, weights


def explore(design: Design) -> tuple[IntArray, FloatArray, FloatArray, bool]:
    """Take the first steps, letting points in after each; return rows, weights, slacks, and if no row is missing.

    The uniform design over all points lies under the working set as a background that fades from step to step.
    Without it the first working set would be fitted too closely, and on evenly filled bodies thousands of
    points would come up against it.
    """
    rows = largest(design.bound, design.first_size)
    Q = design.lift(rows, *design.base)
    share = min(0.9, max(0.05, design.gap / (1.0 + design.gap)))
    u = np.append(design.bound[rows] * (share / design.bound[rows].sum()), 1.0 - share)
    s = np.empty(len(rows))
    stretch = 1.02
    # While a step leaves no more of the gap than this part, letting in what sticks out is better than a new working
    # set; from an evenly filled body nothing sticks out at first, and it pays less.
    brisk = 0.5 if design.is_even else 0.8
    previous = np.eye(design.n)
    for _ in range(MAX_STEPS):
        before = design.gap
        weights, leverage, transform = design.step(Q, u, s, stretch, _GAIN * before, 1)
        stretch = 0.0
        missing = design.move(transform.dot(previous), rows, leverage)
        if design.broken or (weights[-1] <= 0.1 and (not len(missing) or design.gap > brisk * before)):
            break
        previous = dtrtri(transform, lower=1)[0]
        u[-1] *= 0.2
        if not len(missing):
            continue
        new = missing[largest(design.bound[missing], design.first_size // 2)]
        new_u, new_s = _entry(design, new, u, s)
        rows = np.concatenate([rows, new])
        Q = np.concatenate([Q, design.lift(new, *design.base)], axis=1)
        u = np.concatenate([u[:-1], new_u, u[-1:]])
        s = np.concatenate([s, new_s])
    return rows, u[:-1], s, len(missing) == 0


def refine(
    design: Design, rows: IntArray, u: FloatArray, s: FloatArray, complete: bool, tol: float
) -> tuple[IntArray, FloatArray]:
    """Solve on working sets of the points near the boundary until a pass certifies the tolerance."""
    prune = {True: True, False: True}
    weights = u
    more_rounds = MORE_ROUNDS
    for _ in range(60):
        if design.broken:
            break
        before = design.gap
        held = design.holds(u, s) if prune[complete] else slice(None)
        if complete:
            rows, u, s, stretch = rows[held], u[held], s[held], 0.0
        else:
            rows, u = _working_set(design, rows[held], u[held])
            s, stretch = np.empty(len(rows)), 1.02
        Q = design.lift(rows, design.columns, design.offset)
        target = max(0.3 * tol, _GAIN * before)
        weights, leverage, transform = design.step(Q, u, s, stretch, target, MAX_STEPS)
        missing = design.move(transform, rows, leverage)
        if design.certified(tol):
            if design.gap <= POLISHED or not len(missing) or not more_rounds:
                break
            more_rounds -= 1
        # A round that gained little has dropped points that came back: from then on rounds of its kind drop none.
        gained = design.gap < 0.5 * before
        prune[complete] = prune[complete] and gained
        complete = gained and len(missing) == 0
    return rows, weights


def _entry(design: Design, new: IntArray, u: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return weights and slacks with which new points join a running interior point, near its central path."""
    mass = u.sum()
    slack = np.maximum(design.n - design.bound[new] / mass, 0.3 * design.n * design.gap)
    weight = (u[:-1] @ s) / len(s) / slack
    return weight * min(1.0, 0.3 * mass / max(weight.sum(), 1e-300)), slack


def _working_set(design: Design, rows: IntArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return these rows and those near the boundary, and weights to start from."""
    # An evenly filled body has many points next to its boundary, and many of these come to hold the ellipsoid.
    most = max(2 * design.dim, 15 * design.n) if design.is_even else design.first_size
    near = design.others_above(design.n * (1.0 - 0.1 * design.gap), rows, most)
    return np.concatenate([rows, near]), design.mixed(np.concatenate([weights, np.zeros(len(near))]))
