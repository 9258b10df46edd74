"""Units of length: mean and standard deviation of each feature."""

import numpy as np

from sepc.common.typing import FloatArray
from sepc.geometry.chunks import chunks


def units_of_length(*sets: FloatArray) -> FloatArray:
    """Return each feature's standard deviation over all sets; the largest of the others' where that is 0.

    Examples
    --------
    >>> units_of_length(np.array([[1.0, 7.0]]), np.array([[5.0, 7.0]])).tolist()
    [2.0, 2.0]
    """
    return location_and_unit(*sets)[1]


def location_and_unit(*sets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean of each feature over all sets, and its unit of length.

    Examples
    --------
    >>> location_and_unit(np.array([[1.0, 7.0]]), np.array([[5.0, 7.0]]))
    (array([3., 7.]), array([2., 2.]))
    """
    mean, spread = location_and_scale(*sets)
    return mean, units_from(spread)


def units_from(spread: FloatArray) -> FloatArray:
    """Return standard deviations as units of length: the largest in place of those that are 0.

    Examples
    --------
    >>> units_from(np.array([2.0, 0.0])).tolist()
    [2.0, 2.0]
    """
    return np.where(spread > 0.0, spread, spread.max() or 1.0)


def location_and_scale(*sets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation (ddof 0) of each feature over the points of all sets.

    Examples
    --------
    >>> location_and_scale(np.array([[1.0, 0.1]]), np.array([[3.0, 0.1]]))
    (array([2. , 0.1]), array([1., 0.]))
    """
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
