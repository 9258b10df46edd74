"""The optimal design of few points: all that may hold the ellipsoid in one working set, solved to the end at once."""

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._mve.design import MAX_STEPS, POLISHED, Design, largest
from sepc.geometry.passes import EVERY_ROW

# Few points, or many: up to this many points, times the entries of a moment matrix, all at once is the fastest. With
# more entries than the second number an evenly filled body has too many points near its boundary for that.
FEW = 120_000
FEW_ENTRIES = 36

# How often points are let in; after so many times those that turn out not to hold the ellipsoid are no longer dropped.
TRIES = 6
DROPPING = 2

# Hardly more points than may carry weight. Those with less than this part of the mean leverage hardly ever come to; the
# others may fail to span the space, then the search begins anew with all of them. Where some points stick out so many
# per dimension, or this part of all, are enough to begin with.
INNER = 0.5
OUTER_PER_DIMENSION = 4
OUTER_PART = 0.6

# Up to so many times the first working set. Those with the first part of the mean leverage; or with the second, if
# these are few or an evenly filled body has no points that stick out.
SOME_MORE = 3
OUTER = 1.1
NOT_INNER = 0.9

# More points: the outermost ones, as many as the first working set has, or this many.
LEAST = 45


def solve_at_once(design: Design, tol: float) -> tuple[IntArray, FloatArray]:
    """Solve to the end on the outer points, let in those that stick out, and again: short for few points."""
    rows = _outer_rows(design)
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


def _outer_rows(design: Design) -> IntArray:
    """Return the rows to begin with: if they are hardly more than may carry weight, all but the inner ones."""
    leverage, size = design.bound, max(design.first_size, LEAST)
    if len(leverage) <= design.first_size:
        outer: IntArray = (leverage > INNER * design.n).nonzero()[0]
        enough = max(OUTER_PER_DIMENSION * design.n, int(OUTER_PART * len(leverage)))
        if len(outer) > enough and not design.is_even:
            outer = outer[largest(leverage[outer], enough)]
        return outer if len(outer) >= 2 * design.n else np.arange(len(leverage))
    if len(leverage) <= SOME_MORE * size:  # a comparison takes less time than a selection
        outer = (leverage > OUTER * design.n).nonzero()[0]
        is_enough = len(outer) >= OUTER_PER_DIMENSION * design.n and not design.is_even
        return outer if is_enough else (leverage > NOT_INNER * design.n).nonzero()[0]
    return largest(leverage, size)
