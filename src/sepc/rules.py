"""Rules R1, R2a, R2b and R3: how a partition judges new points, all of them at once.

A point has a deciding region: the ellipsoid it lies in, the intersection or the union of several, or the nearest one
grown until it touches the point. The training points of each label in that region give the label and the trust.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sepc.geometry._checks import FloatArray, Rows
from sepc.geometry.coefficient import overlap_coefficient
from sepc.geometry.ellipsoid import MEMBERSHIP_TOLERANCE
from sepc.geometry.stack import DISTANCE_TOLERANCE, EllipsoidStack

if TYPE_CHECKING:  # judging needs no solver
    from sepc.partitioning import Partition

# Numbers in a temporary table of points against ellipsoids, or of points against points: to judge, large enough that
# calls do not count; to fit, small beside the data.
_TABLE = 1 << 21
_SMALL_TABLE = 1 << 15


class Rule(IntEnum):
    """Which rule decides: where the point lies.

    Examples
    --------
    >>> Rule.R2a.name
    'R2a'
    """

    R1 = 0  # in exactly one ellipsoid
    R2a = 1  # in several, whose intersection holds training points
    R2b = 2  # in several, whose intersection holds none: their union decides
    R3 = 3  # in none: the nearest one, grown


@dataclass(frozen=True, eq=False, slots=True)
class Verdicts:
    """What one partition says of n points.

    Attributes
    ----------
    counts : ndarray of int, shape (n, 2)
        Training points of A and of B in the deciding region.
    rule : ndarray of int, shape (n,)
        A `Rule`.
    lead : ndarray of int, shape (n,)
        The ellipsoid that decides if it is one alone, inside or grown; -1 otherwise.
    owner : ndarray of int, shape (n,)
        0 or 1: whose points shaped the deciding region; -1 for those of both. It tells where no voter is.
    distance : ndarray of shape (n,)
        To the nearest ellipsoid or isolated point; 0 for points in an ellipsoid.
    regions : RegionNames
        Of the deciding regions.

    Examples
    --------
    >>> from sepc.partitioning import partition
    >>> X = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]])
    >>> side = np.array([0, 0, 0, 1, 1, 1])
    >>> rules = Rules(partition(X[:3], X[3:]), X, side, ("low", "high"))
    >>> v = rules.judge(np.array([[1.5], [3.0]]))
    >>> v.regions.names().tolist(), v.counts.tolist(), v.distance.round(6).tolist()
    (['low#1', '~low#1'], [[3, 0], [3, 0]], [0.0, 1.0])
    """

    counts: Rows
    rule: Rows
    lead: Rows
    owner: Rows
    distance: FloatArray
    regions: "RegionNames"


class RegionNames:
    """Deciding regions by number; their names are made when they are asked for.

    Numbers below n_ellipsoids are ellipsoids, the next n_ellipsoids are these, grown. All others are in `special`.
    """

    def __init__(self, ellipsoids: list[str], n: int) -> None:
        self.ellipsoids = ellipsoids
        self.number = np.zeros(n, dtype=np.int64)
        # Either a name, or a set of ellipsoids as bits and whether their union is meant.
        self.special: list[str | tuple[NDArray[np.uint64], bool]] = []

    def names(self, rows: Rows | slice = slice(None)) -> NDArray[np.object_]:
        """Return the names of the regions that decide the points in `rows`."""
        distinct, back = np.unique(self.number[rows], return_inverse=True)
        return np.array([self._name(i) for i in distinct.tolist()], dtype=object)[back]

    def add(self, special: list[str | tuple[NDArray[np.uint64], bool]]) -> Rows:
        """Take in more regions; return their numbers."""
        start = 2 * len(self.ellipsoids) + len(self.special)
        self.special += special
        return np.arange(start, start + len(special))

    def grown(self, which: Rows) -> Rows:
        """Return the numbers of ellipsoids that were grown."""
        return which + len(self.ellipsoids)

    def around(self, number: int) -> list[int]:
        """Return the ellipsoids that a point decided by this region lies in."""
        k = len(self.ellipsoids)
        if number < k:
            return [number]
        region = "" if number < 2 * k else self.special[number - 2 * k]
        return [] if isinstance(region, str) else _members(region[0], k)

    def _name(self, number: int) -> str:
        k = len(self.ellipsoids)
        if number < k:
            return self.ellipsoids[number]
        if number < 2 * k:
            return f"~{self.ellipsoids[number - k]}"
        region = self.special[number - 2 * k]
        if isinstance(region, str):
            return region
        bits, union = region
        return _joined([self.ellipsoids[i] for i in _members(bits, k)], union)


class Rules:
    """One partition with the places of its training points.

    Parameters
    ----------
    partition : Partition
    points : ndarray of shape (n, d)
        The training points of both sets.
    side : ndarray of int, shape (n,)
        0 for the points of A, 1 for those of B; in the order of the row numbers that the partition speaks of.
    labels : pair of str
        What A and B are called.
    votes : ndarray of bool, shape (n,), optional
        Which of the points are counted; all by default. Points that shaped the ellipsoids flatter them.

    Attributes
    ----------
    points, side, labels
        As given.
    voters : ndarray of int, shape (n_voters,), or slice
        Rows of the points that are counted.
    stack : EllipsoidStack
    names : list of str
        Of the ellipsoids: the label and a running number.
    sides : ndarray of int, shape (n_ellipsoids,)
        0 or 1: whose points each was built on.
    counts : ndarray of int, shape (n_ellipsoids, 2)
        Voters of A and of B in each.
    held : ndarray of int, shape (n_ellipsoids, 2)
        All points of A and of B in each, whether they vote or not.
    isolated : ndarray of shape (n_isolated, d)
        Isolated points, equal ones once; `isolated_names`, `isolated_counts`, `isolated_sides` belong to them.

    Examples
    --------
    >>> from sepc.partitioning import partition
    >>> A, B = np.array([[0.0], [1.0], [2.0]]), np.array([[5.0], [6.0], [9.0]])
    >>> rules = Rules(partition(A, B), np.vstack([A, B]), np.repeat([0, 1], 3), ("low", "high"))
    >>> rules.names, rules.counts.tolist()
    (['low#1', 'high#1'], [[3, 0], [0, 3]])
    """

    def __init__(
        self,
        partition: "Partition",
        points: FloatArray,
        side: NDArray[np.integer],
        labels: Sequence[str],
        votes: NDArray[np.bool_] | None = None,
    ) -> None:
        self.points, self.side, self.labels = points, side, labels
        self._votes = np.ones(len(points), dtype=bool) if votes is None else votes
        # A slice, so that nothing is copied where all points vote.
        self.voters: Rows | slice = slice(None) if votes is None else np.flatnonzero(votes)
        self._ovl: dict[tuple[int, int], float] = {}
        self.stack = EllipsoidStack([block.ellipsoid for block in partition.blocks], points.shape[1])
        self.sides = np.array([block.side for block in partition.blocks], dtype=np.int64)
        self.names = _numbered(self.sides, labels, "#")
        self._place_training_points()
        self._place_isolated(partition, labels)

    def _place_training_points(self) -> None:
        """Find out which ellipsoids hold each training point."""
        n_ellipsoids = len(self.stack)
        self.patterns = np.zeros((len(self.points), _n_words(n_ellipsoids)), dtype=np.uint64)
        self.counts, self.held = np.zeros((2, n_ellipsoids, 2), dtype=np.int64)
        self._members: dict[int, NDArray[np.int32]] = {}
        for word in range(-(-n_ellipsoids // 64)):
            some = slice(64 * word, min(64 * (word + 1), n_ellipsoids))
            for rows in _batches(len(self.points), 64, _SMALL_TABLE):
                inside = holds(self.stack.gauges(self.points[rows], some))
                self.patterns[rows, word] = _packed(inside)[:, 0]
                for s in (0, 1):
                    mine = self.side[rows] == s
                    self.held[some, s] += np.count_nonzero(inside[mine], axis=0)
                    self.counts[some, s] += np.count_nonzero(inside[mine & self._votes[rows]], axis=0)

    def members(self, which: int) -> NDArray[np.int32]:
        """Return the rows of the training points in one ellipsoid; kept once they were asked for."""
        if which not in self._members:
            word, bit = divmod(which, 64)
            held = self.patterns[:, word] & np.uint64(1 << bit)
            self._members[which] = np.flatnonzero(held).astype(np.int32)
        return self._members[which]

    def _place_isolated(self, partition: "Partition", labels: Sequence[str]) -> None:
        """Collect the isolated points; equal ones are one region, whatever their labels."""
        rows = np.concatenate([np.flatnonzero(self.side == s)[partition.isolated[s]] for s in (0, 1)])
        self.isolated, first = np.unique(self.points[rows], axis=0, return_index=True)
        self.isolated_names = _numbered(self.side[rows[first]], labels, "@")
        self.isolated_sides = np.array(
            [_common(self.side[rows[(self.points[rows] == x).all(axis=1)]]) for x in self.isolated], dtype=np.int64
        )
        self.isolated_counts = np.array(
            [self.count(np.flatnonzero((self.points == x).all(axis=1))) for x in self.isolated], dtype=np.int64
        ).reshape(-1, 2)

    def count(self, rows: NDArray[np.integer]) -> list[int]:
        """Count the voters of A and of B among some training points."""
        sides = self.side[rows][self._votes[rows]]
        of_b = int(np.count_nonzero(sides))
        return [len(sides) - of_b, of_b]

    def judge(self, points: FloatArray) -> Verdicts:
        """Return the verdicts on new points; none depends on the other points.

        Parameters
        ----------
        points : ndarray of shape (n, d)

        Returns
        -------
        Verdicts
        """
        return _Judgement(self, points).verdicts()

    def grown_counts(self, which: int, gauges: FloatArray) -> Rows:
        """Count the voters in one ellipsoid grown to each of several gauges.

        Parameters
        ----------
        which : int
            Number of the ellipsoid.
        gauges : ndarray of shape (n,)

        Returns
        -------
        ndarray of int, shape (n, 2)
        """
        order = np.argsort(gauges)
        limits = (gauges * (1.0 + MEMBERSHIP_TOLERANCE))[order]
        # Training points by the first limit that takes them in.
        first = np.searchsorted(limits, self.stack.gauge(self.points[self.voters], which))
        hits = np.bincount(2 * first + self.side[self.voters], minlength=2 * len(limits) + 2).reshape(-1, 2)
        out = np.empty((len(gauges), 2), dtype=np.int64)
        out[order] = np.cumsum(hits[:-1], axis=0)
        return out

    def intersection_counts(self, pattern: NDArray[np.uint64], smallest: int) -> Rows:
        """Count the training points in intersections of ellipsoids that `smallest` is part of.

        Parameters
        ----------
        pattern : ndarray of uint64, shape (n, n_words)
            Sets of ellipsoids, one bit each.
        smallest : int
            An ellipsoid of all these sets.

        Returns
        -------
        ndarray of int, shape (n, 2)
        """
        rows = self.members(smallest)
        rows = rows[self._votes[rows]]
        held, of_b = self.patterns[rows], self.side[rows].astype(bool)
        out = np.empty((len(pattern), 2), dtype=np.int64)
        step = max(_TABLE // max(len(rows), 1), 1)
        for start in range(0, len(pattern), step):
            wanted = pattern[start : start + step, None]
            in_all = ((held & wanted) == wanted).all(axis=2)
            both = np.count_nonzero(in_all, axis=1)
            out[start : start + step, 1] = np.count_nonzero(in_all[:, of_b], axis=1)
            out[start : start + step, 0] = both - out[start : start + step, 1]
        return out

    def distances_to_isolated(self, points: FloatArray) -> FloatArray:
        """Return the distance of each point to each isolated one, shape (n, n_isolated)."""
        out = np.empty((len(points), len(self.isolated)))
        for k, x in enumerate(self.isolated):
            away = points - x
            out[:, k] = np.sqrt(np.einsum("ij,ij->i", away, away))
        return out

    def error_bounds(self, regions: RegionNames, rows: Rows) -> FloatArray:
        """Return the paper's bound on the error of a label, from the overlap of the ellipsoids that hold a point.

        With the ellipsoids read as normal distributions, the probabilities of taking a point of one for a point of the
        other sum to their overlapping coefficient. The bound is the largest coefficient of two ellipsoids of different
        labels that both hold the point.

        Parameters
        ----------
        regions : RegionNames
            Of some verdicts.
        rows : ndarray of int, shape (n,)
            The points that are asked about.

        Returns
        -------
        ndarray of shape (n,)
            NaN for points that no two ellipsoids of different labels hold.
        """
        distinct, back = np.unique(regions.number[rows], return_inverse=True)
        return np.array([self._error_bound(regions.around(i)) for i in distinct.tolist()])[back]

    def _error_bound(self, which: list[int]) -> float:
        a, b = ([k for k in which if self.sides[k] == side] for side in (0, 1))
        return max((self._overlap(i, j) for i in a for j in b), default=np.nan)

    def _overlap(self, i: int, j: int) -> float:
        if (i, j) not in self._ovl:
            self._ovl[i, j] = overlap_coefficient(self.stack[i], self.stack[j])
        return self._ovl[i, j]

    def union_count(self, which: list[int]) -> list[int]:
        """Count the training points in the union of some ellipsoids."""
        held = np.zeros(len(self.points), dtype=bool)
        for k in which:
            held[self.members(k)] = True
        return self.count(np.flatnonzero(held))


class _Judgement:
    """The verdicts on some points while they are put together."""

    def __init__(self, rules: Rules, points: FloatArray) -> None:
        n = len(points)
        self.rules, self.points = rules, points
        self.counts = np.zeros((n, 2), dtype=np.int64)
        self.rule = np.zeros(n, dtype=np.int64)
        self.lead, self.owner = np.full((2, n), -1, dtype=np.int64)
        self.distance = np.zeros(n)
        self.regions = RegionNames(rules.names, n)
        # Points that one ellipsoid is grown for: row, ellipsoid, gauge.
        self.to_grow: list[tuple[Rows, Rows, FloatArray]] = []

    def verdicts(self) -> Verdicts:
        for rows in _batches(len(self.points), len(self.rules.stack), _TABLE):
            start = rows.start
            gauges = self.rules.stack.gauges(self.points[rows])
            inside = holds(gauges)
            n_inside = np.count_nonzero(inside, axis=1)
            one, several, none = (np.flatnonzero(where) for where in (n_inside == 1, n_inside > 1, n_inside == 0))
            if len(one):
                self._in_one(start + one, inside[one].argmax(axis=1))
            if len(several):
                self._in_several(start + several, inside[several])
            if len(none):
                self._in_none(start + none, gauges[none])
        self._grow()
        return Verdicts(self.counts, self.rule, self.lead, self.owner, self.distance, self.regions)

    def _in_one(self, rows: Rows, which: Rows) -> None:
        self.counts[rows] = self.rules.counts[which]
        self.regions.number[rows] = self.lead[rows] = which
        self.owner[rows] = self.rules.sides[which]

    def _in_several(self, rows: Rows, inside: NDArray[np.bool_]) -> None:
        patterns, first, back = np.unique(_packed(inside), axis=0, return_index=True, return_inverse=True)
        sets, back = inside[first], back.reshape(-1)
        counts = self._intersections(patterns, sets)
        empty = counts.sum(axis=1) == 0
        for i in np.flatnonzero(empty):
            counts[i] = self.rules.union_count(np.flatnonzero(sets[i]).tolist())
        self.counts[rows] = counts[back]
        of_a, of_b = (np.count_nonzero(sets[:, self.rules.sides == s], axis=1) for s in (0, 1))
        self.owner[rows] = np.where(of_a == 0, 1, np.where(of_b == 0, 0, -1))[back]
        self.rule[rows] = np.where(empty, Rule.R2b, Rule.R2a)[back]
        self.regions.number[rows] = self.regions.add(list(zip(patterns, empty.tolist(), strict=True)))[back]

    def _intersections(self, patterns: NDArray[np.uint64], sets: NDArray[np.bool_]) -> Rows:
        """Count the training points in the intersection of each set of ellipsoids."""
        size = self.rules.counts.sum(axis=1)
        # Whatever lies in all of them lies in the smallest: only its points need a look.
        smallest = np.where(sets, size, size.max() + 1).argmin(axis=1)
        counts = np.empty((len(sets), 2), dtype=np.int64)
        for k in np.unique(smallest):
            mine = np.flatnonzero(smallest == k)
            counts[mine] = self.rules.intersection_counts(patterns[mine], int(k))
        return counts

    def _in_none(self, rows: Rows, gauges: FloatArray) -> None:
        points = self.points[rows]
        to_isolated = self.rules.distances_to_isolated(points)
        limit = to_isolated.min(axis=1, initial=np.inf)
        near = self.rules.stack.nearest(points, limit)
        best = limit.copy()
        np.minimum.at(best, near.row, near.distance)
        self.rule[rows], self.distance[rows] = Rule.R3, best
        alone, point = (to_isolated <= best[:, None] * (1.0 + DISTANCE_TOLERANCE)).nonzero()
        single = np.bincount(np.concatenate([near.row, alone]), minlength=len(rows)) == 1
        mine = single[near.row]
        i, k = near.row[mine], near.which[mine]
        self.to_grow.append((rows[i], k, gauges[i, k]))
        mine = single[alone]
        self._at_isolated(rows[alone[mine]], point[mine])
        for i in np.flatnonzero(~single):
            self._tied(rows[i], gauges[i], near.which[near.row == i], point[alone == i])

    def _grow(self) -> None:
        """Decide the points whose nearest is one ellipsoid, all points of an ellipsoid at once."""
        if not self.to_grow:
            return
        rows, which, gauges = (np.concatenate(field) for field in zip(*self.to_grow, strict=True))
        self.lead[rows], self.owner[rows] = which, self.rules.sides[which]
        self.regions.number[rows] = self.regions.grown(which)
        for k in np.unique(which):
            mine = which == k
            self.counts[rows[mine]] = self.rules.grown_counts(int(k), gauges[mine])

    def _at_isolated(self, rows: Rows, which: Rows) -> None:
        """Decide points whose nearest is one isolated point."""
        self.counts[rows], self.owner[rows] = self.rules.isolated_counts[which], self.rules.isolated_sides[which]
        for k in np.unique(which):
            self.regions.number[rows[which == k]] = self.regions.add([self.rules.isolated_names[k]])

    def _tied(self, row: int, gauges: FloatArray, which: Rows, alone: Rows) -> None:
        """Decide a point with several nearest sets: what holds of several ellipsoids that it lies in."""
        rules = self.rules
        held = [holds(rules.stack.gauge(rules.points, int(k)) / gauges[k]) for k in which]
        held += [(rules.points == rules.isolated[k]).all(axis=1) for k in alone]
        names = [f"~{rules.names[k]}" for k in which] + [rules.isolated_names[k] for k in alone]
        self.owner[row] = _common(np.concatenate([rules.sides[which], rules.isolated_sides[alone]]))
        counts = rules.count(np.flatnonzero(np.logical_and.reduce(held)))
        union = not any(counts)
        self.counts[row] = rules.count(np.flatnonzero(np.logical_or.reduce(held))) if union else counts
        self.regions.number[row] = self.regions.add([_joined(names, union)])[0]


def holds(gauges: FloatArray) -> NDArray[np.bool_]:
    """Return whether an ellipsoid holds the points of these gauges.

    Examples
    --------
    >>> holds(np.array([0.3, 1.0, 1.1])).tolist()
    [True, True, False]
    """
    return np.asarray(gauges <= 1.0 + MEMBERSHIP_TOLERANCE)


def _common(sides: NDArray[np.integer]) -> int:
    """Return the side that all of these are, -1 if they differ."""
    return int(sides[0]) if (sides == sides[0]).all() else -1


def _joined(names: list[str], union: bool) -> str:
    return ("|" if union else "&").join(names)


def _batches(n: int, n_ellipsoids: int, table: int) -> Iterator[slice]:
    """Yield slices of rows such that these against all ellipsoids make a table of about that size."""
    size = max(table // (n_ellipsoids + 1), 1)
    return (slice(start, start + size) for start in range(0, n, size))


def _numbered(sides: NDArray[np.integer], labels: Sequence[str], mark: str) -> list[str]:
    running, names = [0, 0], []
    for side in sides:
        running[side] += 1
        names.append(f"{labels[side]}{mark}{running[side]}")
    return names


def _n_words(k: int) -> int:
    return max(-(-k // 64), 1)


def _packed(sets: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return rows of flags as bits in 64-bit words, at least one word."""
    n, k = sets.shape
    padded = np.zeros((n, 64 * _n_words(k)), dtype=bool)
    padded[:, :k] = sets
    return np.packbits(padded, axis=1, bitorder="little").view("<u8")


def _members(bits: NDArray[np.uint64], k: int) -> list[int]:
    """Return which of k flags are set in a row of words."""
    flags = np.unpackbits(np.ascontiguousarray(bits).view(np.uint8), bitorder="little", count=k)
    return np.flatnonzero(flags).tolist()
