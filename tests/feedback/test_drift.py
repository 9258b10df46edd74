"""Sequential test of a rate: limits, intervals, fair bets and rare false alarms."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from strategies import examples

from sepc import SEPClassifier
from sepc.common.intervals import exact_interval, upper_limit
from sepc.common.text import percent
from sepc.feedback import FeedbackMonitor
from sepc.feedback.drift import SequentialRateTest


def gaussians(n, rng, d=2):
    y = rng.integers(2, size=n)
    X = rng.standard_normal((n, d))
    X[:, 0] += 3.0 * y
    return X, y


class TestDrift:
    def test_the_limit_is_exceeded_as_often_as_stated(self):
        for n, p, risk in ((20, 0.3, 0.05), (100, 0.02, 0.01), (50, 0.9, 0.1)):
            hits = np.arange(n + 1)
            fails = np.array([upper_limit(k, n, risk) < p for k in hits.tolist()])
            assert binom.pmf(hits, n, p)[fails].sum() <= risk

    @examples(50)
    @given(st.integers(0, 60), st.integers(0, 60))
    def test_the_interval_holds_the_share_and_mirrors(self, hits, misses):
        low, high = exact_interval(hits, hits + misses)
        assert 0.0 <= low <= high <= 1.0
        assert hits + misses == 0 or low <= hits / (hits + misses) <= high
        assert exact_interval(misses, hits + misses) == pytest.approx((1 - high, 1 - low))

    @pytest.mark.slow
    def test_bets_are_fair(self):
        """At the limit the expected winnings are the stake, whatever the batches."""
        held_out = np.array([[3, 40], [5, 40]])
        sizes, limits = (3, 1, 4), SequentialRateTest("odd", held_out, 0.05).limits

        def expected_winnings(rates):
            mean = 0.0
            for outcome in np.ndindex(*(n + 1 for n in sizes for _ in limits)):
                test, probability = SequentialRateTest("odd", held_out, 0.05), 1.0
                for i, n in enumerate(sizes):
                    hits = list(outcome[2 * i : 2 * i + 2])
                    test.add(n, hits)
                    probability *= binom.pmf(hits, n, rates).prod()
                mean += probability * np.exp(test.bets.log_evidence[-1])
            return mean

        assert expected_winnings(limits) == pytest.approx(1.0)
        assert expected_winnings(0.7 * limits) < 1.0
        assert expected_winnings(1.4 * limits) > 1.0

    @pytest.mark.study
    def test_false_alarms_are_as_rare_as_stated(self):
        """Many lives of a monitor, training set and stream drawn anew each time."""
        rate, runs = 0.2, 15
        alarms = {"drift": 0, "errors": 0}
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            monitor = FeedbackMonitor(SEPClassifier().fit(*gaussians(60, rng)), false_alarm_rate=rate)
            for _ in range(5):
                monitor.observe(*gaussians(100, rng), labels="all")
            alarms["drift"] += monitor.drift.alarm
            alarms["errors"] += monitor.error_drift.alarm
        assert max(alarms.values()) <= binom.isf(0.001, runs, rate)

    @pytest.mark.slow
    def test_a_shift_rings_soon_and_only_once(self):
        rng = np.random.default_rng(0)
        monitor = FeedbackMonitor(SEPClassifier().fit(*gaussians(200, rng)))
        for _ in range(10):
            monitor.observe(gaussians(50, rng)[0])
        assert not monitor.drift.alarm
        for _ in range(10):
            monitor.observe(gaussians(50, rng)[0] + 3.0)
        first = monitor.drift
        assert first.alarm
        assert 500 < first.when <= 600
        for _ in range(40):
            monitor.observe(gaussians(50, rng)[0])
        assert (monitor.drift.alarm, monitor.drift.when) == (True, first.when)
        assert len(monitor.history()) == 60

    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    def test_tiny_training_sets_have_no_say(self):
        clf = SEPClassifier().fit([[0.0, 1.0], [4.0, 5.0]], ["a", "b"])
        monitor = FeedbackMonitor(clf).observe([[99.0, 99.0]] * 50)
        assert not monitor.drift.alarm
        assert monitor.drift.limit == 1.0
        json.dumps(monitor.report().to_dict(), allow_nan=False)


class TestWhyThereIsNoAlarm:
    @pytest.mark.parametrize(("held_out", "batch"), [([[5, 100]], (20, [8])), ([[5, 100], [6, 100]], (30, [9, 10]))])
    def test_so_many_more_records_raise_it(self, held_out, batch):
        def after(n_more):
            test = SequentialRateTest("odd", np.array(held_out), 0.01)
            test.add(*batch)
            test.add(n_more, [n_more * hits / batch[0] for hits in batch[1]])
            return test.state().alarm

        test = SequentialRateTest("odd", np.array(held_out), 0.01)
        test.add(*batch)
        needed = test.state().n_needed
        assert needed is not None
        assert after(needed)
        assert not after(needed - 1)
        assert test.state().why_not == "few-records"
        assert f" {needed} " in repr(test.state())
        assert f" {test.state().threshold:g} " in repr(test.state())

    def test_a_share_below_the_limit_never_raises_it(self):
        test = SequentialRateTest("wrong", np.array([[3, 20], [3, 20], [3, 20]]), 0.01)
        test.add(50, [20, 20, 20])
        state = test.state()
        assert state.interval[1] < state.share < state.limit
        assert state.n_needed is None
        assert state.why_not == "below-limit"
        assert percent(state.limit) in repr(state)
        assert "60 held-out records" in repr(state)
        assert " 3 models" in repr(state)

    def test_nothing_is_to_explain_without_a_rise(self):
        test = SequentialRateTest("odd", np.array([[5, 100]]), 0.01)
        test.add(100, [8])
        assert test.state().expected < test.state().share < test.state().interval[1]
        assert test.state().why_not is None
        assert SequentialRateTest("odd", np.array([[5, 100]]), 0.01).state().why_not is None
