"""What can be watched: one partition, an ensemble, a pipeline that takes raw tables."""

import json

import numpy as np
import pandas as pd
import pytest
from coded import raises
from sklearn.exceptions import NotFittedError

from sepc import SEPClassifier, SEPEnsembleClassifier, make_table_pipeline
from sepc.feedback import FeedbackMonitor
from sepc.feedback.watched import fingerprint


@pytest.fixture(scope="module")
def ensemble(iris):
    return SEPEnsembleClassifier(n_estimators=3).fit(iris[0][::2], iris[1][::2])


def loans(n, rng, swapped=False):
    """Return a raw table and labels."""
    good = rng.random(n) < 0.6
    table = pd.DataFrame(
        {
            "income": np.where(rng.random(n) < 0.05, np.nan, np.where(good, 50.0, 30.0) + 5.0 * rng.standard_normal(n)),
            "housing": np.where(good ^ (rng.random(n) < 0.1), "own", "rent"),
            "debt": rng.standard_normal(n),
        }
    )
    return table, np.where(good ^ swapped, "good", "bad")


@pytest.fixture(scope="module", params=["one", "ensemble"])
def pipeline(request):
    classifier = SEPClassifier() if request.param == "one" else SEPEnsembleClassifier(n_estimators=2)
    return make_table_pipeline(classifier).fit(*loans(240, np.random.default_rng(0)))


class TestEnsemble:
    @pytest.mark.slow
    def test_strange_records_are_counted_in_place_of_those_outside(self, ensemble, iris):
        X, y = iris
        monitor = FeedbackMonitor(ensemble).observe(X[1::2], y[1::2], labels="all")
        assert not monitor.drift.alarm
        assert monitor.drift.what == "strange"
        assert monitor.drift.n_models == 3
        report = monitor.report()
        assert report.n_outside == np.count_nonzero(ensemble.assess(X[1::2]).typicality < 0.01)
        assert monitor.observe(X[1::2] + 5.0).drift.alarm
        json.dumps(monitor.report().to_dict(), allow_nan=False)

    @pytest.mark.slow
    def test_errors_are_counted_by_label(self, ensemble, iris):
        X, y = iris
        monitor = FeedbackMonitor(ensemble)
        for _ in range(3):
            monitor.observe(X[1::2], np.where(y[1::2] == "virginica", "versicolor", y[1::2]), labels="all")
        assert monitor.error_drift.alarm
        assert monitor.error_drift.parts[0][:2] == ("label", "virginica")
        frame = monitor.regions()
        assert set(frame["region"]) == {"setosa", "versicolor", "virginica"}
        assert not frame["exceeds"].any()
        assert frame["n"].sum() == monitor.report().n
        assert monitor.report().exceeding == ()

    def test_audits_and_fresh_fits(self, ensemble, iris):
        X, y = iris
        monitor = FeedbackMonitor(ensemble, reference=X[1::4], reference_labels=y[1::4])
        audit = monitor.audit(X[3::4], share=0.5)
        assert np.array_equal(audit.accepted, ensemble.assess(X[3::4]).accepted())
        monitor.observe(X[3::4][audit.chosen], y[3::4][audit.chosen], probability=audit.probability[audit.chosen])
        new, changes = monitor.repartition()
        assert isinstance(new, SEPEnsembleClassifier)
        assert changes.n_added == audit.chosen.sum()
        assert changes.ellipsoids is None
        assert changes.appeared == ()
        assert json.loads(json.dumps(changes.to_dict()))["ellipsoids"] is None

    @pytest.mark.slow
    def test_a_saved_monitor_goes_on(self, iris, tmp_path):
        X, y = iris
        clf = SEPEnsembleClassifier(n_estimators=2, random_state=None).fit(X[::2], y[::2])
        FeedbackMonitor.resume(clf, tmp_path / "seen").observe(X[1::4], y[1::4], labels="all")
        one, two = (
            FeedbackMonitor(clf).observe(X[1::4], y[1::4], labels="all"),
            FeedbackMonitor.resume(clf, tmp_path / "seen"),
        )
        for monitor in (one, two):
            monitor.observe(X[3::4], y[3::4], probability=0.5)
        assert one.report() == two.report()

    @pytest.mark.slow
    def test_another_one_is_refused(self, ensemble, iris, tmp_path):
        X, y = iris
        FeedbackMonitor.resume(ensemble, tmp_path / "seen", reference=X[1::4])
        for other in (
            SEPEnsembleClassifier(n_estimators=3, random_state=1).fit(X[::2], y[::2]),
            SEPEnsembleClassifier(n_estimators=3).fit(X[3::4], y[3::4]),
            SEPClassifier().fit(X[::2], y[::2]),
        ):
            assert fingerprint(other) != fingerprint(ensemble)
            with raises("log-of-another-model"):
                FeedbackMonitor.resume(other, tmp_path / "seen", reference=X[1::4])


class TestPipeline:
    @pytest.mark.slow
    def test_it_is_the_monitor_of_its_classifier(self, pipeline):
        table, y = loans(150, np.random.default_rng(1))
        one, two = FeedbackMonitor(pipeline), FeedbackMonitor(pipeline["classifier"])
        one.observe(table, y, labels="all").observe(table)
        features = pipeline["columns"].transform(table)
        two.observe(features, y, labels="all").observe(features)
        assert one.report() == two.report()

    @pytest.mark.slow
    def test_audits_take_what_the_pipeline_accepts(self, pipeline):
        table, _ = loans(150, np.random.default_rng(2))
        table.loc[3, "housing"] = "a tent"
        monitor = FeedbackMonitor(pipeline)
        audit = monitor.audit(table, share=0.2, seed=4)
        assert np.array_equal(audit.accepted, pipeline.assess(table).accepted())
        assert audit.chosen[3]
        order = np.random.default_rng(0).permutation(150)
        again = monitor.audit(table.iloc[order], share=0.2, seed=4)
        assert np.array_equal(again.chosen, audit.chosen[order])

    @pytest.mark.slow
    def test_a_fresh_one_has_the_same_encoder(self, pipeline, tmp_path):
        table, y = loans(100, np.random.default_rng(3), swapped=True)
        monitor = FeedbackMonitor.resume(pipeline, tmp_path / "seen").observe(table, y, labels="all")
        assert monitor.error_drift.alarm
        new, changes = monitor.repartition()
        assert type(new) is type(pipeline)
        assert new["columns"] is pipeline["columns"]
        assert new["classifier"] is not pipeline["classifier"]
        assert changes.accuracy_after == pytest.approx(np.mean(new.predict(table) == y))
        assert FeedbackMonitor.resume(pipeline, tmp_path / "seen").report() == monitor.report()

    def test_a_reference_is_a_raw_table(self, pipeline):
        rng = np.random.default_rng(5)
        table, y = loans(100, rng)
        monitor = FeedbackMonitor(pipeline, reference=table, reference_labels=y)
        assert monitor.drift.n_models == 1
        assert not monitor.observe(*loans(100, rng), labels="all").error_drift.alarm

    @pytest.mark.slow
    def test_one_that_was_fitted_again_is_noticed(self):
        table, y = loans(80, np.random.default_rng(6))
        clf = make_table_pipeline().fit(table, y)
        monitor = FeedbackMonitor(clf, reference=loans(40, np.random.default_rng(7))[0])
        clf.fit(table[["income", "debt"]], y)
        with raises("fitted-again"):
            monitor.observe(table)

    def test_one_that_is_not_fitted_is_refused(self):
        with pytest.raises(NotFittedError):
            FeedbackMonitor(make_table_pipeline())
        with raises("clf-no-model", clf="model.sepc"):
            FeedbackMonitor("model.sepc")
