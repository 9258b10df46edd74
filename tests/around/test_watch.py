"""A monitor around another model: drift and errors are noticed, and a fresh partition leaves the model alone."""

import numpy as np
import pytest
from coded import raises
from sklearn.naive_bayes import GaussianNB

from sepc import SEPClassifier, TrustedClassifier, load, make_table_pipeline, save, select_min_trust
from sepc.feedback import FeedbackMonitor


def blobs(n, seed, apart=3.0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % 2
    X = rng.normal(size=(n, 3))
    X[:, 0] += apart * codes
    return X, np.where(codes, "ill", "well")


@pytest.fixture(scope="module")
def clf():
    return TrustedClassifier(GaussianNB(), cv=3).fit(*blobs(300, 0))


def test_records_like_those_of_training_raise_no_alarm_and_shifted_ones_do(clf):
    X, y = blobs(300, 1)
    monitor = FeedbackMonitor(clf, false_alarm_rate=0.01).observe(X, y, labels="all")
    assert not monitor.drift.alarm
    assert not monitor.error_drift.alarm
    assert monitor.report().n_right == (clf.predict(X) == y).sum()
    assert monitor.observe(X + np.array([0.0, 4.0, 0.0])).drift.alarm


def test_errors_of_the_model_raise_an_alarm_where_records_look_alike(clf):
    X, y = blobs(400, 2)
    flipped = np.where(X[:, 2] > 0.3, np.where(y == "ill", "well", "ill"), y)
    monitor = FeedbackMonitor(clf).observe(X, flipped, labels="all")
    assert monitor.error_drift.alarm


def test_a_fresh_partition_takes_records_in_and_keeps_the_model(clf):
    X, y = blobs(60, 3)
    odd = np.full((20, 3), [1.5, 6.0, 6.0]) + np.random.default_rng(4).normal(size=(20, 3)) * 0.1
    monitor = FeedbackMonitor(clf).observe(np.vstack([X, odd]), [*y, *["ill"] * 20])
    new, changes = monitor.repartition()
    assert isinstance(new, TrustedClassifier)
    assert new.estimator_ is clf.estimator_
    assert changes.n_added == 80
    assert (new.predict(X) == clf.predict(X)).all()
    assert clf.assess(odd).typicality.max() < 0.01 < new.assess(odd).typicality.mean()
    with raises("answers-of-other-labels"):
        FeedbackMonitor(clf).observe(odd, ["odd"] * 20).repartition()


def test_a_log_is_resumed_with_the_same_numbers(clf, tmp_path):
    X, y = blobs(50, 5)
    monitor = FeedbackMonitor.resume(clf, tmp_path / "watch.log").observe(X, y, labels="all")
    again = FeedbackMonitor.resume(clf, tmp_path / "watch.log")
    assert again.report().to_dict() == monitor.report().to_dict()


def test_a_promise_is_watched_and_withdrawn_by_a_fresh_partition():
    X, y = blobs(300, 6)
    signed = TrustedClassifier(GaussianNB(), cv=3).fit(*blobs(300, 0))
    signed.sign(select_min_trust(signed, X, y, max_error=0.1))
    monitor = FeedbackMonitor(signed).observe(*blobs(100, 7), labels="all")
    assert not monitor.promise_drift.alarm
    new, _ = monitor.repartition()
    assert not new.promise.is_kept
    assert not new.assess(X).accepted().any()


def test_behind_a_table_pipeline_it_is_watched_like_any_other():
    X, y = blobs(120, 8)
    table = [[float(a), float(b), "x" if c > 0 else "y"] for a, b, c in X]
    clf = make_table_pipeline(TrustedClassifier(GaussianNB(), cv=2)).fit(table, y)
    monitor = FeedbackMonitor(clf).observe(table[:30], y[:30])
    new, _ = monitor.repartition()
    assert new.predict(table).tolist() == clf.predict(table).tolist()
    assert new["classifier"].estimator_ is clf["classifier"].estimator_


def test_other_classifiers_are_their_own_on_points():
    clf = SEPClassifier().fit(*blobs(40, 9))
    assert clf.on_points() is clf
    assert make_table_pipeline(clf).on_points() is clf


def test_a_loaded_one_is_watched_with_the_same_numbers(clf, tmp_path):
    save(clf, tmp_path / "model.sepc")
    loaded = load(tmp_path / "model.sepc", estimator=clf.estimator_)
    X, y = blobs(40, 10)
    reports = [FeedbackMonitor(one).observe(X, y, labels="all").report().to_dict() for one in (clf, loaded)]
    assert reports[0] == reports[1]
