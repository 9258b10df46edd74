"""Findings of a report on the training data."""

import numpy as np
import pandas as pd
import pytest

from sepc import SEPClassifier, SEPEnsembleClassifier, load, make_table_pipeline, report, save
from sepc.reports.subject import Subject
from sepc.reports.training_data import findings


@pytest.mark.slow
def test_indicators_of_a_category_are_no_finding_whatever_units_and_rounding_make_of_them():
    rng = np.random.default_rng(0)
    for n in range(60, 68):  # the units, and with them the rounding, differ
        table = pd.DataFrame({"a": rng.normal(size=n), "site": rng.choice(["x", "y", "z", None], n)})
        clf = make_table_pipeline().fit(table, np.where(table["a"] > 0.0, "p", "q"))
        told = report(clf, table[:5], clf.predict(table[:5]), max_records=0).to_dict()["landscape"]["findings"]
        assert "linear-dependence" not in [finding["code"] for finding in told]


@pytest.mark.parametrize("ensemble", [False, True])
def test_a_test_with_training_records_is_called_what_it_is(iris, ensemble):
    X, _, y, _ = iris
    clf = (SEPEnsembleClassifier(n_estimators=2) if ensemble else SEPClassifier()).fit(X, y)
    told = [report(clf, A, y, max_records=0).to_dict() for A in (X, X + 0.01)]
    codes = [[finding["code"] for finding in one["landscape"]["findings"]] for one in told]
    assert codes[0][0] == "known-test-records"
    assert "known-test-records" not in codes[1]
    assert told[0]["landscape"]["findings"][0]["title"].startswith(f"{len(X)} of {len(X)} ")


@pytest.mark.slow
@pytest.mark.parametrize("ensemble", [False, True])
def test_a_model_without_its_training_records_can_be_reported_on(iris, ensemble, tmp_path):
    X, X_test, y, y_test = iris
    clf = (SEPEnsembleClassifier(n_estimators=3) if ensemble else SEPClassifier()).fit(X, y)
    whole = report(clf, X_test, y_test, max_records=0).to_dict()
    save(clf, tmp_path / "model.sepc", training_rows=False)
    found = report(load(tmp_path / "model.sepc"), X_test, y_test, max_records=0)
    assert {one["code"] for one in found.to_dict()["landscape"]["findings"]} <= {"out-of-range"}
    # Plain methods had nothing to learn from.
    assert found.to_dict()["results"] == {**whole["results"], "baselines": []}
    assert len(found.to_dict()["picture"]["views"]) > 1
    assert found.to_dict()["landscape"]["note"] in found.html()


@pytest.mark.slow
def test_contradictory_records_are_named_by_the_rows_of_training_if_they_may_be(iris):
    X, X_test, y, y_test = iris
    X, y = X.to_numpy().copy(), y.to_numpy().copy()
    X[70], y[70], y[7] = X[7], 1, 0
    told = [
        next(
            finding["evidence"]
            for finding in report(clf, X_test.to_numpy(), y_test, max_records=0, training_rows=allowed).to_dict()[
                "landscape"
            ]["findings"]
            if finding["code"] == "contradictory-duplicates"
        )
        for clf in [SEPClassifier().fit(X, y)]
        for allowed in (True, False)
    ]
    assert "8 (0)" in told[0]
    assert "71 (1)" in told[0]
    assert "row" not in told[1]


def test_too_many_features_for_ellipsoids_are_told_once():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(160, 40)), np.repeat(["low", "high"], 80)
    X[80:, 0] += 2.0
    clf = SEPClassifier().fit(X, y)
    told = findings(Subject.of(clf, X[:5] + 0.1, y[:5]), True)["findings"]
    found = [one for one in told if one["code"] == "outside-all-ellipsoids"]
    assert len(found) == 1
    assert "160" in found[0]["evidence"]
