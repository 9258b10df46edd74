"""Verdicts of a report are those of the classifier, the most telling first."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from coded import warns

from sepc import (
    SEPClassifier,
    make_table_pipeline,
    report,
)
from sepc.reports.record_verdicts import choose
from sepc.reports.subject import Subject


def test_explanations_are_those_of_the_classifier(wdbc, wdbc_clf, wdbc_report):
    _, X_test, _, _ = wdbc
    content = wdbc_report.to_dict()
    for told in content["verdicts"][::15]:
        why = wdbc_clf.explain(X_test.iloc[told["record"]])
        assert (told["text"], told["details"]) == (why.text, why.details)
        assert sum(one["contribution"] for one in told["evidence"]) == pytest.approx(why.evidence.log_odds, abs=1e-4)
        places = [one["strip"] for one in told["evidence"] if one["strip"]]
        assert len(places) == 8
        assert all(0.0 <= place <= 1.0 for strip in places for place in strip)
        assert told["values"] == X_test.iloc[told["record"]].tolist()
        assert told["counterfactual"]["label"] == why.counterfactual.label
        nearest = why.neighbours[0]
        assert told["neighbours"][0]["row"] == nearest.row
        np.testing.assert_allclose(content["neighbours"][str(nearest.row)], [*nearest.values.values()], rtol=1e-5)


def test_changes_are_told_if_asked_for(iris, iris_clf):
    _, X_test, _, y_test = iris
    plain, full = (report(iris_clf, X_test, y_test, max_records=3, changes=asked).to_dict() for asked in (False, True))
    for one, other in zip(plain["verdicts"], full["verdicts"], strict=True):
        assert one["counterfactual"] is None
        assert other["counterfactual"]["label"]
        assert one["text"] == other["text"]
        assert other["details"].startswith(f"{one['details']} The smallest change")


def test_wrong_verdicts_are_told_first_and_then_those_of_little_trust(wdbc, wdbc_clf):
    _, X_test, _, y_test = wdbc
    subject = Subject.of(wdbc_clf, X_test, y_test)
    wrong = np.flatnonzero(~subject.right)
    for most in (1, len(wrong), 40, len(y_test) + 1):
        rows = choose(subject, most)
        assert len(rows) == len(set(rows.tolist())) == min(most, len(y_test))
        assert set(rows.tolist()) <= set(wrong.tolist()) or set(wrong.tolist()) <= set(rows.tolist())
    least = np.argsort(subject.trust)[: 20 - len(wrong)]
    assert set(least.tolist()) <= set(choose(subject, 40).tolist())


@pytest.mark.slow
def test_training_records_stay_out_where_they_must():
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 4.0, [[9.123456, -3.654321]]])
    y = np.repeat(["a", "b", "c"], [30, 30, 1])
    with warns("too-few-points", regions="c"):
        clf = SEPClassifier().fit(X, y)
    X_test = rng.normal(size=(40, 2)) + 2.0
    y_test = rng.choice(["a", "b"], 40)
    open_, closed = (report(clf, X_test, y_test, training_rows=allowed, changes=True) for allowed in (True, False))
    assert any("row" in finding["evidence"] for finding in open_.to_dict()["landscape"]["findings"])
    assert open_.to_dict()["neighbours"]
    content = closed.to_dict()
    assert content["training"] != open_.to_dict()["training"]
    assert content["neighbours"] == {}
    assert all(verdict["neighbours"] == [] for verdict in content["verdicts"])
    told = [verdict["counterfactual"] for verdict in content["verdicts"]]
    values = np.array([change["values"] for change in told if change])
    assert np.abs(values[:, None] - X).max(axis=2).min() > 1e-6
    for form in (closed.html(), closed.markdown(), json.dumps(content)):
        assert content["training"] in form
        assert not re.search(r"(?i)\brows? \d", form)
        # Values of so many digits are nowhere by chance; test records and what is made of them have others.
        numbers = re.findall(r"-?\d+\.\d{3,}", form)
        assert not {f"{float(number):.6g}" for number in numbers} & {f"{value:.6g}" for value in X.ravel()}
    texts = " ".join(verdict["text"] + verdict["details"] for verdict in content["verdicts"])
    assert "9.123" not in texts


@pytest.mark.slow
def test_a_change_that_leads_to_a_training_record_stays_out_with_them():
    """With categories alone each change does."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"colour": rng.choice(["red", "blue"], 80), "shape": rng.choice(["round", "flat"], 80)})
    y = np.where((X["colour"] == "red") ^ (rng.random(80) < 0.1), "a", "b")
    clf = make_table_pipeline(SEPClassifier()).fit(X, y)
    open_, closed = (
        report(clf, X[:10], y[:10], training_rows=allowed, changes=True).to_dict() for allowed in (True, False)
    )
    for shown, hidden in zip(open_["verdicts"], closed["verdicts"], strict=True):
        changed = [value for value in shown["counterfactual"]["values"] if value is not None]
        assert changed
        assert hidden["counterfactual"] is None
        assert hidden["details"] != shown["details"]


@pytest.mark.slow
def test_training_rows_are_counted_from_where_they_start(iris, iris_clf):
    _, X_test, _, y_test = iris
    by_python, by_file = (report(iris_clf, X_test, y_test, max_records=6, rows_from=k).to_dict() for k in (0, 1))
    for first, second in zip(by_python["verdicts"], by_file["verdicts"], strict=True):
        rows = [near["row"] for near in first["neighbours"]]
        assert [near["row"] for near in second["neighbours"]] == [row + 1 for row in rows]
        assert f"row {rows[0]} (" in first["details"]
        assert f"row {rows[0] + 1} (" in second["details"]
    shifted = {str(int(row) + 1): values for row, values in by_python["neighbours"].items()}
    assert by_file["neighbours"] == shifted
