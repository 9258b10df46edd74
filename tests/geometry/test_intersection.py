"""Laws of `cover_intersection`."""

import numpy as np
import pytest
from coded import raises
from hypothesis import given
from hypothesis import strategies as st
from oracle import intersection_cover_log_volume
from strategies import decimals, ellipsoids, examples, random_ellipsoid, rotation, support_point

from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.intersection import cover_intersection
from sepc.geometry.separation import separate


def ball(center, radius=1.0):
    return Ellipsoid(center, np.eye(len(center)), np.full(len(center), radius))


def mapped(E, matrix, shift):
    return Ellipsoid.from_factor(matrix @ E.center + shift, matrix @ (E.axes * E.radii))


def overlapping(d, m, seed=0, ratio=4.0, depth=0.7):
    """m ellipsoids that all hold the origin, none of them deeper than `depth` of its size inside."""
    rng = np.random.default_rng([seed, d, m])
    out = []
    for _ in range(m):
        u = rng.standard_normal(d)
        E = random_ellipsoid(d, rng, ratio, size=1 + rng.random(), offset=0.0)
        shift = E.axes @ (E.radii * u * (depth / np.linalg.norm(u)))
        out.append(Ellipsoid(shift, E.axes, E.radii))
    return out


@st.composite
def drawn_overlapping(draw, least=1, most=8, fewest=2, largest=5, depth=0.7):
    """Ellipsoids that all hold the origin, none of them deeper than `depth` of its size inside."""
    d, out = draw(st.integers(least, most)), []
    for _ in range(draw(st.integers(fewest, largest))):
        E = draw(ellipsoids(d))
        u = draw(decimals(d)) + 0.01
        out.append(Ellipsoid(E.axes @ (E.radii * u * (depth / np.linalg.norm(u))), E.axes, E.radii))
    return out


def boundary_of_intersection(ellipsoids, inside, n, rng):
    """Points where rays from a common point leave the first of the ellipsoids."""
    directions = rng.standard_normal((n, len(inside)))
    reach = np.full(n, np.inf)
    for E in ellipsoids:
        a = (directions @ E.axes) / E.radii
        b = ((inside - E.center) @ E.axes) / E.radii
        square, cross, rest = (a * a).sum(axis=1), a @ b, b @ b - 1.0
        reach = np.minimum(reach, (-cross + np.sqrt(cross**2 - square * rest)) / square)
    return inside + reach[:, None] * directions


def weighted_squares(ellipsoids, weights, points):
    return sum(w * E.gauge(points) ** 2 for w, E in zip(weights, ellipsoids, strict=True))


def touching_at_origin(normals, rng, delta):
    """Ellipsoids whose outward normals at the origin are given, moved back along them by a share `delta`."""
    out = []
    for normal in normals:
        E = random_ellipsoid(len(normal), rng, offset=0.0)
        tip = support_point(E, normal)
        out.append(Ellipsoid(-tip - delta * (normal @ tip) * normal, E.axes, E.radii))
    return out


def balanced_normals(m, d, rng):
    """m unit vectors with a positive combination of 0, any m - 1 of them independent."""
    normals = rng.standard_normal((m - 1, d))
    normals = np.vstack([normals, -rng.uniform(0.5, 1.5, m - 1) @ normals])
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


@pytest.mark.parametrize("m", [2, 3, 5])
@pytest.mark.parametrize("d", [2, 3, 5, 8])
def test_log_volume_is_that_of_the_papers_lmi(d, m):
    ellipsoids = overlapping(d, m)
    cover = cover_intersection(*ellipsoids)
    assert cover.converged
    assert cover.log_volume == pytest.approx(intersection_cover_log_volume(ellipsoids), abs=1e-6)


@given(drawn_overlapping())
@examples(60)
def test_cover_holds_the_intersection_and_is_never_worse_than_the_smallest(drawn):
    d = drawn[0].dim
    cover = cover_intersection(*drawn)
    points = boundary_of_intersection(drawn, np.zeros(d), 200, np.random.default_rng(0))
    assert cover.ellipsoid.gauge(points).max() <= 1 + 1e-9
    assert cover.log_volume <= min(E.log_volume for E in drawn)
    assert cover.converged
    assert not cover.empty


@given(drawn_overlapping())
@examples(60)
def test_weights_describe_the_cover(drawn):
    cover = cover_intersection(*drawn)
    assert cover.weights.min() >= 0
    assert cover.weights.sum() == pytest.approx(1)
    center, radii = cover.ellipsoid.center, cover.ellipsoid.radii
    for tip in (cover.ellipsoid.axes * radii).T:
        ends = np.stack([center + tip, center - tip])
        np.testing.assert_allclose(weighted_squares(drawn, cover.weights, ends), 1, rtol=1e-9)


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_volumes_agree_with_monte_carlo(d):
    ellipsoids = overlapping(d, 3)
    cover = cover_intersection(*ellipsoids)
    E = ellipsoids[0]
    sample = E.sample(100_000, rng=0)
    common = sample[np.all([F.contains(sample, tol=0) for F in ellipsoids[1:]], axis=0)]
    assert cover.ellipsoid.contains(common, tol=1e-9).all()
    assert np.exp(E.log_volume) * len(common) / len(sample) <= np.exp(cover.log_volume)

    half = np.linalg.norm(cover.ellipsoid.axes * cover.ellipsoid.radii, axis=1)
    box = cover.ellipsoid.center + half * np.random.default_rng(1).uniform(-1, 1, (100_000, d))
    share = weighted_squares(ellipsoids, cover.weights, box) <= 1
    assert np.prod(2 * half) * share.mean() == pytest.approx(np.exp(cover.log_volume), rel=0.03)


@given(drawn_overlapping())
@examples(40)
def test_the_cover_moves_with_affine_maps(drawn):
    d = drawn[0].dim
    rng = np.random.default_rng(0)
    matrix = rotation(d, rng) * 10.0 ** rng.uniform(-2, 2, d) @ rotation(d, rng)
    shift = rng.standard_normal(d)
    cover = cover_intersection(*drawn, tol=1e-11)
    image = cover_intersection(*(mapped(E, matrix, shift) for E in drawn), tol=1e-11)
    growth = np.linalg.slogdet(matrix)[1]
    assert image.log_volume == pytest.approx(cover.log_volume + growth, abs=1e-9)
    expected = mapped(cover.ellipsoid, matrix, shift)
    tips = image.ellipsoid.center + (image.ellipsoid.axes * image.ellipsoid.radii).T
    np.testing.assert_allclose(expected.gauge(tips), 1, rtol=1e-4)


@given(drawn_overlapping())
@examples(40)
def test_order_does_not_matter(drawn):
    order = np.random.default_rng(0).permutation(len(drawn))
    cover = cover_intersection(*drawn, tol=1e-11)
    other = cover_intersection(*(drawn[i] for i in order), tol=1e-11)
    assert other.log_volume == pytest.approx(cover.log_volume, abs=1e-10)
    np.testing.assert_allclose(other.weights, cover.weights[order], atol=1e-4)


@given(drawn_overlapping(least=2))
@examples(40)
def test_gap_bounds_the_error_of_an_early_stop(drawn):
    best = cover_intersection(*drawn, tol=1e-11)
    for tol in (1.0, 1e-1, 1e-3):
        early = cover_intersection(*drawn, tol=tol)
        assert early.log_volume - best.log_volume <= early.gap + 1e-10
        assert early.converged
        assert early.gap <= tol
        assert early.n_iter <= best.n_iter


@given(drawn_overlapping(fewest=3))
@examples(40)
def test_one_more_ellipsoid_never_makes_the_cover_larger(drawn):
    fewer, more = cover_intersection(*drawn[:-1]), cover_intersection(*drawn)
    assert more.log_volume <= fewer.log_volume + 1e-8


def test_two_equal_discs_have_the_disc_over_the_common_chord():
    cover = cover_intersection(ball([0.0, 0.0]), ball([1.2, 0.0]))
    np.testing.assert_allclose(cover.ellipsoid.center, [0.6, 0.0], atol=1e-9)
    np.testing.assert_allclose(cover.ellipsoid.radii, 0.8, rtol=1e-9)
    np.testing.assert_allclose(cover.weights, 0.5, atol=1e-9)


def test_one_ellipsoid_is_its_own_cover():
    E = ball([1.0, 2.0])
    cover = cover_intersection(E)
    assert cover.ellipsoid is E
    assert (cover.gap, cover.converged, cover.weights.tolist()) == (0.0, True, [1.0])


@pytest.mark.parametrize("ratio", [1.0, 1e6, 1e12])
@pytest.mark.parametrize("d", [1, 2, 10])
def test_of_nested_ellipsoids_the_inner_one_is_returned(d, ratio):
    inner = random_ellipsoid(d, np.random.default_rng(d), ratio)
    outer = Ellipsoid(inner.center + 0.1 * inner.radii.min(), inner.axes, 2 * inner.radii)
    for several in ((inner, outer), (outer, inner), (outer, inner, outer)):
        cover = cover_intersection(*several)
        assert cover.ellipsoid is inner
        assert cover.converged
        assert cover.gap <= 1e-8


@pytest.mark.parametrize("m", [2, 3, 5])
def test_equal_ellipsoids_are_their_own_cover(m):
    E = random_ellipsoid(4, np.random.default_rng(0), ratio=1e6)
    cover = cover_intersection(*[E] * m)
    assert cover.ellipsoid is E
    assert cover.converged


@pytest.mark.parametrize("ratio", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("m", [2, 3, 5])
@pytest.mark.parametrize("d", [2, 5, 10])
def test_thin_ellipsoids_are_covered(d, m, ratio):
    ellipsoids = overlapping(d, m, ratio=ratio, depth=0.3)
    cover = cover_intersection(*ellipsoids)
    points = boundary_of_intersection(ellipsoids, np.zeros(d), 200, np.random.default_rng(0))
    assert cover.gap <= 1e-8 + 1e-16 * d * ratio
    assert cover.ellipsoid.gauge(points).max() <= 1 + 1e-9 + 1e-16 * d * ratio
    assert cover.log_volume <= min(E.log_volume for E in ellipsoids)


def test_crossed_needles_of_twelve_orders_have_a_tiny_cover():
    E, F = (Ellipsoid([0.0, 0.0], np.eye(2), radii) for radii in ([1e6, 1e-6], [1e-6, 1e6]))
    cover = cover_intersection(E, F)
    np.testing.assert_allclose(cover.ellipsoid.radii, np.sqrt(2) * 1e-6, rtol=1e-9)


def test_a_tiny_ball_cut_by_a_huge_one_has_the_cover_of_a_cap():
    cover = cover_intersection(ball([0.0, 0.0, 0.0], 1e-6), ball([1e6 + 6e-7, 0.0, 0.0], 1e6))
    # A plane at 0.6 of the radius, as precisely as the huge centre can be written.
    np.testing.assert_allclose(cover.ellipsoid.center, [6e-7, 0, 0], atol=1e-9)
    np.testing.assert_allclose(cover.ellipsoid.radii, 8e-7, rtol=1e-3)


def test_far_from_the_origin_nothing_changes():
    near = overlapping(3, 3)
    far = [Ellipsoid(E.center + 1e6, E.axes, E.radii) for E in near]
    assert cover_intersection(*far).log_volume == pytest.approx(cover_intersection(*near).log_volume, abs=1e-8)


def test_disjoint_ellipsoids_come_with_hyperplane_and_weights():
    rng = np.random.default_rng(0)
    for d in (1, 2, 10):
        E, F = random_ellipsoid(d, rng), random_ellipsoid(d, rng)
        F = Ellipsoid(E.center + 3.0, F.axes, F.radii)
        cover = cover_intersection(E, F)
        assert cover.empty
        assert cover.ellipsoid is None
        assert cover.log_volume == -np.inf
        np.testing.assert_array_equal(cover.hyperplane[0], separate(E, F).hyperplane[0])
        sample = np.concatenate([E.sample(500, rng), F.sample(500, rng), 5 * rng.standard_normal((500, d))])
        assert weighted_squares((E, F), cover.weights, sample).min() > 1


def test_three_discs_that_meet_in_pairs_alone_are_found_empty():
    for radius in (1.05, 1.0001, 1.0 + 1e-8):
        angles = 2 * np.pi * np.arange(3) / 3
        discs = [ball(radius * np.array([np.cos(a), np.sin(a)])) for a in angles]
        assert not any(separate(discs[i], discs[i - 1]).disjoint for i in range(3))
        cover = cover_intersection(*discs)
        assert cover.empty
        sample = np.random.default_rng(0).uniform(-2, 2, (1000, 2))
        assert weighted_squares(discs, cover.weights, sample).min() > 1


@pytest.mark.parametrize("delta", [1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize(("d", "m"), [(2, 3), (5, 4), (5, 6), (10, 5)])
def test_an_intersection_that_is_just_empty_is_proved_empty(d, m, delta):
    rng = np.random.default_rng([d, m])
    for _ in range(3):
        ellipsoids = touching_at_origin(balanced_normals(m, d, rng), rng, delta)
        cover = cover_intersection(*ellipsoids)
        assert cover.empty
        sample = np.concatenate([E.sample(200, rng) for E in ellipsoids])
        assert weighted_squares(ellipsoids, cover.weights, sample).min() > 1


@pytest.mark.parametrize("delta", [-1e-2, -1e-4, -1e-5])
@pytest.mark.parametrize(("d", "m"), [(2, 3), (5, 4), (5, 6), (10, 5)])
def test_an_intersection_that_is_just_not_empty_gets_a_small_cover(d, m, delta):
    rng = np.random.default_rng([d, m])
    for _ in range(3):
        cover = cover_intersection(*touching_at_origin(balanced_normals(m, d, rng), rng, delta))
        assert cover.converged
        assert cover.ellipsoid.contains(np.zeros((1, d)), tol=1e-9)
        assert cover.ellipsoid.radii.max() <= 10 * np.sqrt(-delta)


@pytest.mark.parametrize(("d", "m"), [(1, 2), (2, 2), (2, 3), (5, 4), (10, 5)])
def test_ellipsoids_with_a_single_common_point_get_a_valid_cover_that_claims_no_more(d, m):
    rng = np.random.default_rng([d, m])
    cover = cover_intersection(*touching_at_origin(balanced_normals(m, d, rng), rng, 0.0))
    assert not cover.empty
    assert not cover.converged
    assert cover.ellipsoid.contains(np.zeros((1, d)), tol=1e-9)
    assert cover.ellipsoid.radii.max() <= 1e-3


@pytest.mark.parametrize("m", [20, 40])
def test_many_ellipsoids_with_copies_among_them(m):
    ellipsoids = overlapping(3, m // 2) * 2
    cover = cover_intersection(*ellipsoids)
    assert cover.converged
    assert cover.log_volume == pytest.approx(cover_intersection(*ellipsoids[: m // 2]).log_volume, abs=1e-8)


def test_results_are_read_only():
    cover = cover_intersection(ball([0.0]), ball([1.0]))
    with pytest.raises(ValueError, match="read-only"):
        cover.weights[0] = 1.0
    with pytest.raises(AttributeError):
        cover.gap = 0.0


def test_no_ellipsoid_and_different_dimensions_are_refused():
    with raises("no-ellipsoid"):
        cover_intersection()
    with raises("features-differ", name="ellipsoid 2", n_features=3, other="ellipsoid 0", n_other=2):
        cover_intersection(ball([0.0, 0.0]), ball([0.0, 0.0]), ball([0.0, 0.0, 0.0]))
