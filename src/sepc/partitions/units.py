"""Units of length: mean and standard deviation of each feature."""

import numpy as np

from sepc.common.typing import FloatArray
from sepc.geometry.chunks import chunks


def units_of_length(*sets: FloatArray) -> FloatArray:
    """Return each feature's standard deviation over all sets; the largest of the others' where that is 0."""
    return location_and_unit(*sets)[1]


def location_and_unit(*sets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean of each feature over all sets, and its unit of length."""
    mean, spread = location_and_scale(*sets)
    return mean, units_from(spread)


def units_from(spread: FloatArray) -> FloatArray:
    """Return standard deviations as units of length: the largest in place of those that are 0."""
    return np.where(spread > 0.0, spread, spread.max() or 1.0)


def location_and_scale(*sets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation (ddof 0) of each feature over the points of all sets."""
    n, origin = sum(map(len, sets)), sets[0][0]  # about a point of the data a constant column has exactly no spread
    mean = sum((x - origin).sum(axis=0) for points in sets for x in chunks(points)) / n
    square = sum(_sum_of_squares(x - origin, mean) for points in sets for x in chunks(points)) / n
    return origin + mean, np.sqrt(square)


def _sum_of_squares(points: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the sum of squares of each column about its mean; uses up the points."""
    points -= mean
    np.square(points, out=points)
    squares: FloatArray = points.sum(axis=0)
    return squares
