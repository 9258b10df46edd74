"""Extents of classes: where the points of each lie."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.chunks import by_column, mean_of


class Extents(NamedTuple):
    """Number of points, smallest and largest values, and means, of each class.

    Attributes
    ----------
    n : ndarray of int, shape (n_classes,)
    low, high, mean : ndarray of shape (n_classes, d)
    """

    n: IntArray
    low: FloatArray
    high: FloatArray
    mean: FloatArray

    @classmethod
    def of(cls, by_class: Sequence[FloatArray]) -> "Extents":
        """Return the extents of the points of each class, arrays of shape (n, d)."""
        n = np.array([len(points) for points in by_class])
        low, high = (np.array([by_column(fold, points) for points in by_class]) for fold in (np.minimum, np.maximum))
        return cls(n, low, high, np.array([mean_of(points) for points in by_class]))

    def in_units(self, mean: FloatArray, scale: FloatArray) -> "Extents":
        """Return the same for points in units of `scale` about `mean`."""
        return Extents(self.n, *((ends - mean) / scale + 0.0 for ends in self[1:]))
