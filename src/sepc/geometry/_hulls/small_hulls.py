"""The nearest points of the reduced hulls of few points: from two sets to a certified pair by the shortest way.

A partition needs thousands of them, where the interpreter would take longer than the kernels. The way is the first
round of `hull_search`, which starts from the beginning where it ends without a certificate.
"""

from math import inf, sqrt
from typing import Any

import numpy as np

from sepc.common.typing import FloatArray
from sepc.geometry._hulls import MEETING_TOLERANCE, certified_gap, slabs
from sepc.geometry._hulls.slabs import CAP, WANTED
from sepc.geometry.compilation import kernel

# A weight whose share is this near to 0 or 1 is on its bound.
ROUNDING = 1e-9


def slab_limit(d: int) -> int:
    """Return the number of points in the slabs at which they stop narrowing."""
    return 100 + 4 * d


@kernel
def settle(share: FloatArray, total: float) -> bool:
    """Repair the rounding of a sum of shares: entries between 0 and 1, of sum `total`; return whether that worked."""
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
    problem, sides, images, bounds = _posed(A, B, caps)
    X, ends, per_side, score, _, share, _, normal = problem
    state = slabs.begin(X, ends, per_side, score, normal, 1.0)
    in_play = *problem, state
    distance = float(state[slabs.SIZE])
    data_range = float(max((bounds[1] - images[0]).max(), (images[0] - bounds[0]).max()))
    n_passes, weights = 0.0, [np.full(len(A), 1.0 / len(A)), np.full(len(B), 1.0 / len(B))]
    if not sides or distance <= min(tol, MEETING_TOLERANCE) * data_range:
        gap = certified_gap(distance, 0.0, data_range) if sides else 0.0
    else:
        flat = 0.1 * tol * float((bounds[1] - bounds[0]).max())
        while slabs.narrow(in_play, slab_limit(len(X)), flat):
            pass
        if state[slabs.DISTANCE] > flat:
            while slabs.refine(in_play, flat, tol):
                pass
        normal, data_range, gap = _certified(X, per_side, score, share, sides, images, bounds)
        for k, place in sides:
            weights[k] = caps[k] * share[place]
        n_passes = 2.0 * float(state[slabs.N_READ]) / len(share) + 1.0
    c, d = images + A[0]
    n_iter = int(state[slabs.N_STEPS])
    return c, d, normal, weights[0], weights[1], caps, data_range, gap, gap <= tol, n_iter, n_passes


# The free sets: 0 for A or 1 for B, and the places of its points among those of all free sets.
_Sides = list[tuple[int, slice]]


def _posed(
    A: FloatArray, B: FloatArray, caps: tuple[float, float]
) -> tuple[tuple[Any, ...], _Sides, FloatArray, FloatArray]:
    """Return the problem of two sets, relative to the first point of A, so that a large offset costs no digits.

    First the arguments of `slabs.narrow` for the free sets, but the state; points of A are multiplied by -1, so that
    the highest along the normal have weight on both sides. Then the free sets, the means, shape (2, d), and the
    smallest and the largest value of each feature, shape (2, d).
    """
    sets, d, sides, ends = (A, B), A.shape[1], [], [0]
    for k in range(2):
        if caps[k] * len(sets[k]) > 1.0 + 1e-12:
            ends.append(ends[-1] + len(sets[k]))
            sides.append((k, slice(*ends[-2:])))
    X, share, score, centre = np.empty((d, ends[-1])), np.empty(ends[-1]), np.empty(ends[-1]), np.full(ends[-1], 0.5)
    per_side, images = np.zeros((len(sides), 5)), np.empty((2, d))
    moved = A - A[0], B - A[0]
    for k in range(2):
        images[k] = np.add.reduce(moved[k]) / len(moved[k])
    bounds = np.array([np.minimum.reduce(moved[0]), np.maximum.reduce(moved[0])])  # 0 is among them: the first of A
    np.minimum(bounds[0], np.minimum.reduce(moved[1]), out=bounds[0])
    np.maximum(bounds[1], np.maximum.reduce(moved[1]), out=bounds[1])
    for row, (k, place) in zip(per_side, sides, strict=True):
        np.multiply(moved[k].T, 1.0 if k else -1.0, out=X[:, place])
        row[CAP], row[WANTED] = caps[k], 1.0 / caps[k]
        share[place] = 1.0 / (caps[k] * len(moved[k]))
    normal, fixed, free = images[0] - images[1], np.zeros(d), [k for k, _ in sides]
    if 0 not in free:
        fixed += images[0]
    if 1 not in free:
        fixed -= images[1]
    return (X, np.array(ends), per_side, score, centre, share, fixed, normal), sides, images, bounds


def _certified(
    X: FloatArray,
    per_side: FloatArray,
    score: FloatArray,
    share: FloatArray,
    sides: _Sides,
    images: FloatArray,
    bounds: FloatArray,
) -> tuple[FloatArray, float, float]:
    """Return the normal, the range and the gap for the shares of the free sides; set their images."""
    is_settled = True
    for row, (k, place) in zip(per_side, sides, strict=True):
        mine = share[place]
        is_settled = settle(mine, row[WANTED]) and is_settled
        images[k] += (row[CAP] if k else -row[CAP]) * (X[:, place] @ (mine - row[WANTED] / len(mine)))
    normal = images[0] - images[1]
    np.dot(normal, X, out=score)
    lower, free = 0.0, [k for k, _ in sides]
    for k in range(2):
        if k not in free:
            lower += float(images[k] @ normal) * (-1.0 if k else 1.0)
    for row, (_, place) in zip(per_side, sides, strict=True):
        lower -= _bound_of_support(score[place], share[place], row[CAP])
    distance = sqrt(normal @ normal)
    data_range = float(max((bounds[1] - images[0]).max(), (images[0] - bounds[0]).max()))
    gap = certified_gap(distance, lower / max(distance, 1e-300), data_range) if is_settled else inf
    return normal, data_range, gap
