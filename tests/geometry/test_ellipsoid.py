"""Laws of `Ellipsoid`."""

import copy
import math
import pickle

import numpy as np
import pytest
from coded import raises
from hypothesis import given
from hypothesis import strategies as st
from oracle import nearest_in_ellipsoid
from strategies import decimals, ellipsoids, examples, random_ellipsoid, rotation

from sepc.geometry.ellipsoid import Ellipsoid, log_unit_ball_volume

RATIOS = [1.0, 1e3, 1e6, 1e12]


def around(E, n, rng, spread=2.0):
    """Points inside and outside E, at gauges up to about `spread`, along all of its axes."""
    u = rng.standard_normal((n, E.dim))
    u *= spread * rng.random((n, 1)) / np.linalg.norm(u, axis=1, keepdims=True)
    return E.center + (u * E.radii) @ E.axes.T


def blur(E, points):
    """How far rounding of the coordinates can move a gauge."""
    scale = np.abs(points).max() + np.abs(E.center).max()
    return 1e-15 * E.dim * scale / E.radii.min()


@given(ellipsoids())
@examples(50)
def test_gauge_is_the_length_in_units_of_the_radii(E):
    rng = np.random.default_rng(0)
    u = rng.standard_normal((20, E.dim))
    np.testing.assert_allclose(
        E.gauge(E.center + (u * E.radii) @ E.axes.T), np.linalg.norm(u, axis=1), rtol=1e-12, atol=1e-14
    )


@given(ellipsoids())
@examples(50)
def test_gauge_is_the_papers_form(E):
    rng = np.random.default_rng(0)
    points = around(E, 20, rng)
    np.testing.assert_array_equal(E.A.shape, (E.dim, E.dim))
    np.testing.assert_allclose(E.A, E.A.T, rtol=1e-12, atol=1e-12)
    assert np.linalg.eigvalsh(E.A).min() > 0
    np.testing.assert_allclose(np.linalg.norm(points @ E.A + E.b, axis=1), E.gauge(points), rtol=1e-9)


def test_gauge_of_known_points():
    E = Ellipsoid([1.0, 2.0], [[0.0, 1.0], [1.0, 0.0]], [3.0, 0.5])
    np.testing.assert_array_equal(E.gauge([[1.0, 2.0], [1.0, 5.0], [1.5, 2.0], [2.0, 2.0]]), [0.0, 1.0, 1.0, 2.0])


def test_contains_takes_the_boundary_and_the_tolerance():
    E = Ellipsoid([0.0], [[1.0]], [2.0])
    points = [[0.0], [2.0], [2.0 + 1e-7], [2.1], [-2.1]]
    assert E.contains(points).tolist() == [True, True, True, False, False]
    assert E.contains(points, tol=0.1).all()
    assert E.contains(points, tol=0.0).tolist() == [True, True, False, False, False]


@pytest.mark.parametrize(("d", "volume"), [(1, 2.0), (2, math.pi), (3, 4 / 3 * math.pi), (4, math.pi**2 / 2)])
def test_unit_balls_have_their_volume(d, volume):
    assert math.exp(log_unit_ball_volume(d)) == pytest.approx(volume)
    assert Ellipsoid(np.zeros(d), np.eye(d), np.ones(d)).log_volume == pytest.approx(math.log(volume))


@given(ellipsoids())
@examples(50)
def test_half_widths_are_those_of_the_smallest_box(E):
    # The point that is farthest along a coordinate is the image of the unit vector along that row of the frame.
    frame = E.axes * E.radii
    farthest = E.center + (frame / np.linalg.norm(frame, axis=1, keepdims=True)) @ frame.T
    np.testing.assert_allclose(E.gauge(farthest), 1.0, rtol=1e-9)
    np.testing.assert_allclose(farthest.diagonal() - E.center, E.half_widths, rtol=1e-9, atol=1e-9)
    inside = around(E, 50, np.random.default_rng(0), spread=1.0)
    assert (np.abs(inside - E.center) <= E.half_widths * (1 + 1e-9)).all()


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_volume_agrees_with_monte_carlo(d):
    E = random_ellipsoid(d, np.random.default_rng(d))
    half = np.linalg.norm(E.axes * E.radii, axis=1)
    box = E.center + half * np.random.default_rng(0).uniform(-1, 1, (200_000, d))
    share = E.contains(box, tol=0.0).mean()
    assert share * np.prod(2 * half) == pytest.approx(math.exp(E.log_volume), rel=0.03)


def test_log_volume_survives_where_a_volume_would_not():
    d = 300
    assert Ellipsoid(np.zeros(d), np.eye(d), np.full(d, 1e-6)).log_volume < -4000


@given(st.integers(1, 8), st.integers(0, 4), st.data())
@examples(50)
def test_from_factor_is_the_image_of_the_ball(d, m, data):
    rng = np.random.default_rng(0)
    factor, center = np.eye(d, d + m) + data.draw(decimals((d, d + m), 20)), data.draw(decimals(d))
    E = Ellipsoid.from_factor(center, factor)
    np.testing.assert_allclose((E.axes * E.radii**2) @ E.axes.T, factor @ factor.T, atol=1e-12 * d)
    u = rng.standard_normal((20, d + m))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    assert E.contains(center + u @ factor.T, tol=1e-9).all()
    if m == 0:
        np.testing.assert_allclose(E.gauge(center + u @ factor.T), 1, rtol=1e-6)
        assert E.log_volume == pytest.approx(np.linalg.slogdet(factor)[1] + log_unit_ball_volume(d))


@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_project_is_the_nearest_point_of_the_conic_program(d):
    rng = np.random.default_rng(d)
    E = random_ellipsoid(d, rng, ratio=10)
    points = around(E, 5, rng, spread=5)
    expected = np.array([nearest_in_ellipsoid(E, z) for z in points])
    np.testing.assert_allclose(E.project(points), expected, atol=1e-3)  # the program's objective is to 1e-8
    np.testing.assert_allclose(E.distance(points), np.linalg.norm(points - expected, axis=1), atol=1e-6)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("d", [1, 2, 10, 30])
def test_distance_is_certified_from_both_sides(d, ratio):
    rng = np.random.default_rng(d)
    E = random_ellipsoid(d, rng, ratio, offset=0.0)
    for spread in (1.1, 3.0, 1e3):
        everywhere = spread * E.radii.max() * rng.standard_normal((100, d))
        points = np.vstack([around(E, 100, rng, spread), everywhere])
        points = points[E.gauge(points) > 1.0]
        nearest, distance = E.project(points), E.distance(points)
        rounding = 1e-13 * np.abs(points).max()
        step = points - nearest
        np.testing.assert_allclose(np.linalg.norm(step, axis=1), distance, rtol=1e-9, atol=rounding)
        # From above: the nearest point is in E. From below: the plane across the step supports E there. (A
        # step close to the rounding of the coordinates has no direction.)
        assert E.gauge(nearest).max() <= 1 + 1e-9 + blur(E, points)
        far = distance > 1e10 * np.finfo(float).eps * np.abs(points).max()
        normal = step[far] / np.linalg.norm(step[far], axis=1, keepdims=True)
        support = np.linalg.norm((normal @ E.axes) * E.radii, axis=1)
        bound = ((points[far] - E.center) * normal).sum(axis=1) - support
        np.testing.assert_allclose(bound, distance[far], rtol=1e-9, atol=rounding)


@given(ellipsoids(ratio=100))
@examples(50)
def test_the_step_to_the_nearest_point_is_normal_to_the_boundary(E):
    rng = np.random.default_rng(0)
    points = around(E, 20, rng, 5.0)
    points = points[E.gauge(points) > 1.01]
    if not len(points):
        return
    nearest = E.project(points)
    np.testing.assert_allclose(E.gauge(nearest), 1, rtol=1e-9)
    gradient = (((nearest - E.center) @ E.axes) / E.radii**2) @ E.axes.T
    step = points - nearest
    cosine = (gradient * step).sum(axis=1) / np.linalg.norm(gradient, axis=1) / np.linalg.norm(step, axis=1)
    np.testing.assert_allclose(cosine, 1, rtol=1e-9)


@given(st.sampled_from(RATIOS).flatmap(lambda ratio: ellipsoids(ratio=ratio)))
@examples(50)
def test_points_inside_stay_put_to_the_bit(E):
    rng = np.random.default_rng(0)
    points = np.vstack([E.sample(50, rng), E.center])
    points = points[E.gauge(points) <= 1.0]
    np.testing.assert_array_equal(E.project(points), points)
    np.testing.assert_array_equal(E.distance(points), 0.0)


@given(st.sampled_from(RATIOS).flatmap(lambda ratio: ellipsoids(ratio=ratio)))
@examples(50)
def test_distance_is_one_lipschitz_and_zero_only_inside(E):
    rng = np.random.default_rng(0)
    a, b = around(E, 50, rng, 4.0), around(E, 50, rng, 4.0)
    slack = 1e-13 * (np.abs(a).max() + np.abs(b).max())
    assert (np.abs(E.distance(a) - E.distance(b)) <= np.linalg.norm(a - b, axis=1) + slack).all()
    np.testing.assert_array_equal(E.distance(a) > 0, E.gauge(a) > 1)


@given(ellipsoids(ratio=100))
@examples(50)
def test_projecting_twice_is_projecting_once(E):
    rng = np.random.default_rng(0)
    once = E.project(around(E, 20, rng, 4.0))
    np.testing.assert_allclose(E.project(once), once, atol=1e-12)


def test_distance_to_balls_and_points_on_the_axes():
    E = Ellipsoid([0.0, 0.0], np.eye(2), [3.0, 3.0])
    points = np.random.default_rng(0).standard_normal((50, 2)) * 5
    np.testing.assert_allclose(E.distance(points), np.maximum(np.linalg.norm(points, axis=1) - 3, 0), atol=1e-14)
    # Inside the evolute, on the long axis, the nearest point of the boundary would be off the axis; outside
    # the ellipse it is the tip.
    flat = Ellipsoid([0.0, 0.0], np.eye(2), [1.0, 1e-6])
    np.testing.assert_allclose(flat.project([[2.0, 0.0], [0.0, 1.0]]), [[1.0, 0.0], [0.0, 1e-6]], atol=1e-15)


@given(st.sampled_from(RATIOS).flatmap(lambda ratio: ellipsoids(ratio=ratio)))
@examples(50)
def test_grown_ellipsoid_holds_the_point_and_only_just(E):
    rng = np.random.default_rng(0)
    for z in around(E, 10, rng, 3.0):
        grown = E.grown_to(z)
        gauge = grown.gauge(z[None])[0]
        assert gauge <= 1.0
        if E.gauge(z[None])[0] <= 1.0:
            assert grown is E
        else:
            assert gauge >= 1 - 1e-14
            np.testing.assert_array_equal(grown.center, E.center)
            np.testing.assert_array_equal(grown.axes, E.axes)
            assert np.ptp(grown.radii / E.radii) <= 1e-14 * grown.radii.max() / E.radii.max()


@pytest.mark.parametrize("d", [1, 2, 5])
def test_samples_are_uniform(d):
    E = random_ellipsoid(d, np.random.default_rng(d), offset=3.0)
    sample = E.sample(100_000, rng=1)
    assert sample.shape == (100_000, d)
    assert E.contains(sample, tol=1e-12).all()
    u = ((sample - E.center) @ E.axes) / E.radii
    np.testing.assert_allclose(u.mean(axis=0), 0, atol=0.01)
    np.testing.assert_allclose(u.T @ u / len(u), np.eye(d) / (d + 2), atol=0.01)
    # A share s^d of a uniform sample lies within gauge s.
    for s in (0.3, 0.7, 0.9):
        assert np.mean(E.gauge(sample) <= s) == pytest.approx(s**d, abs=0.01)


def test_samples_repeat_with_the_seed():
    E = random_ellipsoid(3, np.random.default_rng(0))
    np.testing.assert_array_equal(E.sample(5, rng=7), E.sample(5, rng=np.random.default_rng(7)))
    assert not np.array_equal(E.sample(5, rng=7), E.sample(5, rng=8))


def test_boundary_is_closed_and_on_the_ellipse():
    E = random_ellipsoid(2, np.random.default_rng(0))
    curve = E.boundary(100)
    assert curve.shape == (100, 2)
    np.testing.assert_allclose(E.gauge(curve), 1, rtol=1e-12)
    np.testing.assert_allclose(curve[0], curve[-1], atol=1e-12)


@given(ellipsoids(least=2))
@examples(50)
def test_shadow_is_the_projection(E):
    rng = np.random.default_rng(0)
    frame = rotation(E.dim, rng)[:, :2]
    shadow = E.shadow(frame)
    assert shadow.contains(E.sample(200, rng) @ frame, tol=1e-9).all()
    # A boundary point of the shadow is the image of the point of E that lies furthest along its normal.
    for z in shadow.boundary(9):
        normal = frame @ (((z - shadow.center) @ shadow.axes / shadow.radii**2) @ shadow.axes.T)
        y = E.radii * (normal @ E.axes)
        furthest = E.center + E.axes @ (E.radii * y) / np.linalg.norm(y)
        np.testing.assert_allclose(furthest @ frame, z, atol=1e-9)


@given(ellipsoids(least=2))
@examples(50)
def test_slice_is_the_cut(E):
    rng = np.random.default_rng(0)
    frame = rotation(E.dim, rng)[:, :2]
    through = E.sample(1, rng)[0]
    cut = E.slice(frame, through)
    plane = through - frame @ (frame.T @ through)
    np.testing.assert_allclose(E.gauge(plane + cut.boundary(20) @ frame.T), 1, rtol=1e-9)
    assert E.contains(plane + cut.sample(50, rng) @ frame.T, tol=1e-9).all()
    assert cut.contains((frame.T @ through)[None], tol=1e-9)


def test_slice_and_shadow_by_feature_numbers():
    E = Ellipsoid([1.0, 2.0, 3.0], np.eye(3), [3.0, 2.0, 1.0])
    np.testing.assert_allclose(E.shadow([2, 0]).center, [3.0, 1.0])
    np.testing.assert_allclose(E.slice([2, 0]).center, [3.0, 1.0])
    np.testing.assert_allclose(E.slice([0, 1], through=[1.0, 2.0, 3.6]).radii, [2.4, 1.6])
    assert E.slice([0, 1], through=[1.0, 2.0, 4.5]) is None
    assert E.slice([0, 1], through=[50.0, 50.0, 3.0]) is not None


def test_a_shadow_holds_every_slice():
    rng = np.random.default_rng(0)
    E = random_ellipsoid(4, rng)
    for through in E.sample(20, rng):
        assert E.shadow([0, 2]).contains(E.slice([0, 2], through).boundary(50), tol=1e-9).all()


def test_values_do_not_depend_on_the_batch():
    rng = np.random.default_rng(0)
    E = random_ellipsoid(3, rng, ratio=100)
    points = around(E, 10_001, rng, 3.0)
    rows = [0, 2047, 2048, 5000, 10_000]
    for method in (E.gauge, E.distance, E.project):
        whole = method(points)
        for start, stop in ((0, 2048), (1, 2050), (2047, 2049), (9_999, 10_001)):
            np.testing.assert_allclose(whole[start:stop], method(points[start:stop]), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(whole[rows], [method(points[[i]])[0] for i in rows], rtol=1e-12, atol=1e-14)


@pytest.mark.slow
def test_a_million_rows_are_fine():
    E = random_ellipsoid(2, np.random.default_rng(0))
    points = np.random.default_rng(1).standard_normal((1_000_000, 2))
    distance = E.distance(points)
    np.testing.assert_allclose(distance[::99_991], E.distance(points[::99_991]), rtol=1e-12)
    np.testing.assert_array_equal(distance > 0, E.gauge(points) > 1)


def test_it_is_frozen_and_keeps_its_own_copies():
    center, axes, radii = np.zeros(2), np.eye(2), np.ones(2)
    E = Ellipsoid(center, axes, radii)
    center[0] = axes[0, 0] = radii[0] = 9.0
    assert (E.center[0], E.axes[0, 0], E.radii[0]) == (0.0, 1.0, 1.0)
    with pytest.raises(AttributeError):
        E.radii = np.ones(2)
    for array in (E.center, E.axes, E.radii):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


@pytest.mark.parametrize(
    "clone",
    [copy.copy, copy.deepcopy, lambda E: pickle.loads(pickle.dumps(E))],
    ids=["copy", "deep", "pickle"],
)
def test_clones_are_equal_and_read_only(clone):
    E = random_ellipsoid(4, np.random.default_rng(0), ratio=1e12)
    twin = clone(E)
    for name in ("center", "axes", "radii"):
        np.testing.assert_array_equal(getattr(twin, name), getattr(E, name))
        assert not getattr(twin, name).flags.writeable


def test_repr_is_short():
    assert repr(Ellipsoid(np.zeros(100), np.eye(100), np.ones(100))).count("\n") == 0
    assert "dim=2" in repr(Ellipsoid([0.0, 0.0], np.eye(2), [1.0, 2.0]))


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (([0.0, 0.0], [[1.0, 0.0], [0.5, 1.0]], [1.0, 1.0]), raises("axes-not-orthonormal", shape=(2, 2))),
        (([0.0, 0.0], [[1.0, 0.0]], [1.0, 1.0]), raises("axes-not-orthonormal", shape=(1, 2))),
        (([0.0, 0.0], np.eye(2), [1.0, 0.0]), raises("radii-not-positive", smallest=0.0)),
        (([0.0, 0.0], np.eye(2), [1.0, -1.0]), raises("radii-not-positive", smallest=-1.0)),
        (([0.0, 0.0], np.eye(2), [1.0]), raises("vector-shape", name="radii", shape=(1,))),
        (([0.0], np.eye(2), [1.0, 1.0]), raises("vector-shape", name="center", shape=(1,))),
        (([0.0, np.nan], np.eye(2), [1.0, 1.0]), raises("value-not-finite", name="center", where="1")),
        (([0.0, 0.0], np.eye(2), [1.0, np.inf]), raises("value-not-finite", name="radii", where="1")),
        (([0.0, "a"], np.eye(2), [1.0, 1.0]), raises("not-numbers", name="center")),
    ],
)
def test_bad_ellipsoids_are_refused(arguments, refusal):
    with refusal:
        Ellipsoid(*arguments)


@pytest.mark.parametrize(
    ("points", "refusal"),
    [
        (np.zeros((3, 3)), raises("features-differ", name="points", n_features=3, other="the ellipsoid", n_other=2)),
        (np.zeros(2), raises("points-dimensions", name="points")),
        (np.zeros((0, 2)), raises("points-empty", name="points")),
        ([[0.0, np.inf]], raises("value-not-finite", name="points", where="0, 1")),
    ],
)
@pytest.mark.parametrize("method", ["gauge", "contains", "distance", "project"])
def test_bad_points_are_refused(method, points, refusal):
    E = Ellipsoid([0.0, 0.0], np.eye(2), [1.0, 1.0])
    with refusal:
        getattr(E, method)(points)


def test_bad_directions_and_factors_are_refused():
    E = Ellipsoid(np.zeros(3), np.eye(3), np.ones(3))
    with raises("features-out-of-range", last=2):
        E.shadow([0, 3])
    with raises("directions-not-orthonormal"):
        E.slice(np.ones((3, 2)))
    with raises("curve-needs-two-dimensions", n_features=3):
        E.boundary()
    with raises("factor-rank", shape=(2, 1), rank=1):
        Ellipsoid.from_factor([0.0, 0.0], [[1.0], [2.0]])


@pytest.mark.parametrize("radii", [[1e6, 1.0], [1.0, 1e-6]])
def test_points_as_far_as_the_checks_allow(radii):
    E = Ellipsoid([0.0, 0.0], np.eye(2), radii)
    far = np.array([[3e149, 4e149], [-1e150, 0.0], [0.5, 0.0]])
    np.testing.assert_allclose(E.distance(far), [5e149, 1e150, 0.0], rtol=1e-12)
    np.testing.assert_allclose(E.gauge(far), np.hypot(*(far / radii).T), rtol=1e-12)
    np.testing.assert_allclose(E.gauge(E.project(far)[:2]), 1.0, rtol=1e-9)
    assert E.contains(far).tolist() == [False, False, True]
    assert E.grown_to(far[0]).contains(far[:1]).all()


def test_factor_of_too_low_a_rank_is_refused():
    with raises("factor-rank", rank=1):
        Ellipsoid.from_factor([0.0, 0.0], [[1.0, 2.0], [2.0, 4.0]])
