"""Laws of `separate`."""

import numpy as np
import pytest
from coded import raises
from hypothesis import given
from hypothesis import strategies as st
from oracle import contact_factor
from strategies import (
    brought_together,
    examples,
    pairs_of_ellipsoids,
    random_ellipsoid,
    rotation,
    support_point,
    touching_pair,
)

from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.separation import Separation, separate


def ball(center, radius=1.0):
    return Ellipsoid(center, np.eye(len(center)), np.full(len(center), radius))


def scaled(E, factor):
    """E, scaled about its own centre."""
    return Ellipsoid(E.center, E.axes, E.radii * factor)


def mapped(E, matrix, shift):
    """The image of E under an affine map."""
    return Ellipsoid.from_factor(matrix @ E.center + shift, matrix @ (E.axes * E.radii))


def larger_gauge(E, F, x):
    return max(E.gauge(x[None])[0], F.gauge(x[None])[0])


def check_witness(E: Ellipsoid, F: Ellipsoid, s: Separation, tol: float = 1e-9) -> None:
    assert (s.hyperplane is not None) == s.disjoint == (s.common_point is None)
    if s.hyperplane is None:
        assert s.gap == 0.0
        # What a gauge cannot resolve: the rounding of a coordinate, measured in the smallest radius.
        blur = max(np.linalg.norm(G.center - s.common_point) / G.radii.min() for G in (E, F))
        assert larger_gauge(E, F, s.common_point) <= 1 + max(s.margin, 0) + tol + 1e-15 * blur
        return
    normal, offset = s.hyperplane
    assert np.linalg.norm(normal) == pytest.approx(1, rel=1e-14)
    assert normal @ support_point(E, normal) < offset < normal @ support_point(F, -normal)
    width = normal @ (support_point(F, -normal) - support_point(E, normal))
    assert s.gap == pytest.approx(width, rel=1e-6, abs=1e-12 * (E.radii.max() + F.radii.max()))


def pairs(d, n, seed=0):
    """Random pairs, about half of them disjoint."""
    rng = np.random.default_rng([seed, d])
    for _ in range(n):
        E, F = random_ellipsoid(d, rng, ratio=10), random_ellipsoid(d, rng, ratio=10)
        meet = 1 + separate(E, F).margin
        factor = meet * np.exp(rng.uniform(-0.5, 0.5))
        yield scaled(E, factor), scaled(F, factor)


@pytest.mark.parametrize("d", [1, 2, 3, 5, 10, 30])
def test_margin_is_that_of_the_conic_program(d):
    verdicts = []
    for E, F in pairs(d, 8):
        s = separate(E, F)
        assert s.margin == pytest.approx(contact_factor(E, F) - 1, abs=1e-6)
        check_witness(E, F, s)
        verdicts.append(s.disjoint)
    assert len(set(verdicts)) == 2


@given(pairs_of_ellipsoids(ratio=100.0))
@examples(60)
def test_swapping_the_arguments_mirrors_the_answer_to_the_bit(pair):
    E, F = pair
    there, back = separate(E, F), separate(F, E)
    assert (there.disjoint, there.margin, there.gap) == (back.disjoint, back.margin, back.gap)
    if there.disjoint:
        np.testing.assert_array_equal(there.hyperplane[0], -back.hyperplane[0])
        assert there.hyperplane[1] == -back.hyperplane[1]
    else:
        np.testing.assert_array_equal(there.common_point, back.common_point)


@given(pairs_of_ellipsoids())
@examples(60)
def test_margin_is_invariant_under_affine_maps(pair):
    (E, F), d, rng = pair, pair[0].dim, np.random.default_rng(0)
    matrix = rotation(d, rng) * 100.0 ** rng.uniform(-1, 1, d) @ rotation(d, rng)
    shift = 10 * rng.standard_normal(d)
    s, image = separate(E, F), separate(mapped(E, matrix, shift), mapped(F, matrix, shift))
    assert image.margin == pytest.approx(s.margin, abs=1e-9)
    assert image.disjoint == s.disjoint or abs(s.margin) < 1e-8


@given(pairs_of_ellipsoids(), st.integers(0, 6))
@examples(60)
def test_translation_changes_nothing_but_the_place(pair, exponent):
    E, F = pair
    shift = 10.0**exponent * np.random.default_rng(0).standard_normal(E.dim)
    s = separate(E, F)
    moved = separate(*(Ellipsoid(G.center + shift, G.axes, G.radii) for G in (E, F)))
    assert moved.margin == pytest.approx(s.margin, abs=1e-14 * 10**exponent)


@given(pairs_of_ellipsoids(), st.floats(-0.5, 0.5))
@examples(60)
def test_margin_is_the_share_by_which_both_must_grow_to_touch(pair, delta):
    E, F, _ = brought_together(*pair, np.eye(pair[0].dim)[0])
    assert separate(scaled(E, 1 / (1 + delta)), scaled(F, 1 / (1 + delta))).margin == pytest.approx(delta, abs=1e-13)


# (largest over smallest radius, largest radius), for each of the two
SHAPES = [
    ((ratio_e, size_e), (ratio_f, size_f))
    for ratio_e, ratio_f in [(1, 1), (1e3, 1e3), (1e6, 1), (1e6, 1e6), (1e12, 1), (1e12, 1e12)]
    for size_e, size_f in [(1, 1), (1e-6, 1e6), (1e6, 1e-6), (1e6, 1e6)]
    if size_e / ratio_e >= 1e-12 and size_f / ratio_f >= 1e-12
]


def touching(d, seed, shapes):
    (ratio_e, size_e), (ratio_f, size_f) = shapes
    E, F, _ = touching_pair(d, np.random.default_rng([d, seed]), (ratio_e, ratio_f), (size_e, size_f))
    return E, F


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("d", [1, 2, 3, 10, 30])
def test_verdict_is_right_a_millionth_from_contact_whatever_the_sizes(shapes, d):
    E, F = touching(d, 7, shapes)
    for delta in (-1e-2, -1e-6, 1e-6, 1e-2):
        pair = scaled(E, 1 / (1 + delta)), scaled(F, 1 / (1 + delta))
        s = separate(*pair)
        assert s.disjoint == (delta > 0)
        assert s.margin == pytest.approx(delta, abs=1e-9)
        check_witness(*pair, s)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("d", [1, 2, 3, 10, 30])
def test_touching_ellipsoids_meet(shapes, d):
    E, F = touching(d, 8, shapes)
    s = separate(E, F)
    assert not s.disjoint
    assert abs(s.margin) <= 1e-9
    check_witness(E, F, s)


@pytest.mark.parametrize("thickness", [1e-6, 1e-12])
@pytest.mark.parametrize("delta", [-1e-6, 0.0, 1e-6])
def test_plates_face_to_face(thickness, delta):
    radii = np.array([1e6, 1.0, 1e6 * thickness])
    E = Ellipsoid(np.zeros(3), np.eye(3), radii)
    F = Ellipsoid([0.0, 0.0, (2 + 2 * delta) * radii[2]], np.eye(3), radii)
    s = separate(E, F)
    assert s.disjoint == (delta > 0)
    assert s.margin == pytest.approx(delta, abs=1e-13)
    check_witness(E, F, s)


@pytest.mark.parametrize("d", [2, 3, 10])
def test_rotated_plates_face_to_face(d):
    rng = np.random.default_rng(d)
    axes = rotation(d, rng)
    radii = np.r_[np.ones(d - 1), 1e-6]
    for delta in (-1e-6, 1e-6):
        E = Ellipsoid(np.zeros(d), axes, radii)
        F = Ellipsoid((2 + 2 * delta) * 1e-6 * axes[:, -1], axes, radii)
        s = separate(E, F)
        assert s.disjoint == (delta > 0)
        check_witness(E, F, s, tol=1e-8)


def test_crossing_needles_pass_each_other_by_their_thickness():
    def needle(axis, height):
        return Ellipsoid([0.0, 0.0, height], np.eye(3), np.where(np.arange(3) == axis, 1e6, 1e-6))

    for height, disjoint in ((1.9e-6, False), (2.1e-6, True)):
        E, F = needle(0, 0.0), needle(1, height)
        s = separate(E, F)
        assert s.disjoint == disjoint
        assert s.margin == pytest.approx(height / 2e-6 - 1, abs=1e-12)
        check_witness(E, F, s)


@pytest.mark.parametrize("d", [1, 2, 10])
def test_nested_ellipsoids_meet(d):
    rng = np.random.default_rng(d)
    outer = random_ellipsoid(d, rng, ratio=100)
    inner = Ellipsoid(outer.sample(1, rng)[0], rotation(d, rng), np.full(d, 1e-9))
    s = separate(outer, inner)
    assert not s.disjoint
    assert s.margin < 0
    check_witness(outer, inner, s)


def test_a_common_centre_has_margin_minus_one():
    E, F = random_ellipsoid(4, np.random.default_rng(0)), random_ellipsoid(4, np.random.default_rng(1))
    F = Ellipsoid(E.center, F.axes, F.radii)
    for s in (separate(E, F), separate(E, E)):
        assert (s.disjoint, s.margin) == (False, -1.0)
        np.testing.assert_array_equal(s.common_point, E.center)


def test_nearly_a_common_centre_has_nearly_margin_minus_one():
    s = separate(ball([0.0, 0.0]), ball([1e-300, 0.0], 2.0))
    assert s.margin == pytest.approx(-1.0)


def test_balls_have_the_margin_and_gap_of_their_radii():
    for r, q, apart in ((1e-6, 1e6, 2e6), (1.0, 2.0, 2.9), (1e-100, 1e-100, 3e-100), (1e100, 1e-100, 3e100)):
        s = separate(ball([0.0, 0.0], r), ball([0.0, apart], q))
        assert s.margin == pytest.approx(apart / (r + q) - 1, rel=1e-9)
        assert s.gap == pytest.approx(max(apart - r - q, 0.0), rel=1e-9)


def test_gap_bounds_the_distance_from_below():
    for E, F in pairs(4, 20):
        s = separate(E, F)
        nearest = F.distance(E.project(F.sample(500, 0))).min()
        assert s.gap <= nearest + 1e-12


def test_no_sampled_point_contradicts_the_verdict():
    for E, F in pairs(3, 20):
        s = separate(E, F)
        if s.disjoint:
            normal, offset = s.hyperplane
            assert (E.sample(1000, 0) @ normal < offset).all()
            assert (F.sample(1000, 0) @ normal > offset).all()


def test_the_same_call_gives_the_same_bits():
    E, F = next(pairs(10, 1))
    assert separate(E, F).margin == separate(E, F).margin


def test_answers_are_read_only():
    apart, meeting = separate(ball([0.0]), ball([3.0])), separate(ball([0.0]), ball([1.0]))
    for array in (apart.hyperplane[0], meeting.common_point):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(AttributeError):
        apart.margin = 0.0


def test_different_dimensions_are_refused():
    with raises("features-differ", name="F", n_features=3, other="E", n_other=2):
        separate(ball([0.0, 0.0]), ball([0.0, 0.0, 0.0]))
