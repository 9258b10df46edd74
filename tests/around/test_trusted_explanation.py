"""Explanations around another model: its answer and record, the regions, what both add, and changes it agrees to."""

import json
import re
from copy import copy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from sepc import TrustedClassifier
from sepc.around import GivenScores
from sepc.common.intervals import exact_interval
from sepc.datasets import make_credit
from sepc.persist.rules_in_words import rules_dict

COLUMNS = ["housing", "purpose"]


@pytest.fixture(scope="module")
def wdbc():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::3, :3], np.where(y[::3] == 0, "malignant", "benign"), X[1:180:2, :3]


@pytest.fixture(scope="module")
def around_bayes(wdbc):
    X, y, _ = wdbc
    return TrustedClassifier(GaussianNB(), cv=3).fit(X, y)


@pytest.fixture(scope="module")
def explained(around_bayes, wdbc):
    return around_bayes.explain_many(wdbc[2])


def tree():
    """A tree of a raw table: its odds have no slopes, and it takes whole numbers, texts and dates as they are."""
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer((encoder, COLUMNS), ("passthrough", ["amount", "months", "income"]))
    return make_pipeline(columns, DecisionTreeClassifier(max_depth=5, random_state=0))


@pytest.fixture(scope="module")
def loans():
    table, outcome = make_credit(150, seed=0)
    table["note"] = [f"note {i}" for i in range(len(table))]  # no feature for regions
    return table, outcome


@pytest.fixture(scope="module")
def around_tree(loans):
    return TrustedClassifier(tree(), cv=3).fit(*loans)


def test_parts_and_columns_add_up_to_the_log_odds_of_the_trust(explained, around_bayes, wdbc):
    proba = around_bayes.predict_proba(wdbc[2])
    for why, p in zip(explained, proba, strict=True):
        codes = [around_bayes.classes_.tolist().index(label) for label in (why.label, why.evidence.rival)]
        log_odds = np.log(p[codes[0]]) - np.log(p[codes[1]])
        assert sum(part.log_odds for part in why.parts) == pytest.approx(log_odds, abs=1e-9)
        assert why.evidence.log_odds == pytest.approx(log_odds, abs=1e-9)
        columns = sum(one.contribution for one in why.evidence.columns) + sum(why.evidence.others.values())
        assert columns == pytest.approx(log_odds, abs=1e-9)
    assert explained[0].table()["contribution"].sum() == pytest.approx(explained[0].evidence.log_odds)


def test_the_parts_of_model_and_regions_are_their_log_odds_times_their_weights(explained, around_bayes, wdbc):
    own, by_regions = around_bayes.estimator_.predict_proba(wdbc[2]), around_bayes.regions_.predict_proba(wdbc[2])
    for why, given, regions in zip(explained, own, by_regions, strict=True):
        codes = [around_bayes.classes_.tolist().index(label) for label in (why.label, why.evidence.rival)]
        if given.min() > 1e-3:
            assert why.parts[0].says == pytest.approx(np.log(given[codes[0]] / given[codes[1]]))
        assert why.parts[1].says == pytest.approx(np.log(regions[codes[0]] / regions[codes[1]]))
        assert [part.weight for part in why.parts[:2]] == around_bayes.weights_.tolist()
        assert all(part.log_odds == pytest.approx(part.says * part.weight) for part in why.parts[:2])


def test_it_tells_what_the_model_and_the_regions_say(explained, around_bayes, wdbc):
    a, own = around_bayes.assess(wdbc[2]), around_bayes.estimator_.predict_proba(wdbc[2])
    for i, why in enumerate(explained):
        assert why.model == "GaussianNB"
        assert (why.model_label, why.model_probability) == (a.given_label[i], own[i].max())
        assert (why.regions.label, why.regions.trust) == (a.region_label[i], pytest.approx(a.region_trust[i]))
        assert (why.label, why.trust, why.reason) == (a.label[i], a.trust[i], a.reason[i])
        assert len(re.findall(r"\.(?= [A-Z]|$)", why.text)) <= 4
        assert json.loads(json.dumps(why.to_dict()))["regions"]["label"] == why.regions.label
        assert "GaussianNB" in why._repr_html_()


def test_the_record_of_the_model_is_that_of_the_region_where_there_is_enough_of_it(explained, around_bayes):
    kept, names = around_bayes.model_.track_record, around_bayes.model_.regions.region_names()
    for held in (why.held_out for why in explained):
        assert (held.low, held.high) == exact_interval(held.right, held.n)
        assert (held.all_right, held.all_n) in zip(kept.right.sum(axis=0), kept.n.sum(axis=0), strict=True)
        if held.region is None:
            assert (held.right, held.n) == (held.all_right, held.all_n)
        else:
            component = names.index(held.region)
            assert (held.right, held.n) in zip(kept.right[component], kept.n[component], strict=True)
            assert held.n >= 10
    assert {why.held_out.region is None for why in explained} == {True, False}


def test_a_record_without_values_is_held_against_no_region():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 2)) + 2.5 * y[:, None]
    X[::9, 0] = np.nan
    clf = TrustedClassifier(HistGradientBoostingClassifier(max_iter=5), cv=3).fit(X, y)
    why = clf.explain_many(np.full((1, X.shape[1]), np.nan))[0]
    assert why.acceptance.refusal == "no values"
    assert why.held_out.region is None
    assert why.held_out.n == why.held_out.all_n > 0
    assert "all held-out records" in why.text


def test_disagreement_is_a_doubt_and_sends_the_record_to_a_person(explained):
    apart = [why for why in explained if why.reason == "disagreement"]
    assert apart
    for why in apart:
        assert (why.doubt, why.advice, why.acceptance.refusal) == ("disagreement", "ask", "disagreement")
        assert f"With the regions {why.evidence.rival} is more likely" in why.text
        assert why.evidence.log_odds < 0.0


@pytest.mark.parametrize("x", [3])
def test_after_the_change_of_an_array_the_model_itself_says_another_label(around_bayes, wdbc, x):
    why = around_bayes.explain(wdbc[2][x], fixed=1, min_typicality=0.2)
    changed = np.array([list(why.counterfactual.point.values())])
    assert around_bayes.estimator_.predict(changed) == [why.counterfactual.label] != [why.label]
    assert around_bayes.assess(changed).typicality >= 0.2
    assert changed[0, 1] == wdbc[2][x, 1]
    assert "after which GaussianNB says" in why.details


@pytest.mark.parametrize("row", [0, 4])
def test_after_the_change_of_a_raw_row_the_model_itself_says_another_label(around_tree, loans, row):
    table = loans[0]
    why = around_tree.explain(table.iloc[row], fixed=["age"], ranges={"amount": (None, 20_000)}, max_columns=2)
    assert len(why.actionable_change.changes) <= 2
    for change in (why.counterfactual, why.actionable_change):
        raw = table.iloc[[row]].copy()
        for one in change.changes:
            assert one.feature not in ("age", "note")
            raw[one.feature] = pd.Series([one.after], raw.index).astype(table[one.feature].dtype)
        assert around_tree.estimator_.predict(raw)[0] == change.label != why.label
        assert around_tree.assess(raw).typicality[0] == pytest.approx(change.typicality)
        assert change.typicality >= 0.1


def test_a_change_across_one_split_of_a_tree_goes_no_further_than_it_must(wdbc):
    X, y, X_new = wdbc
    clf = TrustedClassifier(DecisionTreeClassifier(max_depth=1, random_state=0), cv=3).fit(X, y)
    stump = clf.estimator_.tree_
    why = clf.explain(X_new[3], min_typicality=0.0, max_columns=1)
    (change,) = why.actionable_change.changes
    assert change.feature == f"x{stump.feature[0]}"
    beyond = abs(change.after - stump.threshold[0])
    assert beyond < 0.05 * abs(change.before - stump.threshold[0])


def test_a_polars_row_is_asked_about_as_polars(loans):
    table, outcome = loans
    given = pl.from_pandas(table[["amount", "months", "housing"]])
    trees = make_pipeline(
        make_column_transformer((OrdinalEncoder(), ["housing"]), remainder="passthrough"),
        DecisionTreeClassifier(max_depth=3, random_state=0),
    )
    clf = TrustedClassifier(trees, cv=3).fit(given, outcome)
    why = clf.explain(given[5])
    assert why.counterfactual.label != why.label
    assert why.neighbours[0].values.keys() == {"amount", "months", "housing"}


def test_kept_limits_hold_and_are_in_the_columns_own_words(around_tree, loans):
    clf = around_tree.limit_changes(fixed=["housing", "opened"])
    try:
        why = clf.explain(loans[0].iloc[4].to_dict())
        assert why.limits == " with housing and opened as they are"
        assert not {one.feature for one in why.counterfactual.changes} & {"housing", "opened"}
    finally:
        clf.limit_changes()


def test_where_the_model_cannot_be_asked_it_says_why(around_bayes, wdbc, loans):
    X, y, X_new = wdbc
    by_directions = TrustedClassifier(GaussianNB(), cv=3, encoder=lambda X: X[:, :1]).fit(X, y)
    assert by_directions.explain(X_new[:1]).no_change_because == "no-way-back"
    table, outcome = loans
    given = table[["amount", "income"]].assign(p=np.where(table.amount > 8000, 0.2, 0.9))
    by_columns = TrustedClassifier(GivenScores(["p"])).fit(given, outcome)
    why = by_columns.explain(given.iloc[0])
    assert why.no_change_because == "given-scores"
    assert [one.column for one in why.evidence.columns if one.column == "p"] == []
    assert "The model gives it" in why.text
    alone = copy(around_bayes)
    alone.estimator_ = None
    why = alone.explain(X_new[0], scores=[[0.1, 0.9]])
    assert (why.no_change_because, why.label) == ("no-estimator", "malignant")
    assert "not there to be asked" in why.details


def test_joint_labels_are_explained_as_such(wdbc, around_bayes):
    X, y, X_new = wdbc
    joint = TrustedClassifier(GaussianNB(), cv=3, labels="joint").fit(X, y)
    apart = np.flatnonzero(around_bayes.assess(X_new).disagrees)
    why = joint.explain(X_new[apart[0]])
    assert why.label != why.model_label
    assert f"GaussianNB says {why.model_label}" in why.text
    changed = np.array([list(why.counterfactual.point.values())])
    assert joint.predict(changed) == [why.counterfactual.label] != [why.label]


def test_regions_and_rules_are_in_the_columns_own_words(around_tree):
    found, rules = around_tree.regions(), rules_dict(around_tree)
    assert {"where", "description"} <= set(found.columns)
    assert any("housing:" in where for where in found["where"])
    record = around_tree.model_.track_record
    assert sum(one["n"] for one in rules["held_out"]) == record.n.sum()
    assert rules["model"] == "DecisionTreeClassifier"
    assert rules["weights"] == dict(zip(("model", "regions"), around_tree.weights_.tolist(), strict=True))
    json.dumps(rules)


def test_of_a_wide_table_regions_speak_of_the_columns_that_they_read():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = pd.DataFrame(rng.normal(size=(40, 501)), columns=[f"g{j}" for j in range(501)])
    X["g7"] += 4.0 * y
    with pytest.warns(UserWarning, match="reads"):
        clf = TrustedClassifier(DecisionTreeClassifier(max_depth=2, random_state=0), cv=2).fit(X, y)
    (why,) = clf.explain_many(X[:1])
    assert "g7" in [one.column for one in why.evidence.columns]
    assert clf.has_learned(X[:2]).all()
