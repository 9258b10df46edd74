"""The pipeline of raw tables: it speaks of what came in, and fits as scikit-learn's estimators do."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from coded import raises
from raw_tables import as_polars, patients
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from sepc import SEPClassifier, SEPEnsembleClassifier, make_table_pipeline
from sepc.tables import TableEncoder, TablePipeline


@pytest.mark.conformance
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


@pytest.mark.slow
def test_the_pipeline_clones_searches_and_cross_validates():
    table, y = patients()
    search = GridSearchCV(make_table_pipeline(), {"classifier__n_imp": [0, 5]}, cv=3).fit(table, y)
    assert isinstance(search.best_estimator_, TablePipeline)
    proba = cross_val_predict(clone(search.best_estimator_), table, y, cv=3, method="predict_proba")
    assert (proba.argmax(axis=1) == (y == "well")).mean() > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("classifier", [None, SEPEnsembleClassifier(n_estimators=3)])
def test_the_pipeline_says_of_raw_tables_what_its_classifier_says_of_features(classifier):
    table, y = patients()
    clf = make_table_pipeline(classifier).fit(table[::2], y[::2])
    features, inner = clf["columns"].transform(table), clf["classifier"]
    assert clf.feature_names_in_.tolist() == table.columns.tolist()
    assert clf.classes_.tolist() == ["ill", "well"]
    assert np.array_equal(clf.predict(table), inner.predict(features))
    assert np.array_equal(clf.trust_score(table), inner.trust_score(features))
    complete = np.array([not gaps for gaps in clf["columns"].gaps(table)])
    given, inner_given = clf.predict_or_abstain(table, 0.8), inner.predict_or_abstain(features, 0.8)
    assert np.array_equal(given[complete], inner_given[complete])
    assert clf.assess(table).to_frame()[complete].equals(inner.assess(features).to_frame()[complete])
    assert clf.assess(table).to_frame().index.equals(table.index)
    same = [name for name in inner.regions().columns if name != "description"]
    assert clf.regions()[same].equals(inner.regions()[same])
    sets = clf.calibrate(table[1::2], y[1::2]).predict_set(table, coverage=0.8)
    assert np.array_equal(sets.sets, inner.predict_set(features, coverage=0.8).sets)


@pytest.mark.slow
@pytest.mark.parametrize("trust", ["local", "paper"])
def test_what_is_blank_or_was_never_seen_is_strange(trust):
    table, y = patients()
    clf = make_table_pipeline(SEPClassifier(trust=trust)).fit(table, y)
    blank = pd.DataFrame({name: [None] for name in table})
    unknown = table[:1].assign(color="mauve", sex="neither", age=None, smoker=None)
    a = clf.assess(pd.concat([table[:1], blank, unknown], ignore_index=True).astype(object))
    assert a.reason[0] != "strange"
    why = ["no values" if trust == "local" else "strange", "strange"]
    assert a.reason[1:].tolist() == a.refusals(min_trust=0.0)[1:].tolist() == why
    assert np.isnan(a.typicality[0]) == (trust == "paper")
    given = clf.predict_or_abstain(blank, min_trust=0.0)
    assert given.tolist() == [None]
    # The label of a record that is half and half stays contested, strange or not.
    assert a.refusals(min_trust=0.0, min_typicality=0.0)[2] in (None, "contested")


@pytest.mark.slow
def test_gaps_make_a_record_less_typical_and_nothing_else():
    table, y = patients()
    clf = make_table_pipeline().fit(table, y)
    encoder, features = clf["columns"], clf["columns"].transform(table)
    a, inner = clf.assess(table), clf["classifier"].assess(features)
    gaps = encoder.gap_typicality(table)
    assert np.array_equal(a.typicality, np.minimum(inner.typicality, gaps))
    assert np.array_equal(a.trust, inner.trust)
    assert np.array_equal(a.contested, inner.contested)


@pytest.mark.slow
def test_the_explanation_names_the_columns_that_make_a_record_strange():
    table, y = patients()
    clf = make_table_pipeline().fit(table, y)
    odd = table.iloc[3].astype(object).to_dict() | {"age": None, "color": "mauve", "sex": "neither"}
    why, a = clf.explain(odd), clf.assess(pd.DataFrame([odd]))
    assert why.reason == a.reason[0] == "strange"
    assert why.typicality == a.typicality[0]
    # Without its age no change makes it ordinary.
    assert why.counterfactual is why.actionable_change is None
    assert why.no_change_because == "none-ordinary"
    named = [(one.feature, one.value) for one in why.strange_features[:2]]
    assert named == [("color", "mauve"), ("sex", "neither")]
    assert "color (mauve), sex (neither)" in why.details
    assert "mauve" in why.text
    assert why.missing.features == ("age",)
    one_gap = table.iloc[3].astype(object).to_dict() | {"age": None}
    why, a = clf.explain(one_gap), clf.assess(pd.DataFrame([one_gap]))
    assert (why.reason, why.typicality) == (a.reason[0], a.typicality[0])


@pytest.mark.parametrize("x", [{"size": None}, {"size": "n/a"}])
def test_a_blank_record_has_no_values(x):
    table = pd.DataFrame({"size": [0.0, 1.0, 2.0, 3.0, 6.0, 7.0, 8.0, 9.0]})
    clf = make_table_pipeline(SEPEnsembleClassifier(n_estimators=2)).fit(table, ["low"] * 4 + ["high"] * 4)
    assert clf.explain(x).reason == clf.assess(pd.DataFrame([x])).reason[0] == "no values"


@pytest.mark.slow
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
    with raises("table-labels-missing", n_missing=60, n_rows=120, row=2):
        make_table_pipeline().fit(patients()[0], labels)


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_failed_fit_leaves_the_pipeline_as_it_was():
    table, y = patients()
    clf = make_table_pipeline().fit(table, y)
    before = clf.predict_proba(table)
    with raises("one-class", label="a"):
        clf.fit(table[["age"]], ["a"] * len(table))
    assert np.array_equal(clf.predict_proba(table), before)


def test_other_steps_are_refused():
    with raises("pipeline-steps", steps="classifier"):
        TablePipeline([("classifier", SEPClassifier())]).fit([[1], [2]], [0, 1])


@pytest.mark.slow
def test_every_form_of_a_record_gets_the_same_explanation():
    table, y = patients()
    clf = make_table_pipeline().fit(table, y)
    row = table.iloc[3]
    told = clf.explain(row).to_dict()
    frame = as_polars(table[3:4])
    for form in (row.to_dict(), table[3:4], frame, frame.row(0, named=True), row.astype(str).to_dict()):
        assert clf.explain(form).to_dict() == told
    with raises("explain-one-record", n_rows=2):
        clf.explain(table[:2])


@pytest.mark.slow
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
