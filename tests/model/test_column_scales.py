"""Scales of columns: monotone functions with a way back, and units that are measured by them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from strategies import decimals, examples

from sepc.model.column_scales import ColumnScales, Curves

# A column that does not vary has no way back from other values.
TABLES = st.integers(3, 25).flatmap(lambda n: decimals((n, 2), 400)).filter(lambda X: (np.ptp(X, axis=0) > 0.0).all())


def scales_of(X):
    """A column as it is, one in signed logarithms, one in normal scores."""
    X = np.column_stack([X, np.exp(X[:, :1])])
    return X, ColumnScales.of(X.copy(), Curves.of(X, np.array([1, 2]), np.array([False, True])))


@examples(20)
@given(TABLES)
def test_units_keep_the_order_and_lead_back_also_beyond_the_training_values(X):
    X, scales = scales_of(X)
    spread = X.max(axis=0) - X.min(axis=0)
    for asked in (X, X + spread, X - spread, 1000.0 * X):
        assert scales.original(scales(asked)) == pytest.approx(asked, rel=1e-6, abs=1e-6)
    every = np.sort(np.vstack([X, X + spread, X - spread]), axis=0)
    assert (np.diff(scales(every), axis=0) >= 0.0).all()


@examples(20)
@given(TABLES)
def test_training_points_have_mean_0_and_deviation_1(X):
    X, scales = scales_of(X)
    assert scales(X).mean(axis=0) == pytest.approx(0.0, abs=1e-6)
    assert scales(X).std(axis=0) == pytest.approx(1.0, abs=1e-6)


@examples(20)
@given(TABLES, st.floats(0.01, 100.0), st.floats(-100.0, 100.0))
def test_curves_do_not_depend_on_the_units_of_the_values(X, factor, shift):
    X, scales = scales_of(np.round(X, 3))
    moved = X * factor + shift
    of_moved = ColumnScales.of(moved.copy(), Curves.of(moved, np.array([1, 2]), np.array([False, True])))
    assert of_moved(moved) == pytest.approx(scales(X), rel=1e-5, abs=1e-5)


def test_normal_scores_of_any_distribution_are_normal():
    X = np.random.default_rng(0).standard_cauchy(size=(2000, 1))
    scales = ColumnScales.of(X.copy(), Curves.of(X, np.array([0]), np.array([True])))
    assert np.quantile(scales(X), [0.05, 0.5, 0.9]) == pytest.approx(norm.ppf([0.05, 0.5, 0.9]), abs=0.05)


@pytest.mark.parametrize("ranked", [False, True])
def test_beyond_the_training_values_units_grow_with_the_logarithm(ranked):
    X = np.random.default_rng(0).lognormal(sigma=2.0, size=(300, 1))
    scales = ColumnScales.of(X.copy(), Curves.of(X, np.array([0]), np.array([ranked])))
    z = scales(X.max() * np.array([[1.0], [10.0], [100.0], [1000.0]])).ravel()
    assert (np.diff(z) > 0.5).all()
    assert np.diff(z)[1:] == pytest.approx(np.diff(z)[1], rel=0.05)


def test_missing_values_stay_missing_and_count_for_nothing():
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(60, 2))
    with_gaps = np.vstack([X, np.full((5, 2), np.nan)])
    both = np.arange(2), np.array([False, True])
    assert np.array_equal(Curves.of(X, *both).middle, Curves.of(with_gaps, *both).middle)
    bent = with_gaps.copy()
    Curves.of(with_gaps, *both).bend(bent)
    assert np.array_equal(np.isnan(bent), np.isnan(with_gaps))


def test_a_constant_column_stays_finite():
    X = np.full((9, 2), 3.0)
    scales = ColumnScales.of(X.copy(), Curves.of(X, np.arange(2), np.array([False, True])))
    assert np.isfinite(scales(X + np.array([[0.0], [1.0], [-1.0]])[:, [0, 0]].repeat(3, axis=0))).all()
    assert scales.original(scales(X)) == pytest.approx(X)


def test_columns_that_are_as_they_are_have_deviations_as_units():
    X = np.random.default_rng(0).normal(size=(50, 3))
    scales = ColumnScales.of(X)
    assert scales.is_linear
    assert np.array_equal(scales(X), (X - scales.mean) / scales.scale)
    assert np.array_equal(scales.lengths(X), np.broadcast_to(scales.scale, X.shape))


def test_lengths_are_derivatives_of_the_way_back():
    _, scales = scales_of(np.random.default_rng(0).normal(size=(500, 2)))
    z = np.array([0.1, 0.2, -0.3])
    slopes = scales.original(z + 0.5) - scales.original(z - 0.5)
    assert scales.lengths(z) == pytest.approx(slopes)


def test_some_features_have_their_own_functions():
    X, scales = scales_of(np.random.default_rng(0).normal(size=(50, 2)))
    for some in ([2, 0], [1], [0], [1, 2]):
        among = scales.among(np.array(some))
        assert np.array_equal(among(X[:, some]), scales(X)[:, some])
        assert among.original(scales(X)[:, some]) == pytest.approx(X[:, some])


def test_names_show_the_scale():
    _, scales = scales_of(np.random.default_rng(0).normal(size=(50, 2)))
    assert scales.names(["a", "b", "c"]) == ["a", "b (signed logarithm)", "c (normal scores)"]
