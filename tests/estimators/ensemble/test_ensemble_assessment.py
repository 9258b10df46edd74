"""Assessments by an ensemble."""

import numpy as np
import pytest


class TestVerdicts:
    def test_they_obey_their_bounds(self, fitted, asked):
        a, proba = fitted.assess(asked), fitted.predict_proba(asked)
        assert proba.sum(axis=1) == pytest.approx(1)
        assert np.array_equal(a.label, fitted.classes_[proba.argmax(axis=1)])
        assert np.array_equal(a.label, fitted.predict(asked))
        assert np.array_equal(a.trust, proba.max(axis=1))
        assert np.array_equal(a.trust, fitted.trust_score(asked))
        assert ((a.agreement >= 0) & (a.agreement <= 1 + 1e-12)).all()
        assert set(a.reason) <= {"inside", "overlap", "outside", "contested"}
        assert (fitted.weights_ >= 0).all()
        bound = a.error_bound
        assert (np.isnan(bound) | ((bound >= 0) & (bound <= 1))).all()
        assert set(a.rule[~np.isnan(bound)]) <= {"R2a", "R2b"}

    def test_a_label_that_a_third_of_the_weight_denies_is_contested(self, fitted, asked):
        a = fitted.assess(asked)
        denied = a.agreement < 2 / 3
        assert denied.any()
        assert (a.reason[denied] == "contested").all()
