"""How labelled records were chosen: said, or not; and what cannot be."""

import numpy as np
import pytest

from sepc import InputError
from sepc.feedback import FeedbackMonitor


class TestChances:
    def test_bad_chances_are_refused_and_leave_no_trace(self, monitor, iris):
        X, y = iris[0][1:5], iris[1][1:5]
        monitor.observe(X, y, labels="all").observe(X, y, probability=0.5)
        before = repr(monitor.report().to_dict())
        for options, message in (
            (
                {"probability": [0.5, 0.0, 1.0, 1.0]},
                "is 0 in row 1; expected a number above 0 and at most 1",
            ),
            ({"probability": [0.5, 0.5, 1.0, 1.01]}, "probability is 1.01 in row 3"),
            ({"probability": [np.nan, 0.5, 1.0, 1.0]}, "probability is nan in row 0"),
            ({"probability": -0.5}, "probability is -0.5 in row 0"),
            ({"probability": [0.5, 0.5, 1.0]}, r"probability has the shape \(3,\) for 4 records"),
            ({"probability": [[0.5] * 4]}, r"probability has the shape \(1, 4\) for 4 records"),
            ({"probability": "often"}, "probability is 'often'; expected one number for each record"),
            ({"probability": [1.0, 0.009, 1.0, 1.0]}, "is 0.009 in row 1; expected at least least_probability = 0.01"),
            ({"probability": 0.5, "labels": "all"}, "labels='all' and probability both came; expected one of them"),
            ({"labels": "some"}, "labels is 'some'; expected 'all' if every record gets a label"),
            ({"labels": y}, "The labels themselves are y_true"),
            ({"labels": "all", "y_true": None}, "labels='all' came without y_true"),
            ({"probability": 0.5, "y_true": None}, "probability came without y_true"),
        ):
            with pytest.raises(InputError, match=message):
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
        with pytest.raises(InputError, match=r"least_probability is .*; expected a number above 0 and at most 1"):
            FeedbackMonitor(clf, least_probability=least)
