"""The search for the optimal design: few points at once, many by working sets.

A partition needs thousands of ellipsoids of a few dozen points, where the interpreter takes longer than the kernels.
`ellipsoid_of_few` does the same as `solve` for these with as few calls as possible; if it ends without a certificate,
`solve` starts from the beginning. It is not one kernel: two compiled copies of a sum, in different kernels, may differ
in their last bits, and which of them runs would depend on what a process compiles and what it finds on disk.
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
from sepc.geometry.ellipsoid import FLAT, ULPS, Ellipsoid
from sepc.geometry.passes import EVERY_ROW

# A working set is solved to this part of the last gap: the missing points are then known.
_GAIN = 0.07


def rows_above(values: FloatArray, level: float, most: int) -> IntArray:
    """Return the positions of the values above a level, ascending; at most the `most` largest of them."""
    rows: IntArray = (values > level).nonzero()[0]
    if len(rows) <= most:
        return rows
    some = values[rows]
    left = np.partition(some, len(some) - most - 1)[len(some) - most - 1]  # the largest of those that are not chosen
    chosen = some > left
    # Of equal values the first.
    chosen[(some == left).nonzero()[0][: most - np.count_nonzero(chosen)]] = True
    largest_rows: IntArray = rows[chosen]
    return largest_rows


def outer_rows(leverage: FloatArray, n: int, is_even: bool) -> IntArray:
    """Return the initial working set of few points; see the tables of this package.

    Rows with less than half of the mean leverage, n, rarely get weight. Too few of the others may not span the space.
    """
    N = len(leverage)
    size = max(FIRST * n, 45)
    if FIRST * n >= N:
        enough = N if is_even else max(4 * n, int(0.6 * N))
        outer = rows_above(leverage, 0.5 * n, enough)
        return outer if len(outer) >= 2 * n else np.arange(N)
    if 3 * size >= N:
        outer = rows_above(leverage, 1.1 * n, N)
        is_enough = len(outer) >= 4 * n and not is_even
        return outer if is_enough else rows_above(leverage, 0.9 * n, N)
    return rows_above(leverage, -1.0, size)


def ellipsoid_of_few(
    X: FloatArray, given_unit: FloatArray, tol: float
) -> tuple[Ellipsoid, FloatArray, float, int, int, float] | None:
    """Return the smallest ellipsoid of few points as the fields of `mve.MVE` but the last, or None if not certified."""
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
    rows, u = np.arange(N), np.full(N, 1.0 / N)  # the answer for copies of one point
    if n > 1:
        rows = outer_rows(bound, n, is_even)
        u = bound[rows]
        for i in range(TRIES):
            order = min(len(rows), dim)
            if order > SMALL_ORDER or (len(rows) + order) * order**2 > SMALL_PRODUCTS:
                return None
            Q, s = lift(X, rows, origin, center, columns, offset), np.empty(len(rows))
            _, inverse, mass, steps = optimal_design(interior_point, Q, u, s, 1.02, 0.3 * tol, MAX_STEPS, is_even)
            transform = inverse * sqrt(mass)
            columns, offset = columns.dot(transform.T), transform.dot(offset)
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
    if n <= d:  # as in `mve._room_for_flat`
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
    bound.fill(0.0)  # reuse its memory
    bound[rows] = u
    bound.setflags(write=False)
    return Ellipsoid.trusted(position, axes, radii), bound, gap, n - 1, n_iter, (n_read + N) / N


def solve(design: Design, tol: float) -> tuple[IntArray, FloatArray]:
    """Return the rows of the last working set, and their weights."""
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
    """Solve to the end on the outer points, add those that stick out, and repeat: fast for few points."""
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
            held = holding(u, s, design.n, design.gap)
            rows, weights = rows[held], weights[held]
        rows = np.append(rows, new)
        u = mixed(np.append(weights, np.zeros(len(new))), design.gap)
    return rows, weights


def explore(design: Design) -> tuple[IntArray, FloatArray, FloatArray, bool]:
    """Take the first steps, adding points after each; return rows, weights, slacks, and whether no row is missing.

    The design is mixed with the uniform one over all points, whose weight falls from step to step. Without it the first
    working set would be fitted too closely, and of evenly filled bodies thousands of points would stick out.
    """
    rows = largest(design.bound, design.first_size)
    Q = design.lift(rows, *design.base)
    share = min(0.9, max(0.05, design.gap / (1.0 + design.gap)))
    u = np.append(design.bound[rows] * (share / design.bound[rows].sum()), 1.0 - share)
    s = np.empty(len(rows))
    stretch = 1.02
    # While a step reduces the gap to less than this part, adding points is better than a new working set; for an evenly
    # filled body, from which nothing sticks out at first, less so.
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
    more_rounds = 2  # after the tolerance is certified, while points stick out from a polished working set
    for _ in range(60):
        if design.broken:
            break
        before = design.gap
        held = holding(u, s, design.n, design.gap) if prune[complete] else slice(None)
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
        # A round that gained little has dropped points that are needed: later rounds of its kind drop none.
        gained = design.gap < 0.5 * before
        prune[complete] = prune[complete] and gained
        complete = gained and len(missing) == 0
    return rows, weights


def _entry(design: Design, new: IntArray, u: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return weights and slacks of points that enter a running interior point, near its central path."""
    mass = u.sum()
    slack = np.maximum(design.n - design.bound[new] / mass, 0.3 * design.n * design.gap)
    weight = (u[:-1] @ s) / len(s) / slack
    return weight * min(1.0, 0.3 * mass / max(weight.sum(), 1e-300)), slack


def _working_set(design: Design, rows: IntArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return these rows and those near the boundary, and initial weights."""
    # Of an evenly filled body many points are near the boundary, and many of these become support points.
    most = max(2 * design.dim, 15 * design.n) if design.is_even else design.first_size
    near = design.others_above(design.n * (1.0 - 0.1 * design.gap), rows, most)
    return np.concatenate([rows, near]), mixed(np.concatenate([weights, np.zeros(len(near))]), design.gap)
