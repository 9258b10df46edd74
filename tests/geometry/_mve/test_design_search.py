"""The ellipsoid of few points is the one that the search for many finds, and it is asked where it is not found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import FAMILIES, REGIMES, drawn_points, examples, point_set, seeds

from sepc.geometry import mve
from sepc.geometry._mve.design_search import ellipsoid_of_few, rows_above
from sepc.geometry.mve import min_volume_ellipsoid


def by_search(points, **how):
    """Return the ellipsoid that the search for many points finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mve, "_FEW", 0)
        return min_volume_ellipsoid(points, **how)


# More points and features than can be drawn one by one.
LARGER = st.builds(point_set, st.sampled_from(FAMILIES), st.integers(1, 250), st.integers(1, 13), seeds())


@examples(80)
@given(drawn_points(max_size=40, regimes=REGIMES[:5]) | LARGER, st.booleans())
def test_it_finds_the_same_ellipsoid(X, in_units):
    unit = X.std(axis=0) if in_units and X.std(axis=0).min() > 1e-9 * np.abs(X).max() else None
    found, searched = min_volume_ellipsoid(X, unit=unit), by_search(X, unit=unit)
    assert found.converged
    assert found.rank == searched.rank
    assert found.certificate(X, unit) <= 1e-7
    assert found.weights.sum() == pytest.approx(1.0)
    assert found.ellipsoid.contains(X).all()
    np.testing.assert_allclose(found.ellipsoid.radii, searched.ellipsoid.radii, rtol=1e-5)
    np.testing.assert_allclose(found.ellipsoid.center, searched.ellipsoid.center, atol=1e-5 * np.abs(X).max())


@pytest.mark.slow
def test_what_is_too_much_for_loops_is_searched_for():
    """So many points of a sphere carry its ellipsoid that the compiled loops leave it to LAPACK."""
    X = np.random.default_rng(0).standard_normal((300, 17))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    assert ellipsoid_of_few(X, np.ones(17), 1e-7) is None
    told = []
    found = min_volume_ellipsoid(X, on_step=lambda _, gap: told.append(gap))
    assert found.converged
    assert told[-1] == found.gap


@examples(200)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.0 + 1e-15, 2.0, 7.0]), min_size=1), st.integers(0, 20))
def test_the_largest_values_above_a_level_are_chosen(values, most):
    array = np.array(values)
    rows = rows_above(array, 0.25, most)
    above = np.flatnonzero(array > 0.25)
    assert len(rows) == min(len(above), most)
    assert (np.diff(rows) > 0).all()
    assert np.isin(rows, above).all()
    np.testing.assert_array_equal(np.sort(array[rows]), np.sort(array[above])[len(above) - len(rows) :])
