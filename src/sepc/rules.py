"""Rules R1, R2a, R2b and R3: how a partition judges new points, all of them at once.

A point has a deciding region: the ellipsoid it lies in, the intersection or the union of several, or the nearest one
grown until it touches the point. The training points of each label in that region give the label and the trust.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from sepc.census import TABLE, Census, RecordCensus, batches, common_side, holds, records_are_missing
from sepc.geometry._checks import FloatArray, Rows
from sepc.geometry.coefficient import overlap_coefficient
from sepc.geometry.stack import DISTANCE_TOLERANCE, Candidates
from sepc.rolls import distinct_patterns, packed, unpacked

if TYPE_CHECKING:  # judging needs no solver
    from sepc.partitioning import Partition


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

    def taken(self, rows: Rows) -> "Verdicts":
        """Return the verdicts on some of the points, of each as often as it is in `rows`."""
        return Verdicts(
            self.counts[rows],
            self.rule[rows],
            self.lead[rows],
            self.owner[rows],
            self.distance[rows],
            self.regions.taken(rows),
        )


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
        return np.array(self._names(distinct.tolist()), dtype=object)[back]

    def taken(self, rows: Rows) -> "RegionNames":
        """Return the regions of some of the points."""
        some = RegionNames(self.ellipsoids, 0)
        some.number, some.special = self.number[rows], self.special
        return some

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
        return [] if isinstance(region, str) else _bits(region[0], k)

    def _names(self, numbers: list[int]) -> list[str]:
        regions = [*self.ellipsoids, *(f"~{name}" for name in self.ellipsoids), *self.special]
        chosen = [regions[number] for number in numbers]
        in_sets = iter(self._members([region[0] for region in chosen if not isinstance(region, str)]))
        return [region if isinstance(region, str) else _joined(next(in_sets), region[1]) for region in chosen]

    def _members(self, sets: list[NDArray[np.uint64]]) -> Iterator[list[str]]:
        """Yield the names of the ellipsoids of each set; it is quicker to look at all sets at once."""
        if not sets:
            return
        which, member = unpacked(np.array(sets), len(self.ellipsoids)).nonzero()
        names = np.array(self.ellipsoids, dtype=object)[member].tolist()
        ends = np.cumsum(np.bincount(which)).tolist()
        yield from (names[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True))


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
    compiled : bool, default=False
        Whether compiled code finds out which ellipsoids hold them, in less time; only those who fit have loaded it.

    Attributes
    ----------
    labels
        As given.
    census : Census
        Counts the training points.
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
        compiled: bool = False,
    ) -> None:
        sides = np.array([block.side for block in partition.blocks], dtype=np.int64)
        self._start(RecordCensus.taken(partition, points, side, votes, compiled), sides, labels)

    @classmethod
    def by(cls, census: Census, sides: Rows, labels: Sequence[str]) -> Self:
        """Return the rules of ellipsoids whose training points are counted already.

        Parameters
        ----------
        census : Census
        sides : ndarray of int, shape (n_ellipsoids,)
            0 or 1: whose points each was built on.
        labels : pair of str

        Returns
        -------
        Rules
        """
        rules = cls.__new__(cls)
        rules._start(census, sides, labels)
        return rules

    def _start(self, census: Census, sides: Rows, labels: Sequence[str]) -> None:
        self.census, self.sides, self.labels = census, sides, labels
        self.stack, self.counts, self.held = census.stack, census.counts, census.held
        self.names = _numbered(sides, labels, "#")
        self.isolated, named, self.isolated_sides, self.isolated_counts = census.isolated
        self.isolated_names = _numbered(named, labels, "@")
        self._ovl: dict[tuple[int, int], float] = {}

    @property
    def side(self) -> NDArray[np.integer]:
        """Which side each training point is on, shape (n,)."""
        return self._records.side

    def members(self, which: int) -> Rows:
        """Return the rows of the training points in one ellipsoid."""
        return self._records.members[which]

    @property
    def _records(self) -> RecordCensus:
        if not isinstance(self.census, RecordCensus):
            raise records_are_missing("which training points lie where")
        return self.census

    def judge(self, points: FloatArray, count_outside: bool = True) -> Verdicts:
        """Return the verdicts on new points; none depends on the other points.

        Parameters
        ----------
        points : ndarray of shape (n, d)
        count_outside : bool, default=True
            Whether to find and count the deciding region of points outside every ellipsoid. Without it there is no
            count, lead or owner of these, and their region is called "outside".

        Returns
        -------
        Verdicts
        """
        return _Judgement(self, points, count_outside).verdicts()

    def judge_sets(
        self, sets: NDArray[np.bool_], outside: FloatArray, candidates: Candidates | None = None
    ) -> Verdicts:
        """Return the verdicts on points of which it is known already which ellipsoids hold them.

        Parameters
        ----------
        sets : ndarray of bool, shape (n_sets, n_ellipsoids)
            For points in ellipsoids: in which, at least one each.
        outside : ndarray of shape (n_outside, d)
            Points that no ellipsoid holds.
        candidates : Candidates, optional
            Ellipsoids that may be the nearest of these, if they are known already.

        Returns
        -------
        Verdicts
            On n_sets points in these sets, then on those outside.
        """
        points = np.concatenate([np.zeros((len(sets), self.stack.dim)), outside])
        return _Judgement(self, points, count_outside=True).verdicts_by(sets, candidates)

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


class _Judgement:
    """The verdicts on some points while they are put together."""

    def __init__(self, rules: Rules, points: FloatArray, count_outside: bool) -> None:
        n = len(points)
        self.rules, self.points, self.count_outside = rules, points, count_outside
        self.counts = np.zeros((n, 2), dtype=np.int64)
        self.rule = np.zeros(n, dtype=np.int64)
        self.lead, self.owner = np.full((2, n), -1, dtype=np.int64)
        self.distance = np.zeros(n)
        self.regions = RegionNames(rules.names, n)
        # Points that one ellipsoid is grown for: row, ellipsoid, gauge.
        self.to_grow: list[tuple[Rows, Rows, FloatArray]] = []

    def verdicts(self) -> Verdicts:
        for rows in batches(len(self.points), len(self.rules.stack), TABLE):
            inside = holds(self.rules.stack.gauges(self.points[rows]))
            self._in_some(rows.start, inside)
            none = np.flatnonzero(~inside.any(axis=1))
            if len(none):
                self._in_none(rows.start + none)
        return self._done()

    def verdicts_by(self, sets: NDArray[np.bool_], candidates: Candidates | None) -> Verdicts:
        """Return the verdicts if the first points lie in these sets of ellipsoids, and all others in none."""
        self._in_some(0, sets)
        outside = np.arange(len(sets), len(self.points))
        for rows in batches(len(outside), len(self.rules.stack), TABLE):
            self._in_none(outside[rows], None if candidates is None else candidates.of_rows(rows))
        return self._done()

    def _in_some(self, start: int, inside: NDArray[np.bool_]) -> None:
        """Decide those of the points from `start` on that lie in ellipsoids."""
        n_inside = np.count_nonzero(inside, axis=1)
        one, several = np.flatnonzero(n_inside == 1), np.flatnonzero(n_inside > 1)
        if len(one):
            self._in_one(start + one, inside[one].argmax(axis=1))
        if len(several):
            self._in_several(start + several, inside[several])

    def _done(self) -> Verdicts:
        self._grow()
        return Verdicts(self.counts, self.rule, self.lead, self.owner, self.distance, self.regions)

    def _in_one(self, rows: Rows, which: Rows) -> None:
        self.counts[rows] = self.rules.counts[which]
        self.regions.number[rows] = self.lead[rows] = which
        self.owner[rows] = self.rules.sides[which]

    def _in_several(self, rows: Rows, inside: NDArray[np.bool_]) -> None:
        patterns, first, back = distinct_patterns(packed(inside))
        sets = inside[first]
        counts = self.rules.census.rolls.in_all(sets)
        empty = counts.sum(axis=1) == 0
        counts[empty] = self.rules.census.rolls.in_any(sets[empty])
        self.counts[rows] = counts[back]
        of_a, of_b = (np.count_nonzero(sets[:, self.rules.sides == s], axis=1) for s in (0, 1))
        self.owner[rows] = np.where(of_a == 0, 1, np.where(of_b == 0, 0, -1))[back]
        self.rule[rows] = np.where(empty, Rule.R2b, Rule.R2a)[back]
        self.regions.number[rows] = self.regions.add(list(zip(patterns, empty.tolist(), strict=True)))[back]

    def _in_none(self, rows: Rows, candidates: Candidates | None = None) -> None:
        points = self.points[rows]
        to_isolated = self.rules.distances_to_isolated(points)
        limit = to_isolated.min(axis=1, initial=np.inf)
        near = self.rules.stack.nearest(points, limit, candidates)
        best = limit.copy()
        np.minimum.at(best, near.row, near.distance)
        self.rule[rows], self.distance[rows] = Rule.R3, best
        if not self.count_outside:
            self.regions.number[rows] = self.regions.add(["outside"])[0]
            return
        alone, point = (to_isolated <= best[:, None] * (1.0 + DISTANCE_TOLERANCE)).nonzero()
        single = np.bincount(np.concatenate([near.row, alone]), minlength=len(rows)) == 1
        mine = single[near.row]
        self.to_grow.append((rows[near.row[mine]], near.which[mine], near.gauge[mine]))
        mine = single[alone]
        self._at_isolated(rows[alone[mine]], point[mine])
        for i in np.flatnonzero(~single):
            mine = near.row == i
            self._tied(rows[i], near.which[mine], near.gauge[mine], point[alone == i])

    def _grow(self) -> None:
        """Decide the points whose nearest is one ellipsoid, all points of an ellipsoid at once."""
        if not self.to_grow:
            return
        rows, which, gauges = (np.concatenate(field) for field in zip(*self.to_grow, strict=True))
        self.lead[rows], self.owner[rows] = which, self.rules.sides[which]
        self.regions.number[rows] = self.regions.grown(which)
        for k in np.unique(which):
            mine = which == k
            self.counts[rows[mine]] = self.rules.census.grown(int(k), gauges[mine])

    def _at_isolated(self, rows: Rows, which: Rows) -> None:
        """Decide points whose nearest is one isolated point."""
        self.counts[rows], self.owner[rows] = self.rules.isolated_counts[which], self.rules.isolated_sides[which]
        for k in np.unique(which):
            self.regions.number[rows[which == k]] = self.regions.add([self.rules.isolated_names[k]])

    def _tied(self, row: int, which: Rows, gauges: FloatArray, alone: Rows) -> None:
        """Decide a point with several nearest sets: what holds of several ellipsoids that it lies in."""
        rules = self.rules
        tie = rules.census.tied(which, gauges, alone)
        if tie is None:  # without the training points: as if the first were nearer by a hair
            self.to_grow.append((np.array([row]), which[:1], gauges[:1]))
            return
        names = [f"~{rules.names[k]}" for k in which] + [rules.isolated_names[k] for k in alone]
        self.owner[row] = common_side(np.concatenate([rules.sides[which], rules.isolated_sides[alone]]))
        self.counts[row] = tie.counts
        self.regions.number[row] = self.regions.add([_joined(names, tie.union)])[0]


def _joined(names: list[str], union: bool) -> str:
    return ("|" if union else "&").join(names)


def _numbered(sides: NDArray[np.integer], labels: Sequence[str], mark: str) -> list[str]:
    running, names = [0, 0], []
    for side in sides:
        running[side] += 1
        names.append(f"{labels[side]}{mark}{running[side]}")
    return names


def _bits(words: NDArray[np.uint64], k: int) -> list[int]:
    """Return which of k flags are set in a row of words."""
    return np.flatnonzero(unpacked(words[None], k)).tolist()
