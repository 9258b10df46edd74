"""The smooth stage of `nearest_points`: slabs that narrow, and shares that converge to the exact ones.

The state of a search is an array, so that kernels can return and resume: points may be dropped in between.
"""

from itertools import pairwise
from math import sqrt

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._kernels import cholesky
from sepc.geometry.compilation import kernel, part_of_kernel

# Columns of `per_side`: the cap, the half-width of the slab, the sum of the shares, the middle of the slab, and the
# number of points in it. The last two are results of `newton`.
CAP, TAU, WANTED, THRESHOLD, INSIDE = range(5)

# Points of a slab that are multiplied at a time: their copies stay in the cache.
_BATCH = 64

# The state of a search: lengths of r and of the normal; the next factor by which slabs narrow, and whether the normal
# shrinks with them; runs of Newton's method that narrowed slabs, those of them in a row without a full step, and runs
# that refined shares; the width, relative to the normal, at which rounding decides; whether the shares are exact;
# Newton steps, and points read by them.
DISTANCE, SIZE, FACTOR, SHRINKS, RUNS, SHORT, REFINEMENTS, FINEST, IS_DONE, N_STEPS, N_READ = range(11)

# Arguments of `narrow` and `refine`: the arrays of `newton` and the state.
InPlay = tuple[FloatArray, IntArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]

# The factor by which slabs narrow.
_NARROWING = 0.2
# Gradient relative to r at which Newton's method stops, where shares are refined.
_PRECISELY = 1e-11
# Up to this number of points, dropping some costs more than it saves.
FEW = 300


@kernel
def spread(
    score: FloatArray, centre: FloatArray, tau: float, wanted: float, guess: float, share: FloatArray
) -> tuple[float, float, float]:
    """Set `share` to ``centre + (score - threshold) / (2 * tau)``, clipped to [0, 1], with the sum `wanted`.

    Newton's method on a piecewise linear function of the threshold, safeguarded by a bracket. Returns the threshold,
    the sum of ``score * share`` and the sum of ``(share - centre)^2``.
    """
    low, high, stride = -np.inf, np.inf, 8.0 * tau + 1e-13 * abs(guess)
    at, slope, inside, total = guess, 0.5 / tau, 0, 0.0
    for _ in range(200):
        inside, total = 0, 0.0
        for i in range(len(score)):
            t = (score[i] - at) * slope + centre[i]
            inside += (t > 0.0) & (t < 1.0)
            total += min(max(t, 0.0), 1.0)
        excess = total - wanted
        if abs(excess) <= 1e-12 * max(wanted, 1.0):
            break
        if excess > 0.0:
            low = at
        else:
            high = at
        # With few points inside, the full step may be too long.
        following = at + min(max(excess / (slope * inside), -stride), stride)
        stride *= 4.0
        if following == at:
            break
        at = following if low < following < high else 0.5 * (low + high)
    # The points inside take what rounding of the threshold leaves of the sum.
    lift = (wanted - total) / max(inside, 1)
    reach, rounding = 0.0, 0.0
    for i in range(len(score)):
        t = (score[i] - at) * slope + centre[i]
        if 0.0 < t < 1.0:
            t += lift
        t = min(max(t, 0.0), 1.0)
        share[i] = t
        reach += score[i] * t
        rounding += (t - centre[i]) * (t - centre[i])
    return at, reach, rounding


@part_of_kernel
def newton(
    X: FloatArray,
    ends: IntArray,
    per_side: FloatArray,
    score: FloatArray,
    centre: FloatArray,
    share: FloatArray,
    fixed: FloatArray,
    w: FloatArray,
    max_steps: float,
    tol: float,
) -> tuple[int, float, float, float, float]:
    """Minimise ``|w|^2 / 2 - w . fixed + (smooth support functions)`` from `w` on, which is overwritten.

    Damped Newton steps, until the gradient is at most `tol` times r, which is `fixed` minus the weighted points. With
    one point per column all loops are long; only sub-arrays, whose indices cannot be negative, are vectorised.

    Parameters
    ----------
    X : ndarray of shape (d, n)
    ends : ndarray of shape (n_sides + 1,)
        0, and the ends of the points of each side.
    per_side : ndarray of shape (n_sides, 5)
        CAP, TAU and WANTED are given; THRESHOLD is an initial guess; INSIDE is a result.
    score, centre, share : ndarray of shape (n,)
        The centres are given, the others are results.

    Returns
    -------
    n_steps : int
    length : float
        Of the last step, relative to the full one; 0 if no step lowered the value.
    square, error : float
        Squared lengths of r and of the gradient.
    excess : float
        Upper bound of the gain from other centres, if the gradient is 0.
    """
    d, n = X.shape
    slab, inside = np.empty((d, _BATCH)), np.empty(n, np.uint32)
    mean = np.empty(d)
    H = np.zeros((d + 1, d + 1))  # row d is the right-hand side, solved along with the factorisation
    direction = np.zeros(d)
    best, slope, length = np.inf, 0.0, 1.0
    n_steps = 0
    while True:
        value, size, excess = 0.0, 0.0, 0.0
        score[:] = 0.0
        for j in range(d):
            along = w[j]
            for i in range(n):
                score[i] += along * X[j, i]
            value += along * (0.5 * along - fixed[j])
            size += along * along
            H[d, j] = fixed[j] - along
        for side in range(len(per_side)):
            first, last = ends[side], ends[side + 1]
            cap, tau = per_side[side, CAP], per_side[side, TAU]
            per_side[side, THRESHOLD], reach, rounding = spread(
                score[first:last],
                centre[first:last],
                tau,
                per_side[side, WANTED],
                per_side[side, THRESHOLD],
                share[first:last],
            )
            value += cap * (reach - tau * rounding)
            size += cap * (abs(reach) + tau * rounding)
            excess += 2.0 * cap * tau * np.sqrt((last - first) * rounding)
        if value > best + 1e-4 * length * slope + 1e-14 * size and length > 0.0:
            shorter = 0.4 * length if length > 1e-4 else 0.0
            for j in range(d):
                w[j] += (shorter - length) * direction[j]
            length = shorter
            continue
        best = value
        for side in range(len(per_side)):
            first, last = ends[side], ends[side + 1]
            u = share[first:last]
            for j in range(d):
                x = X[j, first:last]
                total = 0.0
                for i in range(len(x)):
                    total += u[i] * x[i]
                H[d, j] -= per_side[side, CAP] * total
            m = 0
            for i in range(len(u)):
                m += 0.0 < u[i] < 1.0
            per_side[side, INSIDE] = m
        square, error = 0.0, 0.0
        for j in range(d):
            square += (w[j] + H[d, j]) ** 2
            error += H[d, j] ** 2
        if n_steps >= max_steps or error <= tol * tol * square or length == 0.0:
            return n_steps, length, square, error, excess
        for j in range(d):
            for k in range(j):
                H[j, k] = 0.0
            H[j, j] = 1.0
        for side in range(len(per_side)):
            first, last = ends[side], ends[side + 1]
            u = share[first:last]
            m = 0
            for i in range(len(u)):
                if 0.0 < u[i] < 1.0:
                    inside[m] = i
                    m += 1
            for j in range(d):
                x = X[j, first:last]
                mean[j] = 0.0
                for i in range(m):
                    mean[j] += x[inside[i]] / m
            for start in range(0, m, _BATCH):
                some = inside[start : min(start + _BATCH, m)]
                for j in range(d):
                    x = X[j, first:last]
                    for i in range(len(some)):
                        slab[j, i] = x[some[i]] - mean[j]
                    for k in range(j + 1):
                        total = 0.0
                        for i in range(len(some)):
                            total += slab[j, i] * slab[k, i]
                        H[j, k] += per_side[side, CAP] / (2.0 * per_side[side, TAU]) * total
        H[d, d] = 1.0
        cholesky(H)
        slope = 0.0
        for j in range(d - 1, -1, -1):
            slope -= H[d, j] * H[d, j]
            direction[j] = H[d, j]
            for k in range(j + 1, d):
                direction[j] -= H[k, j] * direction[k]
            direction[j] /= H[j, j]
        n_steps += 1
        length = 1.0
        for j in range(d):
            w[j] += direction[j]


def half_width(score: FloatArray, width: float) -> float:
    """Return a half-width of `width` times the mean absolute deviation of the scores."""
    n = len(score)
    deviation = np.abs(score - np.add.reduce(score) / n)
    largest = max(np.maximum.reduce(score), -np.minimum.reduce(score))
    return float(width * np.add.reduce(deviation) / n + 1e-9 * largest + 1e-200)


def _set_half_widths(ends: IntArray, per_side: FloatArray, score: FloatArray, width: float, least: float) -> None:
    """Set the slabs' widths relative to the spread of the scores plus `least`.

    They are the same on both sides, since on one of them all points may happen to have the same score.
    """
    widths = [half_width(score[first:last], width) for first, last in pairwise(ends.tolist())]
    per_side[:, TAU] = max(widths, default=0.0) + width * least


def begin(
    X: FloatArray, ends: IntArray, per_side: FloatArray, score: FloatArray, w: FloatArray, width: float
) -> FloatArray:
    """Set scores and slabs for the normal `w` and a relative half-width; return the state of the search."""
    np.dot(w, X, out=score)
    _set_half_widths(ends, per_side, score, width, 0.0)
    for row, (first, last) in zip(per_side, pairwise(ends.tolist()), strict=True):
        row[THRESHOLD] = np.add.reduce(score[first:last]) / (last - first)
    state = np.zeros(11)
    size = sqrt(w.dot(w))
    state[SIZE], state[FACTOR] = size, _NARROWING
    # Tied points stay in a slab of any width; narrower than rounding it would have no threshold.
    if len(score):
        largest = max(np.maximum.reduce(score), -np.minimum.reduce(score))
        state[FINEST] = max(1e-7 * per_side[0, TAU], 1e-11 * largest) / max(size, 1e-300)
    return state


@part_of_kernel
def _copy(values: FloatArray, out: FloatArray) -> None:
    """Copy values; an assignment of arrays would take longer to compile."""
    for i in range(len(values)):
        out[i] = values[i]


def narrow(in_play: InPlay, limit: int, flat: float) -> bool:
    """Step and narrow until the slabs hold `limit` points, or |r| <= `flat`; return whether it is to be resumed.

    With many points it returns before the slabs narrow, so that some may be dropped.
    """
    resumes: bool = _search(*in_play, False, float(limit), flat, 0.0)
    return resumes


def refine(in_play: InPlay, flat: float, tol: float) -> bool:
    """Find the exact shares, to a gap of `tol` among these points or |r| of `flat`; return whether it is to be resumed.

    The proximal point method: the centres are the last shares, so that smoothing costs nothing in the limit. With many
    points it returns after each step, as `narrow` does.
    """
    _, ends, per_side, score, *_, w, state = in_play
    if not state[REFINEMENTS]:
        _set_half_widths(ends, per_side, score, 0.1, 0.1 * float(w.dot(w)))
    resumes: bool = _search(*in_play, True, 0.0, flat, tol)
    return resumes


@kernel
def _search(
    X: FloatArray,
    ends: IntArray,
    per_side: FloatArray,
    score: FloatArray,
    centre: FloatArray,
    share: FloatArray,
    fixed: FloatArray,
    w: FloatArray,
    state: FloatArray,
    refines: bool,
    limit: float,
    flat: float,
    tol: float,
) -> bool:
    """Do what `narrow` does, or `refine`: one kernel, since each call of `newton` is compiled for a second or more."""
    d, n = X.shape
    good_w, good_share = np.empty(d), np.empty(n)
    _copy(w, good_w)
    _copy(share, good_share)
    while state[REFINEMENTS if refines else RUNS] < (16.0 if refines else 60.0):
        factor, shrinking = 1.0, 1.0
        if refines:
            _copy(share, centre)
            factor = 0.5 if state[REFINEMENTS] > 0.0 else 1.0
        elif state[SHORT] == 0.0 and state[RUNS] > 0.0:
            _copy(w, good_w)
            _copy(share, good_share)
            factor = state[FACTOR]
            shrinking = factor if state[SHRINKS] > 0.0 else 1.0
        for side in range(len(per_side)):
            per_side[side, TAU] *= factor
            per_side[side, THRESHOLD] *= shrinking
        for j in range(d):
            w[j] *= shrinking
        # To narrow, up to 3 steps, or a gradient of half of r.
        most, precision = (10.0, _PRECISELY) if refines else (3.0, 0.5)
        n_steps, length, square, error, excess = newton(
            X, ends, per_side, score, centre, share, fixed, w, most, precision
        )
        distance, size = np.sqrt(square), 0.0
        for j in range(d):
            size += w[j] * w[j]
        state[N_STEPS] += n_steps
        state[N_READ] += (n_steps + 1) * n
        state[DISTANCE] = distance
        if refines:
            state[REFINEMENTS] += 1.0
            is_solved = np.sqrt(error) <= 10.0 * _PRECISELY * distance
            if distance <= flat or (is_solved and excess <= 0.1 * tol * size):
                state[IS_DONE] = 1.0
                return False
        else:
            state[RUNS] += 1.0
            if distance <= flat:
                return False
            if length < 1.0:
                state[SHORT] += 1.0
                # After three runs without a full step the slabs are too narrow for Newton's method.
                if state[SHORT] > 3.0 or length == 0.0:
                    _copy(good_w, w)
                    _copy(good_share, share)
                    return False
                continue
            state[SHORT] = 0.0
            inside, rounded = 0.0, 0.0
            for side in range(len(per_side)):
                inside += per_side[side, INSIDE]
                rounded += per_side[side, TAU] * min(per_side[side, INSIDE] * per_side[side, CAP], 1.0)
            is_sharp = rounded <= 0.1 * size  # the error of the distance by smoothing
            size = np.sqrt(size)
            if (inside <= limit and is_sharp) or per_side[0, TAU] <= state[FINEST] * max(size, 1e-300):
                return False
            # Where the hulls meet, the normal shrinks in proportion to the slabs, which may then narrow faster.
            before, factor = state[SIZE], state[FACTOR]
            meet = abs(size - factor * before) <= 0.02 * factor * before and np.sqrt(error) <= 0.1 * distance
            state[SIZE], state[SHRINKS] = size, 1.0 if size <= 0.5 * before else 0.0
            state[FACTOR] = max(factor**3, 0.5 * flat / size) if meet else _NARROWING
        if n > FEW:
            return True
    return False
