"""Forgetting: weights by age, and what predicts the newest records best."""

from dataclasses import replace

import numpy as np
import pytest
from coded import raises
from hypothesis import given
from hypothesis import strategies as st

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.feedback import FeedbackMonitor, Forgetting
from sepc.feedback.forgetting import NOTHING, ages, checked_forgetting, choose_forgetting


def records(n, turned, seed):
    """Two classes on either side of a line that has turned."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    side = X[:, 0] * np.cos(turned) + X[:, 1] * np.sin(turned) + 0.2 * rng.normal(size=n)
    return X, np.where(side > 0, "buys", "leaves")


@pytest.fixture(scope="module")
def drifted():
    """A classifier of the old world, and a monitor that has seen a new one."""
    clf = SEPClassifier(n_imp=0.05).fit(*records(400, 0.0, 0))
    monitor = FeedbackMonitor(clf)
    for k in range(3):
        monitor.observe(*records(100, np.pi / 2, 1 + k), labels="all")
    return clf, monitor


@given(st.integers(0, 50), st.integers(1, 80), st.integers(1, 60))
def test_weights_fall_with_age_and_the_newest_count_fully(n_training, n_observed, size):
    age = ages(n_training, n_observed)
    assert age[-1] == 0
    assert (np.diff(age) <= 0).all()
    for kind in ("window", "fading", "nothing"):
        weights = Forgetting(kind, size).weights(age)
        assert weights[-1] == 1.0
        assert (np.diff(weights) >= 0).all()
    assert Forgetting("window", size).weights(age)[n_training:].sum() == min(size, n_observed)
    if size <= n_observed:
        assert Forgetting("window", size).weights(age)[:n_training].sum() == 0
        assert Forgetting("fading", size).weights(np.array([size]))[0] == 0.5


@pytest.mark.slow
def test_after_a_drift_it_forgets_and_labels_of_today_are_right_more_often(drifted):
    clf, monitor = drifted
    X, y = records(2000, np.pi / 2, 9)
    everything, plain = monitor.repartition()
    new, changes = monitor.repartition(forget="auto")
    assert plain.forgetting == NOTHING
    assert changes.forgetting.kind in ("window", "fading")
    assert min(changes.trials, key=lambda t: t.log_loss).forgetting == changes.forgetting
    assert new.score(X, y) > everything.score(X, y) + 0.05 > clf.score(X, y)
    assert repr(changes) != repr(replace(changes, trials=()))
    assert changes.to_dict()["forgetting"]["kind"] == changes.forgetting.kind


@pytest.mark.slow
def test_without_a_drift_everything_is_kept_or_costs_little():
    clf = SEPClassifier(n_imp=0.05).fit(*records(300, 0.0, 0))
    monitor = FeedbackMonitor(clf).observe(*records(200, 0.0, 1), labels="all")
    new, changes = monitor.repartition(forget="auto")
    X, y = records(2000, 0.0, 9)
    assert new.score(X, y) > monitor.repartition()[0].score(X, y) - 0.02
    assert changes.trials[0].forgetting == NOTHING


def test_a_window_learns_from_its_records_alone(drifted):
    _, monitor = drifted
    new, changes = monitor.repartition(forget=Forgetting("window", 150))
    assert int(new.class_count_.sum()) == 150
    assert " 150 records" in repr(changes)
    X = np.vstack([records(100, np.pi / 2, 1 + k)[0] for k in range(3)])[-150:]
    y = np.concatenate([records(100, np.pi / 2, 1 + k)[1] for k in range(3)])[-150:]
    probe = records(200, np.pi / 2, 11)[0]
    assert np.allclose(new.predict_proba(probe), SEPClassifier(n_imp=0.05).fit(X, y).predict_proba(probe))


@pytest.mark.slow
def test_shares_and_costs_that_were_stated_stay():
    X, y = records(200, 0.0, 0)
    costs = {"buys": {"leaves": 1.0}, "leaves": {"buys": 20.0}, None: 0.5}
    clf = SEPClassifier(n_imp=0.05).fit(X, y).under(class_prior={"buys": 0.3}, costs=costs)
    new, _ = FeedbackMonitor(clf).observe(*records(60, 0.0, 1), labels="all").repartition()
    both = [one.model_.policy.to_dict(one.classes_) for one in (clf, new)]
    assert both[0] == both[1]


@pytest.mark.slow
def test_ensembles_forget_too():
    X, y = records(100, 0.0, 0)
    monitor = FeedbackMonitor(SEPEnsembleClassifier(n_estimators=2, random_state=0).fit(X, y))
    monitor.observe(*records(80, np.pi / 2, 1), labels="all")
    new, _ = monitor.repartition(forget=Forgetting("window", 80))
    assert int(new.class_count_.sum()) == 80


@pytest.mark.parametrize(
    ("forget", "refusal"),
    [
        ("some", raises("forget", forget="some")),
        (Forgetting("window", 0), raises("forget")),
        (Forgetting("sieve", 3), raises("forget")),
        (300, raises("forget", forget=300)),
        (Forgetting("fading", "x"), raises("forget")),
        (Forgetting("window", 2.5), raises("forget")),
        (np.zeros(2), raises("forget", forget=[0.0, 0.0])),
    ],
)
def test_bad_requests(drifted, forget, refusal):
    with refusal:
        drifted[1].repartition(forget=forget)


@pytest.mark.parametrize("forget", [None, "auto", NOTHING, Forgetting("nothing", 7)])
def test_what_forgets_nothing_is_nothing(forget):
    assert checked_forgetting(forget) == NOTHING


@pytest.mark.slow
def test_too_few_records_to_choose_by_and_labels_that_would_be_lost():
    clf = SEPClassifier().fit(*records(100, 0.0, 0))
    X, y = records(30, 0.0, 1)
    monitor = FeedbackMonitor(clf).observe(X, y)
    with raises("too-few-to-choose-forgetting", observed="30 labelled records", least=40):
        monitor.repartition(forget="auto")
    one = FeedbackMonitor(clf).observe(X[y == "buys"], y[y == "buys"])
    with raises("forgetting-loses-label", label="leaves"):
        one.repartition(forget=Forgetting("window", 5))


@pytest.mark.slow
def test_progress_is_told_after_each_fit():
    steps = []
    X, y = records(200, 0.0, 0)
    choose_forgetting(SEPClassifier(), X, y, 100, np.asarray, lambda *step: steps.append(step))
    assert steps == [(k + 1, len(steps)) for k in range(len(steps))]
    assert len(steps) == 7
