"""Points with gaps: integrals against quadrature, laws, and what can be expected in a gap."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from strategies import drawn_points, examples

from sepc import SEPClassifier
from sepc.common.validation import known_share
from sepc.model.category_shares import Categories
from sepc.model.constants import DEGREES_OF_FREEDOM, OTHER_DEGREES_OF_FREEDOM
from sepc.model.incomplete import as_far_in, distances, expected, log_odds_in, rows_by_gaps
from sepc.model.mixtures import mixture_of_blocks


def some_densities(d, seed=0, categories=None, n=24, dof=DEGREES_OF_FREEDOM, points=None):
    rng = np.random.default_rng(seed)
    clouds = rng.normal(size=(n, d)) + np.repeat(3.0 * rng.normal(size=(3, d)), n // 3, axis=0)
    points = clouds if points is None else points
    if categories is not None:
        points[:, categories.features] = rng.permuted(np.eye(len(categories.features)), axis=0)[
            rng.integers(0, len(categories.features), n)
        ]
    blocks = [(0, np.arange(n // 3)), (0, np.arange(n // 3, 2 * n // 3)), (1, np.arange(2 * n // 3, n))]
    count = np.array([2 * n // 3, n // 3])
    found = mixture_of_blocks(points, blocks, count, points.mean(axis=0), points.std(axis=0), categories).densities
    return points, replace(found, degrees_of_freedom=dof)


def joint_at(densities, point):
    return np.exp(densities.by_component(point[None])[0])


class TestIntegrals:
    @pytest.mark.slow
    @pytest.mark.parametrize("dof", [DEGREES_OF_FREEDOM, *OTHER_DEGREES_OF_FREEDOM])
    @pytest.mark.parametrize("missing", [0, 1])
    def test_one_of_two_features(self, missing, dof):
        points, densities = some_densities(2, dof=dof)
        for row in points[::7]:
            known = np.arange(2) != missing

            def along(value, k, at=row):
                x = at.copy()
                x[missing] = value
                return joint_at(densities, x)[k]

            exact = [quad(along, -np.inf, np.inf, args=(k,), epsabs=1e-13, epsrel=1e-12)[0] for k in range(3)]
            one = np.exp(densities.marginal(known).by_component(row[None, known])[0]) * densities.unit[missing]
            assert one == pytest.approx(exact, rel=1e-9)
            gap = np.where(known, row, np.nan)
            shares = np.exp(densities.by_component(gap[None])[0] - densities.by_component(gap[None])[0].max())
            assert shares / shares.sum() == pytest.approx(np.array(exact) / np.sum(exact), rel=1e-9)

    def test_one_of_three_features(self):
        points, densities = some_densities(3, seed=1)
        row, known = points[4], np.array([True, False, True])

        def along(value, k):
            return joint_at(densities, np.array([row[0], value, row[2]]))[k]

        exact = [quad(along, -np.inf, np.inf, args=(k,), epsabs=1e-14, epsrel=1e-12)[0] for k in range(3)]
        found = densities.posterior(np.where(known, row, np.nan)[None])[0]
        assert found == pytest.approx([(exact[0] + exact[1]) / np.sum(exact), exact[2] / np.sum(exact)], abs=1e-9)

    def test_two_of_three_features(self):
        points, densities = some_densities(3, seed=2)
        row, known = points[20], np.array([False, True, False])

        # Gauss and Legendre on a square that the whole plane is mapped to.
        angle, weight = np.polynomial.legendre.leggauss(500)
        angle, weight = np.pi / 2 * angle, weight * (1.0 + np.square(np.tan(np.pi / 2 * angle)))
        a, b = (4.0 * np.tan(grid).ravel() for grid in np.meshgrid(angle, angle))
        logs = densities.marginal(np.array([True, True, True])).by_component(
            np.column_stack([a, np.full(len(a), row[1]), b])
        )
        exact = np.einsum("i,ik->k", np.outer(weight, weight).ravel(), np.exp(logs))
        found = densities.posterior(np.where(known, row, np.nan)[None])[0]
        assert found == pytest.approx([(exact[0] + exact[1]) / np.sum(exact), exact[2] / np.sum(exact)], abs=1e-9)

    def test_unknown_values_of_a_category_are_summed_over(self):
        colour = Categories.of([[2, 3, 4]], np.zeros(5), np.ones(5))
        points, densities = some_densities(5, seed=3, categories=colour)
        row = np.array([*points[3, :2], np.nan, np.nan, np.nan])
        values = np.column_stack([np.repeat(row[None, :2], 4, axis=0), np.vstack([np.eye(3), np.zeros(3)])])
        exact = logsumexp(densities.by_component(values), axis=0)
        found = densities.marginal(~np.isnan(row)).by_component(row[None, :2])[0]
        assert found == pytest.approx(exact, abs=1e-12)
        together = densities.by_component(row[None])[0]
        assert together - logsumexp(together) == pytest.approx(exact - logsumexp(exact), abs=1e-12)
        in_part = row.copy()
        in_part[2] = 0.0  # known in part is not known
        assert np.array_equal(densities.by_component(in_part[None])[0], together)


@examples(40)
@given(
    points=drawn_points(min_size=24, max_size=24, regimes=("lattice", "spread", "copies")),
    gaps=arrays(bool, (24, 3)),
    dof=st.sampled_from([DEGREES_OF_FREEDOM, *OTHER_DEGREES_OF_FREEDOM]),
)
def test_laws(points, gaps, dof):
    """Complete rows keep their bits, rows do not depend on each other, and nothing known gives the priors."""
    rng, d = np.random.default_rng(0), points.shape[1]
    assume(np.ptp(points, axis=0).min() > 0.0)  # units are standard deviations here
    points, densities = some_densities(d, dof=dof, points=points)
    gaps = gaps[:, :d]
    asked = np.where(gaps, np.nan, points)
    together = densities.log_joint(asked)
    whole = ~gaps.any(axis=1)
    assert np.array_equal(together[whole], densities.log_joint(points[whole]))
    order = rng.permutation(len(asked))
    assert np.array_equal(densities.log_joint(asked[order]), together[order])
    for row in range(0, len(asked), 5):
        assert np.array_equal(densities.log_joint(asked[[row]])[0], together[row])
    empty = densities.posterior(np.full((1, d), np.nan))[0]
    assert empty == pytest.approx([2 / 3, 1 / 3], abs=1e-12)
    direct = densities.marginal(~gaps[0])
    claims = densities.by_component(asked[:1])[0] - direct.by_component(points[:1, ~gaps[0]])[0]
    assert np.ptp(claims) < 1e-9  # the same but for what makes densities comparable


@pytest.mark.parametrize("dof", [DEGREES_OF_FREEDOM, *OTHER_DEGREES_OF_FREEDOM])
def test_a_point_of_one_component_is_as_unlikely_with_fewer_features(dof):
    """Of points drawn from a component, the share with a lower density is the same with all and with some features."""
    rng = np.random.default_rng(0)
    d, n = 6, 20_000
    z = rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(dof, size=(n, 1)) / dof)
    whole = np.log1p(np.square(z).sum(axis=1) / dof)
    for known in (1, 3, 6):
        some = np.square(z[:, :known]).sum(axis=1) / dof
        as_whole = as_far_in(some[:, None], np.full((n, 1), known), d, dof)[:, 0]
        levels = np.quantile(whole, [0.05, 0.5, 0.95, 0.99])
        shares = [np.mean(as_whole > level) for level in levels]
        assert shares == pytest.approx([0.95, 0.5, 0.05, 0.01], abs=0.01)


@pytest.mark.parametrize("dof", [2.0, 32.0])
@pytest.mark.parametrize("d", [1, 7, 60, 240])
def test_comparable_distances_grow_steadily_from_tiny_to_enormous_ones(d, dof):
    logs = np.linspace(-90.0, 300.0, 3000)
    squares = np.exp(logs)
    assert log_odds_in(squares, d, d, dof) == pytest.approx(logs, abs=1e-11)
    for known in {1, d // 2 or 1}:
        odds = log_odds_in(squares, known, d, dof)
        steps = np.diff(odds) / (logs[1] - logs[0])
        assert steps.min() > 0.9 * known / d
        assert np.abs(np.diff(steps)).max() < 0.05
        assert steps[-1] == pytest.approx(1.0)  # far away all tails are powers


def test_absurd_values_among_missing_ones_have_probabilities():
    X = np.random.default_rng(0).normal(size=(200, 3))
    clf = SEPClassifier(trust="raw").fit(X, X[:, 0] > 0.0)
    proba = clf.predict_proba([[1e150, np.nan, np.nan], [np.nan, -1e100, 3.0], [np.nan, 1e20, np.nan]])
    assert np.isfinite(proba).all()


def test_distances_are_those_of_what_is_known():
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(4, 5, 7))
    means, covariances = rng.normal(size=(4, 5)), factors @ factors.transpose(0, 2, 1)
    z = np.where(rng.random((30, 5)) < 0.5, np.nan, rng.normal(size=(30, 5)))
    z = z[np.lexsort(np.isnan(z).T)]
    squares, log_pivots = distances(z, means, np.linalg.inv(covariances))
    for row, square, log_pivot in zip(z, squares, log_pivots, strict=True):
        known = ~np.isnan(row)
        for k in range(4):
            some = covariances[k][np.ix_(known, known)]
            away = row[known] - means[k][known]
            assert square[k] == pytest.approx(away @ np.linalg.solve(some, away) if known.any() else 0.0)
            log_scale = np.linalg.slogdet(some)[1] if known.any() else 0.0
            assert log_pivot[k] == pytest.approx(0.5 * (log_scale - np.linalg.slogdet(covariances[k])[1]))


def test_what_can_be_expected_is_the_mean_and_the_covariance_given_the_rest():
    rng = np.random.default_rng(2)
    factor = rng.normal(size=(3, 3))
    mean, covariance = rng.normal(size=3), factor @ factor.T + np.eye(3)
    drawn = rng.multivariate_normal(mean, covariance, 400_000)
    near = drawn[np.abs(drawn[:, 1] - (mean[1] + 1.0)) < 0.02]
    point = np.array([[0.0, mean[1] + 1.0, 0.0]])
    found = expected(point, np.array([[True, False, True]]), mean, covariance)
    assert found.points[0, [0, 2]] == pytest.approx(near[:, [0, 2]].mean(axis=0), abs=0.06)
    assert found.spread[np.ix_([0, 2], [0, 2])] == pytest.approx(np.cov(near[:, [0, 2]].T), abs=0.12)
    assert np.array_equal(found.spread[1], np.zeros(3))


def test_moments_of_blocks_with_gaps_are_nearer_than_those_of_filled_points():
    rng = np.random.default_rng(3)
    mean, covariance = np.array([1.0, -1.0]), np.array([[1.0, 0.8], [0.8, 1.0]])
    points = rng.multivariate_normal(mean, covariance, 600)
    gaps = rng.random(points.shape) < 0.3
    gaps[gaps.all(axis=1)] = False
    filled = np.where(gaps, np.where(gaps, np.nan, points)[~gaps.any(axis=1)].mean(axis=0), points)
    how = [(0, np.arange(600))], np.array([600]), np.zeros(2), np.ones(2)
    probe = rng.multivariate_normal(mean, covariance, 400)
    truth = multivariate_normal(mean, covariance).logpdf(probe)

    def error(densities):
        logs = densities.by_component(probe)[:, 0]
        return np.std(logs - truth)

    with_gaps, as_filled = (
        mixture_of_blocks(filled, *how, None, gaps).densities,
        mixture_of_blocks(filled, *how).densities,
    )
    assert error(with_gaps) < 0.6 * error(as_filled)


def test_rows_with_the_same_gaps_come_together():
    points = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, np.nan], [4.0, 4.0]])
    found = {tuple(known): rows.tolist() for rows, known in rows_by_gaps(points)}
    assert found == {(True, True): [3], (True, False): [0, 2], (False, True): [1]}
    assert known_share(points).tolist() == [0.5, 0.5, 0.5, 1.0]
    assert known_share(points[3:]) == 1.0
