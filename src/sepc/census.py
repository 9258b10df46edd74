"""How many training points of each label are where."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.errors import MissingRecordsError
from sepc.geometry._checks import FloatArray, Rows, short
from sepc.geometry.ellipsoid import MEMBERSHIP_TOLERANCE
from sepc.geometry.stack import EllipsoidStack
from sepc.rolls import Flags, PatternRolls, Patterns, Rolls, has, n_words

if TYPE_CHECKING:  # counting needs no solver
    from sepc.partitioning import Partition

# Numbers in a temporary table of points against ellipsoids, or of points against points: large enough that calls do not
# count.
TABLE = 1 << 21
# Gauges of points beyond the ellipsoids that are kept, those of all ellipsoids together.
_KEPT = 1 << 22


class Isolated(NamedTuple):
    """Training points in no block, equal ones once.

    Attributes
    ----------
    points : ndarray of shape (n, d)
    named : ndarray of int, shape (n,)
        0 or 1: whose name it bears.
    sides : ndarray of int, shape (n,)
        0 or 1: whose points are isolated there; -1 for those of both.
    counts : ndarray of int, shape (n, 2)
        Voters of A and of B there.

    Examples
    --------
    >>> Isolated(np.zeros((1, 2)), np.array([0]), np.array([0]), np.array([[1, 0]])).points.shape
    (1, 2)
    """

    points: FloatArray
    named: Rows
    sides: Rows
    counts: Rows


class Tie(NamedTuple):
    """Voters in several regions that are equally near: in all of them or, where that is none, in any of them.

    Examples
    --------
    >>> Tie([3, 0], union=False).counts
    [3, 0]
    """

    counts: list[int]
    union: bool


class Census(ABC):
    """Counts the training points of a partition.

    Attributes
    ----------
    stack : EllipsoidStack
    counts : ndarray of int, shape (n_ellipsoids, 2)
        Voters of A and of B in each ellipsoid.
    held : ndarray of int, shape (n_ellipsoids, 2)
        All points of A and of B in each, whether they vote or not.
    totals : ndarray of int, shape (2,)
        All points of A and of B.
    all_vote : bool
        Whether all points are counted.
    isolated : Isolated

    Examples
    --------
    >>> issubclass(RecordCensus, Census)
    True
    """

    stack: EllipsoidStack
    counts: Rows
    held: Rows
    totals: Rows
    all_vote: bool
    isolated: Isolated

    @abstractmethod
    def grown(self, which: int, gauges: FloatArray) -> Rows:
        """Count the voters in one ellipsoid grown to each of several gauges, shape (n, 2)."""

    @property
    @abstractmethod
    def rolls(self) -> Rolls | PatternRolls:
        """Counts the voters in intersections and unions of ellipsoids."""

    @abstractmethod
    def tied(self, which: Rows, gauges: FloatArray, alone: Rows) -> Tie | None:
        """Count the voters in ellipsoids, each grown to a gauge, and at isolated points that are equally near.

        Parameters
        ----------
        which : ndarray of int, shape (n,)
            The ellipsoids.
        gauges : ndarray of shape (n,)
            What they are grown to.
        alone : ndarray of int
            The isolated points.

        Returns
        -------
        Tie or None
            None if it cannot be told.
        """


class RecordCensus(Census):
    """Asks the points themselves.

    Parameters
    ----------
    stack : EllipsoidStack
    points : ndarray of shape (n, d)
        The training points of both sets.
    side : ndarray of int, shape (n,)
        0 for the points of A, 1 for those of B.
    votes : ndarray of bool, shape (n,), or None
        Which of the points are counted; None for all.
    members : list of ndarray of int
        Rows of the points that each ellipsoid holds, ascending. A point lies in a few of them as a rule, so these take
        less memory than flags.
    isolated : Isolated

    Attributes
    ----------
    voters : ndarray of int, shape (n_voters,), or slice
        Rows of the points that are counted.

    Examples
    --------
    >>> from sepc.partitioning import partition
    >>> A, B = np.array([[0.0], [1.0], [2.0]]), np.array([[5.0], [6.0], [9.0]])
    >>> census = RecordCensus.taken(partition(A, B), np.vstack([A, B]), np.repeat([0, 1], 3))
    >>> census.counts.tolist(), census.grown(0, np.array([4.5])).tolist()
    ([[3, 0], [0, 3]], [[3, 1]])
    """

    def __init__(
        self,
        stack: EllipsoidStack,
        points: FloatArray,
        side: NDArray[np.integer],
        votes: Flags | None,
        members: list[Rows],
        isolated: Isolated,
    ) -> None:
        self.stack, self.points, self.side = stack, points, side
        self.members, self.isolated = members, isolated
        self.all_vote = votes is None
        self._votes = votes
        # A slice, so that nothing is copied where all points vote.
        self.voters: Rows | slice = slice(None) if votes is None else np.flatnonzero(votes)
        self._beyond: dict[int, tuple[float, FloatArray, FloatArray]] = {}
        of_b = int(np.count_nonzero(side))
        self.totals = np.array([len(points) - of_b, of_b])
        self.held = self._counts(members)
        self.counts = self.held if votes is None else self._counts([rows[votes[rows]] for rows in members])

    @classmethod
    def taken(
        cls,
        partition: "Partition",
        points: FloatArray,
        side: NDArray[np.integer],
        votes: Flags | None = None,
        compiled: bool = False,
    ) -> "RecordCensus":
        """Find out which ellipsoids of a partition hold each training point.

        Parameters
        ----------
        partition : Partition
            Its row numbers are those among the points of a side.
        points, side, votes
            As in the class.
        compiled : bool, default=False
            Whether compiled code finds out, in less time; only those who fit have loaded it.

        Returns
        -------
        RecordCensus
        """
        stack = EllipsoidStack([block.ellipsoid for block in partition.blocks], points.shape[1])
        rows = np.concatenate([np.flatnonzero(side == s)[partition.isolated[s]] for s in (0, 1)])
        members = _members(stack, points, compiled)
        return cls(stack, points, side, votes, members, _isolated(points, side, votes, rows))

    def _counts(self, members: list[Rows]) -> Rows:
        """Count the points of A and of B in each ellipsoid, shape (n_ellipsoids, 2)."""
        of_b = np.array([np.count_nonzero(self.side[rows]) for rows in members], dtype=np.int64)
        return np.column_stack([np.array([len(rows) for rows in members], dtype=np.int64) - of_b, of_b])

    def patterns(self) -> Patterns:
        """Return which ellipsoids hold each point, one bit each, shape (n, n_words)."""
        patterns = np.zeros((len(self.points), n_words(len(self.stack))), dtype=np.uint64)
        for k, rows in enumerate(self.members):
            word, bit = divmod(k, 64)
            patterns[rows, word] |= np.uint64(1 << bit)
        return patterns

    def grown(self, which: int, gauges: FloatArray) -> Rows:
        """Count the voters in one ellipsoid grown to each of several gauges, shape (n, 2)."""
        limits = grown_limits(gauges)
        limit, *near = self._near(which)
        is_near = limits.max(initial=0.0) < limit
        return grown_counts(self.counts[which], near if is_near else self.outside(which), limits)

    def outside(self, which: int) -> tuple[FloatArray, FloatArray]:
        """Return the gauges, ascending, of the voters of A and of B that one ellipsoid does not hold."""
        gauges, side = self.stack.gauge(self.points[self.voters], which), self.side[self.voters]
        a, b = (np.sort(gauges[(side == s) & ~holds(gauges)]) for s in (0, 1))
        return a, b

    def _near(self, which: int) -> tuple[float, FloatArray, FloatArray]:
        """Return a gauge, and what is below it of what `outside` returns; kept once it was asked for."""
        if which not in self._beyond:
            a, b = self.outside(which)
            kept = _KEPT // len(self.stack)
            limit = np.inf if len(a) + len(b) <= kept else float(np.sort(np.concatenate([a, b]))[kept])
            near_a, near_b = (gauges[: np.searchsorted(gauges, limit)].copy() for gauges in (a, b))
            self._beyond[which] = limit, near_a, near_b
        return self._beyond[which]

    @cached_property
    def rolls(self) -> Rolls:
        """Which voters each ellipsoid holds; as large as the patterns of the voters."""
        return Rolls(self.patterns()[self.voters], self.side[self.voters], len(self.stack))

    def _count(self, held: Flags) -> list[int]:
        return _count(self.side, self._votes, np.flatnonzero(held))

    def tied(self, which: Rows, gauges: FloatArray, alone: Rows) -> Tie:
        """Count the voters in grown ellipsoids and at isolated points that are equally near."""
        held = [holds(self.stack.gauge(self.points, int(k)) / g) for k, g in zip(which, gauges, strict=True)]
        held += [(self.points == self.isolated.points[k]).all(axis=1) for k in alone]
        counts = self._count(np.logical_and.reduce(held))
        return Tie(counts, False) if any(counts) else Tie(self._count(np.logical_or.reduce(held)), True)


def records_are_missing(what: str) -> MissingRecordsError:
    """Return the error for what a model without its training records cannot do.

    Examples
    --------
    >>> str(records_are_missing("the landscape"))[:66]
    'the landscape needs the training records, which are not in this mo'
    """
    return MissingRecordsError(
        f"{what} needs the training records, which are not in this model: it was saved with training_rows=False, or "
        "fitted to data that stayed in a file, on a cluster or on a device. Fit an array in memory (a sample of the "
        "rows, if need be), and save the classifier with sepc.save(clf, path, training_rows=True)."
    )


def holds(gauges: FloatArray) -> Flags:
    """Return whether an ellipsoid holds the points of these gauges.

    Examples
    --------
    >>> holds(np.array([0.3, 1.0, 1.1])).tolist()
    [True, True, False]
    """
    return np.asarray(gauges <= 1.0 + MEMBERSHIP_TOLERANCE)


def grown_limits(gauges: FloatArray) -> FloatArray:
    """Return up to which gauge a point lies in an ellipsoid that is grown to each of these.

    Examples
    --------
    >>> grown_limits(np.array([2.0])).tolist()
    [2.0000002]
    """
    return gauges * (1.0 + MEMBERSHIP_TOLERANCE)


def grown_counts(held: Rows, beyond: Sequence[FloatArray], limits: FloatArray) -> Rows:
    """Count what an ellipsoid holds once it is grown.

    Parameters
    ----------
    held : ndarray of int, shape (2,)
        Points of A and of B that it holds.
    beyond : pair of ndarray
        The gauges, ascending, of the points of A and of B that it does not hold.
    limits : ndarray of shape (n,)
        Up to which gauge it is grown.

    Returns
    -------
    ndarray of int, shape (n, 2)

    Examples
    --------
    >>> grown_counts(np.array([3, 0]), [np.array([]), np.array([2.0, 4.0])], np.array([2.5])).tolist()
    [[3, 1]]
    """
    return np.asarray(held + np.column_stack([np.searchsorted(mine, limits, side="right") for mine in beyond]))


def _members(stack: EllipsoidStack, points: FloatArray, compiled: bool) -> list[Rows]:
    """Return the rows of the points in each ellipsoid; one after the other, as a table of all would fill the memory."""
    if compiled:
        from sepc.records import holds as compiled_holds

        flags = (compiled_holds(E, points) for E in stack.ellipsoids)
    else:
        flags = (holds(stack.gauge(points, k)) for k in range(len(stack)))
    return [short(np.flatnonzero(held), len(points)) for held in flags]


def members_of(patterns: Patterns, n_ellipsoids: int) -> list[Rows]:
    """Return the rows of the points in each ellipsoid from one bit for each point and ellipsoid.

    Examples
    --------
    >>> [rows.tolist() for rows in members_of(np.array([[5], [4]], dtype=np.uint64), 3)]
    [[0], [], [0, 1]]
    """
    return [short(np.flatnonzero(has(patterns, k)), len(patterns)) for k in range(n_ellipsoids)]


def _isolated(points: FloatArray, side: NDArray[np.integer], votes: Flags | None, rows: Rows) -> Isolated:
    """Collect isolated points; equal ones are one region, whatever their labels."""
    found, first = np.unique(points[rows], axis=0, return_index=True)
    sides = [common_side(side[rows[(points[rows] == x).all(axis=1)]]) for x in found]
    counts = [_count(side, votes, _copies(points, x)) for x in found]
    return Isolated(
        found,
        side[rows[first]].astype(np.int64),
        np.array(sides, dtype=np.int64),
        np.array(counts, dtype=np.int64).reshape(-1, 2),
    )


def _copies(points: FloatArray, x: FloatArray) -> Rows:
    """Return the rows of the points that equal x."""
    rows = np.flatnonzero(points[:, 0] == x[0])  # few as a rule
    return np.asarray(rows[(points[rows] == x).all(axis=1)])


def _count(side: NDArray[np.integer], votes: Flags | None, rows: Rows) -> list[int]:
    """Count the voters of A and of B among some points."""
    sides = side[rows if votes is None else rows[votes[rows]]]
    of_b = int(np.count_nonzero(sides))
    return [len(sides) - of_b, of_b]


def common_side(sides: NDArray[np.integer]) -> int:
    """Return the side that all of these are, -1 if they differ.

    Examples
    --------
    >>> common_side(np.array([1, 1])), common_side(np.array([0, 1]))
    (1, -1)
    """
    return int(sides[0]) if (sides == sides[0]).all() else -1


def batches(n: int, n_ellipsoids: int, table: int) -> Iterator[slice]:
    """Yield slices of rows such that these against all ellipsoids make a table of about that size."""
    size = max(table // (n_ellipsoids + 1), 1)
    return (slice(start, start + size) for start in range(0, n, size))
