"""Findings of a report on the training data."""

import pytest

from sepc import SEPClassifier, SEPEnsembleClassifier, load, report, save


@pytest.mark.parametrize("ensemble", [False, True])
def test_a_test_with_training_records_is_called_what_it_is(iris, ensemble):
    X, _, y, _ = iris
    clf = (SEPEnsembleClassifier(n_estimators=2) if ensemble else SEPClassifier()).fit(X, y)
    told = [report(clf, A, y, max_records=0).to_dict() for A in (X, X + 0.01)]
    codes = [[finding["code"] for finding in one["landscape"]["findings"]] for one in told]
    assert codes[0][0] == "known-test-records"
    assert "known-test-records" not in codes[1]
    assert told[0]["landscape"]["findings"][0]["title"] == f"{len(X)} of {len(X)} test records are training records"
    assert "others" not in told[0]["summary"]


@pytest.mark.parametrize("ensemble", [False, True])
def test_a_model_without_its_training_records_can_be_reported_on(iris, ensemble, tmp_path):
    X, X_test, y, y_test = iris
    clf = (SEPEnsembleClassifier(n_estimators=3) if ensemble else SEPClassifier()).fit(X, y)
    whole = report(clf, X_test, y_test, max_records=0).to_dict()
    save(clf, tmp_path / "model.sepc", training_rows=False)
    found = report(load(tmp_path / "model.sepc"), X_test, y_test, max_records=0)
    assert found.to_dict()["landscape"]["findings"] == []
    assert found.to_dict()["results"] == whole["results"]
    assert len(found.to_dict()["picture"]["views"]) > 1
    assert "no training records" in found.html()
