"""Runs of which only the blocks are asked for, and the clouds of points that they cut."""

import numpy as np
import pytest
from hypothesis import given
from strategies import drawn_points, examples, random_ellipsoid

from sepc.geometry.mve import min_volume_ellipsoid
from sepc.partitions import run as partitioning
from sepc.partitions.problems import class_blocks, problems_of
from sepc.partitions.run import Cloud, PartitionOptions
from sepc.partitions.units import location_and_unit


def labelled(n, d, n_classes):
    rng = np.random.default_rng(d)
    codes = np.repeat(np.arange(n_classes), n // n_classes)
    X = rng.normal(size=(len(codes), d))
    X[:, 0] += 1.5 * codes
    return X, codes


def blocks(X, codes, n_classes, only_blocks):
    problems = problems_of(codes, np.arange(n_classes))
    options = PartitionOptions(only_blocks=only_blocks)
    unit = location_and_unit(X)[1]
    found = [problem.partition(X.copy(), 2, options=options, unit=unit) for problem in problems]
    return [(block.code, block.rows.tolist()) for block in class_blocks(found, problems)]


@pytest.mark.parametrize(("n", "d", "n_classes"), [(200, 3, 2), (210, 3, 3), (300, 45, 2), (300, 45, 3)])
def test_they_are_the_blocks_of_the_whole_run(n, d, n_classes):
    X, codes = labelled(n, d, n_classes)
    assert blocks(X, codes, n_classes, only_blocks=True) == blocks(X, codes, n_classes, only_blocks=False)


def test_what_is_left_over_gets_no_ellipsoid_and_rough_ones_are_enough_with_many_features(monkeypatch):
    asked = []

    def noted(points, *, tol, unit):
        asked.append(tol)
        return min_volume_ellipsoid(points, tol=tol, unit=unit)

    monkeypatch.setattr(partitioning, "min_volume_ellipsoid", noted)
    X, codes = labelled(200, 3, 2)
    for only_blocks, rest in ((False, [1e-7] * 2), (True, [])):
        asked.clear()
        blocks(X[:103], codes[:103], 2, only_blocks)  # no more points of one label than features: nothing can be cut
        assert asked == rest
    for (n, d), tol in (((200, 3), 1e-7), ((300, 45), 1e-2)):
        asked.clear()
        blocks(*labelled(n, d, 2), 2, only_blocks=True)
        assert set(asked) == {tol}


laws = examples(60)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-11)


@laws
@given(drawn_points(max_size=60))
def test_members_and_reach(X):
    rng = np.random.default_rng(len(X))
    points, origin = Cloud(X), rng.standard_normal(X.shape[1])
    close(points.reach(origin), np.abs(X - origin).max())
    assert points.members.tolist() == list(range(len(X)))


@laws
@given(drawn_points(max_size=60))
def test_held_by_counts_what_the_ellipsoid_contains(X):
    rng = np.random.default_rng(len(X))
    E = random_ellipsoid(X.shape[1], rng, size=3.0)
    held = Cloud(X).held_by(E)
    assert held.n == np.count_nonzero(E.contains(X))
    close(held.smallest_gauge, E.gauge(X).min())


@laws
@given(drawn_points(max_size=60))
def test_held_by_reads_on_until_it_can_tell(X):
    rng = np.random.default_rng(len(X))
    points, E = Cloud(X), random_ellipsoid(X.shape[1], rng, size=3.0)
    most = int(rng.integers(0, len(X) + 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partitioning, "_AT_A_TIME", 3)
        held, everything = points.held_by(E, most), points.held_by(E)
    assert (held.n > most) == (everything.n > most)
    assert (held.smallest_gauge <= 1.0) == (everything.smallest_gauge <= 1.0)
    if everything.n <= most:
        assert held == everything


@pytest.mark.parametrize("most", [0, 100])
def test_held_by_stops_early(most, monkeypatch):
    read = []
    squared_gauges = partitioning.squared_gauges

    def counted(E, points):
        read.append(len(points))
        return squared_gauges(E, points)

    monkeypatch.setattr(partitioning, "squared_gauges", counted)
    X = np.random.default_rng(0).standard_normal((100_000, 2))
    assert Cloud(X[np.argsort(X[:, 0])]).held_by(random_ellipsoid(2, np.random.default_rng(1)), most).n > most
    assert sum(read) < len(X) / 4


@laws
@given(drawn_points(max_size=60))
def test_subsets_keep_points_and_numbers(X):
    rng = np.random.default_rng(len(X))
    points = Cloud(X, rng.permutation(100)[: len(X)])
    origin, direction = X[rng.integers(len(X))], rng.standard_normal(X.shape[1])
    slack = 1e-9  # the origin itself is beyond
    expected = (X - origin) @ direction >= -slack
    part = points.beyond(origin, direction, slack)
    assert part.members.tolist() == sorted(points.rows[expected].tolist())
    assert (part is points) == bool(expected.all())
    assert np.array_equal(part.points, X[expected])


@laws
@given(drawn_points(max_size=60))
def test_samples_are_spread_over_all_points(X):
    rng = np.random.default_rng(len(X))
    n = int(rng.integers(1, 2 * len(X)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partitioning, "_SAMPLE_PER_FEATURE", n)
        sample = Cloud(X).sample()
    assert min(n * X.shape[1], len(X)) <= len(sample) <= len(X)
    assert np.array_equal(sample[0], X[0])
