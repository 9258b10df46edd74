"""Counts of training points are those of every point under every ellipsoid."""

import numpy as np
import pytest

from sepc.geometry.ellipsoid import is_held
from sepc.model import counts
from sepc.model.counts import RecordCounts, grown_limits
from sepc.partitions.algorithm import partition


def test_what_is_kept_of_points_beyond_an_ellipsoid_changes_no_count(monkeypatch):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(60, 2)), rng.normal(size=(50, 2)) + 3.0
    points, side = np.vstack([A, B]), np.repeat([0, 1], [60, 50])
    gauges = np.array([1.5, 1.1, 40.0, 2.0])
    for kept in (0, 40, 10_000):
        monkeypatch.setattr(counts, "_KEPT", kept)
        records = RecordCounts.of(partition(A, B), points, side)
        for which in range(len(records.stack)):
            of_points = records.stack.gauge(points, which)
            held = [[np.sum((of_points <= grown_limits(g)) & (side == s)) for s in (0, 1)] for g in gauges]
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
        records = RecordCounts.of(partition(X[side == 0], X[side == 1]), X, side, compiled=compiled)
        inside = is_held(records.stack.gauges(X))
        assert [rows.tolist() for rows in records.members] == [np.flatnonzero(held).tolist() for held in inside.T]
