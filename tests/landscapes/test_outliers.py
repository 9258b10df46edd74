"""Outliers that were planted, and none in clean sets."""

import numpy as np
import pytest

import sepc
from sepc import SEPClassifier
from sepc.landscapes.outliers import drop_bound, outlier_limit


class TestOutliers:
    @pytest.mark.study
    @pytest.mark.parametrize("d", [1, 2, 3, 5, 10])
    @pytest.mark.parametrize("n_imp", [0, 2])
    def test_planted_outliers_are_found(self, d, n_imp):
        rng = np.random.default_rng(d)
        X = rng.standard_normal((40 * d, d))
        X[:, 0] += np.repeat([0.0, 8.0], 20 * d)
        far = np.zeros((1, d))
        far[0, 0] = -60.0
        X, y = np.vstack([far, X]), np.append("a", np.repeat(["a", "b"], 20 * d))
        found = SEPClassifier(n_imp=n_imp).fit(X, y).landscape_.outliers
        assert set(found.row) == {0}
        assert "all of a" in set(found.region)
        assert (found.log_volume_drop > found.limit).all()

    def test_copies_of_an_outlier_do_not_hide_it(self):
        rng = np.random.default_rng(1)
        X = np.vstack([rng.standard_normal((50, 2)), [[-80.0, 0.0]] * 2, rng.standard_normal((50, 2))])
        X[52:, 0] += 9.0
        found = SEPClassifier().fit(X, np.repeat(["a", "b"], [52, 50])).landscape_.outliers
        assert set(found.row) == {50, 51}

    @pytest.mark.study
    def test_none_is_found_in_80_clean_sets(self, clean):
        assert all(len(fitted.outliers) == 0 for fitted in clean)

    def test_the_bound_on_the_drop_holds(self):
        rng = np.random.default_rng(2)
        for d in (1, 2, 5):
            X = rng.standard_t(2, size=(12 * d, d))
            m = sepc.geometry.min_volume_ellipsoid(X)
            for i in np.flatnonzero(m.weights > 1e-6):
                rest = sepc.geometry.min_volume_ellipsoid(np.delete(X, i, axis=0), unit=X.std(axis=0))
                drop = m.ellipsoid.log_volume - rest.ellipsoid.log_volume
                assert drop <= drop_bound(m.weights[[i]], d + 1)[0] + 1e-5

    def test_fewer_records_or_dimensions_allow_larger_drops(self):
        assert outlier_limit(20, 2) > outlier_limit(200, 2) > outlier_limit(200, 5)
