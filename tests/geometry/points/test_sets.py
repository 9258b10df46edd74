"""Sets of points: the same answers in memory, in files, on devices and on clusters, however they are cut up."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scattered import FORMS, SCATTERED, close, scattered, some_points
from strategies import random_ellipsoid, seeds

import sepc.geometry.points.sets
from sepc.common.errors import InputError
from sepc.geometry.points.sets import LocalPoints, as_array, as_set


def each_form(examples):
    """Try a law on random points in every form."""
    return lambda law: settings(max_examples=examples)(given(seeds(), st.sampled_from(FORMS))(law))


def members(points):
    return np.asarray(points.members).tolist()


@each_form(60)
def test_extent_and_moments(seed, form):
    rng, X, points = some_points(seed, form)
    assert points.shape == X.shape
    assert np.array_equal(points.extent.low, X.min(axis=0))
    assert np.array_equal(points.extent.high, X.max(axis=0))
    close(points.extent.mean, X.mean(axis=0))
    origin = rng.standard_normal(X.shape[1])
    close(points.extent.reach(origin), np.abs(X - origin).max())
    n, total, products = points.moments(origin)
    assert n == len(X)
    close(total, (X - origin).sum(axis=0))
    close(products, (X - origin).T @ (X - origin))


@each_form(60)
def test_held_by_counts_what_the_ellipsoid_contains(seed, form):
    rng, X, points = some_points(seed, form)
    E = random_ellipsoid(X.shape[1], rng, size=3.0)
    held = points.held_by(E)
    assert held.n == np.count_nonzero(E.contains(X))
    close(held.smallest_gauge, E.gauge(X).min())


@each_form(60)
def test_held_by_reads_on_until_it_can_tell(seed, form):
    rng, X, points = some_points(seed, form)
    E = random_ellipsoid(X.shape[1], rng, size=3.0)
    most = int(rng.integers(0, len(X) + 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sepc.geometry.points.sets, "_AT_A_TIME", 3)
        held, everything = points.held_by(E, most), points.held_by(E)
    assert (held.n > most) == (everything.n > most)
    assert (held.smallest_gauge <= 1.0) == (everything.smallest_gauge <= 1.0)
    if everything.n <= most:
        assert held == everything


@pytest.mark.parametrize("most", [0, 100])
def test_held_by_stops_early(most, monkeypatch):
    read = []
    squared_gauges = sepc.geometry.points.sets.squared_gauges

    def counted(E, points):
        read.append(len(points))
        return squared_gauges(E, points)

    monkeypatch.setattr(sepc.geometry.points.sets, "squared_gauges", counted)
    X = np.random.default_rng(0).standard_normal((100_000, 2))
    assert LocalPoints(X[np.argsort(X[:, 0])]).held_by(random_ellipsoid(2, np.random.default_rng(1)), most).n > most
    assert sum(read) < len(X) / 4


@each_form(80)
def test_subsets_keep_points_and_numbers(seed, form):
    rng, X, points = some_points(seed, form)
    origin, direction = X[rng.integers(len(X))], rng.standard_normal(X.shape[1])
    slack = 1e-9  # the origin itself is beyond
    expected = (X - origin) @ direction >= -slack
    part = points.beyond(origin, direction, slack)
    assert members(part) == np.flatnonzero(expected).tolist()
    assert (part is points) == bool(expected.all())
    rest = points.without(part)
    assert members(rest) == np.flatnonzero(~expected).tolist()
    if len(rest):
        close(rest.moments(origin).total, (X[~expected] - origin).sum(axis=0))
        close(part.moments(origin).total, (X[expected] - origin).sum(axis=0))
    again = points.without(rest)  # from chunks some of which may be empty by now
    assert members(again) == members(part)
    assert len(points) == len(X)


@each_form(60)
def test_slab_sums_are_those_of_all_points(seed, form):
    rng, X, points = some_points(seed, form)
    shift, direction = X[0], rng.standard_normal(X.shape[1])
    threshold, tau = float(rng.normal()), float(rng.random()) + 0.01
    slab = points.slab(shift, direction, threshold, tau)
    away = X - shift
    t = away @ direction - threshold
    share = np.clip((t + tau) / (2 * tau), 0, 1)
    close(slab.share, share.sum())
    close(slab.weighted, share @ away)
    # The integral of the share from far below up to t.
    close(slab.cost, np.where(t > tau, t, np.where(t < -tau, 0.0, (t + tau) ** 2 / (4 * tau))).sum())
    inside = away[np.abs(t) < tau]
    assert slab.inside.n == len(inside)
    close(slab.inside.total, inside.sum(axis=0))
    close(slab.inside.products, inside.T @ inside)


@each_form(80)
def test_window_holds_every_point_between_and_sums_those_above(seed, form):
    rng, X, points = some_points(seed, form)
    shift = np.round(rng.standard_normal(X.shape[1]))
    direction = rng.integers(-2, 3, size=X.shape[1]).astype(float)  # lattice points then tie exactly
    score = (X - shift) @ direction
    low, high = np.sort(rng.choice(score, size=2)).tolist()
    found = points.window(shift, direction, low - 1e-9, high + 1e-9)
    between, above = (score >= low - 1e-9) & (score <= high + 1e-9), score > high + 1e-9
    assert np.array_equal(found.points, X[between])
    close(found.scores, score[between])
    assert found.n_above == np.count_nonzero(above)
    close(found.above, (X - shift)[above].sum(axis=0))
    everything = points.window(shift, direction, -np.inf, np.inf)
    assert np.array_equal(everything.points, X)
    assert everything.n_above == 0


@each_form(60)
def test_samples_are_points_at_even_distances(seed, form):
    rng, X, points = some_points(seed, form)
    n = int(rng.integers(1, 80))
    sample = points.sample(n)
    assert len(sample) >= min(n, len(X))
    assert np.array_equal(sample, X[:: max(len(X) // n, 1)])


@pytest.mark.parametrize("form", SCATTERED)
@settings(max_examples=20)
@given(seed=seeds())
def test_take_returns_the_points_at_these_positions(seed, form):
    rng, X, points = some_points(seed, form)
    positions = np.flatnonzero(rng.random(len(X)) < 0.4)
    assert np.array_equal(points.take(positions), X[positions])
    last = np.array([len(X) - 1])
    assert np.array_equal(points.take(last), X[last])
    assert points.take(positions[:0]).shape == (0, X.shape[1])


@pytest.mark.parametrize("form", SCATTERED)
@settings(max_examples=30)
@given(seed=seeds())
def test_farthest_returns_the_largest(seed, form):
    rng, X, points = some_points(seed, form)
    d, m = X.shape[1], X.shape[1] + 1
    frame = X[0], rng.standard_normal(d), rng.standard_normal((d, m)), rng.standard_normal(m)
    origin, center, columns, offset = frame
    values = np.square((X - origin - center) @ columns + offset).sum(axis=1)
    count, level = int(rng.integers(1, 12)), float(rng.choice(values))
    far = points.farthest(*frame, level, count)
    close(far.top, values.max())
    close(far.values, np.square((far.points - origin - center) @ columns + offset).sum(axis=1))
    assert (np.diff(far.values) <= 0).all()
    assert (far.values > level * (1 - 1e-12)).all()
    above = X[values > level * (1 + 1e-12)]
    distinct = np.unique(above, axis=0)
    # Copies may be left out, never a point that is farther than one that is not.
    if len(above) == len(distinct):
        assert len(far.points) >= min(count, len(above))
        close(far.values[: len(above)], -np.sort(-values)[: len(far.values)][: len(above)])
    assert {tuple(x) for x in far.points} <= {tuple(x) for x in X}
    none = points.farthest(*frame)
    assert (none.top, none.points.shape, none.values.shape) == (far.top, (0, d), (0,))


@pytest.mark.parametrize("form", SCATTERED)
@pytest.mark.parametrize("tied", [False, True])
def test_farthest_among_many_points_needs_no_sorting_but_misses_none(form, tied):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((5000, 2))
    if tied:
        X = np.round(X)
    points = scattered(form, X, [0, 4000, 4000])
    nothing = np.zeros(2)
    far = points.farthest(nothing, nothing, np.eye(2), nothing, -np.inf, 10)
    values = np.square(X).sum(axis=1)
    if tied:  # of each of the outer points one copy at least
        assert far.values[0] == values.max()
        assert len(np.unique(far.points, axis=0)) > 1
    else:
        close(far.values, -np.sort(-values)[:10])


@pytest.mark.parametrize("form", SCATTERED)
def test_farthest_shows_all_corners_however_often_each_occurs(form):
    corners = np.array([[3.0, 0.0], [0.0, -3.0], [-3.0, 0.0]])
    X = np.concatenate([np.repeat(corners, 2000, axis=0), np.zeros((9000, 2))])
    points = scattered(form, np.random.default_rng(0).permutation(X), [7000])
    far = points.farthest(np.zeros(2), np.zeros(2), np.eye(2), np.zeros(2), -np.inf, 50)
    assert len(np.unique(far.points, axis=0)) == 3


@pytest.mark.parametrize("form", SCATTERED)
def test_nan_is_not_overlooked(form):
    X = np.random.default_rng(0).standard_normal((30, 2))
    X[17, 1] = np.nan
    points = scattered(form, X, [10, 20])
    assert np.isnan(points.farthest(np.zeros(2), np.zeros(2), np.eye(2), np.zeros(2)).top)
    with pytest.raises(InputError, match=r"largest values|smallest values.* is nan; expected finite numbers"):
        _ = points.extent


@pytest.mark.parametrize("form", SCATTERED)
def test_few_points_come_into_memory(form):
    X = np.random.default_rng(0).standard_normal((40, 3))
    points = scattered(form, X, [7, 7, 30])
    assert points.at_hand() is points
    points.local_size = 3 * 25
    assert points.at_hand() is points
    part = points.beyond(np.sort(X, axis=0)[20], np.array([1.0, 0.0, 0.0]), 0.0)
    assert isinstance(part, LocalPoints)
    assert np.array_equal(part.array, X[part.rows])
    rest = points.without(part)
    assert isinstance(rest, LocalPoints)
    assert sorted([*part.rows, *rest.rows]) == list(range(40))
    assert np.array_equal(points.local().array, X)


@pytest.mark.parametrize("form", SCATTERED)
def test_joined_sets_are_one_after_the_other(form):
    X = np.random.default_rng(0).standard_normal((20, 2))
    both = scattered(form, X[:8], [3]).joined(scattered(form, X[8:]))
    assert both.sizes == [3, 5, 12]
    assert both.local_size == 0
    assert np.array_equal(both.local().array, X)


def test_arrays_and_sets():
    X = np.random.default_rng(0).standard_normal((5, 2))
    local = LocalPoints(X, np.arange(5)[::-1])
    assert as_set(local, "A") is local
    assert np.array_equal(as_set(X.tolist(), "A").array, X)
    assert np.array_equal(as_array(local, "A"), X)
    with pytest.raises(InputError, match=r"A are FilePoints; expected points in memory"):
        as_array(scattered("file", X), "A")
