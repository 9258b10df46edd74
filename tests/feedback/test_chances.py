"""How labelled records were chosen: said, or not; and what cannot be."""

import numpy as np
import pytest
from coded import raises

from sepc.feedback import FeedbackMonitor


class TestChances:
    def test_bad_chances_are_refused_and_leave_no_trace(self, monitor, iris):
        X, y = iris[0][1:5], iris[1][1:5]
        monitor.observe(X, y, labels="all").observe(X, y, probability=0.5)
        before = repr(monitor.report().to_dict())
        for options, refusal in (
            (
                {"probability": [0.5, 0.0, 1.0, 1.0]},
                raises("probability-value", chance=0.0, row=1),
            ),
            ({"probability": [0.5, 0.5, 1.0, 1.01]}, raises("probability-value", chance=1.01, row=3)),
            ({"probability": [np.nan, 0.5, 1.0, 1.0]}, raises("probability-value", row=0)),
            ({"probability": -0.5}, raises("probability-value", chance=-0.5, row=0)),
            ({"probability": [0.5, 0.5, 1.0]}, raises("probability-shape", shape=(3,), n_records=4)),
            ({"probability": [[0.5] * 4]}, raises("probability-shape", shape=(1, 4), n_records=4)),
            ({"probability": "often"}, raises("probability-not-numbers", probability="'often'")),
            (
                {"probability": [1.0, 0.009, 1.0, 1.0]},
                raises("probability-below-least", chance=0.009, row=1, least_probability=0.01),
            ),
            ({"probability": 0.5, "labels": "all"}, raises("labels-and-probability")),
            ({"labels": "some"}, raises("labels-not-all", labels="'some'")),
            ({"labels": y}, raises("labels-not-all")),
            ({"labels": "all", "y_true": None}, raises("without-y-true", argument="labels='all'")),
            ({"probability": 0.5, "y_true": None}, raises("without-y-true", argument="probability")),
        ):
            with refusal:
                monitor.observe(X, **{"y_true": y, **options})
        assert repr(monitor.report().to_dict()) == before

    def test_records_of_which_nothing_was_said_take_no_part(self, monitor, iris):
        X, y = iris[0][3::4], iris[1][3::4]
        other = np.roll(y, 12)
        monitor.observe(X, other)
        state = monitor.error_drift
        assert (state.n, state.n_unstated, state.alarm) == (0, len(X), False)
        assert monitor.report().n_labelled == len(X)
        assert f"{len(X)} labelled records" in repr(state)
        assert "labels='all'" in repr(state)
        monitor.observe(X, other, labels="all")
        assert monitor.error_drift.n == len(X)
        assert monitor.error_drift.n_unstated == len(X)
        assert monitor.error_drift.alarm

    def test_a_chance_of_one_for_all_is_weaker_than_all_since_others_could_have_come(self, clf, iris):
        def evidence(**chosen):
            monitor = FeedbackMonitor(clf, reference=iris[0][1::4], reference_labels=iris[1][1::4], **least)
            return monitor.observe(iris[0][3::4], np.roll(iris[1][3::4], 12), **chosen).error_drift.evidence

        least = {"least_probability": 1.0}
        assert evidence(probability=1.0) == pytest.approx(evidence(labels="all"))
        least = {"least_probability": 0.1}
        assert 1.0 < evidence(probability=1.0) < evidence(labels="all")

    def test_the_share_counts_records_by_their_chances(self, monitor, iris):
        X, y = iris[0][3:23], iris[1][3:23]
        y = np.where(np.arange(20) < 10, "virginica", y)
        monitor.observe(X, y, probability=np.where(np.arange(20) < 10, 1.0, 0.1))
        assert monitor.error_drift.share == pytest.approx(10.0 / 110.0)

    @pytest.mark.parametrize("least", [0.0, 1.5, "few", None])
    def test_the_least_chance_is_checked(self, clf, least):
        with raises("least-probability", least_probability=least):
            FeedbackMonitor(clf, least_probability=least)
