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
    """Points of one class: mean of shape (d,), sums of squares and products about it, and how many."""

    code: int
    mean: FloatArray
    scatter: FloatArray
    n: float


def component_of_points(code: int, points: FloatArray, center: FloatArray, unit: FloatArray) -> Component:
    """Return the moments of ``(points - center) / unit``; uses up the points."""
    points -= center
    points /= unit
    mean = points.mean(axis=0)
    points -= mean
    return Component(code, mean, points.T @ points, len(points))


def together(parts: Sequence[Component]) -> Component:
    """Return the component of the points of several, all of one class."""
    if len(parts) == 1:
        return parts[0]
    counts = np.array([part.n for part in parts])
    means = np.array([part.mean for part in parts])
    mean = counts @ means / counts.sum()
    away = means - mean
    scatter = np.sum([part.scatter for part in parts], axis=0) + (away * counts[:, None]).T @ away
    return Component(parts[0].code, mean, scatter, float(counts.sum()))


def common_covariance(scatter: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the covariance that components have in common, from the sum of their scatters, shape (d, d)."""
    return np.asarray(scatter / max(counts.sum() - len(counts), 1.0) + _COMMON_RIDGE * np.eye(len(scatter)))


def shrunken_covariance(scatter: FloatArray, n: FloatArray | float, common: FloatArray) -> FloatArray:
    """Return the covariance of a component of n points, shrunk towards the common one.

    Parameters
    ----------
    scatter : ndarray of shape (..., d, d)
    n : float or ndarray of shape (..., 1, 1)
    common : ndarray of shape (d, d)
    """
    d = len(common)
    strength = SHRINKAGE * (d + 1)
    return np.asarray((scatter + strength * common) / (n + strength) + _RIDGE * np.eye(d))
