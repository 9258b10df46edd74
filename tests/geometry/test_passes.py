"""Principal axes: LAPACK's where many features allow it are those of the compiled rotations."""

import numpy as np
import pytest

from sepc.geometry._kernels import rows_svd
from sepc.geometry.passes import principal_axes, principal_directions


def samples(d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3 * d, d)) @ np.diag(rng.uniform(0.1, 3.0, d))


@pytest.mark.parametrize("d", [40, 60])
def test_directions_diagonalise_the_covariance_largest_first(d):
    covariance = np.cov(samples(d).T)
    directions, variances = principal_directions(covariance)
    assert directions @ covariance @ directions.T == pytest.approx(np.diag(variances), abs=1e-12)
    assert (np.diff(variances) <= 0).all()
    assert variances == pytest.approx(rows_svd(covariance)[1], rel=1e-10)


def test_with_few_features_rotations_find_them_to_the_last_bit():
    matrix = samples(40)[:40]
    for found, rotated in zip(principal_axes(matrix), rows_svd(matrix), strict=True):
        assert np.array_equal(found, rotated)


def test_constant_and_dependent_features_are_flat_directions():
    X = samples(60)
    X[:, 7], X[:, 20] = 0.0, X[:, 21] - X[:, 22]
    covariance = np.cov(X.T)
    directions, variances = principal_directions(covariance)
    assert np.count_nonzero(variances >= 1e-12) == 58
    assert (variances >= 0.0).all()
    assert directions @ directions.T == pytest.approx(np.eye(60), abs=1e-12)
    assert np.array_equal(np.abs(directions[-1]), np.eye(60)[7])


@pytest.mark.parametrize("longest", [1.0, 1e9])
def test_short_axes_beside_long_ones_keep_their_digits(longest):
    rng = np.random.default_rng(1)
    turn, other = (np.linalg.qr(rng.normal(size=(60, 60)))[0] for _ in range(2))
    radii = np.geomspace(longest, 1e-3, 60)
    # Rows of very different length: a plain decomposition would lose the shortest.
    matrix = radii[:, None] * (other if longest > 1.0 else turn @ other)
    axes, found = principal_axes(matrix)
    assert found == pytest.approx(rows_svd(matrix)[1], rel=1e-9)
    assert axes @ axes.T == pytest.approx(np.eye(60), abs=1e-9)
    assert np.linalg.norm(axes @ matrix, axis=1) == pytest.approx(found, rel=1e-6)


def test_numbers_that_overflowed_are_no_error():
    with np.errstate(all="ignore"):
        assert np.isnan(principal_axes(np.full((60, 60), np.nan))[1]).all()
