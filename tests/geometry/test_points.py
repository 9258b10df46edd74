"""Points of one label: what is asked of them, against NumPy on all of them at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import random_ellipsoid, seeds

import sepc.geometry.points
from sepc.geometry.extents import Extents
from sepc.geometry.points import Points


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-11)


def some_points(seed):
    """Return a generator, and random points, tied half of the time."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((int(rng.integers(1, 60)), int(rng.integers(1, 5)))) + 10.0 * rng.integers(0, 2)
    return rng, np.round(X) if rng.random() < 0.5 else X


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(sepc.geometry.points, "_NUMBERS", 20)


laws = settings(max_examples=60)


@laws
@given(seeds())
def test_bounds_means_and_reach(seed):
    rng, X = some_points(seed)
    points = Points(X)
    assert np.array_equal(points.low, X.min(axis=0))
    assert np.array_equal(points.high, X.max(axis=0))
    close(points.mean, X.mean(axis=0))
    origin = rng.standard_normal(X.shape[1])
    close(points.reach(origin), np.abs(X - origin).max())
    assert points.members.tolist() == list(range(len(X)))


@laws
@given(seeds())
def test_held_by_counts_what_the_ellipsoid_contains(seed):
    rng, X = some_points(seed)
    E = random_ellipsoid(X.shape[1], rng, size=3.0)
    held = Points(X).held_by(E)
    assert held.n == np.count_nonzero(E.contains(X))
    close(held.smallest_gauge, E.gauge(X).min())


@laws
@given(seeds())
def test_held_by_reads_on_until_it_can_tell(seed):
    rng, X = some_points(seed)
    points, E = Points(X), random_ellipsoid(X.shape[1], rng, size=3.0)
    most = int(rng.integers(0, len(X) + 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sepc.geometry.points, "_AT_A_TIME", 3)
        held, everything = points.held_by(E, most), points.held_by(E)
    assert (held.n > most) == (everything.n > most)
    assert (held.smallest_gauge <= 1.0) == (everything.smallest_gauge <= 1.0)
    if everything.n <= most:
        assert held == everything


@pytest.mark.parametrize("most", [0, 100])
def test_held_by_stops_early(most, monkeypatch):
    read = []
    squared_gauges = sepc.geometry.points.squared_gauges

    def counted(E, points):
        read.append(len(points))
        return squared_gauges(E, points)

    monkeypatch.setattr(sepc.geometry.points, "squared_gauges", counted)
    X = np.random.default_rng(0).standard_normal((100_000, 2))
    assert Points(X[np.argsort(X[:, 0])]).held_by(random_ellipsoid(2, np.random.default_rng(1)), most).n > most
    assert sum(read) < len(X) / 4


@laws
@given(seeds())
def test_subsets_keep_points_and_numbers(seed):
    rng, X = some_points(seed)
    points = Points(X, rng.permutation(100)[: len(X)])
    origin, direction = X[rng.integers(len(X))], rng.standard_normal(X.shape[1])
    slack = 1e-9  # the origin itself is beyond
    expected = (X - origin) @ direction >= -slack
    part = points.beyond(origin, direction, slack)
    assert part.members.tolist() == sorted(points.rows[expected].tolist())
    assert (part is points) == bool(expected.all())
    assert np.array_equal(part.array, X[expected])


@laws
@given(seeds())
def test_samples_are_spread_over_all_points(seed):
    rng, X = some_points(seed)
    n = int(rng.integers(1, 2 * len(X)))
    sample = Points(X).sample(n)
    assert min(n, len(X)) <= len(sample) <= len(X)
    assert np.array_equal(sample[0], X[0])


def test_the_mean_of_points_far_from_the_origin_is_exact():
    assert Points(np.array([[1e15], [1e15 + 2.0]])).mean.tolist() == [1e15 + 1.0]


def test_extents_in_other_units():
    sets = [np.array([[1.0, 4.0], [3.0, 8.0]]), np.array([[5.0, 6.0]])]
    found = Extents.of(sets).in_units(np.array([1.0, 4.0]), np.array([2.0, 4.0]))
    assert found.n.tolist() == [2, 1]
    assert found.low.tolist() == [[0.0, 0.0], [2.0, 0.5]]
    assert found.high.tolist() == [[1.0, 1.0], [2.0, 0.5]]
    assert found.mean.tolist() == [[0.5, 0.5], [2.0, 0.5]]
