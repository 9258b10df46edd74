"""Expected accuracy from the trust: intervals that hold, months, columns that changed, labels that come later."""

from datetime import date
from itertools import product

import numpy as np
import pandas as pd
import pytest
from coded import raises
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from sepc.feedback import FeedbackMonitor
from sepc.feedback.expected_accuracy import ExpectedAccuracy, accuracy_interval, in_short, months_of


class TestInterval:
    @examples(60)
    @given(st.lists(st.floats(0.3, 1.0), min_size=1, max_size=9))
    def test_it_leaves_no_more_than_a_fortieth_on_either_side(self, trust):
        """By all outcomes of the records, one after the other; and one step narrower leaves more."""
        n, chances = len(trust), np.zeros(len(trust) + 1)
        for right in product([True, False], repeat=n):
            chances[sum(right)] += np.prod([t if one else 1.0 - t for t, one in zip(trust, right, strict=True)])
        low, high = accuracy_interval(np.array(trust))
        shares = np.arange(n + 1) / n
        assert chances[shares < low - 1e-9].sum() <= 0.025 + 1e-9
        assert chances[shares > high + 1e-9].sum() <= 0.025 + 1e-9
        assert chances[shares <= low + 1e-9].sum() > 0.025 - 1e-9
        assert chances[shares >= high - 1e-9].sum() > 0.025 - 1e-9

    @pytest.mark.parametrize("n", [200, 5000])
    def test_it_holds_as_often_as_stated(self, n):
        rng, held = np.random.default_rng(0), []
        for _ in range(400):
            trust = rng.beta(8.0, 1.0, n)
            low, high = accuracy_interval(trust)
            held.append(low - 1e-12 <= np.mean(rng.random(n) < trust) <= high + 1e-12)
        assert 0.92 < np.mean(held) <= 1.0

    def test_certain_labels_leave_nothing_open(self):
        assert accuracy_interval(np.ones(7)) == (1.0, 1.0)


class TestParts:
    @pytest.fixture
    def watched(self):
        found = ExpectedAccuracy()
        trust, months = np.array([0.9, 0.8, 0.7, 0.6]), ["2026-03", "2026-03", "2026-04", ""]
        found.add(np.arange(4.0)[:, None], months, trust, None, seen=False)
        found.add(np.array([[9.0], [2.0]]), ["2026-05"] * 2, np.array([1.0, 0.5]), np.array([True, False]), seen=False)
        return found

    def test_by_month_and_before_and_since_a_change(self, watched):
        found = {record.part: record for record in watched.records([("age", 4)])}
        assert list(found) == [
            "all",
            "2026-03",
            "2026-04",
            "2026-05",
            "no date",
            "column age, before",
            "column age, since record 4",
        ]
        assert [record.n for record in found.values()] == [6, 2, 1, 2, 1, 4, 2]
        assert found["2026-03"].expected == pytest.approx(0.85)
        assert found["2026-03"].observed is None
        since = found["column age, since record 4"]
        assert (since.n_labelled, since.expected_labelled, since.observed) == (2, 0.75, 0.5)
        assert in_short(since)["right"].startswith("50 % (")

    def test_labels_that_come_later_go_to_the_records_as_they_were_seen(self, watched):
        rows = np.array([[2.0], [0.0], [77.0]])
        watched.add(rows, ["2026-09"] * 3, np.full(3, 0.1), np.array([True, False, True]), seen=True)
        found = {record.part: record for record in watched.records([])}
        assert found["all"].n == 6
        assert (found["2026-04"].observed, found["2026-03"].observed) == (1.0, 0.0)
        assert found["2026-05"].n_labelled == 2
        assert "2026-09" not in found

    def test_a_column_that_had_changed_from_the_start_says_nothing_more_than_all(self, watched):
        assert not any(record.part.startswith("column") for record in watched.records([("age", 0)]))

    def test_one_month_says_nothing_more_than_all(self):
        found = ExpectedAccuracy()
        found.add(np.zeros((2, 1)), ["2026-03"] * 2, np.array([0.9, 0.8]), None, seen=False)
        assert [record.part for record in found.records([])] == ["all"]


class TestDates:
    @pytest.mark.parametrize(
        "dates",
        [
            ["2026-03-31", "2026-04-01"],
            [date(2026, 3, 31), date(2026, 4, 1)],
            pd.to_datetime(pd.Series(["2026-03-31 23:59", "2026-04-01 00:00"])),
        ],
        ids=["texts", "dates", "column"],
    )
    def test_months_of_dates_of_many_kinds(self, dates):
        assert months_of(dates, 2) == ["2026-03", "2026-04"]

    def test_missing_and_wrong_ones(self):
        assert months_of([None, "2026-04-01"], 2) == ["", "2026-04"]
        assert months_of(None, 3) is None
        with raises("dates-not-dates"):
            months_of(["soon"], 1)
        with raises("dates-shape", shape=(1,), n_records=2):
            months_of(["2026-03-01"], 2)


def test_a_monitor_that_resumes_says_the_same(clf, iris, tmp_path):
    X, y = iris
    known = {"reference": X[1::4]}
    one = FeedbackMonitor.resume(clf, tmp_path / "watch.log", **known)
    days = pd.date_range("2026-01-15", periods=37, freq="3D")
    one.observe(X[3::4], dates=days).observe(X[3::8], y[3::8], seen=True)
    found = one.report().expected_accuracy
    assert found[0].n == 37
    assert sum(record.n for record in found if record.part.startswith("2026")) == 37
    assert found[0].expected == pytest.approx(clf.assess(X[3::4]).trust.mean())
    assert found[0].observed == pytest.approx(np.mean(clf.predict(X[3::8]) == y[3::8]))
    assert FeedbackMonitor.resume(clf, tmp_path / "watch.log", **known).report().expected_accuracy == found
    assert one.expected_accuracy()["part"].tolist() == [record.part for record in found]
