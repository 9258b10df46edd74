"""Moments of points: of several components together, and shrunk."""

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import seeds

from sepc.model.components import component_of_points, shrunken_covariance, together


@settings(max_examples=40)
@given(seeds())
def test_several_together_have_the_moments_of_all_their_points(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    clouds = [rng.normal(rng.normal(0.0, 5.0, d), size=(int(n), d)) for n in rng.integers(1, 9, size=4)]
    center, unit = rng.normal(size=d), rng.uniform(0.5, 2.0, d)
    parts = [component_of_points(3, cloud.copy(), center, unit) for cloud in clouds]
    found, whole = together(parts), component_of_points(3, np.concatenate(clouds), center, unit)
    assert (found.code, found.n) == (whole.code, whole.n)
    assert found.mean == pytest.approx(whole.mean, abs=1e-12)
    assert found.scatter == pytest.approx(whole.scatter, abs=1e-9)


def test_one_alone_is_itself():
    part = component_of_points(0, np.array([[1.0], [3.0]]), np.zeros(1), np.ones(1))
    assert together([part]) is part


def test_a_stack_is_shrunk_one_by_one():
    rng = np.random.default_rng(0)
    scatters, n, common = np.array([np.cov(rng.normal(size=(3, 9))) for _ in range(4)]), np.arange(4.0), np.eye(3)
    one_by_one = [shrunken_covariance(scatter, k, common) for scatter, k in zip(scatters, n, strict=True)]
    assert np.array_equal(shrunken_covariance(scatters, n[:, None, None], common), one_by_one)
