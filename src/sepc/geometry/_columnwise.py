"""Arithmetic on points of few features, with 32 of them at a time: NumPy is slow along short rows."""

import numpy as np

from sepc.common.typing import FloatArray
from sepc.geometry.chunks import chunk_slices

# Points read at a time, so that temporaries stay small.
CHUNK = 4096
# So few points are read fastest one by one.
_FEW = 1000


def mean_from(points: FloatArray, origin: FloatArray) -> FloatArray:
    """Return the mean of the points relative to `origin`."""
    total = np.zeros(len(origin))
    for rows in chunk_slices(len(points), CHUNK):
        chunk = points[rows]
        total += by_column(np.add, moved(chunk, -origin) if origin.any() else chunk)
    total /= len(points)
    return total


def by_column(fold: np.ufunc, points: FloatArray) -> FloatArray:
    """Reduce each column."""
    n, d = points.shape
    whole = n // 32 * 32 if n > _FEW else 0
    parts: FloatArray = points[whole:]
    if whole:
        folded = fold.reduce(points[:whole].reshape(-1, 32 * d), axis=0).reshape(32, d)
        parts = np.concatenate([folded, parts])
    result: FloatArray = fold.reduce(parts, axis=0)
    return result


def moved(points: FloatArray, by: FloatArray) -> FloatArray:
    """Return ``points + by``."""
    n, d = points.shape
    if n <= _FEW:
        return points + by
    whole = n // 32 * 32
    points = np.ascontiguousarray(points)
    result = np.empty((n, d))
    np.add(points[:whole].reshape(-1, 32 * d), np.tile(by, 32), out=result[:whole].reshape(-1, 32 * d))
    np.add(points[whole:], by, out=result[whole:])
    return result
