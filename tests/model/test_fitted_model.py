"""The interface of fitted models: what one partition and an ensemble of many have in common."""

import numpy as np
import pytest
from fitted_classifiers import overlapping
from sklearn.base import clone

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.common.frames import FrameMaker
from sepc.geometry.chunks import Extents
from sepc.model.decision import TRUST_METHODS
from sepc.model.fitted_model import FittedModel, Outline
from sepc.model.reach import Reach

KINDS = {
    **{trust: SEPClassifier(trust=trust) for trust in TRUST_METHODS},
    "in original units": SEPClassifier(standardize=False),
    "ensemble": SEPEnsembleClassifier(n_estimators=2),
}


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-11)


class TestOutline:
    def test_it_has_the_values_of_constant_features_and_the_means_of_classes_of_three_and_more(self):
        classes = [np.array([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]]), np.array([[9.0, 5.0], [3.0, 5.0]])]
        outline = Outline.of(Extents.of(classes), Reach.of(np.concatenate(classes)))
        np.testing.assert_array_equal(outline.constant, [np.nan, 5.0])
        np.testing.assert_array_equal(outline.middles, [[3.0, 5.0], [np.nan, np.nan]])


@pytest.fixture(scope="module", params=KINDS)
def clf(request):
    X, y, _ = overlapping(3)
    return clone(KINDS[request.param]).fit(X, y)


class TestInterface:
    """Models of classifiers that are fitted to three overlapping classes."""

    X, y, Z = overlapping(3)

    def test_every_member_is_there(self, clf):
        model, d = clf.model_, self.X.shape[1]
        assert all(hasattr(model, name) for name in vars(FittedModel) if not name.startswith("_"))
        assert model.classes.tolist() == ["a", "b", "c"]
        assert model.class_count.tolist() == [40, 40, 40]
        assert len(model.features) == d
        assert model.scales.mean.shape == model.scales.scale.shape == (d,)
        assert model.outline.middles.shape == (3, d)
        assert model.trust == getattr(clf, "trust", "ensemble")

    def test_points_come_back_in_the_units_that_they_came_in(self, clf):
        model = clf.model_
        close(model.original(model.units(self.Z)), self.Z)
        close(model.units(self.Z), (self.Z - model.scales.mean) / model.scales.scale)

    def test_records_are_the_training_set_in_these_units(self, clf):
        points, codes, rows, _ = clf.model_.records
        assert sorted(rows.tolist()) == list(range(len(self.X)))
        close(clf.model_.original(points), self.X[rows])
        assert np.array_equal(clf.classes_[codes], self.y[rows])
        assert clf.model_.records.recorded(points[::7]).all()
        assert not clf.model_.records.recorded(clf.model_.units(self.Z)).any()

    def test_the_outline_is_that_of_the_records(self, clf):
        points, codes, _, _ = clf.model_.records
        extents = Extents.of([points[codes == k] for k in range(3)])
        found, expected = clf.model_.outline, Outline.of(extents, Reach.of(clf.model_.original(points)))
        np.testing.assert_array_equal(found.constant, expected.constant)
        close(found.middles, expected.middles)
        close(found.reach.low, expected.reach.low)
        close(found.reach.high, expected.reach.high)
        if clf.model_.trust in ("paper", "counts", "bound"):
            assert np.isnan(found.reach.highest).all()
        else:
            close(found.reach.lowest, expected.reach.lowest)
            close(found.reach.highest, expected.reach.highest)

    def test_decisions_are_the_predictions(self, clf):
        d = clf.model_.decide(self.Z)
        assert np.array_equal(clf.classes_[d.label], clf.predict(self.Z))
        assert np.array_equal(d.trust, clf.trust_score(self.Z))
        assert np.array_equal(d.proba, clf.predict_proba(self.Z))

    def test_assessments_tell_the_decisions(self, clf):
        d, a = clf.model_.decide(self.Z), clf.model_.assess(self.Z, FrameMaker.like(self.Z))
        assert np.array_equal(a.label, clf.classes_[d.label])
        assert np.array_equal(a.trust, d.trust)

    def test_scores_tell_what_is_at_least_so_typical(self, clf):
        model = clf.model_
        decision, scores = model.decide_with_scores(self.Z)
        assert np.array_equal(decision.proba, model.decide(self.Z).proba)
        typicality = clf.assess(self.Z).typicality
        assert (model.typicality_by is None) == (scores is None) == bool(np.isnan(typicality).all())
        if scores is not None:
            for least in (0.01, 0.1, 0.5):
                assert np.array_equal(scores >= model.typicality_by.least_score(least), typicality >= least)

    def test_without_training_records_decisions_are_the_same(self, clf):
        model = clf.model_.for_decisions()
        assert model.records is None
        assert clf.model_.records is not None
        for one, two in zip(model.decide(self.Z)[:3], clf.model_.decide(self.Z)[:3], strict=True):
            assert np.array_equal(one, two)

    def test_without_what_assessments_do_not_need_they_are_the_same(self, clf):
        frames = FrameMaker.like(self.Z)
        one, two = (model.assess(self.Z, frames) for model in (clf.model_.for_assessments(), clf.model_))
        assert one.to_frame().equals(two.to_frame())
