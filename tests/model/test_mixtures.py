"""EM iterations of mixtures: against sums by hand, and by the laws of EM."""

import numpy as np
import pytest
from hypothesis import given
from scipy.special import softmax
from scipy.stats import multivariate_t
from sklearn.mixture import GaussianMixture
from strategies import drawn_points, examples

from sepc.model.category_shares import Categories
from sepc.model.constants import DEGREES_OF_FREEDOM_IN_EM
from sepc.model.densities import MANY_FEATURES
from sepc.model.mixtures import (
    Component,
    Mixture,
    _products,
    common_covariance,
    mixture_of_blocks,
    shrunken_covariance,
)


def two_classes(cloud=None):
    """Return points and classes, and a mixture of two blocks of each class."""
    cloud = np.random.default_rng(1).normal(size=(240, 2)) if cloud is None else cloud
    n = len(cloud)
    codes = np.repeat([0, 1], [n // 3, n - n // 3])
    points = cloud + 2.0 * codes[:, None]
    classes = [np.flatnonzero(codes == k) for k in (0, 1)]
    halves = [
        (k, half) for k, rows in enumerate(classes) for half in np.array_split(rows[points[rows, 0].argsort()], 2)
    ]
    unit = np.where(np.ptp(points, axis=0) > 0.0, points.std(axis=0), 1.0)
    return points, codes, mixture_of_blocks(points, halves, np.bincount(codes), points.mean(axis=0), unit)


def covariances(mixture):
    counts = np.array([part.n for part in mixture.parts])
    common = common_covariance(np.sum([part.scatter for part in mixture.parts], axis=0), counts)
    return [shrunken_covariance(part.scatter, part.n, common) for part in mixture.parts]


def memberships(mixture, points, code):
    """Return which components a class has, and how likely a point of it belongs to each, by SciPy's densities."""
    z = (points - mixture.center) / mixture.unit
    own = [k for k, part in enumerate(mixture.parts) if part.code == code]
    logs = [
        np.log(mixture.parts[k].n)
        + multivariate_t(mixture.parts[k].mean, covariances(mixture)[k], DEGREES_OF_FREEDOM_IN_EM).logpdf(z)
        for k in own
    ]
    return own, softmax(np.column_stack(logs), axis=1)


@examples(15)
@given(drawn_points(min_size=12, max_size=60))
def test_an_iteration_gives_weighted_moments(cloud):
    points, codes, before = two_classes(cloud)
    after = before.step(points, codes)
    z = (points - before.center) / before.unit
    for code in (0, 1):
        mine = codes == code
        own, share = memberships(before, points[mine], code)
        for k, weight in zip(own, share.T, strict=True):
            part = after.parts[k]
            mean = np.average(z[mine], axis=0, weights=weight)
            assert part.n == pytest.approx(weight.sum())
            np.testing.assert_allclose(part.mean, mean, atol=1e-9)
            away = z[mine] - mean
            np.testing.assert_allclose(part.scatter, (away * weight[:, None]).T @ away, atol=1e-8)


@examples(15)
@given(drawn_points(min_size=12, max_size=60))
def test_every_record_belongs_to_its_class_as_a_whole(cloud):
    points, codes, mixture = two_classes(cloud)
    for _ in range(3):
        mixture = mixture.step(points, codes)
        n = np.bincount([part.code for part in mixture.parts], [part.n for part in mixture.parts])
        np.testing.assert_allclose(n, np.bincount(codes), rtol=1e-9)


def test_sums_over_chunks_are_those_of_all_records():
    points, codes, mixture = two_classes()
    order = np.random.default_rng(0).permutation(len(codes))
    parts = [mixture.sums(points[some], codes[some]) for some in np.array_split(order, 7)]
    np.testing.assert_allclose(sum(parts), mixture.sums(points, codes), rtol=1e-9, atol=1e-9)


def test_with_many_records_it_ends_where_scikit_learn_s_mixture_does():
    rng = np.random.default_rng(2)
    points = np.concatenate([rng.normal(0.0, 1.0, size=(3000, 2)), rng.normal([5.0, 2.0], [0.6, 2.0], size=(2000, 2))])
    codes, blocks = np.zeros(5000, dtype=int), [(0, np.arange(0, 2500)), (0, np.arange(2500, 5000))]
    mixture = mixture_of_blocks(points, blocks, np.array([5000]), points.mean(axis=0), points.std(axis=0))
    for _ in range(40):
        mixture = mixture.step(points, codes)
    oracle = GaussianMixture(2, means_init=[[0.0, 0.0], [5.0, 2.0]]).fit(points)
    found = sorted((mixture.densities.mean(k).tolist(), mixture.parts[k].n / 5000) for k in range(2))
    expected = sorted(zip(oracle.means_.tolist(), oracle.weights_.tolist(), strict=True))
    for (mean, share), (true_mean, true_share) in zip(found, expected, strict=True):
        np.testing.assert_allclose(mean, true_mean, atol=0.05)
        assert share == pytest.approx(true_share, abs=0.01)


def test_the_log_likelihood_rises():
    points, codes, mixture = two_classes()
    heard = []
    for _ in range(6):
        joint = mixture.with_dof(DEGREES_OF_FREEDOM_IN_EM).densities.log_joint(points)
        heard.append(joint[np.arange(len(codes)), codes].sum())
        mixture = mixture.step(points, codes)
    assert (np.diff(heard) > 0.0).all()


def test_what_is_missing_gets_its_conditional_mean():
    rng = np.random.default_rng(4)
    points = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.9], [0.9, 1.0]], size=600)
    codes, whole = np.zeros(600, dtype=int), points.copy()
    points[:200, 1] = np.nan
    begin = Mixture.of([Component(0, np.zeros(2), 600.0 * np.eye(2), 600)], np.array([600]), np.zeros(2), np.ones(2))
    mixture = begin
    for _ in range(30):
        mixture = mixture.step(points, codes)
    (part,) = mixture.parts
    np.testing.assert_allclose(part.scatter / part.n, np.cov(whole.T), atol=0.1)
    np.testing.assert_allclose(part.mean, whole.mean(axis=0), atol=0.06)
    # One iteration from independent columns knows nothing of the relation yet.
    assert begin.step(points, codes).parts[0].scatter[0, 1] < 0.8 * part.scatter[0, 1]


def test_categories_get_the_shares_of_those_that_belong_there():
    rng = np.random.default_rng(5)
    near = rng.random(400) < 0.5
    red = rng.random(400) < np.where(near, 0.9, 0.2)
    points = np.column_stack([np.where(near, 0.0, 6.0) + rng.normal(size=400), red, ~red])
    blocks = [(0, np.flatnonzero(near)), (0, np.flatnonzero(~near))]
    colour = Categories.of([[1, 2]], np.zeros(3), np.ones(3))
    mixture = mixture_of_blocks(points, blocks, np.array([400]), points.mean(axis=0), np.ones(3), colour)
    after = mixture.step(points, np.zeros(400, dtype=int))
    assert after.densities.shares.shares(0)[0] == pytest.approx(red[near].mean(), abs=0.03)
    assert after.densities.shares.shares(1)[0] == pytest.approx(red[~near].mean(), abs=0.03)


@pytest.mark.parametrize("d", [3, MANY_FEATURES + 2])
def test_weighted_products(d):
    rng = np.random.default_rng(6)
    z, share = rng.normal(size=(50, d)), rng.random((50, 2))
    expected = [((z * one[:, None]).T @ z)[np.triu_indices(d)] for one in share.T]
    np.testing.assert_allclose(_products(z, share), np.column_stack(expected))


def test_a_component_that_no_record_belongs_to_stays_and_decides_nothing():
    far = Component(0, np.full(2, 1e4), np.eye(2), 1.0)
    near = Component(0, np.zeros(2), np.eye(2), 99.0)
    points = np.random.default_rng(7).normal(size=(100, 2))
    mixture = Mixture.of([near, far], np.array([100]), np.zeros(2), np.ones(2))
    after = mixture.step(points, np.zeros(100, dtype=int))
    assert len(after.parts) == 2
    assert np.isfinite(after.densities.log_joint(points)).all()
    assert (after.densities.claims(points) == 0).all()


def test_a_stack_is_shrunk_one_by_one():
    rng = np.random.default_rng(0)
    scatters, n, common = np.array([np.cov(rng.normal(size=(3, 9))) for _ in range(4)]), np.arange(4.0), np.eye(3)
    one_by_one = [shrunken_covariance(scatter, k, common) for scatter, k in zip(scatters, n, strict=True)]
    assert np.array_equal(shrunken_covariance(scatters, n[:, None, None], common), one_by_one)
