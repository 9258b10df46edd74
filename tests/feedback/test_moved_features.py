"""Features that have moved: those that did, weighed by chances, and none by chance."""

import re

import numpy as np
import pytest

from sepc import SEPClassifier
from sepc.feedback import FeedbackMonitor
from sepc.feedback.drift import DriftPart
from sepc.feedback.moved_features import moved_features


def two_groups(n, rng):
    y = rng.integers(2, size=n)
    X = rng.standard_normal((n, 3))
    X[:, 0] += 5.0 * y
    return X, y


@pytest.fixture(scope="module")
def clf():
    return SEPClassifier().fit(*two_groups(400, np.random.default_rng(4)))


class TestMovedFeatures:
    def test_it_is_the_one_that_moved_and_by_how_much(self, clf):
        X, y = two_groups(300, np.random.default_rng(1))
        X[y == 1, 2] -= 1.5
        (found,) = moved_features(clf, DriftPart("label", "1", 0), X, np.ones(300))
        assert found.feature == "x2"
        assert found.shift == pytest.approx(-1.5, abs=0.2)
        assert moved_features(clf, DriftPart("label", "0", 0), X, np.ones(300)) == ()
        assert moved_features(clf, DriftPart("overall", "overall", 0), X, np.ones(300))[0].feature == "x2"

    def test_chances_undo_the_choice(self, clf):
        rng = np.random.default_rng(2)
        X, _ = two_groups(4000, rng)
        chance = np.where(X[:, 1] > 0.5, 1.0, 0.2)
        chosen = rng.random(4000) < chance
        part = DriftPart("overall", "overall", 0)
        assert moved_features(clf, part, X[chosen], 1.0 / chance[chosen]) == ()
        assert moved_features(clf, part, X[chosen], np.ones(chosen.sum()))[0].feature == "x1"

    def test_few_records_and_gaps_say_nothing(self, clf):
        part = DriftPart("overall", "overall", 0)
        assert moved_features(clf, part, np.full((4, 3), 9.0), np.ones(4)) == ()
        assert moved_features(clf, part, np.empty((0, 3)), np.ones(0)) == ()
        X = np.column_stack([np.full(50, np.nan), np.zeros(50), np.full(50, 3.0)])
        assert [f.feature for f in moved_features(clf, part, X, np.ones(50))] == ["x2"]

    @pytest.mark.slow
    def test_an_alarm_names_the_feature(self, clf):
        rng = np.random.default_rng(3)
        monitor = FeedbackMonitor(clf)
        for batch in range(20):
            X, y = two_groups(50, rng)
            if batch >= 10:
                X[y == 1] += [-4.0, 2.0, 0.0]
            monitor.observe(X, y, labels="all")
        state = monitor.error_drift
        assert state.alarm
        assert "x1" in [feature.feature for feature in state.parts[0].features]
        assert state.parts[0].since == 500
        assert re.search(r"\bx1\b", repr(monitor.report()))
        assert state.to_dict()["parts"][0]["features"][0]["feature"] in ("x0", "x1")
