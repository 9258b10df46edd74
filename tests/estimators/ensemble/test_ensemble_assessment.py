"""Assessments by an ensemble."""

import numpy as np
import pytest
from normal_reading import largest_local_overlap

from sepc import SEPEnsembleClassifier
from sepc.estimators.ensemble import ensemble_model


class TestVerdicts:
    def test_they_obey_their_bounds(self, fitted, asked):
        a, proba = fitted.assess(asked), fitted.predict_proba(asked)
        assert proba.sum(axis=1) == pytest.approx(1)
        assert np.array_equal(a.label, fitted.classes_[proba.argmax(axis=1)])
        assert np.array_equal(a.label, fitted.predict(asked))
        assert np.array_equal(a.trust, proba.max(axis=1))
        assert np.array_equal(a.trust, fitted.trust_score(asked))
        assert ((a.agreement >= 0) & (a.agreement <= 1 + 1e-12)).all()
        assert set(a.reason) <= {"inside", "overlap", "outside", "contested", "strange"}
        assert (fitted.weights_ >= 0).all()

    def test_of_many_points_and_of_few_they_are_the_same(self, fitted, asked, monkeypatch):
        few, x = fitted.assess(asked), asked[0]
        kept, text = fitted.model_.evidence(asked), fitted.explain(x).text
        monkeypatch.setattr(ensemble_model, "_FEW", 0)
        many = fitted.model_.evidence(asked)
        assert (kept.of_parts is None, many.of_parts is None) == (False, True)
        assert np.array_equal(kept.opinions, many.opinions)
        assert few.to_frame().equals(fitted.assess(asked).to_frame())
        assert fitted.explain(x).text == text

    def test_the_local_overlap_is_that_of_the_member_that_speaks_most_for_the_label(self):
        rng = np.random.default_rng(0)
        asked = rng.normal(size=(120, 2)) + np.repeat([[0, 0], [2, 0], [1, 2]], 40, axis=0)
        fitted = SEPEnsembleClassifier(n_estimators=2, random_state=0).fit(asked, np.repeat(list("abc"), 40))
        model, a = fitted.model_, fitted.assess(asked)
        evidence, views = model.evidence(asked), model.views(asked)
        leads = model.leads(asked, evidence)
        leader = evidence.added.argmax(axis=0)
        found = 0
        for lead in leads:
            for i in lead.citation.rows:
                plan = model.members[leader[i]].plan
                z = views[plan.view][i, plan.features]
                expected = largest_local_overlap(lead.rules.stack.ellipsoids, lead.rules.sides, z)
                assert a.local_overlap[i] == pytest.approx(expected, abs=1e-7, nan_ok=True)
                found += not np.isnan(expected)
        assert 0 < found < len(asked)
