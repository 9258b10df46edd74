"""Laws of `overlap_coefficient`."""

from math import erf, sqrt

import numpy as np
import pytest
from coded import raises
from hypothesis import given
from hypothesis import strategies as st
from strategies import ellipsoids, examples, pairs_of_ellipsoids, random_ellipsoid, rotation

from sepc.geometry.coefficient import overlap_coefficient
from sepc.geometry.ellipsoid import Ellipsoid


def normal_cdf(x):
    return 0.5 * (1.0 + erf(x / sqrt(2.0)))


def mapped(E, matrix, shift):
    return Ellipsoid.from_factor(matrix @ E.center + shift, matrix @ (E.axes * E.radii))


def log_density(E, Z):
    y = (Z - E.center) @ E.axes / E.radii
    return -0.5 * (E.dim + 2) * np.square(y).sum(axis=1) - np.log(E.radii).sum()


def draw(E, n, rng):
    return E.center + (rng.standard_normal((n, E.dim)) * E.radii / np.sqrt(E.dim + 2)) @ E.axes.T


def monte_carlo(E, F, n, rng):
    """Return the sum of the two error probabilities, and its standard error."""
    shares = []
    for own, other in ((E, F), (F, E)):
        Z = draw(own, n, rng)
        shares.append(np.mean(log_density(other, Z) > log_density(own, Z)))
    return sum(shares), sqrt(sum(p * (1.0 - p) for p in shares) / n)


def pair(d, seed, ratio=4.0, apart=1.0):
    """Two ellipsoids whose centres are about `apart` of a radius away from each other."""
    rng = np.random.default_rng([seed, d])
    E = random_ellipsoid(d, rng, ratio, offset=0.0)
    F = random_ellipsoid(d, rng, ratio, size=1.0 + 0.3 * rng.random(), offset=0.0)
    return E, Ellipsoid(apart / d * (E.axes * E.radii) @ rng.standard_normal(d), F.axes, F.radii)


def near(E, rng, change):
    """Return an ellipsoid that differs from E by a map close to the identity in E's own axes."""
    d = E.dim
    factor = np.eye(d) + change / np.sqrt(d) * rng.standard_normal((d, d))
    step = change * rng.standard_normal(d) / np.sqrt(d)
    return mapped(Ellipsoid(step, np.eye(d), np.ones(d)), (E.axes * E.radii) @ factor, E.center)


@pytest.mark.parametrize("d", range(1, 11))
def test_agrees_with_monte_carlo(d):
    rng = np.random.default_rng(d)
    for seed, change in enumerate((0.2, 0.5, 1.0)):
        E, _ = pair(d, seed)
        F = near(E, rng, change)
        estimate, error = monte_carlo(E, F, 40_000, rng)
        assert overlap_coefficient(E, F) == pytest.approx(estimate, abs=5.0 * error + 1e-4)


@pytest.mark.parametrize("ratio", [1e3, 1e6])
@pytest.mark.parametrize("d", [2, 5, 20])
def test_agrees_with_monte_carlo_for_flat_ellipsoids(d, ratio):
    rng = np.random.default_rng(d)
    E = random_ellipsoid(d, rng, ratio, offset=0.0)
    for change in (0.2, 0.5):
        F = near(E, rng, change)
        estimate, error = monte_carlo(E, F, 40_000, rng)
        assert overlap_coefficient(E, F) == pytest.approx(estimate, abs=5.0 * error + 1e-4)


def closed_form(mean, spread):
    """Integrate the minimum of the normal densities N(0, 1) and N(mean, spread^2), spread > 1, between their cuts."""
    a, half_b, c = spread**2 - 1.0, mean, -(mean**2) - 2.0 * spread**2 * np.log(spread)
    cuts = (-half_b + np.array([-1.0, 1.0]) * np.sqrt(half_b**2 - a * c)) / a
    narrow, wide = ([normal_cdf((x - m) / s) for x in cuts] for m, s in ((0.0, 1.0), (mean, spread)))
    return 1.0 - (narrow[1] - narrow[0]) + (wide[1] - wide[0])


@pytest.mark.parametrize("spread", [1.001, 1.3, 2.0, 10.0, 1e3, 1e6])
@pytest.mark.parametrize("mean", [0.0, 0.1, 1.0, 3.0])
def test_closed_form_in_one_dimension(mean, spread):
    E, F = (Ellipsoid([c], [[1.0]], [r * sqrt(3.0)]) for c, r in ((0.0, 1.0), (mean, spread)))
    assert overlap_coefficient(E, F) == pytest.approx(closed_form(mean, spread), abs=1e-10)


@pytest.mark.parametrize("d", [1, 2, 7, 30])
@pytest.mark.parametrize("distance", [0.0, 1e-3, 1.0, 4.0, 10.0])
def test_closed_form_for_equal_shapes(d, distance):
    rng = np.random.default_rng(d)
    E = random_ellipsoid(d, rng, ratio=10.0)
    direction = rng.standard_normal(d)
    step = E.axes @ (E.radii * direction / np.linalg.norm(direction)) / sqrt(d + 2)
    expected = 2.0 * normal_cdf(-distance / 2.0)
    assert overlap_coefficient(E, Ellipsoid(E.center + distance * step, E.axes, E.radii)) == pytest.approx(
        expected, abs=1e-12
    )
    # All but equal shapes, on the general way.
    almost = Ellipsoid(E.center + distance * step, E.axes, E.radii * (1.0 + 1e-9))
    assert overlap_coefficient(E, almost) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("d", [2, 3, 10, 60])
def test_balls_with_a_common_centre(d):
    from scipy.stats import chi2

    ratio = 1.0 + 1.0 / np.sqrt(d)
    E, F = (Ellipsoid(np.zeros(d), np.eye(d), np.full(d, r)) for r in (1.0, ratio))
    cut = 2.0 * d * np.log(ratio) / (1.0 - ratio**-2)
    expected = chi2.sf(cut, d) + chi2.cdf(cut / ratio**2, d)
    assert overlap_coefficient(E, F) == pytest.approx(expected, abs=1e-11)


@given(st.sampled_from([1.5, 1e2, 1e6]).flatmap(lambda ratio: ellipsoids(ratio=ratio)), st.floats(1e-6, 2.0))
@examples(60)
def test_symmetric_and_between_0_and_1(E, change):
    rng = np.random.default_rng(0)
    F = near(E, rng, change)
    value = overlap_coefficient(E, F)
    assert 0.0 <= value <= 1.0
    assert overlap_coefficient(F, E) == value
    assert overlap_coefficient(E, E) == 1.0


@given(ellipsoids(), st.floats(0.01, 2.0), st.floats(0.0, 3.0))
@examples(60)
def test_common_affine_maps_change_nothing(E, change, stretch):
    d, rng = E.dim, np.random.default_rng(0)
    F = near(E, rng, change)
    matrix = rotation(d, rng) * 10.0 ** rng.uniform(-stretch, stretch, d) @ rotation(d, rng)
    shift = rng.standard_normal(d)
    image = overlap_coefficient(mapped(E, matrix, shift), mapped(F, matrix, shift))
    assert image == pytest.approx(overlap_coefficient(E, F), abs=1e-7)


@given(ellipsoids(least=2), st.floats(0.05, 2.0))
@examples(40)
def test_a_shadow_has_no_less_in_common(E, change):
    # Less is known of a point: a marginal of the two distributions errs at least as often.
    d, rng = E.dim, np.random.default_rng(0)
    F = near(E, rng, change)
    # The covariance of a shadow is that of the whole: its radii are those of the lower dimension.
    onto = rotation(d, rng)[:, : d - 1]
    shadows = [G.shadow(onto) for G in (E, F)]
    scaled = [Ellipsoid(G.center, G.axes, G.radii * sqrt((d + 1) / (d + 2))) for G in shadows]
    assert overlap_coefficient(*scaled) >= overlap_coefficient(E, F) - 1e-9


@given(pairs_of_ellipsoids(most=6))
@examples(30)
def test_lies_within_the_bounds_of_bhattacharyya(drawn):
    # With BC, the integral of sqrt(f g): 1 - sqrt(1 - BC^2) <= OVL <= BC.
    (E, F), d = drawn, drawn[0].dim
    S, T = ((G.axes * G.radii**2 / (d + 2)) @ G.axes.T for G in (E, F))
    mean = (S + T) / 2.0
    step = F.center - E.center
    logs = [np.linalg.slogdet(matrix)[1] for matrix in (mean, S, T)]
    coefficient = np.exp(-step @ np.linalg.solve(mean, step) / 8.0 - 0.5 * logs[0] + 0.25 * (logs[1] + logs[2]))
    value = overlap_coefficient(E, F)
    assert 1.0 - np.sqrt(max(1.0 - coefficient**2, 0.0)) - 1e-9 <= value <= coefficient + 1e-9


@pytest.mark.parametrize("d", [1, 3, 60])
def test_extremes_are_finite(d):
    rng = np.random.default_rng(d)
    E = Ellipsoid(np.zeros(d), np.eye(d), np.ones(d))
    for size in (1e-150, 1e-9, 1e9, 1e150):
        F = Ellipsoid(rng.standard_normal(d), rotation(d, rng), size * 1e-6 ** rng.random(d))
        assert 0.0 <= overlap_coefficient(E, F) < 1e-2
    assert overlap_coefficient(E, Ellipsoid(np.full(d, 1e150), np.eye(d), np.ones(d))) == 0.0


def test_refuses_different_dimensions():
    with raises("features-differ", name="F", n_features=2, other="E", n_other=1):
        overlap_coefficient(Ellipsoid([0.0], [[1.0]], [1.0]), Ellipsoid(np.zeros(2), np.eye(2), np.ones(2)))
