"""Components: the first two moments of points of one class, which are all that a local density is made of.

So it does not matter where the points are, and several components are one by sums alone.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sepc.common.typing import FloatArray

# What all blocks have in common weighs as much as this many points, times the number of features plus one.
SHRINKAGE = 1.0
# Variances, in units of the features, that are added to the common covariance and to each one.
_COMMON_RIDGE = 1e-2
_RIDGE = 1e-4


class Component(NamedTuple):
    """Points of one class: mean of shape (d,), sums of squares and products about it, and how many.

    Examples
    --------
    >>> Component(0, np.zeros(1), np.eye(1), 2).n
    2
    """

    code: int
    mean: FloatArray
    scatter: FloatArray
    n: float


def component_of_points(code: int, points: FloatArray, center: FloatArray, unit: FloatArray) -> Component:
    """Return the moments of ``(points - center) / unit``; uses up the points.

    Examples
    --------
    >>> component_of_points(0, np.array([[1.0], [3.0]]), np.zeros(1), np.ones(1)).mean.tolist()
    [2.0]
    """
    points -= center
    points /= unit
    mean = points.mean(axis=0)
    points -= mean
    return Component(code, mean, points.T @ points, len(points))


def together(parts: Sequence[Component]) -> Component:
    """Return the component of the points of several, all of one class.

    Examples
    --------
    >>> a, b = Component(0, np.zeros(1), np.zeros((1, 1)), 1), Component(0, np.full(1, 4.0), np.eye(1), 3)
    >>> one = together([a, b])
    >>> one.mean.tolist(), one.scatter.tolist(), one.n
    ([3.0], [[13.0]], 4.0)
    """
    if len(parts) == 1:
        return parts[0]
    counts = np.array([part.n for part in parts])
    means = np.array([part.mean for part in parts])
    mean = counts @ means / counts.sum()
    away = means - mean
    scatter = np.sum([part.scatter for part in parts], axis=0) + (away * counts[:, None]).T @ away
    return Component(parts[0].code, mean, scatter, float(counts.sum()))


def common_covariance(scatter: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the covariance that components have in common, from the sum of their scatters, shape (d, d).

    Examples
    --------
    >>> common_covariance(np.array([[6.0]]), np.array([4.0])).tolist()
    [[2.01]]
    """
    return np.asarray(scatter / max(counts.sum() - len(counts), 1.0) + _COMMON_RIDGE * np.eye(len(scatter)))


def shrunken_covariance(scatter: FloatArray, n: FloatArray | float, common: FloatArray) -> FloatArray:
    """Return the covariance of a component of n points, shrunk towards the common one.

    Parameters
    ----------
    scatter : ndarray of shape (..., d, d)
    n : float or ndarray of shape (..., 1, 1)
    common : ndarray of shape (d, d)

    Examples
    --------
    >>> shrunken_covariance(np.array([[6.0]]), 4, np.array([[3.0]])).round(3).tolist()
    [[2.0]]
    """
    d = len(common)
    strength = SHRINKAGE * (d + 1)
    return np.asarray((scatter + strength * common) / (n + strength) + _RIDGE * np.eye(d))
