"""The compiled part of the smooth stage of `nearest_points`."""

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._kernels import cholesky
from sepc.geometry.compilation import kernel, part_of_kernel

# What `newton` is told of each side, and tells: the cap, the half-width of the slab, how many caps of weight the points
# share, the middle of the slab, and how many points are in it.
CAP, TAU, WANTED, THRESHOLD, INSIDE = range(5)

# So many points of a slab are multiplied at a time: their copies stay in the cache.
_BATCH = 64


@kernel
def spread(
    score: FloatArray, centre: FloatArray, tau: float, wanted: float, guess: float, share: FloatArray
) -> tuple[float, float, float]:
    """Set `share` to ``centre + (score - threshold) / (2 * tau)``, cut off at 0 and 1, with the sum `wanted`.

    Newton's method on a piecewise linear function of the threshold, kept inside a bracket.

    Returns
    -------
    threshold : float
    reach : float
        The sum of ``score * share``.
    rounding : float
        The sum of ``(share - centre)^2``.
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
        # Where few are inside, the tangent would lead too far.
        following = at + min(max(excess / (slope * inside), -stride), stride)
        stride *= 4.0
        if following == at:
            break
        at = following if low < following < high else 0.5 * (low + high)
    # What rounding of the threshold leaves of the sum goes to the points inside.
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

    Damped Newton steps, until the gradient is at most `tol` of r, what is left of `fixed` without the weighted points.
    Columns make all loops long; sub-arrays make it plain that no index is negative, without which none is vectorised.

    Parameters
    ----------
    X : ndarray of shape (d, n)
        One point per column.
    ends : ndarray of shape (n_sides + 1,)
        0, then where the points of each side end.
    per_side : ndarray of shape (n_sides, 5)
        CAP, TAU and WANTED are given; THRESHOLD is a guess at first; INSIDE is a result.
    score, centre, share : ndarray of shape (n,)
        The centres are given, the others are results.

    Returns
    -------
    n_steps : int
    length : float
        Of the last step, as a share of the full one; 0 if no step lowered the value.
    square, error : float
        Squared lengths of r and of the gradient.
    excess : float
        By how much, at most, moving the centres can lower the value, if the gradient is 0.
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
