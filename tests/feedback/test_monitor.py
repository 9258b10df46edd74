"""FeedbackMonitor: the paper's story, fresh partitions, refused input."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from coded import raises
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sepc import SEPClassifier
from sepc.feedback import FeedbackMonitor
from sepc.feedback.watched import fingerprint


@pytest.fixture(scope="module")
def story():
    data = load_breast_cancer(as_frame=True)
    X = data.data[["worst radius", "worst texture", "worst smoothness"]]
    y = data.target_names[data.target]
    malignant, benign = np.flatnonzero(y == "malignant"), np.flatnonzero(y == "benign")
    by_size = malignant[np.argsort(X["worst radius"].to_numpy()[malignant], kind="stable")]
    small, large = by_size[:80], np.sort(by_size[80:])
    train = np.r_[large[::2], benign[::2]]
    clf = SEPClassifier(trust="paper").fit(X.iloc[train], y[train])
    monitor = FeedbackMonitor(clf, false_alarm_rate=0.05)
    feed = np.random.default_rng(0).permutation(np.r_[small[::2], large[1::4], benign[1::4]])
    for batch in np.array_split(feed, 6):
        monitor.observe(X.iloc[batch], y[batch], labels="all")
    later = small[1::2]
    return clf, monitor, monitor.repartition(), (X.iloc[later], y[later]), (X.iloc[benign[3::4]], y[benign[3::4]])


class TestTheStoryOfThePaper:
    """The training set lacks the small malignant tumours; feedback brings them in."""

    def test_the_missing_group_is_called_benign_with_high_trust(self, story):
        clf, _, _, (X, y), _ = story
        a = clf.assess(X)
        assert np.mean(a.label == y) <= 0.4
        assert a.trust[a.label != y].mean() > 0.99

    def test_the_monitor_names_the_regions_whose_errors_exceed_n_imp(self, story):
        _, monitor, _, _, _ = story
        worst = monitor.report().exceeding[0]
        assert "benign" in worst.region
        assert worst.n_wrong > worst.n_imp == 2
        assert not worst.calibrated
        assert worst.region in repr(monitor)

    def test_errors_ring(self, story):
        assert story[1].error_drift.alarm

    def test_the_group_gets_its_own_ellipsoid(self, story):
        _, _, (_, changes), _, _ = story
        assert any(e.label == "malignant" and 2 * e.n_observed > e.n_members for e in changes.appeared)
        assert changes.accuracy_after > changes.accuracy_before
        assert all(flip.row >= changes.n_before for flip in changes.flips)
        assert {flip.true for flip in changes.flips if flip.after == flip.true} >= {"malignant"}

    def test_the_new_partition_is_right_on_later_records(self, story):
        _, _, (new, _), (X, y), (X_benign, y_benign) = story
        assert new.score(X, y) >= 0.8
        assert new.score(X_benign, y_benign) >= 0.9


class TestRepartition:
    def test_training_rows_keep_their_numbers_and_values(self, iris):
        X, y = iris
        order = np.random.default_rng(1).permutation(len(X))
        old, fresh = order[:100], order[100:]
        clf = SEPClassifier().fit(X[old], y[old])
        new, changes = FeedbackMonitor(clf, reference=X[fresh]).observe(X[fresh], y[fresh]).repartition()
        model = new.model_
        assert np.allclose(model.original(model.points)[np.argsort(model.rows)], X[order], rtol=1e-12)
        assert np.array_equal(model.classes[model.codes][np.argsort(model.rows)], y[order])
        assert (changes.n_before, changes.n_added) == (100, 50)
        assert changes.accuracy_before == clf.score(X[fresh], y[fresh])
        assert changes.accuracy_after == new.score(X[fresh], y[fresh])
        json.dumps(changes.to_dict())

    def test_the_classifier_stays_as_it_was(self, clf, iris, monitor):
        before = fingerprint(clf)
        monitor.observe(iris[0][1::2], iris[1][1::2]).repartition()
        assert fingerprint(clf) == before

    @pytest.mark.slow
    @pytest.mark.parametrize("library", [pd, pl])
    def test_frames_and_names_stay(self, library, iris):
        X = library.DataFrame({name: iris[0][:, j] for j, name in enumerate("abcd")})
        clf = SEPClassifier().fit(X[::2], iris[1][::2])
        monitor = FeedbackMonitor(clf).observe(X[1::2], iris[1][1::2])
        new, _ = monitor.repartition()
        assert list(new.feature_names_in_) == list("abcd")
        assert isinstance(new.regions(), library.DataFrame)
        assert isinstance(monitor.regions(), library.DataFrame)

    def test_an_unknown_label_becomes_a_class(self, clf, iris):
        Z = iris[0][1:50:2] + 20.0
        new, _ = FeedbackMonitor(clf, reference=iris[0][1::2]).observe(Z, ["tulip"] * 25).repartition()
        assert "tulip" in new.classes_
        assert (new.predict(Z) == "tulip").all()

    def test_labels_of_another_type_cannot_be_trained_with(self, clf, iris):
        monitor = FeedbackMonitor(clf, reference=iris[0][1::2]).observe(iris[0][1:3], [7, 8])
        with raises("label-type", labels=[7, 8]):
            monitor.repartition()

    def test_too_few_records_are_refused(self, monitor, iris):
        monitor.observe(iris[0][1:3], iris[1][1:3]).observe(iris[0][5:9])
        with raises("too-few-labelled-records", n_observed=2, min_records=3):
            monitor.repartition(min_records=3)
        with raises("min-records", min_records=0):
            monitor.repartition(min_records=0)


class TestBadInput:
    def test_a_refused_batch_leaves_no_trace(self, monitor, iris):
        X, y = iris[0][1:5], iris[1][1:5]
        before = repr(monitor.observe(X, y).report().to_dict())
        for Z, labels, refusal in (
            (X, y[:3], raises("labels-length", name="y_true", n_labels=3, n_records=4)),
            (X, [None, *y[1:]], raises("labels-missing", name="y_true", n_missing=1, row=0, label=None)),
            (X, [1, *y[1:]], raises("label-kinds-mixed", name="y_true", label=1, row=0, other_row=1)),
            (X, [1.0, 2.0, np.nan, 1.0], raises("labels-missing", name="y_true", n_missing=1, row=2)),
            (np.full((2, 4), np.inf), y[:2], raises("not-finite", kinds="inf")),
            (X[:, :3], y, pytest.raises(ValueError, match="features")),
            (X[:0], y[:0], pytest.raises(ValueError, match="0 sample")),
            (X, y[:, None][:, [0, 0]], pytest.raises(ValueError, match="1d array")),
        ):
            with refusal:
                monitor.observe(Z, labels)
        assert repr(monitor.report().to_dict()) == before

    def test_parameters_are_checked(self, clf, iris):
        for options, refusal in (
            ({"false_alarm_rate": 0.0}, raises("not-strictly-between-0-and-1", name="false_alarm_rate", value=0.0)),
            ({"false_alarm_rate": "low"}, raises("not-strictly-between-0-and-1", name="false_alarm_rate", value="low")),
            ({"folds": 1}, raises("folds", folds=1)),
            ({"reference_labels": iris[1]}, raises("reference-labels-alone")),
            (
                {"reference": iris[0][1:5], "reference_labels": iris[1][1:4]},
                raises("labels-length", name="reference_labels", n_labels=3, n_records=4),
            ),
        ):
            with refusal:
                FeedbackMonitor(clf, **options)

    def test_only_a_fitted_classifier_can_be_watched(self, iris):
        with pytest.raises(NotFittedError):
            FeedbackMonitor(SEPClassifier())
        with raises("clf-no-model"):
            FeedbackMonitor(make_pipeline(StandardScaler(), SEPClassifier()).fit(*iris))

    @pytest.mark.slow
    def test_a_classifier_that_was_fitted_again_is_noticed(self, iris):
        clf = SEPClassifier().fit(iris[0][::2], iris[1][::2])
        monitor = FeedbackMonitor(clf)
        clf.fit(*iris)
        with raises("fitted-again"):
            monitor.observe(iris[0][1:3])
