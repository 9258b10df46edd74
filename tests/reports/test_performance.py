"""Scores of a report are those of `metrics` and of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.metrics import accuracy_score, balanced_accuracy_score, brier_score_loss, confusion_matrix

from sepc import (
    SEPClassifier,
    SEPEnsembleClassifier,
    metrics,
    report,
)
from sepc.model.acceptance import REFUSALS
from sepc.plot import PrecisionRecallDisplay, RocDisplay


@pytest.mark.slow
@pytest.mark.parametrize("ensemble", [False, True])
def test_scores_are_those_of_metrics_and_of_scikit_learn(iris, iris_clf, ensemble):
    X, X_test, y, y_test = iris
    clf = SEPEnsembleClassifier(n_estimators=4).fit(X, y) if ensemble else iris_clf
    told = report(clf, X_test, y_test, max_records=2).to_dict()["results"]
    outcome = y_test, clf.predict(X_test), clf.trust_score(X_test)
    assert told["accuracy"] == accuracy_score(*outcome[:2])
    assert told["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(*outcome[:2]))
    for name in ("aurc", "e_aurc", "augrc"):
        assert told[name] == getattr(metrics, name)(*outcome)
    assert told["ece"] == metrics.expected_calibration_error(*outcome)
    gaps = [b["n_records"] * abs(b["trust"] - b["accuracy"]) for b in told["reliability"]]
    assert sum(gaps) / len(y_test) == pytest.approx(told["ece"])
    can_be = clf.assess(X_test).accepted(0.0)
    coverage, risk, threshold = metrics.risk_coverage_curve(*(values[can_be] for values in outcome))
    assert told["curve"]["coverage"] == pytest.approx(coverage * can_be.mean())
    assert told["curve"] | {"coverage": 0} == {"coverage": 0, "risk": [*risk], "threshold": [*threshold]}


def test_the_brier_score_of_two_classes_is_twice_scikit_learn_s(wdbc, wdbc_clf, wdbc_report):
    _, X_test, _, y_test = wdbc
    half = brier_score_loss(y_test == wdbc_clf.classes_[1], wdbc_clf.predict_proba(X_test)[:, 1])
    assert wdbc_report.to_dict()["results"]["brier"] == pytest.approx(2.0 * half)


@pytest.mark.parametrize("min_trust", [0.0, 0.5, 0.99, 1.0])
def test_a_threshold_accepts_what_the_assessment_accepts(wdbc, wdbc_clf, min_trust):
    _, X_test, _, y_test = wdbc
    told = report(wdbc_clf, X_test, y_test, min_trust=min_trust, max_records=0).to_dict()["results"]
    a = wdbc_clf.assess(X_test)
    accepted, right = a.accepted(min_trust), a.label == y_test
    assert told["at"]["n_accepted"] == accepted.sum()
    assert told["at"]["n_errors"] == (accepted & ~right).sum()
    assert told["at"]["accuracy"] == (right[accepted].mean() if accepted.any() else None)
    given = np.where(accepted, a.label, "zz abstained")
    labels = [*wdbc_clf.classes_, "zz abstained"]
    assert told["confusion"]["counts"] == confusion_matrix(y_test, given, labels=labels)[:2].tolist()
    (row,) = [row for row in told["thresholds"]["rows"] if row[0] == min_trust]
    assert row[1] == accepted.sum()


def test_refused_records_are_counted_by_reason(wdbc, wdbc_clf):
    _, X_test, _, y_test = wdbc
    X, y = pd.concat([X_test, 1000.0 * X_test[:7]], ignore_index=True), np.append(y_test, y_test[:7])
    told = report(wdbc_clf, X, y, min_trust=0.99, max_records=0).to_dict()
    a = wdbc_clf.assess(X)
    why = a.refusals(0.99)
    expected = [[words, np.count_nonzero(why == kind)] for kind, words in REFUSALS.items() if (why == kind).any()]
    assert [row[:2] for row in told["results"]["refusals"]["rows"]] == expected
    assert sum(n for _, n in expected) == told["results"]["at"]["n_abstained"]
    assert REFUSALS["strange"] in told["summary"]
    assert told["records"]["refusal"] == a.refusals(0.0).tolist()
    assert told["records"]["typicality"] == a.typicality.tolist()
    assert told["records"]["stability"] == a.stability.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["html", "markdown"])
def test_a_report_on_records_that_are_all_refused(wdbc, wdbc_clf, form):
    _, X_test, _, y_test = wdbc
    told = report(wdbc_clf, 1000.0 * X_test, y_test, max_records=1)
    assert told.to_dict()["results"]["curve"] == {"coverage": [], "risk": [], "threshold": []}
    assert f"143 since {REFUSALS['beyond']}" in getattr(told, form)()


def test_curves_of_labels_are_those_of_the_displays(wdbc, wdbc_clf, wdbc_report):
    _, X_test, _, y_test = wdbc
    (told,) = wdbc_report.to_dict()["results"]["label_curves"]
    (roc,) = RocDisplay.from_estimator(wdbc_clf, X_test, y_test, ax=Figure().subplots()).curves
    (precise,) = PrecisionRecallDisplay.from_estimator(wdbc_clf, X_test, y_test, ax=Figure().subplots()).curves
    assert (told["label"], told["auc"], told["average_precision"]) == ("malignant", roc.area, precise.area)
    assert told["roc"] == {"false_positive_rate": roc.x.tolist(), "recall": roc.y.tolist()}
    assert told["precision_recall"] == {"recall": precise.x.tolist(), "precision": precise.y.tolist()}
    assert told["accepted"] == roc.accepted.to_dict()
    assert wdbc_report.html().count('aria-label="ROC curves"') == 1


def test_results_of_labels_are_those_of_class_report(wdbc, wdbc_clf, wdbc_report):
    _, X_test, _, y_test = wdbc
    a, proba = wdbc_clf.assess(X_test), wdbc_clf.predict_proba(X_test)
    expected = metrics.class_report(y_test, a.label, proba, labels=wdbc_clf.classes_, accepted=a.accepted(0.95))
    told = wdbc_report.to_dict()["results"]["classes"]
    rows = [dict(zip([column["key"] for column in told["columns"]], row, strict=True)) for row in told["rows"]]
    for row, one in zip(rows, expected, strict=True):
        assert {name: row[name] for name in one._asdict() if name in row} == {
            name: value for name, value in one._asdict().items() if name != "n_right" and name in row
        }
        assert {"recall", "precision", "auc", "n_accepted", "n_accepted_right"} <= set(row)


def test_what_an_accuracy_hides_is_a_warning():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), np.where(np.arange(300) % 15 == 0, "bad", "good")
    clf = SEPClassifier().fit(X[:200], y[:200])
    told = report(clf, X[200:], y[200:], max_records=1)
    first, second, *_ = told.to_dict()["warnings"]
    assert first.startswith("The model is right on 94 of 100 records (94 %), no more than the 94 (94 %) that have")
    assert second.startswith("The model never predicts bad: 6 of 100 records have it")
    assert told.to_dict()["results"]["balanced_accuracy"] == 0.5
    assert second[:60] in told.markdown()
