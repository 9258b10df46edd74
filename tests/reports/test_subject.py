"""Classifiers, records and labels that a report can be about."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from coded import raises
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sepc import (
    SEPClassifier,
    SEPEnsembleClassifier,
    make_table_pipeline,
    report,
)


@pytest.mark.slow
def test_arrays_pandas_and_polars_give_the_same_report(iris):
    X, X_test, y, y_test = iris
    told = []
    for kind in (lambda frame: frame.reset_index(drop=True), lambda frame: pl.DataFrame(dict(frame))):
        clf = SEPClassifier().fit(kind(X), y)
        told.append(report(clf, kind(X_test), y_test, max_records=5).to_dict())
    assert told[0] == told[1]
    bare = report(SEPClassifier().fit(X.to_numpy(), y), X_test.to_numpy(), y_test, max_records=5).to_dict()
    assert bare["columns"] == ["x0", "x1", "x2", "x3"]
    assert bare["results"] == told[0]["results"]


@pytest.fixture(scope="module")
def raw_table():
    """Numbers, texts, dates, yes or no, and missing cells; two thirds are to be trained on."""
    rng = np.random.default_rng(0)
    y = np.array(["ill", "well"])[rng.integers(0, 2, 150)]
    table = pd.DataFrame(
        {
            "age": np.where(y == "ill", rng.normal(60, 8, 150), rng.normal(45, 9, 150)).round(),
            "smoker": np.where(rng.random(150) < np.where(y == "ill", 0.7, 0.2), "yes", "no"),
            "seen <on>": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, 150), "D"),
            "ward": rng.choice(["A", "B", "C"], 150),
        }
    )
    table.loc[::17, "age"] = None
    table.loc[120, "ward"] = "Z"
    return table[:100], table[100:], y[:100], y[100:]


@pytest.mark.slow
@pytest.mark.parametrize("ensemble", [False, True])
def test_reports_on_raw_tables_speak_of_their_columns_and_values(raw_table, ensemble):
    X, X_test, y, y_test = raw_table
    clf = make_table_pipeline(SEPEnsembleClassifier(n_estimators=3) if ensemble else None).fit(X, y)
    found = report(clf, X_test[X_test.columns[::-1]], y_test, max_records=6)  # columns may come in any order
    content = found.to_dict()
    assert content["columns"] == X.columns.tolist()
    assert content["results"]["accuracy"] == accuracy_score(y_test, clf.predict(X_test))
    for told in content["verdicts"]:
        row = X_test.iloc[told["record"]]
        assert told["text"] == clf.explain(row).text
        assert told["values"][1:] == [row["smoker"], str(row["seen <on>"].date()), row["ward"]]
        assert set(content["neighbours"][str(told["neighbours"][0]["row"])]) & {"yes", "no"}
    findings = {finding["code"]: finding for finding in content["landscape"]["findings"]}
    assert findings["unseen-category"]["evidence"].startswith("ward: Z (1 ")
    assert "linear-dependence" not in findings  # the encoder's own doing
    assert content["card"]["preparation"] == clf["columns"].notes
    assert "seen &lt;on&gt;" in found.html()
    assert report(clf, pl.from_pandas(X_test), y_test, max_records=0).to_dict()["results"] == content["results"]
    closed = report(clf, X_test, y_test, max_records=6, training_rows=False).to_dict()
    assert closed["neighbours"] == {}


@pytest.mark.slow
def test_a_label_that_training_never_had_is_wrong_and_has_a_row_of_its_own(iris, iris_clf):
    _, X_test, _, y_test = iris
    y_test = y_test.to_numpy().copy()
    y_test[0] = 99
    found = report(iris_clf, X_test, y_test, max_records=3)
    content = found.to_dict()
    assert content["labels"] == ["0", "1", "2", "99"]
    assert sum(content["results"]["confusion"]["counts"][3]) == 1
    assert content["results"]["n_right"] == (iris_clf.predict(X_test) == y_test).sum()
    assert 0 in [verdict["record"] for verdict in content["verdicts"]]
    assert "99" in found.html()


def test_another_classifier_is_refused_with_a_way_out(iris):
    X, X_test, y, y_test = iris
    pipe = make_pipeline(StandardScaler(), SEPClassifier()).fit(X, y)
    with raises("report-clf", type="Pipeline"):
        report(pipe, X_test, y_test)
    assert report(pipe[-1], pipe[:-1].transform(X_test), y_test, max_records=0).to_dict()["n_classes"] == 3
