"""Counts of scattered training points: one pass over them tells all that a verdict will ask for."""

from collections.abc import Iterable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from sepc.census import Isolated, common_side
from sepc.geometry._checks import FloatArray, Rows
from sepc.geometry._questions import gauges, joined, like, parts, to_host
from sepc.geometry.ellipsoid import MEMBERSHIP_TOLERANCE
from sepc.geometry.points import LocalPoints, Points, ScatteredPoints, chunk_slices
from sepc.geometry.stack import EllipsoidStack
from sepc.partitioning import Partition
from sepc.rolls import Patterns, distinct_patterns, n_words
from sepc.tallies import LADDER, TallyCensus

# Up to so many gauges, those of all points under all ellipsoids, each one is kept; then a ladder has to do.
KEPT_GAUGES = 1 << 24
# Points in memory that are counted at a time.
_ROWS = 1 << 17
# The sign bit of a word: with it turned round, words with a sign are in the order of those without.
_SIGN = -(1 << 63)

Frames = tuple[FloatArray, FloatArray, FloatArray]


class Tally(NamedTuple):
    """What is counted of some points.

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
        gauge up to each of `LADDER`.
    """

    held: Rows
    patterns: Patterns
    counts: Rows
    outside: list[Any]


def census_of(partition: Partition, sides: Sequence[Points], alone: Sequence[LocalPoints], exact: bool) -> TallyCensus:
    """Count scattered points of both sides under the ellipsoids of their partition.

    Parameters
    ----------
    partition : Partition
    sides : pair of Points
        All points of A, and of B.
    alone : pair of LocalPoints
        The isolated ones among them.
    exact : bool
        Whether the gauge of every point is kept; else grown ellipsoids are counted by a ladder.

    Returns
    -------
    TallyCensus
    """
    stack = EllipsoidStack([block.ellipsoid for block in partition.blocks], sides[0].dim)
    frames = stack.centers[:, 0], stack.axes, stack.radii
    of_a, of_b = (_tallied(points, frames, exact) for points in sides)
    from sepc.bulk._merging import merged_patterns  # compiled: only those who fit wait for it

    patterns, counts = merged_patterns(of_a.patterns, of_a.counts, of_b.patterns, of_b.counts)
    pairs = list(zip(of_a.outside, of_b.outside, strict=True))
    return TallyCensus(
        stack=stack,
        held=np.column_stack([of_a.held, of_b.held]),
        totals=np.array([len(points) for points in sides]),
        all_vote=True,
        isolated=_isolated(alone, sides),
        patterns=patterns,
        pattern_counts=counts,
        outside=pairs if exact else None,
        ladder=None if exact else np.array(pairs, dtype=np.int64).reshape(-1, 2, len(LADDER)),
    )


def _tallied(points: Points, frames: Frames, exact: bool) -> Tally:
    if isinstance(points, ScatteredPoints):
        tally: Tally = points.fold(partial(_merged, exact=exact), _tally_of_chunk, frames, exact)
        return tally
    assert isinstance(points, LocalPoints)
    return _tally_of_chunk(np, points.array, frames, exact)


def _tally_of_chunk(xp: Any, points: Any, frames: Frames, exact: bool) -> Tally:
    # A device takes all at once: what it finds in parts would have to be put together on the processor.
    some = [points] if xp is not np else (points[rows] for rows in chunk_slices(len(points), _ROWS))
    return _merged((_tally(xp, x, frames, exact) for x in some), exact)


def _tally(xp: Any, points: Any, frames: Frames, exact: bool) -> Tally:
    """Count some points of a chunk."""
    n = points.shape[0]
    words = [xp.zeros(n, dtype=xp.int64, device=points.device) for _ in range(n_words(len(frames[0])))]
    ladder = None if exact else like(xp, points, LADDER)
    n_held, outside = np.zeros(len(frames[0]), dtype=np.int64), []
    for k, frame in enumerate(zip(*frames, strict=True)):
        gauge = joined(xp, list(gauges(xp, points, *frame)))
        held = gauge <= 1.0 + MEMBERSHIP_TOLERANCE
        bit = 1 << k % 64 if k % 64 < 63 else _SIGN
        words[k // 64] = xp.where(held, words[k // 64] + bit, words[k // 64])
        beyond = xp.sort(xp.take(gauge, xp.nonzero(~held)[0]))
        n_held[k] = n - beyond.shape[0]
        outside.append(to_host(beyond if ladder is None else xp.searchsorted(beyond, ladder, side="right")))
    return Tally(n_held, *_distinct(xp, words, n), outside)


def _distinct(xp: Any, words: list[Any], n: int) -> tuple[Patterns, Rows]:
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


def _merged(found: Iterable[Tally], exact: bool) -> Tally:
    """Return one tally of several; ladders are added as they come."""
    every, counts, gauges_of_each = [], [], []
    held: Any = 0
    ladders: Any = 0
    for tally in found:
        held = held + tally.held
        every.append(tally.patterns)
        counts.append(tally.counts)
        if exact:
            gauges_of_each.append(tally.outside)
        else:
            ladders = ladders + np.asarray(tally.outside)
    if len(every) == 1:
        return tally
    patterns, _, back = distinct_patterns(np.concatenate(every))
    n_points = np.bincount(back, np.concatenate(counts), minlength=len(patterns))
    outside = [np.sort(np.concatenate(of_one)) for of_one in zip(*gauges_of_each, strict=True)]
    return Tally(held, patterns, np.rint(n_points).astype(np.int64), outside if exact else list(ladders))


def _isolated(alone: Sequence[LocalPoints], sides: Sequence[Points]) -> Isolated:
    """Collect isolated points; equal ones are one region, whatever their labels."""
    every = np.concatenate([points.array for points in alone])
    side = np.repeat([0, 1], [len(points) for points in alone])
    found, first = np.unique(every, axis=0, return_index=True)
    common = [common_side(side[(every == x).all(axis=1)]) for x in found]
    copies = [_n_copies(points, found) for points in sides]
    return Isolated(found, side[first].astype(np.int64), np.array(common, dtype=np.int64), np.stack(copies, axis=1))


def _n_copies(points: Points, targets: FloatArray) -> Rows:
    """Count the points that are equal to each target, shape (n_targets,)."""
    if not len(targets):
        return np.zeros(0, dtype=np.int64)
    if isinstance(points, ScatteredPoints):
        return np.asarray(np.sum(points.ask(_copies, targets), axis=0))
    assert isinstance(points, LocalPoints)
    return _copies(np, points.array, targets)


def _copies(xp: Any, points: Any, targets: FloatArray) -> Rows:
    """Count the points that are equal to each target."""
    there = [like(xp, points, target)[None, :] for target in targets]
    found = [[xp.count_nonzero(xp.all(x == target, axis=1)) for target in there] for x in parts(xp, points)]
    return np.asarray(np.sum([[int(n) for n in row] for row in found], axis=0, dtype=np.int64))
