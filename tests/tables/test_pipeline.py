"""The pipeline of raw tables: it speaks of what came in, and fits as scikit-learn's estimators do."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from raw_tables import as_polars, patients
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from sepc import InputError, SEPClassifier, SEPEnsembleClassifier, TableEncoder, TablePipeline, make_table_pipeline


@parametrize_with_checks(
    [TableEncoder(), make_table_pipeline()],
    expected_failed_checks=lambda estimator: (
        {
            "check_estimators_overwrite_params": "scikit-learn's Pipeline fits its steps in place",
            "check_dont_overwrite_parameters": "scikit-learn's Pipeline fits its steps in place",
        }
        if isinstance(estimator, TablePipeline)
        else {}
    ),
)
@pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_the_pipeline_clones_searches_and_cross_validates():
    table, y = patients()
    search = GridSearchCV(make_table_pipeline(), {"classifier__n_imp": [0, 5]}, cv=3).fit(table, y)
    assert isinstance(search.best_estimator_, TablePipeline)
    proba = cross_val_predict(clone(search.best_estimator_), table, y, cv=3, method="predict_proba")
    assert (proba.argmax(axis=1) == (y == "well")).mean() > 0.6


@pytest.mark.parametrize("classifier", [None, SEPEnsembleClassifier(n_estimators=3)])
def test_the_pipeline_says_of_raw_tables_what_its_classifier_says_of_features(classifier):
    table, y = patients()
    clf = make_table_pipeline(classifier).fit(table[::2], y[::2])
    features, inner = clf["columns"].transform(table), clf["classifier"]
    assert clf.feature_names_in_.tolist() == table.columns.tolist()
    assert clf.classes_.tolist() == ["ill", "well"]
    assert np.array_equal(clf.predict(table), inner.predict(features))
    assert np.array_equal(clf.trust_score(table), inner.trust_score(features))
    assert np.array_equal(clf.predict_or_abstain(table, 0.8), inner.predict_or_abstain(features, 0.8))
    assert clf.assess(table).to_frame().equals(inner.assess(features).to_frame())
    assert clf.assess(table).to_frame().index.equals(table.index)
    assert clf.regions().equals(inner.regions())
    sets = clf.calibrate(table[1::2], y[1::2]).predict_set(table, coverage=0.8)
    assert np.array_equal(sets.sets, inner.predict_set(features, coverage=0.8).sets)


def test_polars_in_polars_out():
    table, y = patients()
    frame = as_polars(table)
    clf = make_table_pipeline().fit(frame, pl.Series(y))
    assert isinstance(clf.assess(frame).to_frame(), pl.DataFrame)
    assert isinstance(clf.regions(), pl.DataFrame)
    assert np.array_equal(clf.predict(frame), make_table_pipeline().fit(table, y).predict(table))


@pytest.mark.parametrize(
    "labels", [["a", None] * 60, [1.0, np.nan] * 60, pd.Series(["a", pd.NA] * 60), pl.Series(["a", None] * 60)]
)
def test_missing_labels_are_counted(labels):
    with pytest.raises(InputError, match=r"y has 60 missing label\(s\) of 120, the first in data row 2"):
        make_table_pipeline().fit(patients()[0], labels)


@pytest.mark.parametrize(
    "kind",
    [pd.Categorical, pd.Series, pl.Series, pa.array, lambda y: (y == "ill").tolist()],
    ids=["category", "pandas", "polars", "arrow", "bool"],
)
def test_labels_of_any_kind_are_learnt(kind):
    table, y = patients()
    clf = make_table_pipeline().fit(table, kind(y))
    assert len(clf.classes_) == 2
    assert (clf.predict(table) == np.asarray(kind(y))).mean() > 0.8


def test_a_failed_fit_leaves_the_pipeline_as_it_was():
    table, y = patients()
    clf = make_table_pipeline().fit(table, y)
    before = clf.predict_proba(table)
    with pytest.raises(InputError, match="1 class"):
        clf.fit(table[["age"]], ["a"] * len(table))
    assert np.array_equal(clf.predict_proba(table), before)


def test_other_steps_are_refused():
    with pytest.raises(InputError, match="expected a TableEncoder and a classifier"):
        TablePipeline([("classifier", SEPClassifier())]).fit([[1], [2]], [0, 1])


def test_every_form_of_a_record_gets_the_same_explanation():
    table, y = patients()
    clf = make_table_pipeline().fit(table, y)
    row = table.iloc[3]
    told = clf.explain(row).to_dict()
    frame = as_polars(table[3:4])
    for form in (row.to_dict(), table[3:4], frame, frame.row(0, named=True), row.astype(str).to_dict()):
        assert clf.explain(form).to_dict() == told
    with pytest.raises(InputError, match="2 rows; expected one record"):
        clf.explain(table[:2])


@pytest.mark.parametrize("name", ["adult_train_clean", "german_credit"])
def test_real_tables_are_learnt_and_explained(name):
    folder = os.environ.get("SEPC_DATA")
    if not folder:
        pytest.skip("SEPC_DATA names no folder with the data")
    table = pd.read_csv(Path(folder) / f"{name}.csv", nrows=600)
    y = table.pop("label").astype(str)
    clf = make_table_pipeline().fit(table[::2], y[::2])
    assert (clf.predict(table[1::2]) == y[1::2]).mean() > 0.65
    for i in range(1, 20, 4):
        why = clf.explain(table.iloc[i])
        assert {f.feature for f in why.features} <= set(table)
        judged = clf.assess(pd.DataFrame([why.counterfactual.point]))
        assert judged.label[0] == why.counterfactual.label != why.label
        assert judged.trust[0] == why.counterfactual.trust
