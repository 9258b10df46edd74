"""Evidence of columns: Shapley values of the model's own log odds, and columns that hold what texts say of them."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from fitted_classifiers import overlapping
from raw_tables import patients
from sklearn.datasets import load_iris

from sepc import SEPClassifier, SEPEnsembleClassifier, make_table_pipeline
from sepc.explanations.evidence import BACKGROUND_ROW, CLASS_SHARES, chain_terms
from sepc.explanations.usual_values import Usual


def by_known_columns(model, z, label, rival, columns):
    """Return the log odds by some columns alone, the others missing."""
    x = np.full_like(z, np.nan)
    for own in columns:
        x[own] = z[own]
    joint = model.densities.log_joint(x[None])[0]
    return float(joint[label] - joint[rival])


@pytest.mark.parametrize("trust", ["raw", "local"])
def test_contributions_are_shapley_values_of_what_the_model_says_with_missing_values(trust):
    X, y = load_iris(return_X_y=True)
    model = SEPClassifier(trust=trust).fit(X[::2], y[::2]).model_
    columns = [np.array([0]), np.array([1]), np.array([2, 3])]
    for x in X[[1, 77]]:
        z = model.units(x)
        label, rival = np.argsort(-model.densities.log_joint(z[None])[0])[:2]
        expected = np.zeros(3)
        for order in permutations(range(3)):
            for n, k in enumerate(order):
                before, after = ([columns[j] for j in order[:m]] for m in (n, n + 1))
                gain = by_known_columns(model, z, label, rival, after) - by_known_columns(
                    model, z, label, rival, before
                )
                expected[k] += gain / 6.0
        pair = np.array([label, rival])
        (found,) = chain_terms(
            model.densities, z[None], columns, lambda joint, _, pair=pair: -np.diff(joint[..., pair])[..., 0]
        )
        # Six orders are all there are: rotations and their reverses.
        assert found == pytest.approx(expected, abs=1e-9)


def test_columns_that_are_the_same_share_what_they_say():
    X, y, _ = overlapping(2)
    rng = np.random.default_rng(0)
    twice = np.column_stack([X, X[:, 0] + 1e-4 * rng.normal(size=len(X))])
    why = SEPClassifier().fit(twice, y).explain(twice[0])
    parts = {c.column: c.contribution for c in why.evidence.columns}
    assert parts["x0"] == pytest.approx(parts["x2"], rel=0.2)


@pytest.mark.parametrize("kind", ["one", "ensemble"])
def test_a_named_column_moves_the_trust_as_stated(cancer, fitted, kind):
    X, y = cancer
    clf = fitted if kind == "one" else SEPEnsembleClassifier(n_estimators=4).fit(X[::2], y[::2])
    n_named = 0
    for i in range(1, 50, 8):
        why = clf.explain(X.iloc[i])
        k = clf.classes_.tolist().index(why.label)
        for sign in (1, -1):
            for column in why.evidence.named(sign):
                towards = column.rival_usual if sign > 0 else column.usual
                moved = X.iloc[[i]].copy()
                moved[column.column] = 0.5 * (column.value + towards.middle)
                trust = clf.predict_proba(moved)[0, k]
                assert trust < why.trust if sign > 0 else trust > why.trust
                assert f"{column.column} is " in why.text or sign < 0
                n_named += 1
    assert n_named > 10


def test_stated_class_priors_are_class_shares(fitted, cancer):
    X, _ = cancer
    prior = {"malignant": 0.1, "benign": 0.9}
    why = fitted.under(class_prior=prior).explain(X.iloc[1])
    odds = np.log(prior[why.label] / prior[why.evidence.rival])
    assert why.evidence.others[CLASS_SHARES] == pytest.approx(odds)
    assert why.table()["contribution"].sum() == pytest.approx(why.evidence.log_odds, abs=1e-9)


def test_without_training_records_what_is_usual_comes_from_the_densities(cancer, fitted):
    X, _ = cancer
    without = SEPClassifier().fit(X[::2], cancer[1][::2])
    without.model_ = without.model_.for_assessments()
    for one, other in zip(*(clf.explain(X.iloc[1]).evidence.columns for clf in (fitted, without)), strict=True):
        assert one.contribution == other.contribution
        spread = X[one.column].std()
        assert other.usual.middle == pytest.approx(one.usual.middle, abs=0.7 * spread)


def test_shares_of_values_are_those_of_the_records_or_of_the_densities():
    table, y = patients()
    clf = make_table_pipeline(SEPClassifier()).fit(table, y)
    record = table.iloc[[5]]
    why = clf.explain(record)
    column = next(c for c in why.evidence.columns if c.column == "color")
    own = table.loc[np.asarray(y) == why.label, "color"].fillna("")
    assert column.usual.share == pytest.approx(np.mean(own == record["color"].fillna("").iloc[0]))
    classifier = clf[-1]
    classifier.model_ = classifier.model_.for_assessments()
    other = next(c for c in clf.explain(record).evidence.columns if c.column == "color")
    assert other.usual is None or other.usual.share == pytest.approx(column.usual.share, abs=0.15)


def test_a_range_is_told_with_three_digits_and_a_value_as_it_is():
    assert Usual(0.123456, 1.0, 98765.0).in_words() == "0.123 to 98800"
    assert Usual(2.0, 2.0, 2.0).in_words() == "2"
    assert Usual(middle="red", share=0.25).in_words() == "25 %"


@pytest.mark.parametrize("trust", ["paper", "counts", "bound"])
def test_models_that_count_have_the_log_odds_of_their_counts(trust):
    X, y, asked = overlapping(3)
    clf = SEPClassifier(trust=trust, n_imp=5).fit(X, y)
    for x, proba in zip(asked[:5], clf.predict_proba(asked[:5]), strict=True):
        why = clf.explain(x)
        odds = np.diff(np.log(np.sort(proba)))[-1]
        assert why.table()["contribution"].sum() == pytest.approx(odds, abs=1e-9)
        assert len([s for s in why.told.sentences() if s]) <= 4


def test_a_far_record_gives_the_background_what_columns_claimed(fitted, cancer):
    X, _ = cancer
    why = fitted.explain(1000.0 * X.iloc[1])
    assert abs(why.evidence.others[BACKGROUND_ROW]) > 1.0
    assert why.table()["contribution"].sum() == pytest.approx(why.evidence.log_odds, abs=1e-9)
    assert isinstance(why.table(), pd.DataFrame)


def test_columns_that_are_copies_leave_the_sum_as_it_is():
    X, y, _ = overlapping(2)
    copies = np.column_stack([X, X, 2.0 * X[:, 0] - X[:, 1]])
    why = SEPClassifier().fit(copies, y).explain(copies[3])
    assert why.table()["contribution"].sum() == pytest.approx(why.evidence.log_odds, abs=1e-9)


def test_where_all_values_of_a_column_are_zero_the_range_is_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    X[:100, 1] = 0.0
    why = SEPClassifier().fit(X, np.arange(120) % 2).explain(X[0])
    column = next(c for c in why.evidence.columns if c.column == "x1")
    assert column.usual.low == 0.0 or abs(column.usual.low) > 1e-3
