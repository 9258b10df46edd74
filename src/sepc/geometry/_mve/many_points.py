"""The optimal design of many points: on working sets of few of them, which passes over all bring up to date."""

import numpy as np
from scipy.linalg.lapack import dtrtri

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._mve.design import MAX_STEPS, POLISHED, Design, largest

# First steps (`explore`). By how much the background fades with each of them, and when it is faint enough to do
# without.
_FADING = 0.2
_FAINT = 0.1
# While a step leaves no more of the gap than this, letting in what sticks out is better than a new working set; from an
# evenly filled body nothing sticks out at first, and it pays less.
_BRISK, _BRISK_IF_EVEN = 0.8, 0.5

# Later working sets (`refine`). A new one takes in the points this near to the boundary, as a part of the gap.
_NEAR = 0.1
_MAX_ROUNDS = 60
# So many of them after the tolerance is certified, for points that stick out from a polished working set.
MORE_ROUNDS = 2

# Both: a working set is solved to this part of the gap before, since what it leaves out shows up only then.
_GAIN = 0.07


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
    brisk = _BRISK_IF_EVEN if design.is_even else _BRISK
    previous = np.eye(design.n)
    for _ in range(MAX_STEPS):
        before = design.gap
        weights, leverage, transform = design.step(Q, u, s, stretch, _GAIN * before, 1)
        stretch = 0.0
        missing = design.move(transform.dot(previous), rows, leverage)
        if design.broken or (weights[-1] <= _FAINT and (not len(missing) or design.gap > brisk * before)):
            break
        previous = dtrtri(transform, lower=1)[0]
        u[-1] *= _FADING
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
    for _ in range(_MAX_ROUNDS):
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
    near = design.others_above(design.n * (1.0 - _NEAR * design.gap), rows, most)
    return np.concatenate([rows, near]), design.mixed(np.concatenate([weights, np.zeros(len(near))]))
