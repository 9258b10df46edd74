"""Saved classifiers: partitions and records as they were, and no record in a file without them."""

import numpy as np
import pytest
from saved_models import TRUST_METHODS, assert_same, manifest, stored, told

import sepc
from sepc import SEPClassifier, SepcWarning
from sepc.feedback import FeedbackMonitor
from sepc.feedback.watched import fingerprint


class TestTheSame:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["local", "counts", "three classes"])
    def test_what_needs_the_training_records_is_the_same(self, fitted, tmp_path, kind):
        clf, X = fitted[kind]
        found = stored(clf, tmp_path)
        assert repr(found.landscape_.to_dict()) == repr(clf.landscape_.to_dict())
        assert fingerprint(found) == fingerprint(clf)
        monitor = FeedbackMonitor.resume(clf, tmp_path / "seen").observe(X[:30], clf.predict(X[:30]))
        resumed = FeedbackMonitor.resume(found, tmp_path / "seen")
        assert repr(resumed.report().to_dict()) == repr(monitor.report().to_dict())

    def test_a_classifier_without_records_can_be_saved_again(self, fitted, tmp_path):
        clf, X = fitted["paper"]
        found = stored(stored(clf, tmp_path, training_rows=False), tmp_path)
        assert_same(told(found, X), told(clf, X))

    def test_a_model_without_any_ellipsoid_or_without_isolated_points(self, tmp_path):
        with pytest.warns(SepcWarning):
            clf = SEPClassifier().fit(np.eye(4), [0, 0, 1, 1])
        assert not clf.partitions_[0].blocks
        for rows in (True, False):
            found = stored(clf, tmp_path, training_rows=rows)
            assert found.assess(np.eye(4) + 0.1).region.tolist() == clf.assess(np.eye(4) + 0.1).region.tolist()


class TestWithoutRecords:
    @pytest.mark.parametrize("trust", TRUST_METHODS)
    def test_of_the_values_of_records_only_the_ends_of_ranges_are_in_the_file(self, moons, tmp_path, trust):
        X, y = moons
        clf = SEPClassifier(trust=trust).fit(X, y)
        sepc.save(clf, tmp_path / "model.sepc", training_rows=False)
        content = (tmp_path / "model.sepc").read_bytes()
        alone = {value for rules in clf.model_.rules for value in rules.isolated.ravel().tolist()}
        for values in (X, clf.model_.points):
            kept = alone | {*values.min(axis=0).tolist(), *values.max(axis=0).tolist()}
            assert not any(v.tobytes() in content for v in values.ravel() if v.item() not in kept)
        assert manifest(content)["content"]["isolated_points"] == sum(len(r.isolated) for r in clf.model_.rules)
