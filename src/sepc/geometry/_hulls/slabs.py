"""The smooth stage of `nearest_points`, compiled: slabs that narrow, and shares that become those of the exact problem.

The arrays of the points in play are those of `hull_kernels.newton`. Where a search stands is an array of its own, so
that it can be left and entered again: points may be left out in between.
"""

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._hulls.hull_kernels import CAP, INSIDE, TAU, THRESHOLD, newton
from sepc.geometry.compilation import kernel, part_of_kernel

# Where a search stands: lengths of r and of the normal; by which factor slabs narrow next, and whether the normal does
# with them; how often Newton's method was run to narrow them, how often in a row without a full step, and how often to
# refine shares; the width, relative to the normal, from which on rounding decides; whether the shares are those asked
# for; Newton steps, and numbers of points read by them.
DISTANCE, SIZE, FACTOR, SHRINKS, RUNS, SHORT, REFINEMENTS, FINEST, IS_DONE, N_STEPS, N_READ = range(11)
STATE_SIZE = 11

# What `narrow` and `refine` are told: the arrays of `hull_kernels.newton`, and where the search stands.
InPlay = tuple[FloatArray, IntArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]

# From wide slabs to narrow ones (`narrow`). They narrow by this factor whenever Newton's method has brought the
# gradient to so small a share of r.
_NARROWING = 0.2
_ROUGHLY = 0.5
_STEPS_AT_ONCE = 3.0  # of an int the compiler would make a kernel for this number alone
_MAX_NARROWINGS = 60
# Where no full step is possible so many times in a row, the slabs have become too narrow for Newton's method.
_MAX_SHORT = 3
# What rounding off the support functions may cost of the distance.
_SHARP = 0.1

# To the shares of the exact problem (`refine`). The same where shares are spread about those found before; at first
# slabs have this width relative to the scores.
_REFINING = 0.5
_REFINING_WIDTH = 0.1
_PRECISELY = 1e-11
_REFINING_STEPS = 10.0
_MAX_REFINEMENTS = 16

# Few points (both): leaving some out costs more than it saves where there are no more than this.
FEW = 300


@part_of_kernel
def _half_width(score: FloatArray, first: int, last: int, width: float) -> float:
    """Return the half-width of a slab of `width` relative to the mean distance of some scores from their mean."""
    mean, spread, largest = 0.0, 0.0, 0.0
    for i in range(first, last):
        mean += score[i]
        largest = max(largest, abs(score[i]))
    mean /= last - first
    for i in range(first, last):
        spread += abs(score[i] - mean)
    return width * spread / (last - first) + 1e-9 * largest + 1e-200


@kernel
def half_width(score: FloatArray, width: float) -> float:
    """Return the half-width of a slab of `width` relative to the mean distance of the scores from their mean."""
    return _half_width(score, 0, len(score), width)


@part_of_kernel
def _copy(values: FloatArray, out: FloatArray) -> None:
    """Set `out` to some values: as an assignment of arrays it would take the compiler seconds."""
    for i in range(len(values)):
        out[i] = values[i]


@part_of_kernel
def _set_half_widths(ends: IntArray, per_side: FloatArray, score: FloatArray, width: float, least: float) -> None:
    """Give the slabs a width relative to the spread of the scores plus `least`.

    The same for both sides: where all points of one have the same score, that is due to the normal of the moment.
    """
    widest = 0.0
    for side in range(len(per_side)):
        widest = max(widest, _half_width(score, ends[side], ends[side + 1], width))
    for side in range(len(per_side)):
        per_side[side, TAU] = widest + width * least


@kernel
def begin(
    X: FloatArray, ends: IntArray, per_side: FloatArray, score: FloatArray, w: FloatArray, width: float
) -> FloatArray:
    """Set scores and slabs for the normal `w` and slabs of half-width `width` relative to the spread of the scores.

    Returns
    -------
    ndarray of shape (11,)
        Where the search stands.
    """
    d, n = X.shape
    square, largest = 0.0, 0.0
    score[:] = 0.0
    for j in range(d):
        square += w[j] * w[j]
        for i in range(n):
            score[i] += w[j] * X[j, i]
    _set_half_widths(ends, per_side, score, width, 0.0)
    for side in range(len(per_side)):
        total = 0.0
        for i in range(ends[side], ends[side + 1]):
            total += score[i]
            largest = max(largest, abs(score[i]))
        per_side[side, THRESHOLD] = total / (ends[side + 1] - ends[side])
    state = np.zeros(STATE_SIZE)
    size = np.sqrt(square)
    state[SIZE], state[FACTOR] = size, _NARROWING
    # Points that tie stay in a slab however narrow; narrower than rounding it would have no threshold.
    if len(per_side):
        state[FINEST] = max(1e-7 * per_side[0, TAU] / max(size, 1e-300), 1e-11 * largest / max(size, 1e-300))
    return state


@kernel
def narrow(
    X: FloatArray,
    ends: IntArray,
    per_side: FloatArray,
    score: FloatArray,
    centre: FloatArray,
    share: FloatArray,
    fixed: FloatArray,
    w: FloatArray,
    state: FloatArray,
    limit: int,
    flat: float,
) -> bool:
    """Step and narrow until the slabs hold `limit` points, or |r| <= `flat`; return whether there is more to do.

    Where points are many it returns each time before the slabs narrow: some may be left out from there on.
    """
    n = len(share)
    good_w, good_share = w.copy(), share.copy()
    while state[RUNS] < _MAX_NARROWINGS:
        if state[SHORT] == 0.0 and state[RUNS] > 0.0:
            _copy(w, good_w)
            _copy(share, good_share)
            for side in range(len(per_side)):
                per_side[side, TAU] *= state[FACTOR]
                per_side[side, THRESHOLD] *= state[FACTOR] if state[SHRINKS] > 0.0 else 1.0
            for j in range(len(w)):
                w[j] *= state[FACTOR] if state[SHRINKS] > 0.0 else 1.0
        n_steps, length, square, error, _ = newton(
            X, ends, per_side, score, centre, share, fixed, w, _STEPS_AT_ONCE, _ROUGHLY
        )
        distance = np.sqrt(square)
        state[RUNS] += 1.0
        state[N_STEPS] += n_steps
        state[N_READ] += (n_steps + 1) * n
        state[DISTANCE] = distance
        if distance <= flat:
            return False
        if length < 1.0:
            state[SHORT] += 1.0
            if state[SHORT] > _MAX_SHORT or length == 0.0:
                _copy(good_w, w)
                _copy(good_share, share)
                return False
            continue
        state[SHORT] = 0.0
        size, inside, rounded = 0.0, 0.0, 0.0
        for j in range(len(w)):
            size += w[j] * w[j]
        for side in range(len(per_side)):
            inside += per_side[side, INSIDE]
            rounded += per_side[side, TAU] * min(per_side[side, INSIDE] * per_side[side, CAP], 1.0)
        is_sharp = rounded <= _SHARP * size
        size = np.sqrt(size)
        if (inside <= limit and is_sharp) or per_side[0, TAU] <= state[FINEST] * max(size, 1e-300):
            return False
        # Where the hulls meet, the normal shrinks with the slabs: the better it does, the faster they may narrow.
        before, factor = state[SIZE], state[FACTOR]
        meet = abs(size - factor * before) <= 0.02 * factor * before and np.sqrt(error) <= 0.1 * distance
        state[SIZE], state[SHRINKS] = size, 1.0 if size <= 0.5 * before else 0.0
        state[FACTOR] = max(factor**3, 0.5 * flat / size) if meet else _NARROWING
        if n > FEW:
            return True
    return False


@kernel
def refine(
    X: FloatArray,
    ends: IntArray,
    per_side: FloatArray,
    score: FloatArray,
    centre: FloatArray,
    share: FloatArray,
    fixed: FloatArray,
    w: FloatArray,
    state: FloatArray,
    flat: float,
    tol: float,
) -> bool:
    """Find the shares of the exact problem; return whether there is more to do.

    They are found where their gap, among these points, is `tol`, or |r| is `flat`; the state tells. The proximal point
    method: the centres are the shares found before, and being off them costs nothing in the end. Where points are many
    it returns after each step, as `narrow` does.
    """
    n = len(share)
    while state[REFINEMENTS] < _MAX_REFINEMENTS:
        if state[REFINEMENTS] == 0.0:
            square = 0.0
            for j in range(len(w)):
                square += w[j] * w[j]
            _set_half_widths(ends, per_side, score, _REFINING_WIDTH, 0.1 * square)
        else:
            for side in range(len(per_side)):
                per_side[side, TAU] *= _REFINING
        _copy(share, centre)
        n_steps, _, square, error, excess = newton(
            X, ends, per_side, score, centre, share, fixed, w, _REFINING_STEPS, _PRECISELY
        )
        size = 0.0
        for j in range(len(w)):
            size += w[j] * w[j]
        distance = np.sqrt(square)
        state[REFINEMENTS] += 1.0
        state[N_STEPS] += n_steps
        state[N_READ] += (n_steps + 1) * n
        state[DISTANCE] = distance
        is_solved = np.sqrt(error) <= 10.0 * _PRECISELY * distance
        if distance <= flat or (is_solved and excess <= 0.1 * tol * size):
            state[IS_DONE] = 1.0
            return False
        if n > FEW:
            return True
    return False
