"""The nearest points of the reduced hulls of few points: from two sets to a certified pair in four compiled steps.

A partition needs thousands of them, where the interpreter would take longer than the kernels. The steps are the first
round of `hull_search`, which starts from the beginning where they end without a certificate.
"""

from typing import Any

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._hulls import MEETING_TOLERANCE, certified_gap, slabs
from sepc.geometry._hulls.slabs import CAP, WANTED
from sepc.geometry.compilation import kernel, part_of_kernel

# A weight whose share is this near to 0 or 1 is on its bound.
ROUNDING = 1e-9

_gap = part_of_kernel(certified_gap)


def slab_limit(d: int) -> int:
    """Return the number of points in the slabs at which they stop narrowing."""
    return 100 + 4 * d


@part_of_kernel
def _settled(share: FloatArray, total: float) -> bool:
    for _ in range(3):
        lack, n = total, 0
        for i in range(len(share)):
            lack -= share[i]
            n += ROUNDING < share[i] < 1.0 - ROUNDING
        if abs(lack) <= 1e-14 * total:
            return True
        for i in range(len(share)):
            if ROUNDING < share[i] < 1.0 - ROUNDING:
                share[i] = min(max(share[i] + lack / n, 0.0), 1.0)
    return False


@kernel
def settle(share: FloatArray, total: float) -> bool:
    """Repair the rounding of a sum of shares: entries between 0 and 1, of sum `total`; return whether that worked."""
    return _settled(share, total)


@part_of_kernel
def _bound_of_support(score: FloatArray, share: FloatArray, cap: float) -> float:
    """Return an upper bound of all weighted means of the scores with weights of at most `cap`.

    Any threshold gives one. With optimal shares that of the lowest score with a share is tight.
    """
    threshold, total = np.inf, 0.0
    for i in range(len(score)):
        if share[i] > ROUNDING:
            threshold = min(threshold, score[i])
    for i in range(len(score)):
        total += max(score[i] - threshold, 0.0)
    return threshold + cap * total


def nearest_of_few(A: FloatArray, B: FloatArray, caps: tuple[float, float], tol: float) -> tuple[Any, ...]:
    """Return the fields of `hulls.HullPair`, which are only of use if the gap is at most the tolerance."""
    X, ends, per_side, score, centre, share, fixed, normal, free, images, bounds = _posed(A, B, *caps)
    state = slabs.begin(X, ends, per_side, score, normal, 1.0)
    problem = X, ends, per_side, score, centre, share, fixed, normal, state
    distance = float(state[slabs.SIZE])
    data_range = float(max((bounds[1] - images[0]).max(), (images[0] - bounds[0]).max()))
    n_passes, weights = 0.0, [np.full(len(A), 1.0 / len(A)), np.full(len(B), 1.0 / len(B))]
    if not len(free) or distance <= min(tol, MEETING_TOLERANCE) * data_range:
        gap = certified_gap(distance, 0.0, data_range) if len(free) else 0.0
    else:
        flat = 0.1 * tol * float((bounds[1] - bounds[0]).max())
        while slabs.narrow(*problem, slab_limit(len(X)), flat):
            pass
        if state[slabs.DISTANCE] > flat:
            while slabs.refine(*problem, flat, tol):
                pass
        normal, data_range, gap = _certified(X, ends, per_side, score, share, free, images, bounds)
        for side, k in enumerate(free.tolist()):
            weights[k] = caps[k] * share[ends[side] : ends[side + 1]]
        n_passes = 2.0 * float(state[slabs.N_READ]) / len(share) + 1.0
    c, d = images + A[0]
    n_iter = int(state[slabs.N_STEPS])
    return c, d, normal, weights[0], weights[1], caps, data_range, gap, gap <= tol, n_iter, n_passes


@kernel
def _posed(
    A: FloatArray, B: FloatArray, cap_a: float, cap_b: float
) -> tuple[
    FloatArray,
    IntArray,
    FloatArray,
    FloatArray,
    FloatArray,
    FloatArray,
    FloatArray,
    FloatArray,
    IntArray,
    FloatArray,
    FloatArray,
]:
    """Return the problem of two sets, relative to the first point of A, so that a large offset costs no digits.

    First the arguments of `slabs.narrow` for the free sets; points of A are multiplied by -1, so that the highest along
    the normal have weight on both sides. Then the numbers of the free sets, 0 for A and 1 for B, the means, shape
    (2, d), and the smallest and the largest value of each feature, shape (2, d).
    """
    d, sets, caps = A.shape[1], (A, B), (cap_a, cap_b)
    ends, free, n_free = np.zeros(3, np.int64), np.empty(2, np.int64), 0
    for k in range(2):
        if caps[k] * len(sets[k]) > 1.0 + 1e-12:
            free[n_free] = k
            n_free += 1
            ends[n_free] = ends[n_free - 1] + len(sets[k])
    ends, free = ends[: n_free + 1], free[:n_free]
    n = ends[n_free]
    X, share, score, centre = np.empty((d, n)), np.empty(n), np.empty(n), np.full(n, 0.5)
    per_side, fixed, normal = np.zeros((n_free, 5)), np.zeros(d), np.empty(d)
    images, bounds, column = np.zeros((2, d)), np.zeros((2, d)), np.empty(max(len(A), len(B)))
    side = 0
    for k in range(2):
        points, is_free = sets[k], side < n_free and free[side] == k
        for j in range(d):
            for i in range(len(points)):
                column[i] = points[i, j] - A[0, j]
            total = 0.0
            for i in range(len(points)):
                total += column[i]
                bounds[0, j] = min(bounds[0, j], column[i])
                bounds[1, j] = max(bounds[1, j], column[i])
            images[k, j] = total / len(points)
            if is_free:
                for i in range(len(points)):
                    X[j, ends[side] + i] = column[i] if k else -column[i]
            else:
                fixed[j] += -images[k, j] if k else images[k, j]
        if is_free:
            per_side[side, CAP], per_side[side, WANTED] = caps[k], 1.0 / caps[k]
            share[ends[side] : ends[side + 1]] = 1.0 / (caps[k] * len(points))
            side += 1
    for j in range(d):
        normal[j] = images[0, j] - images[1, j]
    return X, ends, per_side, score, centre, share, fixed, normal, free, images, bounds


@part_of_kernel
def _reach(bounds: FloatArray, center: FloatArray) -> float:
    """Return the largest difference of a coordinate from the center's."""
    largest = 0.0
    for j in range(len(center)):
        largest = max(largest, bounds[1, j] - center[j], center[j] - bounds[0, j])
    return largest


@kernel
def _certified(
    X: FloatArray,
    ends: IntArray,
    per_side: FloatArray,
    score: FloatArray,
    share: FloatArray,
    free: IntArray,
    images: FloatArray,
    bounds: FloatArray,
) -> tuple[FloatArray, float, float]:
    """Return the normal, the range and the gap for the shares of the free sides; set their images."""
    d, n = X.shape
    is_settled, normal = True, np.empty(d)
    for side in range(len(free)):
        mine = share[ends[side] : ends[side + 1]]
        is_settled = _settled(mine, per_side[side, WANTED]) and is_settled
        weight = per_side[side, CAP] if free[side] else -per_side[side, CAP]
        for j in range(d):
            change = 0.0
            for i in range(len(mine)):
                change += X[j, ends[side] + i] * (mine[i] - per_side[side, WANTED] / len(mine))
            images[free[side], j] += weight * change
    square, lower = 0.0, 0.0
    score[:] = 0.0
    for j in range(d):
        normal[j] = images[0, j] - images[1, j]
        square += normal[j] * normal[j]
        for i in range(n):
            score[i] += normal[j] * X[j, i]
        # The sets that are not free.
        lower += images[0, j] * normal[j] if free[0] == 1 else 0.0
        lower -= images[1, j] * normal[j] if free[-1] == 0 else 0.0
    for side in range(len(free)):
        first, last = ends[side], ends[side + 1]
        lower -= _bound_of_support(score[first:last], share[first:last], per_side[side, CAP])
    distance, data_range = np.sqrt(square), _reach(bounds, images[0])
    gap = _gap(distance, lower / max(distance, 1e-300), data_range) if is_settled else np.inf
    return normal, data_range, gap
