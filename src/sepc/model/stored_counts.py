"""Stored counts of training points that are not kept: enough of them that every verdict stays the same."""

from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.geometry.ellipsoid import is_held
from sepc.geometry.stack import EllipsoidStack
from sepc.model.bitsets import PatternCounts, Patterns, distinct_patterns, points_of_each
from sepc.model.counts import Isolated, RecordCounts, Tie, TrainingCounts, grown_counts, grown_limits

# Gauges up to which points are counted where there are too many to keep the gauge of each; a grown ellipsoid counts as
# the next smaller one of these.
GAUGE_GRID = 1.0 + np.geomspace(1e-6, 1e6, 6001)


class StoredCounts(TrainingCounts):
    """Counts that were stored while the training points were in memory.

    Parameters
    ----------
    stack, held, totals, all_counted, isolated
        As in `TrainingCounts`.
    patterns : ndarray of uint64, shape (n_patterns, n_words)
        The distinct sets of ellipsoids that counted points lie in, one bit each.
    pattern_counts : ndarray of int, shape (n_patterns, n_sides)
        Counted points of each label that lie in exactly these.
    outside : sequence of sequences of ndarray, or None
        For each ellipsoid the gauges, ascending, of the counted points of each label that it does not hold. None if no
        ellipsoid is grown, or if they are counted on a grid.
    grid_counts : ndarray of int, shape (n_ellipsoids, n_sides, len(GAUGE_GRID)), or None
        In place of `outside`: the number of these points that each ellipsoid holds when grown to each of `GAUGE_GRID`.
    """

    def __init__(
        self,
        stack: EllipsoidStack,
        held: IntArray,
        totals: IntArray,
        all_counted: bool,
        isolated: Isolated,
        patterns: Patterns,
        pattern_counts: IntArray,
        outside: Sequence[Sequence[FloatArray]] | None,
        grid_counts: IntArray | None = None,
    ) -> None:
        self.stack, self.totals, self.all_counted = stack, totals, all_counted
        self.isolated, self.patterns, self.pattern_counts = isolated, patterns, pattern_counts
        self.outside, self.grid_counts = outside, grid_counts
        self.held = held
        self.counts = held if all_counted else points_of_each(patterns, pattern_counts, len(stack))

    @classmethod
    def of(cls, records: RecordCounts, growing: bool) -> Self:
        """Return the counts to store; `growing` takes one number for each counted point and ellipsoid."""
        patterns, _, back = distinct_patterns(records.patterns()[records.counted_rows])
        pattern_counts = np.zeros((len(patterns), len(records.totals)), dtype=np.int64)
        np.add.at(pattern_counts, (back, records.side[records.counted_rows]), 1)
        return cls(
            stack=records.stack,
            held=records.held,
            totals=records.totals,
            all_counted=records.all_counted,
            isolated=records.isolated,
            patterns=patterns,
            pattern_counts=pattern_counts,
            outside=[records.outside(k) for k in range(len(records.stack))] if growing else None,
        )

    def grown(self, which: int, gauges: FloatArray) -> IntArray:
        """Count the points in one ellipsoid grown to each of several gauges beyond 1, shape (n, n_sides)."""
        limits = grown_limits(gauges)
        if self.grid_counts is None:
            return grown_counts(self.counts[which], self._beyond(which), limits)
        steps = np.searchsorted(GAUGE_GRID, limits, side="right")
        return np.asarray(self.counts[which] + np.pad(self.grid_counts[which], ((0, 0), (1, 0)))[:, steps].T)

    def _beyond(self, which: int) -> Sequence[FloatArray]:
        assert self.outside is not None  # stored for all rules that grow ellipsoids
        return self.outside[which]

    @cached_property
    def bitsets(self) -> PatternCounts:
        """Counts of points in intersections and unions of ellipsoids."""
        return PatternCounts(self.patterns, self.pattern_counts, len(self.stack))

    def tied_and_grown(self, which: IntArray, gauges: FloatArray, isolated: IntArray) -> Tie | None:
        """Count points in grown ellipsoids and at isolated points that are equally near.

        The number of points in each ellipsoid is known, not which. None where that leaves more than one answer.
        """
        grown = self._different(which, gauges)
        counts = np.array([self._in_grown(k, g) for k, g in grown], dtype=np.int64).reshape(-1, len(self.totals))
        alone = self.isolated.points[isolated]
        holds_isolated = np.array([is_held(self.stack.gauge(alone, k) / g) for k, g in grown], dtype=bool)
        holds_isolated = holds_isolated.reshape(len(grown), len(isolated))
        common = self._in_all_tied(counts, holds_isolated, isolated)
        if common is None or common.any():
            return None if common is None else Tie(common.tolist(), union=False)
        in_any = self._in_any_tied(counts, holds_isolated, isolated)
        return None if in_any is None else Tie(in_any.tolist(), union=True)

    def _different(self, which: IntArray, gauges: FloatArray) -> list[tuple[int, float]]:
        """Return the ellipsoids without those that equal one before."""
        stack, seen = self.stack, set()
        out = []
        for k, gauge in zip(which.tolist(), gauges.tolist(), strict=True):
            shape = tuple(array[k].tobytes() for array in (stack.centers, stack.axes, stack.radii))
            if shape not in seen:
                seen.add(shape)
                out.append((k, gauge))
        return out

    def _in_grown(self, which: int, gauge: float) -> IntArray:
        if self.grid_counts is not None:
            return np.asarray(self.grown(which, np.array([gauge]))[0])
        beyond = [np.count_nonzero(is_held(of_side / gauge)) for of_side in self._beyond(which)]
        return np.asarray(self.counts[which] + beyond)

    def _in_all_tied(self, counts: IntArray, holds_isolated: BoolArray, isolated: IntArray) -> IntArray | None:
        if len(isolated):
            return self._at_all(isolated, holds_isolated)
        most = counts.min(axis=0)
        least = np.maximum(counts.sum(axis=0) - (len(counts) - 1) * self._n_counted, 0)
        return most if np.array_equal(least, most) else None

    def _in_any_tied(self, counts: IntArray, holds_isolated: BoolArray, isolated: IntArray) -> IntArray | None:
        least = counts.max(axis=0, initial=0)
        most = np.minimum(counts.sum(axis=0), self._n_counted)
        in_none = isolated[~holds_isolated.any(axis=0)]
        return least + self.isolated.counts[in_none].sum(axis=0) if np.array_equal(least, most) else None

    @property
    def _n_counted(self) -> IntArray:
        return np.asarray(self.pattern_counts.sum(axis=0))
