"""Counts of training points that are not in memory, in one pass: all that verdicts need."""

from collections.abc import Iterable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.ellipsoid import is_held
from sepc.geometry.passes import squared_gauges
from sepc.geometry.stack import EllipsoidStack
from sepc.model.bitsets import Patterns, distinct_patterns
from sepc.model.counts import Isolated, RecordCounts, n_copies
from sepc.model.stored_counts import GAUGE_GRID, StoredCounts
from sepc.scale.scattered_records import Chunk, ScatteredRecords

# Up to this number of gauges, those of all points under all ellipsoids, each one is kept; with more, grown ellipsoids
# are counted on a grid of gauges.
KEPT_GAUGES = 1 << 24


class Counted(NamedTuple):
    """Ellipsoids of a partition and isolated points whose counts are not known yet.

    `side_of_class`, shape (n_classes,), is the side of the problem that each class is on; `grows` is whether ellipsoids
    are grown to points outside.
    """

    stack: EllipsoidStack
    isolated: Isolated
    side_of_class: IntArray
    grows: bool

    @property
    def n_sides(self) -> int:
        """Number of sides of the problem."""
        return int(self.side_of_class.max()) + 1


def counts_of_scattered(records: ScatteredRecords, counted: Sequence[Counted]) -> list[StoredCounts]:
    """Count all records under the ellipsoids of each partition, and at its isolated points."""
    on_grid = [len(one.stack) * len(records) > KEPT_GAUGES for one in counted]
    return records.total(partial(_of_chunk, counted, on_grid), _merged)


def _of_chunk(counted: Sequence[Counted], on_grid: Sequence[bool], chunk: Chunk) -> list[StoredCounts]:
    return [_counts(one, grid, chunk.points, chunk.codes) for one, grid in zip(counted, on_grid, strict=True)]


def _counts(counted: Counted, on_grid: bool, points: FloatArray, codes: IntArray) -> StoredCounts:
    side, n_sides = counted.side_of_class[codes], counted.n_sides
    of_sides = [np.flatnonzero(side == s) for s in range(n_sides)]
    members, outside = [], list[list[Any]]()
    for E in counted.stack.ellipsoids:
        gauges = np.sqrt(squared_gauges(E, points))
        held = is_held(gauges)
        members.append(np.flatnonzero(held))
        if counted.grows:
            beyond = [np.sort(gauges[own[~held[own]]]) for own in of_sides]
            outside.append([np.searchsorted(some, GAUGE_GRID, side="right") for some in beyond] if on_grid else beyond)
    isolated = counted.isolated._replace(counts=n_copies(points, side, n_sides, None, counted.isolated.points))
    records = RecordCounts(counted.stack, points, side, n_sides, None, members, isolated)
    found = StoredCounts.of(records, growing=False)
    if counted.grows and on_grid:
        found.grid_counts = np.array(outside, dtype=np.int64).reshape(-1, n_sides, len(GAUGE_GRID))
    elif counted.grows:
        found.outside = outside
    return found


def _merged(chunks: Iterable[list[StoredCounts]]) -> list[StoredCounts]:
    """Return the counts of several chunks as one, partition by partition; each is added as it comes."""
    return reduce(lambda one, other: [_added(*both) for both in zip(one, other, strict=True)], chunks)


def _added(a: StoredCounts, b: StoredCounts) -> StoredCounts:
    patterns, pattern_counts = _joined_patterns(a, b)
    outside = grid_counts = None
    if a.outside is not None and b.outside is not None:
        outside = [
            [np.sort(np.concatenate(of_side), kind="stable") for of_side in zip(*sides, strict=True)]
            for sides in zip(a.outside, b.outside, strict=True)
        ]
    if a.grid_counts is not None and b.grid_counts is not None:
        grid_counts = a.grid_counts + b.grid_counts
    isolated = a.isolated._replace(counts=a.isolated.counts + b.isolated.counts)
    sums = a.held + b.held, a.totals + b.totals
    return StoredCounts(a.stack, *sums, True, isolated, patterns, pattern_counts, outside, grid_counts)


def _joined_patterns(a: StoredCounts, b: StoredCounts) -> tuple[Patterns, IntArray]:
    """Return the patterns of both, and numbers of points of each side with each."""
    patterns, _, back = distinct_patterns(np.concatenate([a.patterns, b.patterns]))
    counts = np.zeros((len(patterns), a.pattern_counts.shape[1]), dtype=np.int64)
    np.add.at(counts, back, np.concatenate([a.pattern_counts, b.pattern_counts]))
    return patterns, counts
