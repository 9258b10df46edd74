"""Tallies of scattered points, against counts of all points under all ellipsoids at once."""

import array_api_strict as xp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from sepc.bulk._merging import merged_patterns
from sepc.bulk.tally import _tallied, census_of
from sepc.geometry.ellipsoid import MEMBERSHIP_TOLERANCE, Ellipsoid
from sepc.geometry.points import LocalPoints
from sepc.geometry.stack import EllipsoidStack
from sepc.partitioning import Block, Partition
from sepc.rolls import distinct_patterns, packed
from sepc.scale.devices import DevicePoints

NONE = np.empty(0, dtype=np.int64)


def in_memory(points):
    return LocalPoints(points)


def on_device(points):
    return DevicePoints.of(xp, xp.asarray(points))


def in_two_arrays(points):
    return DevicePoints.of(xp, xp.asarray(points[:7]), xp.asarray(points[7:]))


WHERE = pytest.mark.parametrize("where", [in_memory, on_device, in_two_arrays])


def discs(n, seed):
    """Return n discs, and a partition that has found them."""
    rng = np.random.default_rng(seed)
    found = [Ellipsoid(center, np.eye(2), np.full(2, 0.8)) for center in rng.standard_normal((n, 2))]
    blocks = tuple(Block(k % 2, NONE, E, 1) for k, E in enumerate(found))
    return EllipsoidStack(found, 2), Partition(blocks, (NONE, NONE), (), 1, "", 0)


# Of 64 and more the sign bit of a word is one of them.
@pytest.mark.parametrize("n", [1, 5, 63, 64, 65, 130])
@WHERE
def test_counts_are_those_of_every_point_under_every_ellipsoid(n, where):
    stack, partition = discs(n, seed=n)
    rng = np.random.default_rng(0)
    sets = rng.standard_normal((200, 2)), rng.standard_normal((300, 2)) + 0.3
    nobody = LocalPoints(np.empty((0, 2)))
    census = census_of(partition, [where(points) for points in sets], (nobody, nobody), exact=True)
    inside = [stack.gauges(points) <= 1.0 + MEMBERSHIP_TOLERANCE for points in sets]
    assert np.array_equal(census.counts, np.column_stack([flags.sum(axis=0) for flags in inside]))
    assert census.counts is census.held
    patterns, _, which = distinct_patterns(packed(np.concatenate(inside)))
    expected = np.zeros((len(patterns), 2), dtype=np.int64)
    np.add.at(expected, (which, np.repeat([0, 1], [200, 300])), 1)
    assert np.array_equal(census.patterns, patterns)
    assert np.array_equal(census.pattern_counts, expected)


@WHERE
def test_points_of_one_side_in_parts(where):
    stack, _ = discs(70, seed=1)
    points = np.random.default_rng(1).standard_normal((50, 2))
    tally = _tallied(where(points), (stack.centers[:, 0], stack.axes, stack.radii), exact=False)
    flags = stack.gauges(points) <= 1.0 + MEMBERSHIP_TOLERANCE
    patterns, counts = np.unique(packed(flags), axis=0, return_counts=True)
    assert np.array_equal(tally.held, flags.sum(axis=0))
    assert np.array_equal(tally.patterns, patterns)
    assert np.array_equal(tally.counts, counts)


@given(seeds(), st.integers(1, 3), st.integers(0, 12), st.integers(0, 12))
def test_merged_patterns_are_those_of_numpy(seed, n_words, n_a, n_b):
    rng = np.random.default_rng(seed)

    def side(n):
        words = rng.choice(np.array([0, 1, 2**63, 2**64 - 1], dtype=np.uint64), size=(n, n_words))
        different = np.unique(words, axis=0)
        return different, rng.integers(1, 9, size=len(different))

    (a, counts_a), (b, counts_b) = side(n_a), side(n_b)
    patterns, counts = merged_patterns(a, counts_a, b, counts_b)
    expected, which = np.unique(np.concatenate([a, b]), axis=0, return_inverse=True)
    both = np.zeros((len(expected), 2), dtype=np.int64)
    both[which.ravel(), np.repeat([0, 1], [len(a), len(b)])] = np.concatenate([counts_a, counts_b])
    assert np.array_equal(patterns, expected)
    assert np.array_equal(counts, both)
