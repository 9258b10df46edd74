"""Test of errors as a whole and in parts: fair bets, rare false alarms, named parts, and since when."""

from copy import deepcopy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from sepc import SEPClassifier
from sepc.feedback import FeedbackMonitor
from sepc.feedback.drift import SequentialRateTest
from sepc.feedback.error_watch import ErrorParts, ErrorTest
from sepc.feedback.held_out_models import ModelView


def ring(n, rng, swapped=None, moved=0.0):
    """Return records around ten places on a ring, with labels that take turns; one place may get the other label."""
    place = rng.integers(10, size=n)
    angle = 2.0 * np.pi * place / 10.0
    X = 6.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.8 * rng.standard_normal((n, 2))
    X[place == swapped, 0] += moved
    return X, np.where((place % 2 == 1) ^ (place == swapped), "odd", "even"), place


@pytest.fixture(scope="module")
def clf():
    return SEPClassifier().fit(*ring(1800, np.random.default_rng(0))[:2])


@pytest.fixture(scope="module")
def fresh(clf):
    """A monitor that has seen nothing: tests watch by copies of it."""
    return FeedbackMonitor(clf)


def overlapping(n, rng):
    """Return records of two labels of which one in fifteen cannot be told."""
    y = rng.integers(2, size=n)
    X = rng.standard_normal((n, 2))
    X[:, 0] += 3.0 * y
    return X, y


@cache
def watched(seed, rate):
    X, y = overlapping(600, np.random.default_rng(seed))
    return FeedbackMonitor(SEPClassifier().fit(X, y), false_alarm_rate=rate, least_probability=0.05)


class TestFairness:
    def test_all_processes_together_are_fair(self):
        """At the limits of all processes, records of two kinds with chances of their own: the mean wealth is 1."""
        view = ModelView(40, 0, np.repeat([0, 1], 20))
        parts = ErrorParts.of_held_out(["a", "b"], [view], None)
        held_out = np.array([[6, 40], [2, 20], [4, 20]])
        chance = np.array([0.5, 0.2])

        def mean_wealth(factor, n_batches=2):
            test = ErrorTest(parts, held_out, 0.05, 0.2)
            # Both labels at their own limits; the overall rate is then below its own, or at it.
            rates = factor * test.limits[1:]
            outcomes = [(label, what) for label in (0, 1) for what in ("none", "right", "wrong")]
            mean = 0.0
            for batch in np.ndindex(*([len(outcomes)] * n_batches)):
                test, probability = ErrorTest(parts, held_out, 0.05, 0.2), 1.0
                for label, what in (outcomes[i] for i in batch):
                    labelled = chance[label] * (rates[label] if what == "wrong" else 1.0 - rates[label])
                    probability *= 0.5 * (1.0 - chance[label] if what == "none" else labelled)
                    if what != "none":
                        codes = np.array([label])
                        true = codes if what == "right" else 1 - codes
                        test.add([ModelView(1, 0, codes)], true, chance[codes])
                mean += probability * np.exp(test.bets.log_evidence[-1] if test.bets.log_evidence else 0.0)
            return mean

        limits = ErrorTest(parts, held_out, 0.05, 0.2).limits
        assert limits[1:].mean() > limits[0]  # so all three hold only below their limits
        assert mean_wealth(limits[0] / limits[1:].mean()) <= 1.0 + 1e-12
        assert mean_wealth(min(2.0, 0.99 / limits[1:].max())) > 1.0

    @pytest.mark.study
    @pytest.mark.parametrize(("chosen", "rings"), [(True, False), (False, True)])
    def test_where_the_rate_is_known_well_the_bets_alone_keep_theirs(self, chosen, rings):
        """Hard records are always labelled, easy ones seldom; held-out records are so many that limits are rates."""
        parts = ErrorParts.of_held_out(["a", "b"], [ModelView(2, 0, np.array([0, 1]))], None)
        rates, often, chances, n = np.array([0.3, 0.01]), np.array([0.2, 0.8]), np.array([1.0, 0.05]), 10**7
        counts = [[rates @ often, 1.0], [rates[0] * often[0], often[0]], [rates[1] * often[1], often[1]]]
        held_out = (n * np.array(counts)).astype(np.int64)
        rate, runs, alarms, rng = 0.2, 200, 0, np.random.default_rng(0)
        for _ in range(runs):
            # The label given tells the kind. Labels passed as if they were all are counted over all alone.
            test = ErrorTest(parts if chosen else ErrorParts.overall(1), held_out[: 3 if chosen else 1], rate, 0.05)
            for _ in range(15):
                kind = (rng.random(100) < often[1]).astype(np.int64)
                labelled = rng.random(100) < chances[kind]
                wrong = rng.random(100) < rates[kind]
                kind, wrong = kind[labelled], wrong[labelled]
                view = ModelView(len(kind), 0, kind)
                test.add([view], np.where(wrong, 1 - kind, kind), chances[kind] if chosen else None)
            alarms += test.when is not None
        # Half of the rate is that of the bets; it is not thrown away.
        assert bool(alarms > binom.isf(0.001, runs, rate / 2.0)) is rings
        assert alarms > 0

    def test_over_all_alone_it_is_the_test_of_counts(self):
        held_out = np.array([[3, 40], [5, 40]])
        one, two = SequentialRateTest("wrong", held_out, 0.05), ErrorTest(ErrorParts.overall(2), held_out, 0.05, 0.01)
        for n, hits in ((10, [2, 1]), (7, [0, 3]), (20, [19, 15])):
            one.add(n, hits)
            views = [ModelView(n, 0, (np.arange(n) < k).astype(np.int64)) for k in hits]
            two.add(views, np.zeros(n, dtype=np.int64), None)
        assert two.bets.log_evidence == pytest.approx(one.bets.log_evidence, rel=1e-12)
        same, found = one.state(), two.state()
        assert found.parts[0][:2] == ("overall", "overall")
        assert found.evidence == pytest.approx(same.evidence, rel=1e-9)
        assert replace(found, parts=(), evidence=same.evidence) == same

    @pytest.mark.study
    @pytest.mark.parametrize("policy", ["audit", "by trust", "refused alone, as if they were all"])
    def test_labels_of_refused_records_with_an_audit_ring_as_rarely_as_stated(self, policy):
        rate, runs, alarms = 0.2, 10, 0
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            monitor = deepcopy(watched(seed, rate))
            overlapping(600, rng)  # its training records
            for week in range(8):
                X, y = overlapping(200, rng)
                audit = monitor.audit(X, share=0.1, seed=week, by_trust=policy == "by trust")
                if policy.startswith("refused"):
                    monitor.observe(X[~audit.accepted], y[~audit.accepted], labels="all")
                else:
                    picked = audit.chosen
                    monitor.observe(X[picked], y[picked], probability=audit.probability[picked])
            alarms += monitor.error_drift.alarm
        most = binom.isf(0.001, runs, rate)
        assert alarms > most if policy.startswith("refused") else alarms <= most


class TestParts:
    @pytest.mark.slow
    def test_the_region_that_drifts_is_named_with_when_it_began(self, clf, fresh):
        rng = np.random.default_rng(1)
        monitor, batch = deepcopy(fresh), 0
        while not monitor.error_drift.alarm and batch < 100:
            X, y, _ = ring(40, rng, swapped=3 if batch >= 20 else None)
            monitor.observe(X, y, labels="all")
            batch += 1
        state = monitor.error_drift
        assert state.alarm
        assert 800 < state.when <= 1600
        first = state.parts[0]
        assert first.kind == "region"
        assert abs(first.since - 800) <= 80
        X, _, place = ring(500, rng)
        here = clf.model_.densities.claims_within(clf.model_.units(X), clf.assess(X).label == "odd")
        names = np.array(clf.model_.region_names())[here]
        assert np.mean(place[names == first.name] == 3) > 0.8
        assert f" {first.name}, " in repr(state)
        assert f" {first.since}" in repr(state)
        assert first.features == ()

    @pytest.mark.slow
    def test_what_has_rung_stays_as_it_was_told(self, fresh):
        rng = np.random.default_rng(2)
        monitor = deepcopy(fresh)
        for _ in range(10):
            monitor.observe(*ring(60, rng, swapped=3)[:2], labels="all")
        before = monitor.error_drift
        assert before.alarm
        for _ in range(10):
            monitor.observe(*ring(60, rng, swapped=8)[:2], labels="all")
        after = monitor.error_drift
        assert (after.when, after.parts) == (before.when, before.parts)

    @pytest.mark.slow
    def test_a_rise_everywhere_is_overall(self, fresh):
        rng = np.random.default_rng(3)
        monitor = deepcopy(fresh)
        for _ in range(10):
            X, y, _ = ring(60, rng)
            monitor.observe(X, np.where(rng.random(60) < 0.25, "odd", y), labels="all")
        # Half of the false labels are right ones: errors are in those that were called even.
        assert monitor.error_drift.parts[0][:2] == ("label", "even")
        monitor = deepcopy(fresh)
        for _ in range(10):
            X, y, _ = ring(60, rng)
            other = np.where(y == "odd", "even", "odd")
            monitor.observe(X, np.where(rng.random(60) < 0.2, other, y), labels="all")
        assert [part.kind for part in monitor.error_drift.parts] == ["overall"]

    @pytest.mark.slow
    def test_the_order_of_rows_does_not_matter(self, fresh):
        rng = np.random.default_rng(4)
        one, two = deepcopy(fresh), deepcopy(fresh)
        for _ in range(6):
            X, y, _ = ring(80, rng, swapped=3, moved=1.0)
            order = rng.permutation(80)
            chance = np.where(rng.random(80) < 0.5, 1.0, rng.uniform(0.05, 1.0, 80))
            one.observe(X, y, probability=chance)
            two.observe(X[order], y[order], probability=chance[order])
        assert one.error_drift == two.error_drift
        assert one.error_drift.evidence > 1.0


@pytest.fixture
def views():
    """Return what two models say of 60 records: regions of 30, 25 and 5 records, of 45 and 15."""
    one = np.repeat([0, 1, 2], [30, 25, 5])
    two = np.repeat([0, 1], [45, 15])
    return [
        ModelView(60, 0, np.array([0, 1, 1])[one], one, np.array([0, 1, 1])),
        ModelView(60, 0, two, two, np.array([0, 1])),
    ]


class TestErrorParts:
    def test_regions_that_few_held_out_records_are_expected_in_are_one_part_by_label(self, views):
        regions = [np.repeat(["a#1", "a#2", "b#1"], [20, 10, 30])] * 2
        expected = [np.array([31.0, 22.0, 7.0]), np.array([44.0, 16.0])]
        parts = ErrorParts.of_held_out(["a", "b"], views, regions, expected)
        assert [tuple(p) for p in parts.processes] == [
            ("overall", 0, "overall"),
            ("overall", 1, "overall"),
            ("label", 0, "a"),
            ("label", 0, "b"),
            ("label", 1, "a"),
            ("label", 1, "b"),
            ("region", 0, "a#1"),
            ("region", 0, "b#1"),
            ("other regions", 0, "b"),
            ("region", 1, "a#1"),
            ("other regions", 1, "b"),
        ]
        assert parts.of_region.tolist() == [[6, 7, 8], [9, 10, -1]]
        stakes = parts.stakes()
        assert stakes[:2].tolist() == [0.25] * 2
        assert stakes[2:6].tolist() == [0.0625] * 4
        assert stakes[6:] == pytest.approx(np.full(5, 0.05))
        counts = parts.counts(views, [np.zeros(60, dtype=np.int64)] * 2)
        assert counts[:, 1].tolist() == [60, 60, 30, 30, 45, 15, 30, 25, 5, 45, 15]
        assert counts[:, 0].tolist() == [30, 15, 0, 30, 0, 15, 0, 25, 5, 0, 15]

    def test_without_regions_labels_have_half_of_the_stake(self, views):
        parts = ErrorParts.of_held_out(["a", "b"], views, None)
        assert parts.stakes().tolist() == [0.25] * 2 + [0.125] * 4
        assert parts.of_region.shape == (2, 0)

    def test_each_kind_of_part_holds_each_verdict_once(self, iris):
        monitor = FeedbackMonitor(SEPClassifier().fit(iris[0][::2], iris[1][::2]))
        test = monitor._error_test
        kinds = np.array([p.kind.replace("other regions", "region") for p in test.parts.processes])
        for kind in ("overall", "label", "region"):
            assert test.held_out[kinds == kind, 1].sum() == 75
        before = test.held_out[kinds == "overall", 0].sum()
        assert all(test.held_out[kinds == kind, 0].sum() == before for kind in ("label", "region"))

    def test_readings_without_densities_have_labels_alone(self, iris):
        clf = SEPClassifier(trust="paper").fit(iris[0][::2], iris[1][::2])
        kinds = {p.kind for p in FeedbackMonitor(clf)._error_test.parts.processes}
        assert kinds == {"overall", "label"}
