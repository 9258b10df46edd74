"""Linear separability of two point sets: an exact test that reads large sets a few times only."""

import numpy as np
from numpy.typing import ArrayLike

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.geometry.checks import as_points, as_vector, same_features
from sepc.geometry.chunks import chunks
from sepc.geometry.hulls import nearest_points

Mask = BoolArray


def linearly_separable(
    A: ArrayLike, B: ArrayLike, *, unit: ArrayLike | None = None, first: tuple[Mask, Mask] | None = None
) -> bool:
    """Return whether a hyperplane separates two point sets: whether their convex hulls do not meet.

    Parameters
    ----------
    A : array-like of shape (n_a, d)
    B : array-like of shape (n_b, d)
    unit : array-like of shape (d,), optional
        Units of length of the features; 1 by default. They only matter for rounding: hulls meet where they are nearer
        to each other than 1e-8 of their range in these units.
    first : tuple of two ndarray of bool, shapes (n_a,) and (n_b,), optional
        Points to begin with: those that probably decide.

    Returns
    -------
    bool

    Notes
    -----
    Nearest points are found for the hulls of few points. Where these meet, so do the hulls of all. Else there is a
    hyperplane between the few, and it separates all, or there are points on the wrong side of it, which join the few.
    """
    sets = as_points(A, "A"), as_points(B, "B")
    d = sets[0].shape[1]
    same_features(sets[1], d, "B", "A")
    length = np.ones(d) if unit is None else as_vector(unit, "unit", d)
    origin, share = sets[0][0], 15 * d
    preferred = [np.empty(0, np.int64)] * 2 if first is None else [np.flatnonzero(mask) for mask in first]
    rows = [_evenly(some, len(points), share) for some, points in zip(preferred, sets, strict=True)]
    while True:
        few_a, few_b = ((points[some] - origin) / length for points, some in zip(sets, rows, strict=True))
        pair = nearest_points(few_a, few_b, cap=1.0)
        if pair.meet:
            return False
        normal = pair.normal / (length * pair.distance)
        a, b = (np.concatenate([(x - origin) @ normal for x in chunks(points)]) for points in sets)
        # It leaves a strip wider than rounding of the points' distances from it.
        if a.min() - b.max() > 1e-12 * max(np.abs(a).max(), np.abs(b).max()):
            return True
        more = [np.union1d(rows[0], _lowest(a, share)), np.union1d(rows[1], _lowest(-b, share))]
        if [len(some) for some in more] == [len(some) for some in rows]:  # all but touching: rounding hides the strip
            return False
        rows, share = more, 2 * share


def _evenly(preferred: IntArray, n: int, count: int) -> IntArray:
    """Return about `count` of n rows, evenly spaced: of the preferred ones, if these are enough."""
    rows = preferred if len(preferred) >= count else np.arange(n)
    return np.union1d(rows[:: -(-len(rows) // count)], preferred[:count])


def _lowest(score: FloatArray, count: int) -> IntArray:
    return np.arange(len(score)) if len(score) <= count else np.argpartition(score, count)[:count]
