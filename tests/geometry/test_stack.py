"""Many ellipsoids at once against each of them alone, and how alike two of them are at a point."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from normal_reading import largest_local_overlap
from planted_partitions import discs
from strategies import ellipsoids, examples, random_ellipsoid, rotation

from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.stack import Candidates, EllipsoidStack, candidates_among, local_overlap


class TestStack:
    @pytest.mark.slow
    def test_it_agrees_with_single_ellipsoids(self):
        rng = np.random.default_rng(0)
        for d, k in ((1, 3), (2, 1), (3, 40), (12, 7)):
            ellipsoids = [
                Ellipsoid(
                    3 * rng.normal(size=d), np.linalg.qr(rng.normal(size=(d, d)))[0], 10.0 ** rng.uniform(-3, 0.5, d)
                )
                for _ in range(k)
            ]
            stack, Z = EllipsoidStack(ellipsoids, d), 4 * rng.normal(size=(500, d))
            gauges = np.column_stack([E.gauge(Z) for E in ellipsoids])
            assert stack.gauges(Z) == pytest.approx(gauges, rel=1e-12)
            Z = Z[gauges.min(axis=1) > 1.0]
            distances = np.column_stack([E.distance(Z) for E in ellipsoids])
            near = stack.nearest(Z, np.full(len(Z), np.inf))
            assert near.row.tolist() == list(range(len(Z)))
            assert near.which.tolist() == distances.argmin(axis=1).tolist()
            assert near.distance == pytest.approx(distances.min(axis=1), rel=1e-12)

    def test_points_far_out_of_range_still_have_a_nearest(self):
        stack = EllipsoidStack(discs((0.0, 0.0), (5.0, 0.0)), 2)
        near = stack.nearest(np.array([[1e149, 0.0], [-1e149, 0.0]]), np.full(2, np.inf))
        assert set(near.row.tolist()) == {0, 1}

    @pytest.mark.parametrize("scale", [1e-100, 1e-40, 1.0, 1e40, 1e82, 1e120])
    def test_units_of_length_do_not_matter(self, scale):
        ellipsoids = [Ellipsoid([x * scale, 0.0], np.eye(2), [scale, 1e-3 * scale]) for x in (0.0, 8.0)]
        near = EllipsoidStack(ellipsoids, 2).nearest(np.array([[4.5 * scale, 2.0 * scale]]), np.array([np.inf]))
        assert near.which.tolist() == [1]
        assert near.distance[0] / scale == pytest.approx(np.hypot(2.5, 2.0), rel=1e-2)

    def test_rounding_leaves_each_point_a_candidate(self):
        just_inside = 1.0 - 1e-12
        found = candidates_among(np, np.full((2, 1, 3), just_inside), 1.0, np.array([np.inf]))
        assert found.which.tolist() == [0, 1]

    def test_candidates_of_some_rows(self):
        blocks = [(0, Candidates(*np.array([[1, 0, 1], [0, 2, 3]]), np.arange(3.0), np.ones(3, bool)))]
        blocks.append((2, Candidates(*np.array([[0], [1]]), np.array([9.0]), np.zeros(1, bool))))
        every = Candidates.joined(blocks)
        assert every.row.tolist() == [0, 1, 1, 2]
        some = every.of_rows(slice(1, 3))
        assert [field.tolist() for field in some] == [[0, 0, 1], [0, 3, 1], [0.0, 2.0, 9.0], [True, True, False]]

    def test_ellipsoids_beyond_the_limit_do_not_count(self):
        stack = EllipsoidStack(discs((0.0, 0.0)), 2)
        assert stack.nearest(np.array([[3.0, 0.0]]), np.array([1.0])).row.tolist() == []

    def test_no_ellipsoids_at_all(self):
        stack = EllipsoidStack([], 2)
        assert stack.gauges(np.zeros((3, 2))).shape == (3, 0)
        assert len(stack.nearest(np.zeros((3, 2)), np.full(3, np.inf)).row) == 0


def at(points, ellipsoids, groups):
    stack = EllipsoidStack(ellipsoids, ellipsoids[0].dim)
    return local_overlap(np, stack, stack.gauges(np.asarray(points, dtype=float)).T, np.array(groups))


def mapped(E, matrix, shift):
    return Ellipsoid.from_factor(matrix @ E.center + shift, matrix @ (E.axes * E.radii))


DRAWN = st.integers(1, 8).flatmap(lambda d: st.lists(ellipsoids(d), min_size=2, max_size=5))


def crowd(seed, d, n=5):
    """Return ellipsoids near each other, their groups, and points of which most lie in several of them."""
    rng = np.random.default_rng([seed, d])
    return around_all([random_ellipsoid(d, rng, size=1.0 + rng.random(), offset=0.2) for _ in range(n)])


def around_all(ellipsoids):
    rng, n = np.random.default_rng(0), len(ellipsoids)
    points = np.vstack([E.sample(8, rng) for E in ellipsoids])
    gauges = np.column_stack([E.gauge(points) for E in ellipsoids])
    return ellipsoids, np.arange(n) % 2, points[(np.abs(gauges - 1.0) > 1e-6).all(axis=1)]


class TestByHand:
    """Two intervals of radius 2, whose variance is 4 / 3, a distance of 1 apart; and one that is twice as long."""

    one, other, long = (Ellipsoid([x], [[1.0]], [r]) for x, r in ((0.0, 2.0), (1.0, 2.0), (0.0, 4.0)))

    def test_one_half_where_the_densities_are_equal(self):
        assert at([[0.5]], [self.one, self.other], [0, 1]).tolist() == [0.5]
        assert at([[-1.9], [0.0], [1.3]], [self.one, self.one], [0, 1]).tolist() == [0.5] * 3

    def test_the_ratio_of_two_densities(self):
        # The exponents -x^2 / (2 * 4/3) differ by 3 / 8 * (1 - 2 x).
        expected = 1.0 / (1.0 + np.exp(3.0 / 8.0 * np.abs(1.0 - 2.0 * np.array([-1.0, 0.0, 2.0]))))
        assert at([[-1.0], [0.0], [2.0]], [self.one, self.other], [0, 1]) == pytest.approx(expected)

    def test_volumes_count(self):
        # At the common centre the densities are as 2 to 1.
        assert at([[0.0]], [self.one, self.long], [0, 1]) == pytest.approx([1.0 / 3.0])

    def test_the_most_alike_pair_counts(self):
        three = [self.one, self.long, self.other]
        assert at([[0.5]], three, [0, 0, 1]).tolist() == [0.5]
        assert at([[0.5]], three, [0, 1, 0])[0] < 0.5

    def test_no_number_where_no_two_of_different_groups_hold_the_point(self):
        assert np.isnan(at([[-1.5], [2.5], [9.0]], [self.one, self.other], [0, 1])).all()
        assert np.isnan(at([[-1.5]], [self.one, self.long, self.other], [0, 0, 1])).all()

    def test_densities_that_have_nothing_in_common_underflow_in_silence(self):
        tiny = Ellipsoid(np.zeros(3), np.eye(3), np.full(3, 1e-120))
        assert at(np.zeros((1, 3)), [tiny, Ellipsoid(np.zeros(3), np.eye(3), np.ones(3))], [0, 1]).tolist() == [0.0]


@pytest.mark.slow
@given(DRAWN)
@examples(60)
def test_it_is_what_the_densities_of_scipy_give(drawn):
    near, groups, points = around_all(drawn)
    expected = [largest_local_overlap(near, groups, z) for z in points]
    found = at(points, near, groups)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert (np.isnan(found) | ((found >= 0.0) & (found <= 0.5))).all()


@given(DRAWN)
@examples(40)
def test_the_groups_may_change_places(drawn):
    near, groups, points = around_all(drawn)
    np.testing.assert_array_equal(at(points, near, groups), at(points, near, 1 - groups))
    np.testing.assert_array_equal(at(points, near, groups), at(points, near[::-1], groups[::-1]))


@given(DRAWN, st.floats(0.0, 3.0))
@examples(40)
def test_common_affine_maps_change_nothing(drawn, stretch):
    near, groups, points = around_all(drawn)
    d, rng = drawn[0].dim, np.random.default_rng(0)
    matrix = rotation(d, rng) * 10.0 ** rng.uniform(-stretch, stretch, d) @ rotation(d, rng)
    shift = rng.standard_normal(d)
    image = at(points @ matrix.T + shift, [mapped(E, matrix, shift) for E in near], groups)
    np.testing.assert_allclose(image, at(points, near, groups), rtol=0, atol=1e-7)


def test_the_crowds_have_points_with_and_without_a_number():
    numbers = np.concatenate([at(points, E, groups) for E, groups, points in (crowd(0, d) for d in range(1, 9))])
    assert 0.2 < np.isnan(numbers).mean() < 0.8
    assert np.nanmax(numbers) - np.nanmin(numbers) > 0.3
