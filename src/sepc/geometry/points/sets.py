"""Sets of points, wherever they are kept, and the queries that solvers put to them.

A solver reads the points in whole passes and does everything else on a few of them. So this is all it needs: sums over
all points, the farthest ones under an ellipsoid, those between two parallel hyperplanes, those beyond one.
`LocalPoints` has its points in memory; `ScatteredPoints` puts the same queries to one chunk after another, wherever
these are.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from itertools import chain
from math import sqrt
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc.common.errors import InputError
from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._columnwise import by_column
from sepc.geometry.checks import as_points, as_vector
from sepc.geometry.chunks import chunk_slices
from sepc.geometry.ellipsoid import LARGEST_HELD, Ellipsoid
from sepc.geometry.passes import squared_gauges
from sepc.geometry.points import queries
from sepc.geometry.points.queries import Far, Slab, Sums, Window

# Points that are read at a time to count what an ellipsoid holds. They are sorted as a rule: after some of them come
# those so many times as far on, so that what is found soon is found of all of them.
_AT_A_TIME = 1 << 12
_SPREAD = 16


class Extent(NamedTuple):
    """Extent of points: the smallest and the largest value of each feature, and the mean; arrays of shape (d,).

    The mean is kept as one of the points and what to add to it: far from the origin their sum would be rounded.

    Examples
    --------
    >>> LocalPoints(np.array([[1.0], [5.0], [3.0]])).extent.mean.tolist()
    [3.0]
    """

    low: FloatArray
    high: FloatArray
    origin: FloatArray
    offset: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The mean of each feature."""
        return self.origin + self.offset

    def mean_from(self, shift: FloatArray) -> FloatArray:
        """Return the mean relative to `shift`."""
        return (self.origin - shift) + self.offset

    def reach(self, center: FloatArray) -> float:
        """Return the largest difference of a coordinate from the center's."""
        return float(max((self.high - center).max(), (center - self.low).max()))


def bounds_of(extents: Sequence[Extent]) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest value of each feature over several sets, arrays of shape (d,).

    Examples
    --------
    >>> ends = [LocalPoints(np.array([[1.0], [x]])).extent for x in (0.0, 4.0)]
    >>> [bound.tolist() for bound in bounds_of(ends)]
    [[0.0], [4.0]]
    """
    return np.min([e.low for e in extents], axis=0), np.max([e.high for e in extents], axis=0)


class Held(NamedTuple):
    """Number of points that an ellipsoid holds, and the smallest gauge of any, of those that were read.

    Examples
    --------
    >>> LocalPoints(np.array([[1.0], [5.0]])).held_by(Ellipsoid([0.0], [[1.0]], [2.0]))
    Held(n=1, smallest_gauge=0.5)
    """

    n: int
    smallest_gauge: float


Beside = Callable[[], AbstractContextManager[Any]]


class Points(ABC):
    """A set of points in d dimensions, each with the number that it has in the set it comes from.

    Nothing that is asked of it changes it; subsets are new sets.

    Examples
    --------
    >>> A = LocalPoints(np.array([[1.0, 0.0], [5.0, 0.0], [3.0, 2.0]]))
    >>> len(A), A.dim, len(A.beyond(np.array([2.0, 0.0]), np.array([1.0, 0.0]), 0.0))
    (3, 2, 2)
    """

    dim: int

    # Numbers in a sample, and in a working set, that save passes over all points: where these are cheap, smaller ones
    # take less time.
    sample_size: int = 1 << 19
    window_size: int = 1 << 21

    def beside(self) -> Beside | None:
        """Return what makes a context for another thread to solve problems about the points in, at the same time.

        None if that does not pay: passes over the points take most of the time, or memory is short.
        """
        return None

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points, and of features."""
        return len(self), self.dim

    @property
    @abstractmethod
    def members(self) -> Any:
        """The numbers of the points, ascending, shape (n,)."""

    @property
    @abstractmethod
    def extent(self) -> Extent:
        """Where the points lie."""

    @abstractmethod
    def held_by(self, E: Ellipsoid, most: float = np.inf) -> Held:
        """Return how many points an ellipsoid holds, and the smallest gauge.

        Not all points need to be read once there are more than `most`, and one of them with a gauge of at most 1.
        """

    @abstractmethod
    def beyond(self, origin: FloatArray, direction: FloatArray, slack: float) -> "Points":
        """Return the points x with ``direction @ (x - origin) >= -slack``; the same object if these are all."""

    @abstractmethod
    def without(self, others: "Points") -> "Points":
        """Return the points that are not among these others, a subset."""

    @abstractmethod
    def sample(self, n: int) -> FloatArray:
        """Return points at even distances in their order, at least `n` of them or all; shape (n_sample, d)."""

    @abstractmethod
    def moments(self, origin: FloatArray) -> Sums:
        """Return sums, and sums of products, of the differences from `origin`."""

    @abstractmethod
    def slab(self, shift: FloatArray, direction: FloatArray, threshold: float, tau: float) -> Slab:
        """Return the sums of a slab along a direction that Newton's method for reduced hulls needs."""

    @abstractmethod
    def window(self, shift: FloatArray, direction: FloatArray, low: float, high: float) -> Window:
        """Return the points whose score along a direction is between two values, and the sums of those above."""


class LocalPoints(Points):
    """Points in memory.

    Parameters
    ----------
    array : ndarray of shape (n, d)
    rows : ndarray of int, shape (n,), optional
        The numbers of the points; 0, 1, 2 and so on by default.

    Examples
    --------
    >>> LocalPoints(np.array([[1.0], [5.0]]), np.array([7, 3])).members.tolist()
    [3, 7]
    """

    def __init__(self, array: FloatArray, rows: IntArray | None = None) -> None:
        self.array, self.dim = array, array.shape[1]
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
    def extent(self) -> Extent:
        """Where the points lie."""
        origin = self.array[0]  # the rounding of a large offset stays out of the mean
        total = sum((x - origin).sum(axis=0) for x in queries.parts(np, self.array))
        return Extent(self.low, self.high, origin, total / len(self))

    @cached_property
    def low(self) -> FloatArray:
        """The smallest value of each feature, shape (d,)."""
        return by_column(np.minimum, self.array)

    @cached_property
    def high(self) -> FloatArray:
        """The largest value of each feature, shape (d,)."""
        return by_column(np.maximum, self.array)

    def held_by(self, E: Ellipsoid, most: float = np.inf) -> Held:
        """Return how many points an ellipsoid holds, and the smallest gauge; until there are more than `most`."""
        n, smallest = 0, np.inf
        every = [slice(None)] if len(self) <= _AT_A_TIME else list(chunk_slices(len(self), _AT_A_TIME))
        for rows in chain.from_iterable(every[k::_SPREAD] for k in range(_SPREAD)):
            squares = squared_gauges(E, self.array[rows])
            n += int(np.count_nonzero(squares <= LARGEST_HELD**2))
            smallest = min(smallest, squares.min())
            if n > most and smallest <= 1.0:
                break
        return Held(n, sqrt(smallest))

    def beyond(self, origin: FloatArray, direction: FloatArray, slack: float) -> "LocalPoints":
        """Return the points on one side of a hyperplane."""
        mask = queries.beyond(np, self.array, origin, direction, slack)
        return self if mask.all() else LocalPoints(self.array[mask], self.rows[mask])

    def without(self, others: Points) -> "LocalPoints":
        """Return the points that are not among these others."""
        stays = ~np.isin(self.rows, others.members)
        return LocalPoints(self.array[stays], self.rows[stays])

    def sample(self, n: int) -> FloatArray:
        """Return points at even distances in their order."""
        every: FloatArray = self.array[:: max(len(self) // n, 1)]
        return every

    def moments(self, origin: FloatArray) -> Sums:
        """Return sums, and sums of products, of the differences from `origin`."""
        return queries.moments(np, self.array, origin)

    def slab(self, shift: FloatArray, direction: FloatArray, threshold: float, tau: float) -> Slab:
        """Return the sums of a slab along a direction."""
        return queries.slab(np, self.array, shift, direction, threshold, tau)

    def window(self, shift: FloatArray, direction: FloatArray, low: float, high: float) -> Window:
        """Return the points between two values along a direction, and the sums of those above."""
        return queries.window(np, self.array, shift, direction, low, high)


Query = Callable[..., Any]


class ScatteredPoints(Points):
    """Points in chunks: in a file, on a device, on the machines of a cluster.

    Whoever keeps the chunks has to put a query to each of them, and to make a subset. A query is a function
    ``query(xp, points, *arguments)`` of one chunk, an array of shape (n_chunk, d) of the namespace `xp`; its answer is
    small. Chunks may be empty.

    Parameters
    ----------
    sizes : sequence of int
        Number of points in each chunk.
    dim : int
    """

    # Numbers in a set of points that is brought into memory: small beside what a machine has, large enough for the
    # many small problems at the end of a partition to be solved there.
    local_size: int = 1 << 22

    def __init__(self, sizes: Sequence[int], dim: int) -> None:
        self.sizes, self.dim = list(sizes), dim

    def __len__(self) -> int:
        return sum(self.sizes)

    @abstractmethod
    def ask(self, query: Query, *arguments: Any) -> list[Any]:
        """Return the answers of all chunks that are not empty, in their order."""

    def fold(self, merge: Callable[[Iterable[Any]], Any], query: Query, *arguments: Any) -> Any:
        """Return the answers of all chunks that are not empty as one, for answers that are not small.

        Parameters
        ----------
        merge : callable
            Makes one answer of several, ``merge(answers)``; it may be called again with what it returned.
        query : callable
        *arguments
            Of the query.

        Returns
        -------
        object
            An answer.
        """
        return merge(self.ask(query, *arguments))

    @abstractmethod
    def ask_each(self, query: Query, arguments: Sequence[Any]) -> list[Any]:
        """Return the answers of all chunks, with an argument of its own for each; None is for chunks not to ask."""

    @abstractmethod
    def keep(self, test: Query, *arguments: Any) -> Self:
        """Return the points for which ``test(xp, points, *arguments)``, a mask of shape (n_chunk,), is true."""

    @abstractmethod
    def drop(self, others: Points) -> Self:
        """Return the points that are not among these others."""

    @abstractmethod
    def local(self) -> LocalPoints:
        """Return the points in memory."""

    def at_hand(self) -> Points:
        """Return the points in memory if they are few, else as they are."""
        return self.local() if len(self) * self.dim <= self.local_size else self

    @cached_property
    def extent(self) -> Extent:
        """Where the points lie."""
        origin = self.take(np.zeros(1, np.int64))[0]
        low, high, total, n = queries.merged_extents(self.ask(queries.extent, origin))
        for end, name in ((low, "smallest"), (high, "largest")):  # points in memory were checked when they came in
            as_vector(end, f"the vector of the features' {name} values", self.dim)
        return Extent(low, high, origin, total / n)

    def held_by(self, E: Ellipsoid, most: float = np.inf) -> Held:  # noqa: ARG002
        """Return how many points an ellipsoid holds, and the smallest gauge."""
        found = self.ask(queries.held, E.center, E.axes, E.radii)
        return Held(sum(count for count, _ in found), min(smallest for _, smallest in found))

    def beyond(self, origin: FloatArray, direction: FloatArray, slack: float) -> Points:
        """Return the points on one side of a hyperplane."""
        kept = self.keep(queries.beyond, origin, direction, slack)
        return self if len(kept) == len(self) else kept.at_hand()

    def without(self, others: Points) -> Points:
        """Return the points that are not among these others."""
        return self.drop(others).at_hand()

    def take(self, positions: IntArray) -> FloatArray:
        """Return the points at ascending positions, shape (n_positions, d)."""
        ends = np.cumsum(self.sizes)
        cuts = np.searchsorted(positions, ends)
        starts = ends - self.sizes
        parts = np.split(positions, cuts[:-1])
        wanted = [part - start if len(part) else None for part, start in zip(parts, starts, strict=True)]
        found = [points for points in self.ask_each(queries.take, wanted) if points is not None]
        return np.concatenate(found) if found else np.empty((0, self.dim))

    def sample(self, n: int) -> FloatArray:
        """Return points at even distances in their order."""
        return self.take(np.arange(0, len(self), max(len(self) // n, 1)))

    def moments(self, origin: FloatArray) -> Sums:
        """Return sums, and sums of products, of the differences from `origin`."""
        return queries.merged_sums(self.ask(queries.moments, origin))

    def farthest(
        self,
        origin: FloatArray,
        center: FloatArray,
        columns: FloatArray,
        offset: FloatArray,
        level: float = -np.inf,
        count: int = 0,
    ) -> Far:
        """Return the largest of ``|columns' (x - origin - center) + offset|^2``, and points above a level.

        Parameters
        ----------
        origin, center : ndarray of shape (d,)
        columns : ndarray of shape (d, m)
        offset : ndarray of shape (m,)
        level : float, optional
        count : int, default=0
            At most so many points.

        Returns
        -------
        Far
        """
        frame = origin, center, columns, offset
        return queries.merged_far(self.ask(queries.farthest, *frame, level, count), count)

    def slab(self, shift: FloatArray, direction: FloatArray, threshold: float, tau: float) -> Slab:
        """Return the sums of a slab along a direction."""
        return queries.merged_slabs(self.ask(queries.slab, shift, direction, threshold, tau))

    def window(self, shift: FloatArray, direction: FloatArray, low: float, high: float) -> Window:
        """Return the points between two values along a direction, and the sums of those above."""
        return queries.merged_windows(self.ask(queries.window, shift, direction, low, high), self.dim)


def as_set(points: ArrayLike | Points, name: str) -> Points:
    """Return points as a set of them, checked if they are an array.

    Examples
    --------
    >>> as_set([[1, 2], [3, 4]], "points").shape
    (2, 2)
    """
    return points if isinstance(points, Points) else LocalPoints(as_points(points, name))


def as_array(points: ArrayLike | Points, name: str) -> FloatArray:
    """Return points in memory as an array of shape (n, d), checked.

    Examples
    --------
    >>> as_array(LocalPoints(np.array([[1.0, 2.0]])), "points").tolist()
    [[1.0, 2.0]]
    """
    if not isinstance(points, np.ndarray) and isinstance(points, Points):  # the first is far quicker to tell
        if not isinstance(points, LocalPoints):
            raise InputError(f"{name} are {type(points).__name__}; expected points in memory, such as an array.")
        points = points.array
    return as_points(points, name)
