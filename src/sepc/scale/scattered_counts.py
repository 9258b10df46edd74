"""Counts of scattered training points: one pass over them finds everything that a verdict will need."""

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.chunks import chunk_slices
from sepc.geometry.ellipsoid import is_held
from sepc.geometry.points.queries import gauges, joined, like, parts, to_host
from sepc.geometry.points.sets import LocalPoints, Points, ScatteredPoints
from sepc.geometry.stack import EllipsoidStack
from sepc.model.bitsets import Patterns, distinct_patterns, n_words
from sepc.model.counts import isolated_points
from sepc.model.stored_counts import GAUGE_GRID, StoredCounts
from sepc.partitions.blocks import Partition

# Up to so many gauges, those of all points under all ellipsoids, each one is kept; of more, grown ellipsoids are
# counted on a grid of gauges.
KEPT_GAUGES = 1 << 24
# Points in memory that are counted at a time.
_ROWS = 1 << 17
# The sign bit of a word: with it turned round, words with a sign are in the order of those without.
_SIGN = -(1 << 63)

# Centres, axes and radii of ellipsoids, shapes (k, d), (k, d, d) and (k, d).
Frames = tuple[FloatArray, FloatArray, FloatArray]


class Beyond(Enum):
    """What is kept of the points that an ellipsoid does not hold, for counts in it once it is grown."""

    NOTHING = auto()  # it is never grown
    GAUGES = auto()  # the gauge of each
    GRID = auto()  # how many there are up to each gauge of a grid


class SideCounts(NamedTuple):
    """Counts of some points of one side.

    Attributes
    ----------
    held : ndarray of int, shape (n_ellipsoids,)
        How many points each ellipsoid holds.
    patterns : ndarray of uint64, shape (n_patterns, n_words)
        The different sets of ellipsoids that points lie in, one bit each, ascending.
    counts : ndarray of int, shape (n_patterns,)
        How many points lie in just these.
    outside : list of ndarray
        For each ellipsoid the gauges, ascending, of the points that it does not hold; or how many of these have a
        gauge up to each of `GAUGE_GRID`; or nothing at all.
    """

    held: IntArray
    patterns: Patterns
    counts: IntArray
    outside: list[Any]


def counts_of_scattered(
    partition: Partition, sides: Sequence[Points], isolated: Sequence[LocalPoints], kept: Beyond
) -> StoredCounts:
    """Count scattered points of all sides under the ellipsoids of their partition.

    Parameters
    ----------
    partition : Partition
    sides : sequence of Points
        All points of each side.
    isolated : sequence of LocalPoints
        The isolated ones among them.
    kept : Beyond
        Of the points that an ellipsoid does not hold.

    Returns
    -------
    StoredCounts
    """
    stack = EllipsoidStack([block.ellipsoid for block in partition.blocks], sides[0].dim)
    frames = stack.centers[:, 0], stack.axes, stack.radii
    of_sides = [_counts_of_side(points, frames, kept) for points in sides]
    patterns, counts = _patterns_of_sides(of_sides)
    outside = list(zip(*(of_side.outside for of_side in of_sides), strict=True))
    return StoredCounts(
        stack=stack,
        held=np.column_stack([of_side.held for of_side in of_sides]),
        totals=np.array([len(points) for points in sides]),
        all_counted=True,
        isolated=isolated_points(
            np.concatenate([points.array for points in isolated]),
            np.repeat(np.arange(len(isolated)), [len(points) for points in isolated]),
            lambda found: np.column_stack([_n_copies(points, found) for points in sides]),
        ),
        patterns=patterns,
        pattern_counts=counts,
        outside=outside if kept is Beyond.GAUGES else None,
        grid_counts=_on_grid(outside, len(sides)) if kept is Beyond.GRID else None,
    )


def _patterns_of_sides(of_sides: Sequence[SideCounts]) -> tuple[Patterns, IntArray]:
    """Return the patterns of all sides, ascending, and how many points of each side have each, shape (n, n_sides)."""
    if len(of_sides) == 2:
        from sepc.scale._pattern_merge import merged_patterns  # compiled: only those who fit wait for it

        (a, b) = of_sides
        return merged_patterns(a.patterns, a.counts, b.patterns, b.counts)
    patterns, _, back = distinct_patterns(np.concatenate([of_side.patterns for of_side in of_sides]))
    counts = np.zeros((len(patterns), len(of_sides)), dtype=np.int64)
    side = np.repeat(np.arange(len(of_sides)), [len(of_side.counts) for of_side in of_sides])
    counts[back, side] = np.concatenate([of_side.counts for of_side in of_sides])
    return patterns, counts


def _on_grid(outside: list[tuple[Any, ...]], n_sides: int) -> IntArray:
    return np.array(outside, dtype=np.int64).reshape(-1, n_sides, len(GAUGE_GRID))


def _counts_of_side(points: Points, frames: Frames, kept: Beyond) -> SideCounts:
    if isinstance(points, ScatteredPoints):
        found: SideCounts = points.fold(partial(_merged, kept=kept), _counts_of_chunk, frames, kept)
        return found
    assert isinstance(points, LocalPoints)
    return _counts_of_chunk(np, points.array, frames, kept)


def _counts_of_chunk(xp: Any, points: Any, frames: Frames, kept: Beyond) -> SideCounts:
    # A device takes all at once: what it finds in parts would have to be put together on the processor.
    some = [points] if xp is not np else (points[rows] for rows in chunk_slices(len(points), _ROWS))
    return _merged((_counts_of_part(xp, x, frames, kept) for x in some), kept)


def _counts_of_part(xp: Any, points: Any, frames: Frames, kept: Beyond) -> SideCounts:
    n = points.shape[0]
    words = [xp.zeros(n, dtype=xp.int64, device=points.device) for _ in range(n_words(len(frames[0])))]
    n_held, outside = np.zeros(len(frames[0]), dtype=np.int64), []
    for k, frame in enumerate(zip(*frames, strict=True)):
        gauge = joined(xp, list(gauges(xp, points, *frame)))
        held = is_held(gauge)
        bit = 1 << k % 64 if k % 64 < 63 else _SIGN
        words[k // 64] = xp.where(held, words[k // 64] + bit, words[k // 64])
        n_held[k] = int(xp.count_nonzero(held))
        outside.append(_of_beyond(xp, gauge, held, kept))
    return SideCounts(n_held, *_distinct(xp, words, n), outside)


def _of_beyond(xp: Any, gauge: Any, held: Any, kept: Beyond) -> Any:
    """Return what is kept of the points that an ellipsoid does not hold, by the gauges of all points."""
    if kept is Beyond.NOTHING:
        return np.empty(0)
    beyond = xp.sort(xp.take(gauge, xp.nonzero(~held)[0]))
    if kept is Beyond.GAUGES:
        return to_host(beyond)
    return to_host(xp.searchsorted(beyond, like(xp, gauge, GAUGE_GRID), side="right"))


def _distinct(xp: Any, words: list[Any], n: int) -> tuple[Patterns, IntArray]:
    """Return the different patterns, and how many points have each, without bringing all of them to the host.

    Points are sorted by one word after the other, the last one first; where two neighbours differ, a pattern begins.
    """
    order = xp.argsort(words[-1] ^ _SIGN, stable=True)
    for word in words[-2::-1]:
        order = xp.take(order, xp.argsort(xp.take(word ^ _SIGN, order), stable=True))
    arranged = [xp.take(word, order) for word in words]
    differs = reduce(xp.logical_or, [word[1:] != word[:-1] for word in arranged])
    starts = np.append(0, to_host(xp.nonzero(differs)[0]).astype(np.int64) + 1)
    first = like(xp, arranged[0], starts)
    patterns = np.stack([to_host(xp.take(word, first)) for word in arranged], axis=1).astype(np.int64)
    return patterns.view(np.uint64), np.diff(np.append(starts, n))


def _merged(found: Iterable[SideCounts], kept: Beyond) -> SideCounts:
    """Return the counts of several parts as one; those on a grid are added as they come."""
    every, counts, gauges_of_each = [], [], []
    held: Any = 0
    on_grid: Any = 0
    for of_part in found:
        held = held + of_part.held
        every.append(of_part.patterns)
        counts.append(of_part.counts)
        if kept is Beyond.GRID:
            on_grid = on_grid + np.asarray(of_part.outside)
        else:
            gauges_of_each.append(of_part.outside)
    if len(every) == 1:
        return of_part
    patterns, _, back = distinct_patterns(np.concatenate(every))
    n_points = np.bincount(back, np.concatenate(counts), minlength=len(patterns))
    sorted_gauges = [np.sort(np.concatenate(of_one)) for of_one in zip(*gauges_of_each, strict=True)]
    outside = list(on_grid) if kept is Beyond.GRID else sorted_gauges
    return SideCounts(held, patterns, np.rint(n_points).astype(np.int64), outside)


def _n_copies(points: Points, targets: FloatArray) -> IntArray:
    """Count the points that are equal to each target, shape (n_targets,)."""
    if not len(targets):
        return np.zeros(0, dtype=np.int64)
    if isinstance(points, ScatteredPoints):
        return np.asarray(np.sum(points.ask(_copies, targets), axis=0))
    assert isinstance(points, LocalPoints)
    return _copies(np, points.array, targets)


def _copies(xp: Any, points: Any, targets: FloatArray) -> IntArray:
    """Count the points that are equal to each target."""
    there = [like(xp, points, target)[None, :] for target in targets]
    found = [[xp.count_nonzero(xp.all(x == target, axis=1)) for target in there] for x in parts(xp, points)]
    return np.asarray(np.sum([[int(n) for n in row] for row in found], axis=0, dtype=np.int64))
