"""Reports on classifiers around other models."""

import json

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from sepc import SEPClassifier, TrustedClassifier, report
from sepc.datasets import make_credit
from sepc.reports.around_model import around
from sepc.reports.subject import Subject
from sepc.tables import TableEncoder


@pytest.fixture(scope="module")
def loans():
    table, outcome = make_credit(300, seed=0)
    return table.iloc[:150], outcome[:150], table.iloc[150:], outcome[150:]


@pytest.fixture(scope="module")
def clf(loans):
    return TrustedClassifier(make_pipeline(TableEncoder(), GaussianNB()), cv=3).fit(*loans[:2])


@pytest.fixture(scope="module")
def content(clf, loans):
    found = report(clf, *loans[2:], max_records=4, date="today")
    assert "The model and the regions" in found.markdown()
    assert 'id="around"' in found.html()
    return found.to_dict()


def test_it_names_the_model_and_takes_labels_and_trust_from_both(content, clf, loans):
    a = clf.assess(loans[2])
    assert content["card"]["model"] == "TrustedClassifier around GaussianNB"
    assert content["title"].startswith("TrustedClassifier around GaussianNB: ")
    assert [content["labels"][code] for code in content["records"]["label"]] == a.label.tolist()
    assert content["records"]["trust"] == a.trust.tolist()
    assert "disagreement" in content["records"]["refusal"]
    assert "weighted sum of those of the model and of the regions" in content["card"]["meaning"]
    assert content["importance"]["note"].startswith("What a column means to the model itself is not known.")
    assert "where" in [column["key"] for column in content["regions"]["columns"]]
    json.dumps(content)


def test_it_counts_how_often_each_is_right_and_where_they_disagree(content, clf, loans):
    X, y = loans[2:]
    given, regions = clf.predict(X), clf.assess(X).region_label
    both = clf.classes_[clf.predict_proba(X).argmax(axis=1)]
    apart = given != regions
    rows = content["around"]["table"]["rows"]
    for row, here in zip(rows, (np.full(len(y), True), ~apart, apart), strict=True):
        assert row[1:] == [here.sum(), *((labels == y)[here].mean() for labels in (given, regions, both))]
    assert f"different labels to {apart.sum()} test records of 150" in content["around"]["text"]
    assert f"a weight of {clf.weights_[0]:.2f}, those of the regions {clf.weights_[1]:.2f}" in content["around"]["text"]


def test_no_claim_is_made_that_the_regions_gave_the_label(content):
    told = json.dumps(content)
    assert "deciding region" not in told
    assert "A verdict depends neither" not in told
    assert all("GaussianNB gives it" in verdict["text"] for verdict in content["verdicts"])


def test_around_no_model_there_is_no_such_section(iris):
    X, X_test, y, y_test = iris
    assert around(Subject.of(SEPClassifier().fit(X, y), X_test, y_test)) is None


def test_costs_and_changes_are_told_as_for_any_other_classifier(clf, loans):
    costs = {"default": {"repaid": 5.0}, "repaid": {"default": 1.0}, None: 0.5}
    found = report(clf.under(costs=costs), loans[2][:40], loans[3][:40], max_records=1, changes=True).to_dict()
    assert "Errors have costs" in found["summary"]
    assert found["verdicts"][0]["counterfactual"]["label"] in ("default", "repaid")
