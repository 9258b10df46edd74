"""Laws of the polish: leverages of carriers are n to rounding, whoever else lies on the ellipsoid."""

import numpy as np
import pytest
from strategies import FAMILIES, point_set

from sepc.geometry._mve import design
from sepc.geometry._mve.large_interior_point import polish_many
from sepc.geometry._mve.small_interior_point import interior_point, polish_few


def near_design(points, gap):
    """Return lifted points, and weights and slacks of an interior point that stops at a gap."""
    Q = np.ascontiguousarray(np.column_stack([points, np.ones(len(points))]).T)
    u, s = np.full(len(points), 1.0 / len(points)), np.empty(len(points))
    interior_point(Q, u, s, 1.02, gap, 80)
    return Q, u, s


def is_optimal(Q, u):
    n = len(Q)
    g = np.einsum("ij,ij->j", Q, np.linalg.solve((Q * u) @ Q.T, Q))
    return u.min() >= 0.0 and np.abs(g[u > 0.0] - n).max() <= 1e-10 * n and g.max() <= n * (1 + 1e-10)


@pytest.mark.parametrize("polish", [polish_few, polish_many])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_rough_design_becomes_optimal_to_rounding(polish, family):
    Q, u, s = near_design(point_set(family, 60, 3), 1e-6)
    assert not is_optimal(Q, u)
    g, inverse, mass, steps = polish(Q, u, s)
    assert mass == pytest.approx(1.0, abs=1e-12)
    assert 1 <= steps <= 8
    assert is_optimal(Q, u)
    np.testing.assert_allclose(np.square(inverse @ Q).sum(axis=0), g, rtol=1e-12)
    np.testing.assert_allclose(s, 4 - g, atol=1e-12)


@pytest.mark.parametrize("polish", [polish_few, polish_many])
def test_more_points_on_the_ellipsoid_than_can_be_told_apart(polish):
    cube = np.array(np.meshgrid(*[[-1.0, 1.0]] * 5)).reshape(5, -1).T  # 32 corners, of rank 16
    Q, u, s = near_design(np.vstack([cube, 0.5 * cube, [[np.sqrt(5.0), 0, 0, 0, 0]]]), 1e-6)
    assert polish(Q, u, s)[2] > 0.0
    assert is_optimal(Q, u)


def test_a_design_far_from_the_optimal_one_stays_as_it_is():
    Q, u, s = near_design(point_set("ball", 80, 4), 0.3)
    before = u.copy(), s.copy()
    assert design.polish(Q, u, s)[2] == 0.0
    np.testing.assert_array_equal(u, before[0])
    np.testing.assert_array_equal(s, before[1])


def test_the_search_ends_where_rounding_allows_no_step():
    # Points of a working set that span four of nine dimensions: one of these draws once had the search run forever.
    def solve(*arguments):
        calls.append(None)
        assert len(calls) < 100
        return interior_point(*arguments)

    for seed in range(60):
        rng, calls = np.random.default_rng(seed), []
        Q = 3.0 * np.linalg.qr(rng.normal(size=(9, 4)))[0] @ np.eye(4)[rng.integers(0, 4, 38)].T
        u, s = np.full(38, 0.0126), np.full(38, 0.18)
        try:
            steps = design.optimal_design(solve, Q, u, s, 1.02, 3e-8, 80, False)[3]
        except np.linalg.LinAlgError:
            continue  # who asked for it goes on with more points
        assert steps <= 80 + 2 * len(calls)
