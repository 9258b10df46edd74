"""Points of one label in a partition, and what is asked of them."""

from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from math import sqrt
from typing import NamedTuple

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._columnwise import by_column
from sepc.geometry.chunks import chunk_slices
from sepc.geometry.ellipsoid import LARGEST_HELD, Ellipsoid
from sepc.geometry.passes import squared_gauges

# Numbers that are read at a time: they stay in the cache.
_NUMBERS = 1 << 15
# Points that are read at a time to count what an ellipsoid holds. They are sorted as a rule: after some of them come
# those so many times as far on, so that what is found soon is found of all of them.
_AT_A_TIME = 1 << 12
_SPREAD = 16


class Held(NamedTuple):
    """Number of points that an ellipsoid holds, and the smallest gauge of any, of those that were read."""

    n: int
    smallest_gauge: float


class Points:
    """Points in d dimensions, each with the number that it has in the set it comes from.

    Nothing that is asked of it changes it; subsets are new sets.

    Parameters
    ----------
    array : ndarray of shape (n, d)
    rows : ndarray of int, shape (n,), optional
        The numbers of the points; 0, 1, 2 and so on by default.
    """

    def __init__(self, array: FloatArray, rows: IntArray | None = None) -> None:
        self.array = array
        self.dim: int = array.shape[1]
        if rows is not None:
            self.rows = rows

    def __len__(self) -> int:
        return len(self.array)

    @cached_property
    def rows(self) -> IntArray:
        """The numbers of the points, in the order of the points, shape (n,)."""
        return np.arange(len(self.array))

    @property
    def members(self) -> IntArray:
        """The numbers of the points, ascending, shape (n,)."""
        return np.sort(self.rows)

    @cached_property
    def low(self) -> FloatArray:
        """The smallest value of each feature, shape (d,)."""
        return by_column(np.minimum, self.array)

    @cached_property
    def high(self) -> FloatArray:
        """The largest value of each feature, shape (d,)."""
        return by_column(np.maximum, self.array)

    @cached_property
    def mean(self) -> FloatArray:
        """The mean of each feature, shape (d,)."""
        origin = self.array[0]  # the rounding of a large offset stays out of the mean
        return np.asarray(origin + sum((x - origin).sum(axis=0) for x in self._parts()) / len(self))

    def reach(self, center: FloatArray) -> float:
        """Return the largest difference of a coordinate from the center's."""
        return float(max((self.high - center).max(), (center - self.low).max()))

    def held_by(self, E: Ellipsoid, most: float = np.inf) -> Held:
        """Return how many points an ellipsoid holds, and the smallest gauge.

        Not all points are read once there are more than `most`, and one of them with a gauge of at most 1.
        """
        n, smallest = 0, np.inf
        every = [slice(None)] if len(self) <= _AT_A_TIME else list(chunk_slices(len(self), _AT_A_TIME))
        for rows in chain.from_iterable(every[k::_SPREAD] for k in range(_SPREAD)):
            squares = squared_gauges(E, self.array[rows])
            n += int(np.count_nonzero(squares <= LARGEST_HELD**2))
            smallest = min(smallest, squares.min())
            if n > most and smallest <= 1.0:
                break
        return Held(n, sqrt(smallest))

    def beyond(self, origin: FloatArray, direction: FloatArray, slack: float) -> "Points":
        """Return the points x with ``direction @ (x - origin) >= -slack``; the same object if these are all."""
        mask = np.concatenate([(x - origin) @ direction >= -slack for x in self._parts()])
        return self if mask.all() else Points(self.array[mask], self.rows[mask])

    def sample(self, n: int) -> FloatArray:
        """Return points at even distances in their order, at least `n` of them or all; shape (n_sample, d)."""
        every: FloatArray = self.array[:: max(len(self) // n, 1)]
        return every

    def _parts(self) -> Iterator[FloatArray]:
        return (self.array[rows] for rows in chunk_slices(len(self), max(_NUMBERS // self.dim, 1)))
