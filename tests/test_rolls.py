"""Counts by rows of bits are those of plain sets."""

import numpy as np
import pytest

from sepc import census
from sepc.partitioning import partition
from sepc.rolls import PatternRolls, Rolls, distinct_patterns, packed


@pytest.mark.parametrize(("n", "k"), [(1, 1), (63, 3), (64, 64), (700, 130)])
def test_intersections_and_unions_hold_what_sets_of_points_hold(n, k):
    rng = np.random.default_rng(n)
    inside, side = rng.random((n, k)) < 0.4, rng.integers(0, 2, n)
    sets = rng.random((300, k)) < 0.1
    sets[np.arange(300), rng.integers(0, k, 300)] = True
    patterns, _, which = distinct_patterns(packed(inside))
    counts = np.zeros((len(patterns), 2), dtype=np.int64)
    np.add.at(counts, (which, side), 1)
    in_all = [[np.all(inside[:, chosen], axis=1)[side == s].sum() for s in (0, 1)] for chosen in sets]
    in_any = [[np.any(inside[:, chosen], axis=1)[side == s].sum() for s in (0, 1)] for chosen in sets]
    for rolls in (Rolls(packed(inside), side, k), PatternRolls(patterns, counts, k)):
        assert rolls.in_all(sets).tolist() == in_all
        assert rolls.in_any(sets).tolist() == in_any


@pytest.mark.parametrize("n_words", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 300])
def test_patterns_are_told_apart_as_by_numpy(n, n_words):
    # Words from both ends of their range, so that the highest bits are among them.
    patterns = np.random.default_rng(n).integers(-2, 3, (n, n_words)).view(np.uint64)
    different, first, back = np.unique(patterns, axis=0, return_index=True, return_inverse=True)
    found = distinct_patterns(patterns)
    assert [part.tolist() for part in found] == [different.tolist(), first.tolist(), back.reshape(-1).tolist()]


def test_what_is_kept_of_points_beyond_an_ellipsoid_changes_no_count(monkeypatch):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(60, 2)), rng.normal(size=(50, 2)) + 3.0
    points, side = np.vstack([A, B]), np.repeat([0, 1], [60, 50])
    gauges = np.array([1.5, 1.1, 40.0, 2.0])
    for kept in (0, 40, 10_000):
        monkeypatch.setattr(census, "_KEPT", kept)
        records = census.RecordCensus.taken(partition(A, B), points, side)
        for which in range(len(records.stack)):
            of_points = records.stack.gauge(points, which)
            held = [[np.sum((of_points <= census.grown_limits(g)) & (side == s)) for s in (0, 1)] for g in gauges]
            assert records.grown(which, gauges).tolist() == held
            assert records.grown(which, gauges[:2]).tolist() == held[:2]


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e10])
@pytest.mark.parametrize("flat", [False, True])
def test_training_points_are_held_by_the_ellipsoids_that_would_hold_them_as_questions(offset, flat):
    rng = np.random.default_rng(1)
    X = np.round(1024 * rng.normal(size=(300, 3))) / 1024  # an offset takes no digits from them
    side = np.repeat([0, 1], 150)
    X[side == 1, 0] += 3.0
    if flat:
        X = np.column_stack([X, X[:, 0] + X[:, 1]])
    X += offset
    for compiled in (False, True):
        records = census.RecordCensus.taken(partition(X[side == 0], X[side == 1]), X, side, compiled=compiled)
        inside = census.holds(records.stack.gauges(X))
        assert [rows.tolist() for rows in records.members] == [np.flatnonzero(held).tolist() for held in inside.T]
