"""The search for the optimal design among points in memory: few of them at once, many by working sets."""

import numpy as np
from scipy.linalg.lapack import dtrtri

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._mve.design import DROPPING, MAX_STEPS, TRIES, Design, are_few, largest
from sepc.geometry._mve.small_ellipsoid import outer_rows
from sepc.geometry._mve.small_interior_point import POLISHED
from sepc.geometry.passes import EVERY_ROW

# A working set is solved to this part of the gap before, since what it leaves out shows up only then.
_GAIN = 0.07
# Rounds after the tolerance is certified, for points that stick out from a polished working set.
MORE_ROUNDS = 2


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
