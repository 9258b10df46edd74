"""Arithmetic on points a chunk of rows at a time, so that no temporary is as large as the data.

NumPy is slow along short rows: sums and extremes of more than 1000 points are taken over 32 rows at a time.
"""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import FloatArray, IntArray

S = TypeVar("S", bound=np.generic)

# Rows in a chunk where each is read once.
CHUNK = 4096


def chunks(rows: NDArray[S]) -> Iterator[NDArray[S]]:
    """Yield an array in chunks of rows that stay in the processor's cache."""
    return (rows[some] for some in array_slices(rows))


def array_slices(rows: NDArray[Any]) -> Iterator[slice]:
    """Yield the slices of an array's chunks, 64 kB each: large enough to hide the cost of the calls."""
    return chunk_slices(len(rows), max((1 << 13) // max(prod(rows.shape[1:]), 1), 1))


def chunk_slices(n: int, rows: int) -> Iterator[slice]:
    """Yield slices of at most this number of rows."""
    return (slice(start, min(start + rows, n)) for start in range(0, n, rows))


def mean_from(points: FloatArray, origin: FloatArray) -> FloatArray:
    """Return the mean of the points relative to `origin`."""
    total = np.zeros(len(origin))
    for rows in chunk_slices(len(points), CHUNK):
        chunk = points[rows]
        total += by_column(np.add, moved(chunk, -origin) if origin.any() else chunk)
    total /= len(points)
    return total


def mean_of(points: FloatArray) -> FloatArray:
    """Return the mean of the points, computed from differences, so that a large offset costs no digits."""
    mean: FloatArray = points[0] + mean_from(points, points[0])
    return mean


def by_column(fold: np.ufunc, points: FloatArray) -> FloatArray:
    """Reduce each column."""
    n, d = points.shape
    whole = n // 32 * 32 if n > 1000 else 0
    parts: FloatArray = points[whole:]
    if whole:
        folded = fold.reduce(points[:whole].reshape(-1, 32 * d), axis=0).reshape(32, d)
        parts = np.concatenate([folded, parts])
    result: FloatArray = fold.reduce(parts, axis=0)
    return result


def moved(points: FloatArray, by: FloatArray) -> FloatArray:
    """Return ``points + by``."""
    n, d = points.shape
    if n <= 1000:
        return points + by
    whole = n // 32 * 32
    points = np.ascontiguousarray(points)
    result = np.empty((n, d))
    np.add(points[:whole].reshape(-1, 32 * d), np.tile(by, 32), out=result[:whole].reshape(-1, 32 * d))
    np.add(points[whole:], by, out=result[whole:])
    return result


class Extents(NamedTuple):
    """Number of points, shape (n_classes,), smallest and largest values, and means, (n_classes, d), of each class."""

    n: IntArray
    low: FloatArray
    high: FloatArray
    mean: FloatArray

    @classmethod
    def of(cls, by_class: Sequence[FloatArray]) -> "Extents":
        """Return the extents of the points of each class."""
        n = np.array([len(points) for points in by_class])
        low, high = (np.array([by_column(fold, points) for points in by_class]) for fold in (np.minimum, np.maximum))
        return cls(n, low, high, np.array([mean_of(points) for points in by_class]))

    def in_units(self, mean: FloatArray, scale: FloatArray) -> "Extents":
        """Return the extents of the standardised points."""
        return Extents(self.n, *((ends - mean) / scale + 0.0 for ends in self[1:]))
