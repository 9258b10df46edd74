"""Counts of training points under the ellipsoids of a partition, and at its isolated points.

All training points are counted, or only held-out ones: these show how the partition does on points that it has not
seen.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import MissingRecordsError
from sepc.common.typing import BoolArray, FloatArray, IntArray, compact
from sepc.geometry.ellipsoid import LARGEST_HELD, is_held
from sepc.geometry.stack import EllipsoidStack
from sepc.model.bitsets import Bitsets, PatternCounts, Patterns, has, n_words

if TYPE_CHECKING:  # counting needs no solver
    from sepc.partitions.blocks import Partition

# Entries of a temporary table of points against ellipsoids: large enough that the overhead of calls does not count.
TABLE = 1 << 21
# Gauges of points beyond the ellipsoids that are kept, those of all ellipsoids together.
_KEPT = 1 << 22


class Isolated(NamedTuple):
    """Training points in no block, equal ones once.

    Attributes
    ----------
    points : ndarray of shape (n, d)
    named : ndarray of int, shape (n,)
        Label whose name it bears.
    sides : ndarray of int, shape (n,)
        Label whose points are isolated there; -1 for those of several.
    counts : ndarray of int, shape (n, n_sides)
        Counted points of each label there.
    """

    points: FloatArray
    named: IntArray
    sides: IntArray
    counts: IntArray


class Tie(NamedTuple):
    """Counted points of each label in regions that are equally near.

    Of the points in all of these regions or, where there are none, in any of them: then `union` is True.
    """

    counts: list[int]
    union: bool


class TrainingCounts(ABC):
    """Counts of the training points under the ellipsoids of a partition.

    Attributes
    ----------
    stack : EllipsoidStack
    counts : ndarray of int, shape (n_ellipsoids, n_sides)
        Counted points of each label in each ellipsoid.
    held : ndarray of int, shape (n_ellipsoids, n_sides)
        All points of each label in each, whether they are counted or not.
    totals : ndarray of int, shape (n_sides,)
        All points of each label.
    all_counted : bool
        Whether all points are counted.
    isolated : Isolated
    """

    stack: EllipsoidStack
    counts: IntArray
    held: IntArray
    totals: IntArray
    all_counted: bool
    isolated: Isolated

    @abstractmethod
    def grown(self, which: int, gauges: FloatArray) -> IntArray:
        """Count the points in one ellipsoid grown to each of several gauges, shape (n, n_sides)."""

    @property
    @abstractmethod
    def bitsets(self) -> Bitsets | PatternCounts:
        """Counts of points in intersections and unions of ellipsoids."""

    def tied(self, which: IntArray, isolated: IntArray) -> Tie:
        """Count points in ellipsoids and at isolated points, both given by number, that are equally near."""
        chosen = np.zeros((1, len(self.stack)), dtype=bool)
        chosen[0, which] = True
        alone = self.isolated.points[isolated]
        held = np.array([is_held(self.stack.gauge(alone, int(k))) for k in which], dtype=bool)
        held = held.reshape(len(which), len(isolated))
        common = self._at_all(isolated, held) if len(isolated) else self.bitsets.in_all(chosen)[0]
        if common.any():
            return Tie(common.tolist(), union=False)
        in_any = self.isolated.counts[isolated[~held.any(axis=0)]].sum(axis=0)
        if len(which):
            in_any = in_any + self.bitsets.in_any(chosen)[0]
        return Tie(in_any.tolist(), union=True)

    def _at_all(self, isolated: IntArray, held: BoolArray) -> IntArray:
        """Count the points at all of some isolated points; `held` shows which of these each tied ellipsoid holds."""
        here = len(isolated) == 1 and bool(held.all())  # no point is at two of them
        return np.asarray(self.isolated.counts[isolated[0]] * here)

    @abstractmethod
    def tied_and_grown(self, which: IntArray, gauges: FloatArray, isolated: IntArray) -> Tie | None:
        """Count points in ellipsoids, each grown to a gauge, and at isolated points that are equally near.

        None if stored counts leave more than one answer.
        """


class RecordCounts(TrainingCounts):
    """Counts of training points that are in memory.

    Parameters
    ----------
    stack : EllipsoidStack
    points : ndarray of shape (n, d)
        The training points of all labels.
    side : ndarray of int, shape (n,)
        Label of each, 0, 1, ...
    n_sides : int
        Number of labels.
    counted : ndarray of bool, shape (n,), or None
        Which of the points are counted; None for all.
    members : list of ndarray of int
        Rows of the points that each ellipsoid holds, ascending. Most points lie in a few ellipsoids, so these take less
        memory than flags.
    isolated : Isolated

    Attributes
    ----------
    counted_rows : ndarray of int, shape (n_counted,), or slice
        Rows of the points that are counted.
    """

    def __init__(
        self,
        stack: EllipsoidStack,
        points: FloatArray,
        side: NDArray[np.integer],
        n_sides: int,
        counted: BoolArray | None,
        members: list[IntArray],
        isolated: Isolated,
    ) -> None:
        self.stack, self.points, self.side = stack, points, side
        self.members, self.isolated = members, isolated
        self.all_counted = counted is None
        self._counted = counted
        # A slice, so that nothing is copied where all points are counted.
        self.counted_rows: IntArray | slice = slice(None) if counted is None else np.flatnonzero(counted)
        self._beyond: dict[int, tuple[float, list[FloatArray]]] = {}
        self.totals = np.bincount(side, minlength=n_sides)
        self.held = self._counts(members)
        self.counts = self.held if counted is None else self._counts([rows[counted[rows]] for rows in members])

    @classmethod
    def of(
        cls,
        partition: "Partition",
        points: FloatArray,
        side: NDArray[np.integer],
        counted: BoolArray | None = None,
        compiled: bool = False,
    ) -> "RecordCounts":
        """Return the counts of training points under the ellipsoids of their partition.

        Members of the partition are numbered among the points of a side. With `compiled` the points in each ellipsoid
        are found by compiled code, in less time; only a fit has loaded it.
        """
        stack = EllipsoidStack([block.ellipsoid for block in partition.blocks], points.shape[1])
        n_sides = len(partition.isolated)
        rows = np.concatenate([np.flatnonzero(side == s)[alone] for s, alone in enumerate(partition.isolated)])
        isolated = isolated_points(points[rows], side[rows])
        isolated = isolated._replace(counts=n_copies(points, side, n_sides, counted, isolated.points))
        return cls(stack, points, side, n_sides, counted, _members(stack, points, compiled), isolated)

    def _counts(self, members: list[IntArray]) -> IntArray:
        """Count the points of each label in each ellipsoid, shape (n_ellipsoids, n_sides)."""
        n_sides = len(self.totals)
        counts = [np.bincount(self.side[rows], minlength=n_sides) for rows in members]
        return np.array(counts, dtype=np.int64).reshape(-1, n_sides)

    def patterns(self) -> Patterns:
        """Return which ellipsoids hold each point, one bit each, shape (n, n_words)."""
        patterns = np.zeros((len(self.points), n_words(len(self.stack))), dtype=np.uint64)
        for k, rows in enumerate(self.members):
            word, bit = divmod(k, 64)
            patterns[rows, word] |= np.uint64(1 << bit)
        return patterns

    def grown(self, which: int, gauges: FloatArray) -> IntArray:
        """Count the points in one ellipsoid grown to each of several gauges, shape (n, n_sides)."""
        limits = grown_limits(gauges)
        limit, near = self._near(which)
        return grown_counts(
            self.counts[which], near if limits.max(initial=0.0) < limit else self.outside(which), limits
        )

    def outside(self, which: int) -> list[FloatArray]:
        """Return the gauges, ascending, of the counted points of each label that one ellipsoid does not hold."""
        gauges, side = self.stack.gauge(self.points[self.counted_rows], which), self.side[self.counted_rows]
        return [np.sort(gauges[(side == s) & ~is_held(gauges)]) for s in range(len(self.totals))]

    def _near(self, which: int) -> tuple[float, list[FloatArray]]:
        """Return a gauge, and the part of `outside` below it; kept from the first call on."""
        if which not in self._beyond:
            outside = self.outside(which)
            kept = _KEPT // len(self.stack)
            limit = np.inf if sum(map(len, outside)) <= kept else float(np.sort(np.concatenate(outside))[kept])
            near = [gauges[: np.searchsorted(gauges, limit)].copy() for gauges in outside]
            self._beyond[which] = limit, near
        return self._beyond[which]

    @cached_property
    def bitsets(self) -> Bitsets:
        """The counted points that each ellipsoid holds; as large as their patterns."""
        rows = self.counted_rows
        return Bitsets(self.patterns()[rows], self.side[rows], len(self.stack), len(self.totals))

    def _count(self, held: BoolArray) -> list[int]:
        return _count(self.side, len(self.totals), self._counted, np.flatnonzero(held))

    def tied_and_grown(self, which: IntArray, gauges: FloatArray, isolated: IntArray) -> Tie:
        """Count points in grown ellipsoids and at isolated points that are equally near."""
        held = [is_held(self.stack.gauge(self.points, int(k)) / g) for k, g in zip(which, gauges, strict=True)]
        held += [(self.points == self.isolated.points[k]).all(axis=1) for k in isolated]
        counts = self._count(np.logical_and.reduce(held))
        return Tie(counts, False) if any(counts) else Tie(self._count(np.logical_or.reduce(held)), True)


def records_are_missing(what: str) -> MissingRecordsError:
    """Return the error for what a model without its training records cannot do."""
    return MissingRecordsError("records-missing", what=what)


def grown_limits(gauges: FloatArray) -> FloatArray:
    """Return the largest gauge of the points in an ellipsoid that is grown to each of these gauges."""
    return gauges * LARGEST_HELD


def grown_counts(held: IntArray, beyond: Sequence[FloatArray], limits: FloatArray) -> IntArray:
    """Count what an ellipsoid holds once it is grown to each limit, shape (n, n_sides).

    `held` are the points of each label that it holds, shape (n_sides,); `beyond` the gauges, ascending, of the points
    of each label that it does not hold.
    """
    return np.asarray(held + np.column_stack([np.searchsorted(of_side, limits, side="right") for of_side in beyond]))


def _members(stack: EllipsoidStack, points: FloatArray, compiled: bool) -> list[IntArray]:
    """Return the rows of the points in each ellipsoid; one after the other, as a table of all would fill the memory."""
    if compiled:
        from sepc.geometry.passes import holds as compiled_holds

        flags = (compiled_holds(E, points) for E in stack.ellipsoids)
    else:
        flags = (is_held(stack.gauge(points, k)) for k in range(len(stack)))
    return [compact(np.flatnonzero(held), len(points)) for held in flags]


def members_of(patterns: Patterns, n_ellipsoids: int) -> list[IntArray]:
    """Return the rows of the points in each ellipsoid from one bit for each point and ellipsoid."""
    return [compact(np.flatnonzero(has(patterns, k)), len(patterns)) for k in range(n_ellipsoids)]


def isolated_points(points: FloatArray, side: NDArray[np.integer]) -> Isolated:
    """Collect isolated points of all labels; equal ones are one region, whatever their labels. None is counted yet."""
    different, first = np.unique(points, axis=0, return_index=True)
    sides = [common_side(side[(points == x).all(axis=1)]) for x in different]
    counts = np.zeros((len(different), 0), dtype=np.int64)
    return Isolated(different, side[first].astype(np.int64), np.array(sides, dtype=np.int64), counts)


def common_side(sides: NDArray[np.integer]) -> int:
    """Return the side that all of these are, -1 if they differ."""
    return int(sides[0]) if (sides == sides[0]).all() else -1


def n_copies(
    points: FloatArray, side: NDArray[np.integer], n_sides: int, counted: BoolArray | None, targets: FloatArray
) -> IntArray:
    """Count the points of each label that equal each target, shape (n_targets, n_sides)."""
    counts = [_count(side, n_sides, counted, _copies(points, x)) for x in targets]
    return np.array(counts, dtype=np.int64).reshape(-1, n_sides)


def _copies(points: FloatArray, x: FloatArray) -> IntArray:
    """Return the rows of the points that equal x."""
    rows = np.flatnonzero(points[:, 0] == x[0])  # mostly few
    return np.asarray(rows[(points[rows] == x).all(axis=1)])


def _count(side: NDArray[np.integer], n_sides: int, counted: BoolArray | None, rows: IntArray) -> list[int]:
    """Count the points of each label among some rows."""
    counts: list[int] = np.bincount(side[rows if counted is None else rows[counted[rows]]], minlength=n_sides).tolist()
    return counts
