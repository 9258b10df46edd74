"""Rules R1, R2a, R2b and R3: how a partition judges new points, all of them at once.

A point has a deciding region: the ellipsoid it lies in, the intersection or the union of several, or, outside of all,
the nearest one. The training points of each label in that region give the label and the trust.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.common.validation import has_gaps
from sepc.geometry.chunks import chunk_slices
from sepc.geometry.ellipsoid import is_held
from sepc.geometry.stack import DISTANCE_TOLERANCE, Candidates, EllipsoidStack, local_overlap
from sepc.model.bitsets import distinct_patterns, packed
from sepc.model.counts import TABLE, RecordCounts, TrainingCounts, common_side, records_are_missing
from sepc.model.incomplete import rows_by_gaps
from sepc.model.verdicts import RegionNames, Rule, Verdicts, combined_name

if TYPE_CHECKING:  # judging needs no solver
    from sepc.partitions.blocks import Partition


class Rules:
    """Ellipsoids of a partition with the counts of their training points.

    Parameters
    ----------
    training_counts : TrainingCounts
    sides : ndarray of int, shape (n_ellipsoids,)
        The set that each ellipsoid was built on.
    labels : sequence of str
        Names of the sets.
    grows : bool, default=False
        Whether the nearest ellipsoid is grown about its centre until it touches a point outside of all, before its
        training points are counted. In the paper it is not: R3 is R1 on the nearest ellipsoid.

    Attributes
    ----------
    stack : EllipsoidStack
    names : list of str
        Of the ellipsoids: the label and a running number.
    counts, held : ndarray of int, shape (n_ellipsoids, n_sides)
        Counted points of each label in each, and all points.
    isolated : ndarray of shape (n_isolated, d)
        Isolated points, equal ones once; `isolated_names`, `isolated_counts`, `isolated_sides` belong to them.
    """

    def __init__(
        self, training_counts: TrainingCounts, sides: IntArray, labels: Sequence[str], grows: bool = False
    ) -> None:
        self.training_counts, self.sides, self.labels, self.grows = training_counts, sides, labels, grows
        self.stack, self.counts, self.held = training_counts.stack, training_counts.counts, training_counts.held
        self.names = _numbered(sides, labels, "#")
        self.isolated, named, self.isolated_sides, self.isolated_counts = training_counts.isolated
        self.isolated_names = _numbered(named, labels, "@")

    @classmethod
    def of(
        cls,
        partition: "Partition",
        points: FloatArray,
        side: NDArray[np.integer],
        labels: Sequence[str],
        counted: BoolArray | None = None,
        compiled: bool = False,
        grows: bool = False,
    ) -> Self:
        """Return the rules of a partition, by its training points; see `RecordCounts.of`.

        Points that shaped the ellipsoids flatter them: `counted` marks those that are counted, all by default.
        """
        sides = np.array([block.side for block in partition.blocks], dtype=np.int64)
        return cls(RecordCounts.of(partition, points, side, counted, compiled), sides, labels, grows)

    @property
    def side(self) -> NDArray[np.integer]:
        """Side of each training point, 0, 1, ..., shape (n,)."""
        return self._records.side

    def members(self, which: int) -> IntArray:
        """Return the rows of the training points in one ellipsoid."""
        return self._records.members[which]

    @property
    def _records(self) -> RecordCounts:
        if not isinstance(self.training_counts, RecordCounts):
            raise records_are_missing("which training points lie where")
        return self.training_counts

    def judge(self, points: FloatArray, count_outside: bool = True) -> Verdicts:
        """Return the verdicts on new points; none depends on the other points.

        Parameters
        ----------
        points : ndarray of shape (n, d)
            NaN where a value is missing. Such a point lies outside if no value could bring it into an ellipsoid; else
            its rule is unknown. In both cases nothing is counted.
        count_outside : bool, default=True
            Whether to find and count the deciding region of points outside every ellipsoid. Without it these have no
            count, lead or owner, and their region is called "outside".
        """
        return _VerdictBuilder(self, points, count_outside).verdicts()

    def judge_sets(self, sets: BoolArray, outside: FloatArray, candidates: Candidates | None = None) -> Verdicts:
        """Return the verdicts on points whose ellipsoids are known already: on n_sets points, then on those outside.

        Parameters
        ----------
        sets : ndarray of bool, shape (n_sets, n_ellipsoids)
            The ellipsoids that hold each point, at least one each.
        outside : ndarray of shape (n_outside, d)
            Points that no ellipsoid holds.
        candidates : Candidates, optional
            Ellipsoids that may be the nearest of these, if they are known already.
        """
        points = np.concatenate([np.full((len(sets), self.stack.dim), np.nan), outside])
        return _VerdictBuilder(self, points, count_outside=True).verdicts_by(sets, candidates)

    def distances_to_isolated(self, points: FloatArray) -> FloatArray:
        """Return the distance of each point to each isolated one, shape (n, n_isolated)."""
        out = np.empty((len(points), len(self.isolated)))
        for k, x in enumerate(self.isolated):
            away = points - x
            out[:, k] = np.sqrt(np.einsum("ij,ij->i", away, away))
        return out

    def local_overlaps(self, points: FloatArray) -> FloatArray:
        """Return the overlap of ellipsoids of different labels at each point, shape (n,); see `local_overlap`.

        Between 0 and one half; NaN for points that no two ellipsoids of different labels hold.
        """
        out = np.full(len(points), np.nan)
        if len(np.unique(self.sides)) < 2:
            return out
        for rows in chunk_slices(len(points), max(TABLE // (len(self.stack) + 1), 1)):
            out[rows] = local_overlap(np, self.stack, self.stack.gauges(points[rows]).T, self.sides)
        return out


class _VerdictBuilder:
    """The verdicts on some points while they are put together."""

    def __init__(self, rules: Rules, points: FloatArray, count_outside: bool) -> None:
        n = len(points)
        self.rules, self.points, self.count_outside = rules, points, count_outside
        self.counts = np.zeros((n, len(rules.labels)), dtype=np.int64)
        self.rule = np.zeros(n, dtype=np.int64)
        self.lead, self.owner = np.full((2, n), -1, dtype=np.int64)
        self.distance = np.zeros(n)
        self.regions = RegionNames(rules.names, n)
        self.chunk_size = max(TABLE // (len(rules.stack) + 1), 1)
        # Points that one ellipsoid is grown for: row, ellipsoid, gauge.
        self.to_grow: list[tuple[IntArray, IntArray, FloatArray]] = []

    def verdicts(self) -> Verdicts:
        if has_gaps(self.points):
            for rows, known in rows_by_gaps(self.points):
                if known.all():
                    self._complete(rows)
                else:
                    self._incomplete(rows, known)
        else:
            self._complete(np.arange(len(self.points)))
        return self._done()

    def _complete(self, every: IntArray) -> None:
        """Decide points without missing values."""
        for chunk in chunk_slices(len(every), self.chunk_size):
            rows = every[chunk]
            inside = is_held(self.rules.stack.gauges(self.points[rows]))
            self._in_some(rows, inside)
            none = np.flatnonzero(~inside.any(axis=1))
            if len(none):
                self._in_none(rows[none])

    def _incomplete(self, rows: IntArray, known: BoolArray) -> None:
        """Decide of points with the same gaps whether all their completions lie outside."""
        may_be_inside = np.full(len(rows), bool(len(self.rules.stack)))
        if known.any():
            shadows = [E.shadow(np.eye(len(known))[:, known]) for E in self.rules.stack.ellipsoids]
            stack = EllipsoidStack(shadows, int(np.count_nonzero(known)))
            may_be_inside = is_held(stack.gauges(self.points[rows][:, known])).any(axis=1)
        self.rule[rows] = np.where(may_be_inside, Rule.unknown, Rule.R3)
        self.regions.number[rows] = self.regions.add([Rule.unknown.name, "outside"])[np.where(may_be_inside, 0, 1)]
        self.distance[rows] = np.nan

    def verdicts_by(self, sets: BoolArray, candidates: Candidates | None) -> Verdicts:
        """Return the verdicts if the first points lie in these sets of ellipsoids, and all others in none."""
        self._in_some(np.arange(len(sets)), sets)
        outside = np.arange(len(sets), len(self.points))
        for rows in chunk_slices(len(outside), self.chunk_size):
            self._in_none(outside[rows], None if candidates is None else candidates.of_rows(rows))
        return self._done()

    def _in_some(self, rows: IntArray, inside: BoolArray) -> None:
        """Decide points that lie in ellipsoids."""
        n_inside = np.count_nonzero(inside, axis=1)
        one, several = np.flatnonzero(n_inside == 1), np.flatnonzero(n_inside > 1)
        if len(one):
            self._in_one(rows[one], inside[one].argmax(axis=1))
        if len(several):
            self._in_several(rows[several], inside[several])

    def _done(self) -> Verdicts:
        self._grow()
        return Verdicts(self.counts, self.rule, self.lead, self.owner, self.distance, self.regions, self.points)

    def _in_one(self, rows: IntArray, which: IntArray) -> None:
        self.counts[rows] = self.rules.counts[which]
        self.regions.number[rows] = self.lead[rows] = which
        self.owner[rows] = self.rules.sides[which]

    def _in_several(self, rows: IntArray, inside: BoolArray) -> None:
        patterns, first, back = distinct_patterns(packed(inside))
        sets = inside[first]
        counts = self.rules.training_counts.bitsets.in_all(sets)
        empty = counts.sum(axis=1) == 0
        counts[empty] = self.rules.training_counts.bitsets.in_any(sets[empty])
        self.counts[rows] = counts[back]
        self.owner[rows] = self._common_owner(sets)[back]
        self.rule[rows] = np.where(empty, Rule.R2b, Rule.R2a)[back]
        self.regions.number[rows] = self.regions.add(list(zip(patterns, empty.tolist(), strict=True)))[back]

    def _common_owner(self, sets: BoolArray) -> IntArray:
        """Return the side that all ellipsoids of each set are of, -1 if they differ, shape (n_sets,)."""
        sides = self.rules.sides
        first = sides[sets.argmax(axis=1)]
        return np.where((sets & (sides != first[:, None])).any(axis=1), -1, first)

    def _in_none(self, rows: IntArray, candidates: Candidates | None = None) -> None:
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
        self._at_ellipsoid(rows[near.row[mine]], near.which[mine], near.gauge[mine])
        mine = single[alone]
        self._at_isolated(rows[alone[mine]], point[mine])
        for i in np.flatnonzero(~single):
            mine = near.row == i
            self._tied(rows[i], near.which[mine], near.gauge[mine], point[alone == i])

    def _at_ellipsoid(self, rows: IntArray, which: IntArray, gauges: FloatArray) -> None:
        """Decide points whose nearest region is one ellipsoid, which has these gauges at them."""
        if self.rules.grows:
            self.to_grow.append((rows, which, gauges))
        else:
            self._in_one(rows, which)

    def _grow(self) -> None:
        """Decide the points that one ellipsoid is grown for, all points of an ellipsoid at once."""
        if not self.to_grow:
            return
        rows, which, gauges = (np.concatenate(field) for field in zip(*self.to_grow, strict=True))
        self.lead[rows], self.owner[rows] = which, self.rules.sides[which]
        self.regions.number[rows] = self.regions.grown(which)
        for k in np.unique(which):
            mine = which == k
            self.counts[rows[mine]] = self.rules.training_counts.grown(int(k), gauges[mine])

    def _at_isolated(self, rows: IntArray, which: IntArray) -> None:
        """Decide points whose nearest is one isolated point."""
        self.counts[rows], self.owner[rows] = self.rules.isolated_counts[which], self.rules.isolated_sides[which]
        for k in np.unique(which):
            self.regions.number[rows[which == k]] = self.regions.add([self.rules.isolated_names[k]])

    def _tied(self, row: int, which: IntArray, gauges: FloatArray, alone: IntArray) -> None:
        """Decide a point with several nearest regions, as if it lay in all of them."""
        rules = self.rules
        counts = rules.training_counts
        tie = counts.tied_and_grown(which, gauges, alone) if rules.grows else counts.tied(which, alone)
        if tie is None:  # stored counts leave it open: as if the first were the nearest
            self.to_grow.append((np.array([row]), which[:1], gauges[:1]))
            return
        mark = "~" if rules.grows else ""
        names = [f"{mark}{rules.names[k]}" for k in which] + [rules.isolated_names[k] for k in alone]
        self.owner[row] = common_side(np.concatenate([rules.sides[which], rules.isolated_sides[alone]]))
        self.counts[row] = tie.counts
        self.regions.number[row] = self.regions.add([combined_name(names, tie.union)])[0]


def _numbered(sides: NDArray[np.integer], labels: Sequence[str], mark: str) -> list[str]:
    running, names = [0] * len(labels), []
    for side in sides:
        running[side] += 1
        names.append(f"{labels[side]}{mark}{running[side]}")
    return names
