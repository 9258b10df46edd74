"""Views of the features: standardised, and as normal scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import decimals, examples

from sepc.estimators.ensemble.feature_views import PLAIN, SCORES, FeatureViews


def distinct(n):
    return st.lists(st.integers(-400, 400), min_size=n, max_size=n, unique=True).map(lambda k: np.array(k) / 100.0)


class TestViews:
    @pytest.mark.slow
    @examples(30)
    @given(st.integers(5, 100).flatmap(lambda n: st.tuples(distinct(n), distinct(n))))
    def test_monotone_maps_leave_normal_scores_as_they_are(self, columns):
        """Of distinct values: quantiles of equal ones may differ by rounding, and then they are no ties."""
        X = np.column_stack(columns)
        mapped = np.column_stack([np.exp(X[:, 0]), X[:, 1] ** 3 + 5])
        assert FeatureViews.of(mapped)(mapped)[SCORES] == pytest.approx(FeatureViews.of(X)(X)[SCORES], abs=1e-6)

    def test_scores_keep_the_order_and_plain_is_standardised(self):
        X = np.random.default_rng(0).lognormal(sigma=2, size=(400, 3))
        views = FeatureViews.of(X)
        plain, scores = views(X)
        for j in range(3):
            assert (np.diff(scores[np.argsort(X[:, j]), j]) >= 0).all()
        for view in (plain, scores):
            assert view.mean(axis=0) == pytest.approx(0, abs=1e-9)
            assert view.std(axis=0) == pytest.approx(1)
        assert plain == pytest.approx((X - X.mean(0)) / X.std(0))

    @examples(30)
    @given(st.integers(5, 60).flatmap(lambda n: decimals((n, 3), 400)))
    def test_the_way_back_leads_to_where_a_point_came_from(self, X):
        X = np.exp(X)
        views = FeatureViews.of(X)
        some = np.array([2, 0])
        for view, there in enumerate(views(X)):
            assert views[view].original(there) == pytest.approx(X)
            assert views[view].among(some).original(there[:, some]) == pytest.approx(X[:, some])

    def test_bounds_are_the_extreme_values(self):
        X = np.random.default_rng(0).lognormal(sigma=2, size=(400, 2))
        assert np.array_equal(FeatureViews.of(X).bounds, [X.min(axis=0), X.max(axis=0)])

    def test_tied_values_come_back_as_they_are(self):
        X = np.repeat([0.0, 1.0, 4.0, 9.0], [40, 30, 20, 10])[:, None]
        views = FeatureViews.of(X)
        assert views.scores.original(views(X)[SCORES]) == pytest.approx(X)

    def test_constant_features_are_finite(self):
        X = np.column_stack([np.arange(9.0), np.full(9, 3.0)])
        views = FeatureViews.of(X)
        for view in (PLAIN, SCORES):
            assert np.isfinite(views(X + 1)[view]).all()
            assert (views(X)[view][:, 1] == views(X)[view][0, 1]).all()
