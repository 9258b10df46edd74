"""The model of an ensemble."""

import numpy as np
import pytest
from fitted_ensembles import overlapping
from normal_reading import largest_local_overlap

from sepc import SEPEnsembleClassifier
from sepc.estimators.ensemble import ensemble_model
from sepc.estimators.ensemble.ensemble_model import EnsembleModel
from sepc.estimators.ensemble.feature_views import PLAIN, SCORES, STEPS


def test_the_leading_region_counts_records_that_did_not_shape_it(data, fitted, asked):
    X, y = data
    a, model = fitted.assess(asked), fitted.model_
    training = model.views(X)
    for i in range(0, len(asked), 3):
        number, name = a.region[i].split(":")
        member = model.members[int(number[:-1]) - 1]
        part = member.parts["abc".index(number[-1])]
        assert not np.isin(part.out, part.rows).any()
        out = model.records.rows[part.out]
        there = part.densities.claims(part.sees(member.points(training, out))) == part.names.index(name)
        right = y[out] == a.label[i]
        assert a.counts[i].tolist() == [np.count_nonzero(there & right), np.count_nonzero(there & ~right)]


@pytest.fixture(scope="module")
def skewed():
    """Skewed features without ties, and an ensemble that is fitted to them."""
    X, y = overlapping(n=60)
    X = np.exp(X)
    return X, SEPEnsembleClassifier(n_estimators=6).fit(X, y)


def test_a_region_reaches_as_far_in_the_original_units_as_its_ellipsoid_does_in_the_view(skewed):
    X, clf = skewed
    model = clf.model_
    seen = set()
    for m, member in enumerate(model.members):
        view, features = member.plan.view, member.plan.features
        if view == STEPS:
            continue
        smallest, largest = model.views(np.stack([X.min(axis=0), X.max(axis=0)]))[view][:, features]
        for k, part in enumerate(member.parts):
            for c in range(len(part.names)):
                ellipsoids, extent = part.ellipsoids(c), model.extent(m, k, c)
                if not ellipsoids:
                    assert extent is None
                    continue
                lows, highs = zip(
                    *((E.center - E.half_widths, E.center + E.half_widths) for E in ellipsoids), strict=True
                )
                ends = [np.min(lows, axis=0), np.max(highs, axis=0)]
                for end, told, beyond in zip(ends, extent[:2], (ends[0] <= smallest, ends[1] >= largest), strict=True):
                    assert np.array_equal(~np.isfinite(told), beyond)
                    record = np.tile(X[:1], (len(features), 1))
                    record[np.arange(len(features)), features] = np.where(beyond, X[0, features], told)
                    back = model.views(record)[view][np.arange(len(features)), features]
                    assert back[~beyond] == pytest.approx(end[~beyond], abs=1e-9)
                    seen |= {(view, bool(b)) for b in beyond}
    assert seen == {(view, beyond) for view in (PLAIN, SCORES) for beyond in (False, True)}


def test_members_cite_regions_of_the_class_they_are_asked_for_by_the_part_with_the_largest_odds(fitted, asked):
    model = fitted.model_
    rng = np.random.default_rng(0)
    code = rng.integers(3, size=len(asked))
    rival, members = (code + rng.integers(1, 3, size=len(asked))) % 3, rng.integers(6, size=len(asked))
    views, found = model.views(asked), []
    for cited in model.citations(asked, code, rival, members):
        found.extend(cited.rows)
        member = model.members[cited.member]
        points = member.points(views, cited.rows)
        assert np.array_equal(cited.points, member.parts[cited.part].sees(points))
        assert set(members[cited.rows]) == {cited.member}
        assert set(code[cited.rows]) == {cited.code}
        odds = [
            part.prediction(points).log_probability[np.arange(len(cited.rows)), k]
            for part in member.parts
            for k in (code[cited.rows], rival[cited.rows])
        ]
        lead = np.array(odds[::2]) - np.array(odds[1::2])
        assert (lead[cited.part] == lead.max(axis=0)).all()
        part = member.parts[cited.part]
        assert set(part.densities.codes[cited.components]) == {cited.code}
        assert np.array_equal(cited.claimed, part.claimed[cited.components])
    assert sorted(found) == list(range(len(asked)))


def test_an_ensemble_knows_its_members(fitted):
    assert isinstance(fitted.model_, EnsembleModel)
    assert len(fitted.model_.members) == len(fitted.weights_) == 6


class TestVerdicts:
    def test_they_obey_their_bounds(self, fitted, asked):
        a, proba = fitted.assess(asked), fitted.predict_proba(asked)
        assert proba.sum(axis=1) == pytest.approx(1)
        assert np.array_equal(a.label, fitted.classes_[proba.argmax(axis=1)])
        assert np.array_equal(a.label, fitted.predict(asked))
        assert np.array_equal(a.trust, proba.max(axis=1))
        assert np.array_equal(a.trust, fitted.trust_score(asked))
        assert ((a.agreement >= 0) & (a.agreement <= 1 + 1e-12)).all()
        assert set(a.reason) <= {"inside", "overlap", "outside", "contested", "strange", "beyond"}
        assert (fitted.weights_ >= 0).all()

    def test_of_many_points_and_of_few_they_are_the_same(self, fitted, asked, monkeypatch):
        few, x = fitted.assess(asked), asked[0]
        kept, text = fitted.model_.evidence(asked), fitted.explain(x).text
        monkeypatch.setattr(ensemble_model, "_FEW", 0)
        many = fitted.model_.evidence(asked)
        assert (kept.of_parts is None, many.of_parts is None) == (False, True)
        assert np.array_equal(kept.predictions, many.predictions)
        assert few.to_frame().equals(fitted.assess(asked).to_frame())
        assert fitted.explain(x).text == text

    @pytest.mark.slow
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
