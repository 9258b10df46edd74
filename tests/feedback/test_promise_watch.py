"""The watch of a promise: it rings where it is broken, and seldom elsewhere."""

import json
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from coded import raises

from sepc import SEPClassifier, make_table_pipeline, select_min_trust
from sepc.feedback import FeedbackMonitor
from sepc.feedback.promise_watch import PromiseTest
from sepc.promises import TrustThreshold

RNG = np.random.default_rng(0)
Y = np.where(RNG.random(6000) < 0.4, "ill", "well")
X = RNG.normal(size=(6000, 2)) + np.where(Y == "ill", 2.2, 0.0)[:, None]
SITE = np.where(RNG.random(6000) < 0.5, "north", "south")
CAL = slice(300, 1100)
COSTS = {"ill": {"well": 5.0}, "well": {"ill": 1.0}}


@pytest.fixture
def clf():
    return SEPClassifier(n_imp=0.1).fit(X[:300], Y[:300])


def flipped(rows, where):
    """Return the labels of some records, those for which something holds changed in half of the cases."""
    rng = np.random.default_rng(1)
    change = where & (rng.random(len(where)) < 0.5)
    return np.where(change, np.where(Y[rows] == "ill", "well", "ill"), Y[rows])


def promise_of(parts, limit=0.05):
    one = TrustThreshold(0.5, limit, 0.95, 100, 90, 1, 0.9, 0.04, "promised")
    kept = {k: replace(one, part=str(k)) for k in range(parts)}
    return TrustThreshold.of_parts(kept, by="label", n_calibration=100 * parts, made_on="2026-03-01")


@pytest.mark.study
@pytest.mark.parametrize(
    "asked", [{}, {"by": "label"}, {"by": "region"}, {"by": "site"}, {"max_cost": 0.5, "costs": COSTS}]
)
def test_a_promise_that_is_kept_does_not_ring_and_one_that_is_broken_does(clf, asked):
    by_site = asked.get("by") == "site"
    limit = {} if "max_cost" in asked else {"max_error": 0.15}
    found = select_min_trust(clf, X[CAL], Y[CAL], **limit, **({"by": SITE[CAL]} if by_site else asked))
    clf.sign(found)
    monitor = FeedbackMonitor(clf)
    broken = deepcopy(monitor)
    for start in range(1100, 2600, 100):
        rows = slice(start, start + 100)
        groups = {"groups": SITE[rows]} if by_site else {}
        monitor.observe(X[rows], Y[rows], labels="all", **groups)
        broken.observe(X[rows], flipped(rows, np.full(100, True)), labels="all", **groups)
    assert not monitor.promise_drift.alarm
    assert monitor.promise_drift.broken == ()
    state = broken.promise_drift
    assert state.alarm
    assert state.broken
    assert str(found.made_on) in repr(state)
    assert repr(state) in repr(broken.report())
    accepted = sum(
        x is not None
        for x in clf.predict_or_abstain(X[1100:2600], found, **({"groups": SITE[1100:2600]} if by_site else {}))
    )
    assert state.n == accepted == sum(part.n for part in state.parts)
    json.dumps(broken.report().to_dict())


@pytest.mark.slow
def test_the_part_that_is_broken_is_named_and_since_when(clf):
    clf.sign(select_min_trust(clf, X[CAL], Y[CAL], max_error=0.1, by="label"))
    assert {part.status for part in clf.promise.parts.values()} == {"promised"}
    monitor = FeedbackMonitor(clf)
    for start in range(1100, 3100, 100):
        rows = slice(start, start + 100)
        bad = (clf.predict(X[rows]) == "ill") & (start >= 1900)
        monitor.observe(X[rows], flipped(rows, bad), labels="all")
    state = monitor.promise_drift
    assert (state.alarm, state.broken) == (True, ("ill",))
    before = sum(x is not None for x in clf.predict_or_abstain(X[1100:1900], clf.promise))
    assert abs(state.since - before) <= 100
    assert f" {clf.promise.made_on} " in repr(state)
    assert " ill " in repr(state)


@pytest.mark.study
def test_false_alarms_are_no_more_frequent_than_stated_with_an_audit_of_few():
    """Errors exactly at the limit; each record is looked at with a chance of its own."""
    rng, rings, runs = np.random.default_rng(0), 0, 300
    for _ in range(runs):
        test = PromiseTest(promise_of(3), 0.1, 0.05)
        for _ in range(15):
            part, wrong = rng.integers(3, size=200), rng.random(200) < 0.05
            chance = np.where(rng.random(200) < 0.3, 1.0, 0.05)
            seen = rng.random(200) < chance
            if test.add(part[seen], wrong[seen].astype(float), chance[seen]):
                rings += 1
                break
    assert rings / runs <= 0.13


def test_shares_are_those_of_all_records_where_few_are_looked_at():
    rng, test = np.random.default_rng(0), PromiseTest(promise_of(1), 0.01, 0.05)
    wrong = rng.random(20_000) < 0.02
    chance = np.where(wrong, 1.0, 0.1)  # wrong ones are looked at more often
    seen = rng.random(20_000) < chance
    test.add(np.zeros(seen.sum(), dtype=int), wrong[seen].astype(float), chance[seen])
    state = test.state()
    assert state.parts[0].loss == pytest.approx(0.02, abs=0.004)
    assert not state.alarm


def test_refused_records_and_rows_in_another_order_change_nothing():
    rng = np.random.default_rng(0)
    part, loss, chance = rng.integers(-1, 3, 100), (rng.random(100) < 0.2).astype(float), rng.uniform(0.1, 1, 100)
    order = rng.permutation(100)
    one, two, three = (PromiseTest(promise_of(3), 0.01, 0.1) for _ in range(3))
    one.add(part, loss, chance)
    two.add(part[order], loss[order], chance[order])
    some = part >= 0
    three.add(part[some], loss[some], chance[some])
    assert one.state() == two.state() == three.state()


@pytest.mark.slow
def test_nothing_is_watched_without_a_promise_or_a_word_on_labels(clf, tmp_path):
    assert FeedbackMonitor(clf).promise_drift is None
    with raises("groups-not-watched"):
        FeedbackMonitor(clf).observe(X[:2], Y[:2], groups=SITE[:2])
    nothing = TrustThreshold(np.inf, 0.001, 0.95, 10, 0, 0, 0.0, None, "No.", status="too few records")
    assert PromiseTest.of(nothing, 0.01, 0.05) is None
    clf.sign(select_min_trust(clf, X[CAL], Y[CAL], max_error=0.15))
    monitor = FeedbackMonitor.resume(clf, tmp_path / "watch").observe(X[1100:1200], Y[1100:1200])
    assert monitor.promise_drift.n == 0  # it was not said how they were chosen
    monitor.observe(X[1200:1400], Y[1200:1400], probability=0.5).observe(X[1400:1500])
    again = FeedbackMonitor.resume(clf, tmp_path / "watch")
    assert again.promise_drift == monitor.promise_drift


@pytest.mark.slow
def test_another_promise_needs_another_monitor(clf, tmp_path):
    clf.sign(select_min_trust(clf, X[CAL], Y[CAL], max_error=0.15))
    monitor = FeedbackMonitor.resume(clf, tmp_path / "watch").observe(X[1100:1200], Y[1100:1200], labels="all")
    clf.sign(select_min_trust(clf, X[CAL], Y[CAL], max_error=0.3))
    with raises("promise-changed"):
        monitor.observe(X[:3], Y[:3], labels="all")
    assert FeedbackMonitor.resume(clf, tmp_path / "watch").promise_drift.n == 0  # the labels accepted by the other one


@pytest.mark.slow
def test_an_audit_by_the_promise_and_a_table():
    table = pd.DataFrame(X, columns=["a", "b"])
    pipeline = make_table_pipeline(SEPClassifier(n_imp=0.1)).fit(table[:300], Y[:300])
    pipeline.sign(select_min_trust(pipeline, table[CAL], Y[CAL], max_error=0.15, by=SITE[CAL]))
    monitor = FeedbackMonitor(pipeline)
    new, true, site = table[1100:1700], Y[1100:1700], SITE[1100:1700]
    audit = monitor.audit(new, share=0.1, seed=1, min_trust=pipeline.promise, groups=site)
    given = pipeline.predict_or_abstain(new, pipeline.promise, groups=site)
    assert np.array_equal(audit.accepted, [label is not None for label in given])
    chosen = audit.chosen
    monitor.observe(new[chosen], true[chosen], probability=audit.probability[chosen], groups=site[chosen])
    assert monitor.promise_drift.n == len(audit.rows)
