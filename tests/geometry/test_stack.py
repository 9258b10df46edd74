"""Many ellipsoids at once against each of them alone."""

import numpy as np
import pytest
from planted_partitions import discs

from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.stack import Candidates, EllipsoidStack, candidates_among


class TestStack:
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
