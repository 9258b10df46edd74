"""Counts of training points that are gone: what is kept of them so that every verdict stays as it was."""

from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np

from sepc.census import (
    Census,
    Isolated,
    RecordCensus,
    Tie,
    grown_counts,
    grown_limits,
    holds,
    records_are_missing,
)
from sepc.geometry._checks import FloatArray, Rows
from sepc.geometry.stack import EllipsoidStack
from sepc.rolls import Flags, PatternRolls, Patterns, distinct_patterns, points_of_each

# Gauges up to which points are counted where there are too many to keep the gauge of each. A grown ellipsoid is then
# counted as the next smaller one of these.
LADDER = 1.0 + np.geomspace(1e-6, 1e6, 6001)


class TallyCensus(Census):
    """Asks tallies that were kept of the training points.

    Parameters
    ----------
    stack, held, totals, all_vote, isolated
        As in `Census`.
    patterns : ndarray of uint64, shape (n_patterns, n_words)
        The different sets of ellipsoids that voters lie in, one bit each.
    pattern_counts : ndarray of int, shape (n_patterns, 2)
        Voters of A and of B that lie in just these.
    outside : sequence of pairs of ndarray, or None
        For each ellipsoid the gauges, ascending, of the voters of A and of B that it does not hold. None if grown
        ellipsoids are never asked about, or are counted by a ladder.
    ladder : ndarray of int, shape (n_ellipsoids, 2, len(LADDER)), or None
        In place of `outside`: how many voters of A and of B that each ellipsoid does not hold it holds when grown to
        each of `LADDER`.

    Examples
    --------
    >>> from sepc.partitioning import partition
    >>> A, B = np.array([[0.0], [1.0], [2.0]]), np.array([[5.0], [6.0], [9.0]])
    >>> records = RecordCensus.taken(partition(A, B), np.vstack([A, B]), np.repeat([0, 1], 3))
    >>> census = TallyCensus.of(records, growing=True)
    >>> census.counts.tolist(), census.grown(0, np.array([4.5])).tolist()
    ([[3, 0], [0, 3]], [[3, 1]])
    """

    def __init__(
        self,
        stack: EllipsoidStack,
        held: Rows,
        totals: Rows,
        all_vote: bool,
        isolated: Isolated,
        patterns: Patterns,
        pattern_counts: Rows,
        outside: Sequence[tuple[FloatArray, FloatArray]] | None,
        ladder: Rows | None = None,
    ) -> None:
        self.stack, self.totals, self.all_vote = stack, totals, all_vote
        self.isolated, self.patterns, self.pattern_counts = isolated, patterns, pattern_counts
        self.outside, self.ladder = outside, ladder
        self.held = held
        self.counts = held if all_vote else points_of_each(patterns, pattern_counts, len(stack))

    @classmethod
    def of(cls, records: RecordCensus, growing: bool) -> Self:
        """Return what to keep of the training points.

        Parameters
        ----------
        records : RecordCensus
        growing : bool
            Whether grown ellipsoids are to be counted. It takes one number for each voter and ellipsoid.

        Returns
        -------
        TallyCensus
        """
        patterns, _, back = distinct_patterns(records.patterns()[records.voters])
        pattern_counts = np.zeros((len(patterns), 2), dtype=np.int64)
        np.add.at(pattern_counts, (back, records.side[records.voters]), 1)
        return cls(
            stack=records.stack,
            held=records.held,
            totals=records.totals,
            all_vote=records.all_vote,
            isolated=records.isolated,
            patterns=patterns,
            pattern_counts=pattern_counts,
            outside=[records.outside(k) for k in range(len(records.stack))] if growing else None,
        )

    def grown(self, which: int, gauges: FloatArray) -> Rows:
        """Count the voters in one ellipsoid grown to each of several gauges beyond 1, shape (n, 2)."""
        limits = grown_limits(gauges)
        if self.ladder is None:
            return grown_counts(self.counts[which], self._beyond(which), limits)
        steps = np.searchsorted(LADDER, limits, side="right")
        return np.asarray(self.counts[which] + np.pad(self.ladder[which], ((0, 0), (1, 0)))[:, steps].T)

    def _beyond(self, which: int) -> tuple[FloatArray, FloatArray]:
        if self.outside is None:
            raise records_are_missing("counting what a grown ellipsoid of an ensemble holds")
        return self.outside[which]

    @cached_property
    def rolls(self) -> PatternRolls:
        """Which patterns each ellipsoid holds."""
        return PatternRolls(self.patterns, self.pattern_counts, len(self.stack))

    def tied(self, which: Rows, gauges: FloatArray, alone: Rows) -> Tie | None:
        """Count the voters in grown ellipsoids and at isolated points that are equally near.

        Of each ellipsoid it is known how many voters it holds, not which. Where that leaves more than one answer for
        several ellipsoids, it cannot be told.
        """
        grown = self._different(which, gauges)
        counts = np.array([self._in_grown(k, g) for k, g in grown], dtype=np.int64).reshape(-1, 2)
        around = np.array([self._holds_isolated(k, g, alone) for k, g in grown], dtype=bool)
        around = around.reshape(len(grown), len(alone))
        common = self._in_all_tied(counts, around, alone)
        if common is None or common.any():
            return None if common is None else Tie(common.tolist(), union=False)
        joined = self._in_any_tied(counts, around, alone)
        return None if joined is None else Tie(joined.tolist(), union=True)

    def _different(self, which: Rows, gauges: FloatArray) -> list[tuple[int, float]]:
        """Leave out ellipsoids that are the same as one before; what they hold is the same, too."""
        stack, seen = self.stack, set()
        out = []
        for k, gauge in zip(which.tolist(), gauges.tolist(), strict=True):
            shape = tuple(array[k].tobytes() for array in (stack.centers, stack.axes, stack.radii))
            if shape not in seen:
                seen.add(shape)
                out.append((k, gauge))
        return out

    def _in_grown(self, which: int, gauge: float) -> Rows:
        if self.ladder is not None:
            return np.asarray(self.grown(which, np.array([gauge]))[0])
        beyond = [np.count_nonzero(holds(of_side / gauge)) for of_side in self._beyond(which)]
        return np.asarray(self.counts[which] + beyond)

    def _holds_isolated(self, which: int, gauge: float, alone: Rows) -> Flags:
        return holds(self.stack.gauge(self.isolated.points[alone], which) / gauge)

    def _in_all_tied(self, counts: Rows, around: Flags, alone: Rows) -> Rows | None:
        if len(alone):  # no voter is at two of them
            here = len(alone) == 1 and bool(around.all())
            return np.asarray(self.isolated.counts[alone[0]] * here)
        most = counts.min(axis=0)
        least = np.maximum(counts.sum(axis=0) - (len(counts) - 1) * self._n_voters, 0)
        return most if np.array_equal(least, most) else None

    def _in_any_tied(self, counts: Rows, around: Flags, alone: Rows) -> Rows | None:
        least = counts.max(axis=0, initial=0)
        most = np.minimum(counts.sum(axis=0), self._n_voters)
        elsewhere = alone[~around.any(axis=0)]
        return least + self.isolated.counts[elsewhere].sum(axis=0) if np.array_equal(least, most) else None

    @property
    def _n_voters(self) -> Rows:
        return np.asarray(self.pattern_counts.sum(axis=0))
