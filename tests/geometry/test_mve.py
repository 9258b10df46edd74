"""Laws of `min_volume_ellipsoid`, its agreement with an oracle, and the inputs that break others."""

import numpy as np
import pytest
from coded import raises
from exact_ellipsoids import exact_gauges, grid_around, lattice_set
from hypothesis import given
from hypothesis import strategies as st
from oracle import mve_log_volume
from strategies import FAMILIES, drawn_points, examples, is_solid, point_set, rotation, seeds

from sepc.common.errors import SepcError
from sepc.geometry.ellipsoid import FLAT, LARGEST_HELD, Ellipsoid
from sepc.geometry.mve import min_volume_ellipsoid

TOL = 1e-7


def check(points, tol=TOL, rounding=0.0, **kwargs):
    """Solve, and hold the result against every promise that needs no reference answer."""
    m = min_volume_ellipsoid(points, tol, **kwargs)
    X = np.asarray(points, dtype=float)
    assert m.converged
    assert -1e-12 <= m.gap <= tol
    assert m.certificate(X, **kwargs) <= tol + rounding
    assert m.weights.min() >= 0
    assert m.weights.sum() == pytest.approx(1, abs=1e-12)
    assert m.ellipsoid.gauge(X).max() <= 1 + 1e-9  # a hundredth of the tolerance of membership
    assert not m.weights.flags.writeable
    # The public constructor agrees that these are a centre, an orthogonal matrix and positive radii.
    E = m.ellipsoid
    Ellipsoid(E.center, E.axes, E.radii)
    assert np.all(np.diff(E.radii) <= 0)
    return m


# Against an oracle of 50 digits: who is on the boundary is inside.


def test_a_lattice_point_on_the_ellipse_is_inside():
    assert check([[3, 1], [1, 3], [1, 1], [2, 1], [4, 2]]).ellipsoid.contains([[0, 2]]).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_members_among_lattice_points_are_those_of_the_exact_ellipsoid(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        X = lattice_set(rng)
        grid = grid_around(X)
        expected = exact_gauges(X, grid) <= LARGEST_HELD
        np.testing.assert_array_equal(check(X).ellipsoid.contains(grid), expected)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("n", "d"), [(20, 2), (300, 4), (1000, 10), (150, 30), (900, 25)])
def test_carriers_lie_on_the_ellipsoid_to_rounding(family, n, d):
    points = point_set(family, n, d)
    m = check(points)
    assert m.gap <= 1e-10
    np.testing.assert_allclose(m.ellipsoid.gauge(points[m.weights > 0]), 1.0, rtol=0, atol=1e-9)


# Against the textbook problem, solved by cvxpy with Clarabel.


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("d", [1, 2, 3, 5, 10, 20])
def test_volume_agrees_with_clarabel(family, d):
    n = 60 + 3 * d
    points = point_set(family, n, d)
    m = check(points)
    assert abs(m.ellipsoid.log_volume - mve_log_volume(points)) <= 2e-7 * (d + 1)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("n", "d"), [(400, 2), (600, 10)])
def test_working_sets_agree_with_clarabel(family, n, d):
    points = point_set(family, n, d)
    m = check(points)
    assert abs(m.ellipsoid.log_volume - mve_log_volume(points)) <= 2e-7 * (d + 1)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("n", "d"), [(50, 1), (700, 3), (5_000, 10), (40_000, 4), (2_000, 30), (300, 40)])
def test_result_is_optimal_by_its_own_certificate(family, n, d):
    m = check(point_set(family, n, d))
    assert m.rank == d


@pytest.mark.parametrize("family", FAMILIES)
def test_tighter_tolerance_is_reached(family):
    check(point_set(family, 2_000, 5), tol=1e-11, rounding=1e-12)


@pytest.mark.parametrize("tol", [1e-15, 1e-300])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_tolerance_below_rounding_is_answered_honestly(family, tol):
    m = min_volume_ellipsoid(np.repeat(point_set(family, 300, 4), 2, axis=0), tol)
    assert m.gap < 1e-10
    assert m.converged == (m.gap <= tol)


def test_known_answers():
    cross = np.vstack([np.eye(4), -np.eye(4)])
    m = check(cross)
    np.testing.assert_allclose(m.ellipsoid.radii, 1, atol=1e-6)
    cube = np.array(np.meshgrid(*[[-1.0, 1.0]] * 6)).reshape(6, -1).T
    m = check(cube)
    np.testing.assert_allclose(m.ellipsoid.radii, np.sqrt(6), rtol=1e-6)
    simplex = np.vstack([np.zeros(3), np.eye(3)])
    m = check(simplex)
    np.testing.assert_allclose(m.weights, 0.25, atol=1e-9)
    np.testing.assert_allclose(m.ellipsoid.center, 0.25, atol=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_hundreds_of_copies_of_few_points(seed):
    rng = np.random.default_rng(seed)
    d, n = rng.integers(1, 7), rng.integers(200, 3000)
    few = rng.binomial(1, rng.uniform(0.01, 0.5, d), (d + 4, d)) * rng.choice([0.1, 1.0, 3.0], d)
    points = few[np.concatenate([np.arange(d + 4), rng.integers(0, d + 4, n)])]
    unit = np.maximum(points.std(axis=0), 0.1)
    m = check(points, unit=unit)
    alone = check(few, unit=unit)
    assert m.ellipsoid.log_volume == pytest.approx(alone.ellipsoid.log_volume, abs=1e-6)


def test_four_corners_of_a_plate_with_hundreds_of_copies_each():
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [0.1, 0.0], [0.1, 1.0]])
    m = check(np.repeat(corners, [937, 542, 542, 332], axis=0))
    assert m.ellipsoid.center == pytest.approx([0.05, 0.5])
    assert m.ellipsoid.radii == pytest.approx([np.sqrt(0.5), 0.1 * np.sqrt(0.5)])


def test_many_duplicates_of_every_corner():
    corners = np.random.default_rng(0).integers(0, 2, size=(30_000, 8))
    m = check(corners)
    np.testing.assert_allclose(m.ellipsoid.radii, np.sqrt(8) / 2, rtol=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("family", "n", "d"), [("ball", 110, 13), ("lattice", 996, 14), ("clusters", 668, 24)])
def test_every_point_three_times(family, n, d, seed):
    """Equal points share their weight, and look as if each alone could be done without."""
    check(np.repeat(point_set(family, n, d, seed), 3, axis=0))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d", "seed"), [(1500, 50, 0), (1500, 70, 1), (2000, 70, 3)])
def test_evenly_filled_bodies_of_many_features(n, d, seed):
    """After the first steps no point of the working set looks as if it held the ellipsoid."""
    check(point_set("ball", n, d, seed))


# Laws.

# More points than can be drawn one by one.
LARGER = st.builds(point_set, st.sampled_from(FAMILIES), st.integers(30, 400), st.integers(1, 8), seeds())


@given(drawn_points(max_size=60, regimes=("lattice", "spread", "copies")).filter(is_solid) | LARGER)
@examples(60)
def test_affine_map_of_the_points_maps_the_ellipsoid(points):
    rng, d = np.random.default_rng(0), points.shape[1]
    matrix = rotation(d, rng) @ np.diag(10.0 ** rng.uniform(-2, 2, d)) @ rotation(d, rng)
    mapped = points @ matrix.T + 10 * rng.standard_normal(d)
    before, after = check(points).ellipsoid, check(mapped).ellipsoid
    assert after.log_volume == pytest.approx(before.log_volume + np.linalg.slogdet(matrix)[1], abs=2 * TOL * (d + 1))
    # The ellipsoid is only as sharp as the square root of its volume's gap.
    np.testing.assert_allclose(after.gauge(mapped), before.gauge(points), atol=3e-3)


@given(drawn_points(max_size=60, regimes=("lattice", "spread", "copies")).filter(is_solid) | LARGER)
@examples(60)
def test_order_and_duplicates_do_not_matter(points):
    rng, d = np.random.default_rng(0), points.shape[1]
    again = np.vstack([points, points[rng.integers(len(points), size=50)]])
    before = check(points).ellipsoid
    after = check(again[rng.permutation(len(again))]).ellipsoid
    assert after.log_volume == pytest.approx(before.log_volume, abs=2 * TOL * (d + 1))


@given(drawn_points(max_size=60, regimes=("lattice", "spread", "copies")).filter(is_solid) | LARGER)
@examples(60)
def test_volume_grows_with_the_points(points):
    rng, d = np.random.default_rng(0), points.shape[1]
    fewer = check(points).ellipsoid
    inside = fewer.sample(30, rng)
    more = check(np.vstack([points, rng.standard_normal((5, d))])).ellipsoid
    same = check(np.vstack([points, inside])).ellipsoid
    slack = 2 * TOL * (d + 1)
    assert more.log_volume >= fewer.log_volume - slack
    assert same.log_volume == pytest.approx(fewer.log_volume, abs=slack)


def test_same_input_gives_the_same_bits():
    points = point_set("ball", 5_000, 7)
    one, two = min_volume_ellipsoid(points), min_volume_ellipsoid(points.copy())
    np.testing.assert_array_equal(one.ellipsoid.axes, two.ellipsoid.axes)
    np.testing.assert_array_equal(one.ellipsoid.radii, two.ellipsoid.radii)
    np.testing.assert_array_equal(one.weights, two.weights)


# Hard inputs.


@pytest.mark.parametrize("d", [1, 2, 7])
def test_one_point(d):
    m = check([[1.5] * d])
    assert m.rank == 0
    np.testing.assert_array_equal(m.ellipsoid.center, [1.5] * d)
    np.testing.assert_allclose(m.ellipsoid.radii, FLAT)


def test_two_points():
    m = check([[0.0, 0.0], [6.0, 8.0]])
    assert m.rank == 1
    np.testing.assert_allclose(m.ellipsoid.center, [3, 4])
    assert m.ellipsoid.radii[0] == pytest.approx(5)
    # Flat by 1e-6 units, a unit being a standard deviation: 3 and 4 along the two features.
    assert 3e-6 < m.ellipsoid.radii[1] < 4e-6
    assert m.ellipsoid.contains([[3.0, 4.0], [6.0, 8.0]]).all()
    assert not m.ellipsoid.contains([[3.001, 4.0]]).any()


def test_all_points_equal():
    m = check(np.full((20, 3), 0.1))
    assert m.rank == 0
    np.testing.assert_array_equal(m.ellipsoid.center, 0.1)


def test_points_on_a_line():
    t = np.random.default_rng(0).standard_normal(50)
    direction = np.array([1.0, 2.0, 3.0])
    m = check(np.outer(t, direction))
    assert m.rank == 1
    assert m.ellipsoid.radii[0] == pytest.approx(np.ptp(t) / 2 * np.linalg.norm(direction), rel=1e-6)
    assert abs(m.ellipsoid.axes[:, 0] @ direction) == pytest.approx(np.linalg.norm(direction))


def test_constant_column_leaves_the_others_as_they_were():
    points = point_set("gauss", 200, 3)
    m = check(np.insert(points, 1, 7.3, axis=1))
    without = check(points).ellipsoid
    assert m.rank == 3
    np.testing.assert_allclose(m.ellipsoid.radii[:3], without.radii, rtol=1e-6)
    assert m.ellipsoid.radii[3] == pytest.approx(FLAT * points.std(axis=0).max())
    assert m.ellipsoid.center[1] == pytest.approx(7.3)


@pytest.mark.parametrize("d", [1, 2, 5, 30])
def test_simplex_of_d_plus_one_points(d):
    points = point_set("gauss", d + 1, d)
    m = check(points)
    np.testing.assert_allclose(m.weights, 1 / (d + 1), atol=1e-9)
    np.testing.assert_allclose(m.ellipsoid.gauge(points), 1, atol=1e-9)


@pytest.mark.parametrize(("n", "d"), [(2, 5), (5, 10), (25, 30)])
def test_fewer_points_than_dimensions(n, d):
    m = check(point_set("gauss", n, d))
    assert m.rank == n - 1


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_flat_set_is_solved_inside_its_hull(offset):
    rng = np.random.default_rng(3)
    inside = rng.standard_normal((400, 3))
    basis = rotation(10, rng)[:, :3]
    m = check(inside @ basis.T + offset, rounding=1e-8)
    assert m.rank == 3
    hull_volume = np.log(m.ellipsoid.radii[:3]).sum()
    assert hull_volume == pytest.approx(np.log(check(inside).ellipsoid.radii).sum(), abs=1e-6)


@pytest.mark.parametrize("exponent", [5.5, 6.0, 6.5, 7.5, 9.0])
def test_nearly_flat_sets_keep_the_size_of_their_hull(exponent):
    rng = np.random.default_rng(4)
    points = rng.standard_normal((300, 6)) * np.r_[np.ones(5), 10.0**-exponent]
    m = check(points @ rotation(6, rng).T, rounding=1e-6)
    # Whether the thin direction counts as flat or not, nothing else may jump.
    wide = check(points[:, :5]).ellipsoid.radii
    np.testing.assert_allclose(m.ellipsoid.radii[:5], wide, rtol=0.15)
    assert m.ellipsoid.radii[5] <= 10 * max(10.0**-exponent, FLAT)


@pytest.mark.parametrize("seed", range(60))
def test_certificate_of_a_nearly_flat_set_is_its_gap(seed):
    rng = np.random.default_rng(seed)
    d = rng.integers(2, 7)
    points = rng.standard_normal((rng.integers(d + 1, 60), d)) * 10.0 ** rng.uniform(-9, 0, d) @ rotation(d, rng)
    for kwargs in ({}, {"unit": np.ones(d)}):
        m = min_volume_ellipsoid(points, **kwargs)
        assert m.certificate(points, **kwargs) == pytest.approx(m.gap, abs=1e-9)


def test_columns_of_very_different_scale():
    points = point_set("gauss", 500, 4) @ rotation(4, np.random.default_rng(1))
    scale = np.array([1e-8, 1.0, 1e4, 1e8])
    plain, scaled = check(points).ellipsoid, check(points * scale).ellipsoid
    assert scaled.log_volume == pytest.approx(plain.log_volume + np.log(scale).sum(), abs=1e-9)
    np.testing.assert_allclose(scaled.gauge(points * scale), plain.gauge(points), atol=1e-7)


def test_large_offset_costs_only_the_rounding_of_the_input():
    points = np.round(point_set("gauss", 300, 3) * 1024) / 1024
    moved = points + 1e12
    exact = moved - 1e12  # what the rounding of the input left of the points
    m, reference = check(moved), check(exact)
    assert m.ellipsoid.log_volume == pytest.approx(reference.ellipsoid.log_volume, abs=3 * 1e12 * 2e-16 * 3)
    assert m.gap <= TOL


@pytest.mark.parametrize("scale", [1e-148, 1e140])
def test_extreme_magnitudes(scale):
    points = point_set("gauss", 200, 3)
    m = check(points * scale)
    assert m.ellipsoid.log_volume == pytest.approx(check(points).ellipsoid.log_volume + 3 * np.log(scale), abs=1e-9)


@pytest.mark.parametrize("scale", [1e-153, 1e-160, 1e-200, 1e-300, 1e-310, 1e-320])
@pytest.mark.parametrize("columns", [[0], [1], [0, 1]])
def test_spreads_too_small_to_be_measured_get_a_clear_error(scale, columns):
    points = point_set("gauss", 30, 2)
    points[:, columns] *= scale
    with raises("spread-too-small", smallest=1e-152):
        min_volume_ellipsoid(points)
    # Whoever gives the units has said that such a spread is none.
    assert min_volume_ellipsoid(points, unit=[1.0, 1.0]).rank == 2 - len(columns)


def test_heavy_tails_and_far_outliers():
    rng = np.random.default_rng(5)
    check(rng.standard_cauchy((3_000, 6)))
    clusters = np.vstack([rng.standard_normal((500, 4)), rng.standard_normal((500, 4)) + 1e6])
    check(np.vstack([clusters, [[1e9, 0, 0, 0]]]))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gauss", "lattice"])
def test_a_million_points_in_the_plane(family):
    m = check(point_set(family, 1_000_000, 2))
    assert m.n_passes < 5


@pytest.mark.parametrize(
    "change",
    [
        lambda x: np.round(100 * x).astype(np.int32),
        lambda x: np.round(100 * x).astype(np.int8),
        lambda x: x.astype(np.float32),
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: x[:, ::-1],
        lambda x: x.tolist(),
    ],
    ids=["int32", "int8", "float32", "fortran", "strided", "negative stride", "list"],
)
def test_any_layout_and_dtype(change):
    points = change(point_set("gauss", 250, 4))
    same = np.array(points, dtype=float, order="C")
    np.testing.assert_array_equal(check(points).ellipsoid.radii, check(same).ellipsoid.radii)


def test_input_is_left_alone():
    points = point_set("gauss", 300, 4)
    points.flags.writeable = False
    before = points.copy()
    check(points)
    np.testing.assert_array_equal(points, before)


def test_units_decide_what_is_flat():
    points = point_set("gauss", 100, 3) * [1.0, 1.0, 1e-4]
    assert check(points).rank == 3
    m = check(points, unit=[1.0, 1.0, 1e3])
    assert m.rank == 2
    assert m.ellipsoid.radii[2] == pytest.approx(1e3 * FLAT, rel=0.05)


def test_steps_are_reported_and_may_interrupt():
    points = point_set("ball", 5_000, 5)
    seen = []
    m = min_volume_ellipsoid(points, on_step=lambda n_iter, gap: seen.append((n_iter, gap)))
    assert [n for n, _ in seen] == sorted(n for n, _ in seen)
    assert seen[-1] == (m.n_iter, m.gap)

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        min_volume_ellipsoid(points, on_step=interrupt)


# Bad input: the message names the value, the rule and the remedy.


@pytest.mark.parametrize(
    ("points", "refusal"),
    [
        ([[1.0, np.nan], [0.0, 1.0]], raises("value-not-finite", where="0, 1")),
        ([[1.0, 2.0], [-np.inf, 1.0]], raises("value-not-finite", where="1, 0", value=-np.inf)),
        ([[1e200, 0.0]], raises("value-too-large", where="0, 0", value=1e200, largest=1e150)),
        ([], raises("points-dimensions", shape=(0,))),
        (np.empty((0, 3)), raises("points-empty", shape=(0, 3))),
        (np.empty((3, 0)), raises("points-empty", shape=(3, 0))),
        ([1.0, 2.0], raises("points-dimensions", shape=(2,))),
        (np.zeros((2, 2, 2)), raises("points-dimensions", shape=(2, 2, 2))),
        ([["a", "b"]], raises("not-numbers", example="'a'")),
        ([["1.5", "2.5"]], raises("not-numbers", example="'1.5'")),
        (np.array([[1.0, "x"]], dtype=object), raises("not-numbers", example="'x'")),
        ([[1.0, None]], raises("value-not-finite", where="0, 1")),
        ([[1.0 + 2.0j]], raises("not-numbers", dtype="complex128")),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), raises("not-numbers", dtype="datetime64[D]")),
        ([[1.0], [1.0, 2.0]], raises("points-ragged")),
    ],
)
def test_bad_points_get_a_clear_error(points, refusal):
    with refusal as caught:
        min_volume_ellipsoid(points)
    assert isinstance(caught.value, SepcError)
    assert isinstance(caught.value, ValueError)
    assert caught.value.fields["name"] == "points"


@pytest.mark.parametrize("tol", [0.0, -1.0, 1.0, np.nan])
def test_bad_tolerance_gets_a_clear_error(tol):
    with raises("tol", tol=tol):
        min_volume_ellipsoid([[0.0], [1.0]], tol)


@pytest.mark.parametrize(
    ("unit", "refusal"),
    [
        ([1.0], raises("vector-shape", name="unit")),
        ([1.0, 0.0], raises("unit-not-positive", smallest=0.0)),
        ([1.0, np.nan], raises("value-not-finite", name="unit")),
        ([1.0, 1e-153], raises("unit-too-small", least=1e-152)),
    ],
)
def test_bad_units_get_a_clear_error(unit, refusal):
    with refusal:
        min_volume_ellipsoid([[0.0, 1.0], [1.0, 0.0]], unit=unit)


def test_oracle_agrees_with_itself():
    """The triangular form of the oracle and the paper's symmetric one are the same problem."""
    points = point_set("student", 80, 3)
    assert mve_log_volume(points) == pytest.approx(mve_log_volume(points, symmetric=True), abs=1e-7)


@pytest.mark.parametrize("n", [30, 60, 100, 135])
def test_where_all_points_are_equally_far_out_there_is_nothing_to_search_for(n):
    angle = np.linspace(0.0, 2.0 * np.pi, n, endpoint=False)
    found = min_volume_ellipsoid(np.column_stack([np.cos(angle), np.sin(angle)]))
    assert (found.converged, found.n_iter, found.n_passes) == (True, 0, 4.0)
    np.testing.assert_allclose(found.ellipsoid.radii, 1.0, rtol=1e-9)
