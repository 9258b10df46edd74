"""Shares of the probability: they add up to what they explain, and no region is named for a label but its own."""

import json
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fitted_classifiers import overlapping
from raw_tables import patients
from real_sets import every_set, some_of
from scattered_fits import in_file
from scipy.special import softmax
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from texts import assert_readable, only_with, sentences

from sepc import SEPClassifier, SepcWarning, make_table_pipeline
from sepc.common.text import percent
from sepc.explanations.evidence import BACKGROUND_ROW, COUNTS, LABEL_CORRECTION
from sepc.explanations.shares import BACKGROUND, NEARBY, feature_terms
from sepc.explanations.short_text import Advice, Doubt

BUNDLED = {"iris": load_iris, "wine": load_wine, "wdbc": load_breast_cancer}


def asked_of(X):
    """Return records of a set, one between two of them, and one that is far from all."""
    rows = [X.iloc[i] for i in (0, len(X) // 2, len(X) - 1)]
    return [*rows, (rows[0] + rows[1]) / 2.0, 1000.0 * rows[1] + 1.0]


def shares_of(why, label):
    return [one for one in why.shares if one.label == label]


def assert_sums(why):
    """Check all that shares and contributions promise of their sums."""
    evidence = why.evidence
    own, rival = shares_of(why, why.label), shares_of(why, evidence.rival)
    assert [*own, *rival] == list(why.shares)
    assert sum(one.share for one in own) == pytest.approx(why.trust, abs=1e-12)
    assert sum(one.share for one in rival) == pytest.approx(evidence.rival_probability, abs=1e-12)
    for lines in (own, rival):
        assert [one.share for one in lines] == sorted((one.share for one in lines), reverse=True)
    parts = [*(one.contribution for one in evidence.columns), *evidence.others.values()]
    assert sum(parts) == pytest.approx(evidence.log_odds, abs=1e-9)
    assert why.table()["contribution"].sum() == pytest.approx(evidence.log_odds, abs=1e-9)
    sizes = [abs(one.contribution) for one in evidence.columns]
    assert sizes == sorted(sizes, reverse=True)
    if evidence.rival_probability > 1e-250:
        assert np.log(why.trust / evidence.rival_probability) == pytest.approx(evidence.log_odds, abs=1e-9)
    assert 2 <= len([one for one in why.told.sentences() if one]) <= 4
    assert_readable(why.text)


def sizes_by_region(clf):
    """Return how many training records each region, or those that are read as one, have by the partitions, by label."""
    sizes = {str(label): {} for label in clf.classes_}
    (p,) = clf.partitions_
    for side, label in enumerate(sizes):
        blocks = [block for block in p.blocks if block.side == side]
        sizes[label] = {f"{label}#{i + 1}": len(block.members) for i, block in enumerate(blocks)}
        if len(p.isolated[side]):
            sizes[label][f"{label}@"] = len(p.isolated[side])
        for regions in clf.model_.regions_by_component():
            if len(regions) > 1 and regions[0] in sizes[label]:
                sizes[label][f"{regions[0]}+"] = sum(sizes[label].pop(region) for region in regions)
    return sizes


def assert_speaks_for_its_label(why, clf):
    """Check that each region is one of the label that it is named for, that none is left, and all records of it."""
    sizes, n = sizes_by_region(clf), int(clf.class_count_.sum())
    for label in (why.label, why.evidence.rival):
        named = {one.region: one.records for one in shares_of(why, label)}
        assert named.pop(BACKGROUND, n) == n
        assert 0 < named.pop(NEARBY, 1) <= n
        assert named.keys() == sizes[str(label)].keys()
        # After EM iterations a record belongs to several regions in part.
        assert abs(sum(named.values()) - sum(sizes[str(label)].values())) <= len(named)
    assert why.label != why.evidence.rival


@every_set
def test_shares_add_up_to_the_trust_and_terms_to_the_log_odds_on_every_set(path):
    X, y = some_of(path)
    is_numbers = all(pd.api.types.is_numeric_dtype(X[name]) for name in X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SepcWarning)
        if is_numbers:
            clf = model = SEPClassifier().fit(X.astype(float), y)
        else:
            clf = make_table_pipeline(SEPClassifier()).fit(X, y)
            model = clf.steps[-1][1]
    asked = asked_of(X.astype(float)) if is_numbers else [X.iloc[i] for i in (0, len(X) // 2, len(X) - 1)]
    for x in asked:
        why = clf.explain(x)
        assert_sums(why)
        assert_speaks_for_its_label(why, model)
        if not is_numbers:
            assert {one.column for one in why.evidence.columns} <= set(X.columns)


@pytest.mark.parametrize("trust", ["local", "raw"])
@pytest.mark.parametrize("name", BUNDLED)
def test_no_region_is_cited_that_speaks_the_other_way(name, trust):
    X, y = BUNDLED[name](return_X_y=True, as_frame=True)
    clf = SEPClassifier(trust=trust).fit(X[::2], y[::2])
    uncertain = np.argsort(clf.predict_proba(X).max(axis=1))[:5]
    for x in [*asked_of(X), *(X.iloc[i] for i in uncertain)]:
        why = clf.explain(x)
        assert_sums(why)
        assert_speaks_for_its_label(why, clf)
        assert any(one.region == BACKGROUND for one in why.shares) is (trust == "local")
        if trust == "raw":
            assert why.evidence.others[LABEL_CORRECTION] == pytest.approx(0.0, abs=1e-9)
            assert why.evidence.others[BACKGROUND_ROW] == 0.0


@pytest.mark.parametrize("trust", ["local", "raw"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_of_the_rival_are_its_probability(n_classes, trust):
    X, y, asked = overlapping(n_classes)
    clf = SEPClassifier(trust=trust, n_imp=5).fit(X, y)
    for x, proba in zip(asked[:20], clf.predict_proba(asked[:20]), strict=True):
        why = clf.explain(x)
        rival = clf.classes_[np.argsort(proba, kind="stable")[-2]]
        assert why.evidence.rival == rival
        assert sum(one.share for one in shares_of(why, rival)) == pytest.approx(np.sort(proba)[-2], abs=1e-12)


def test_shares_are_those_of_the_densities_and_the_background():
    X, y = load_iris(return_X_y=True)
    clf = SEPClassifier().fit(X[::2], y[::2])
    model, x = clf.model_, X[77]
    why = clf.explain(x)
    z = model.units(x)[None]
    logs = model.densities.by_component(z)[0]
    names = model.region_names()
    by_label = softmax(model.densities.log_joint(z)[0] / model.calibration.temperature + model.calibration.correction)
    b = float(model.calibration.background(np.logaddexp.reduce(logs, keepdims=True))[0])
    for one in why.shares:
        if one.region == BACKGROUND:
            assert (one.share, one.records) == (pytest.approx(b / 3.0), 75)
            continue
        own = logs[model.densities.codes == one.label]
        part = np.exp(logs[names.index(one.region)] - np.logaddexp.reduce(own))
        assert one.share == pytest.approx((1.0 - b) * by_label[one.label] * part)


def test_terms_of_a_raw_table_are_those_of_its_columns():
    table, labels = patients()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SepcWarning)
        clf = make_table_pipeline(SEPClassifier()).fit(table, labels)
        why = clf.explain(table.iloc[5])
    assert_sums(why)
    assert {one.column for one in why.evidence.columns} == {"age", "color", "smoker", "weight", "joined", "sex"}


def test_where_the_rule_of_the_paper_says_otherwise_the_text_says_so():
    X, y, asked = overlapping(2)
    clf = SEPClassifier().fit(X, y)
    own, others = clf.assess(asked).counts.T
    for otherwise in (False, True):
        rows = np.flatnonzero((others > own) == otherwise)
        assert len(rows)
        for i in rows[:3]:
            why = clf.explain(asked[i])
            assert why.rule_disagrees is otherwise
            told = {name: count + 1 for name, count in zip(("own", "others"), why.counts.values(), strict=True)}
            assert len(only_with(why, counts=told)) == 1


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scattered", [False, True])
def test_records_are_those_of_the_partition_with_and_without_training_rows(n_classes, scattered):
    X, y, _ = overlapping(n_classes)
    fit = in_file if scattered else lambda clf, X, y: clf.fit(X, y)
    clf = fit(SEPClassifier(trust="raw"), X, y)
    model = replace(clf.model_, records=None)
    sizes = {name: n for of_label in sizes_by_region(clf).values() for name, n in of_label.items()}
    found = [model.densities.size(k, len(X)) for k in range(len(model.densities.codes))]
    assert dict(zip(model.region_names(), found, strict=True)) == sizes
    assert sum(found) == len(X)


@pytest.mark.parametrize("trust", ["counts", "bound", "paper"])
def test_readings_that_count_have_no_shares(cancer, trust):
    X, y = cancer
    why = SEPClassifier(trust=trust).fit(X[::2], y[::2]).explain(1000.0 * X.iloc[1])
    assert (why.shares, why.strange_features) == ((), ())
    assert {one.contribution for one in why.evidence.columns} == {None}
    assert why.evidence.others == {COUNTS: pytest.approx(why.evidence.log_odds)}
    assert (why.typicality, why.stability, why.n_partitions) == (None, None, 0)
    assert why.region.removeprefix("~") in why.text


def test_who_speaks_is_told_with_shares_and_records(cancer, fitted):
    X, _ = cancer
    for i in range(1, 60, 6):
        why = fitted.explain(X.iloc[i])
        trust, rival = sentences(why)[:2]
        assert percent(why.trust) in trust
        assert f" {why.evidence.rival} " in rival
        assert percent(why.evidence.rival_probability) in rival
        first = why.shares[0]
        assert first.in_words(description=why.descriptions[first.region]) in trust
        assert f" {why.rule} " in why.details
        assert_readable(why.details)


def test_a_contested_label_is_told_with_the_share_of_its_rival(cancer, fitted):
    X, _ = cancer
    rows = np.flatnonzero(fitted.assess(X).contested)
    for i in rows[:5]:
        why = fitted.explain(X.iloc[i])
        share = sum(one.share for one in shares_of(why, why.evidence.rival))
        assert share >= 1.0 / 3.0
        assert (why.doubt, why.advice) == (Doubt.contested, Advice.ask)
        assert percent(share) in why.text


def test_a_strange_record_is_told_with_what_makes_it_strange():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["age", "weight", "height"])
    y = np.where(np.arange(200) % 2, "ill", "well")
    X.loc[y == "ill", "age"] += 10.0
    clf = SEPClassifier().fit(X, y)
    why = clf.explain(pd.Series({"age": 0.0, "weight": 40.0, "height": 0.0}))
    assert (why.reason, why.typicality) == ("beyond", 0.0)
    first = why.strange_features[0]
    assert (first.feature, first.value) == ("weight", 40.0)
    assert first.reference == pytest.approx(0.0, abs=0.5)
    assert 0.9 < first.share <= 1.0
    assert "weight (40; " in only_with(why, strange_features=())[0]
    assert why.shares[0].region == BACKGROUND
    assert (why.doubt, why.told.doubt) == (Doubt.beyond, Doubt.beyond)
    assert len(list(why.told.sentences())) == 3
    assert " 40, beyond " in why.text
    X["height"] = X["weight"] + rng.normal(scale=0.1, size=len(X))
    why = SEPClassifier().fit(X, y).explain(pd.Series({"age": 0.0, "weight": 2.0, "height": -2.0}))
    assert (why.reason, why.doubt, why.advice) == ("strange", Doubt.strange, Advice.look_again)
    assert {f.feature for f in why.strange_features[:2]} == {"weight", "height"}
    ordinary = clf.explain(X.iloc[0])
    assert (ordinary.reason == "strange", ordinary.strange_features) == (False, ())


def test_what_makes_a_raw_record_strange_is_told_in_its_columns():
    table, labels = patients()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SepcWarning)
        clf = make_table_pipeline(SEPClassifier()).fit(table, labels)
        why = clf.explain({**table.iloc[3].to_dict(), "weight": "4000"})
    assert why.reason == "beyond"
    assert why.strange_features[0].feature == "weight"
    assert "weight (4000; " in why.details
    assert " weight " in why.text
    assert " 4000, beyond " in why.text
    assert {f.feature for f in why.strange_features} <= set(table.columns)


def test_partitions_that_give_another_label_are_told(cancer, fitted):
    X, _ = cancer
    a = fitted.assess(X)
    firm, shaky = (
        np.flatnonzero(chosen)[0] for chosen in (a.stability == 1.0, (a.stability < 1.0) & (a.stability > 0))
    )
    assert (fitted.explain(X.iloc[firm]).stability, fitted.explain(X.iloc[firm]).n_partitions) == (1.0, 3)
    assert only_with(fitted.explain(X.iloc[firm]), stability=None) == []
    (told,) = only_with(fitted.explain(X.iloc[shaky]), stability=None)
    assert [int(number) for number in re.findall(r"\d+", told)] == [3, round(3 * a.stability[shaky])]


def test_all_of_it_is_ready_for_json(cancer, fitted):
    X, _ = cancer
    for x in (X.iloc[1], 1000.0 * X.iloc[1]):
        why = fitted.explain(x)
        told = json.loads(json.dumps(why.to_dict(), allow_nan=False))
        assert told["shares"] == [one._asdict() for one in why.shares]
        assert told["evidence"]["columns"][0]["contribution"] == why.evidence.columns[0].contribution
        assert (told["text"], told["details"], told["doubt"]) == (why.text, why.details, why.doubt)
        assert [f["feature"] for f in told["strange_features"]] == [f.feature for f in why.strange_features]
        assert (told["typicality"], told["stability"]) == (why.typicality, why.stability)


def test_terms_and_the_part_of_the_regions_add_up_to_the_log_odds():
    X, y = load_iris(return_X_y=True)
    model = SEPClassifier().fit(X[::2], y[::2]).model_
    points = model.units(X[1::2])
    label, rival = np.argsort(-model.densities.log_joint(points), axis=1)[:, :2].T
    best, against, terms = feature_terms(model.densities, points, label, rival)
    logs, rows = model.densities.by_component(points), np.arange(len(points))
    odds = logs[rows, best] - logs[rows, against]
    same_everywhere = model.densities.log_weights[best] - model.densities.log_weights[against]
    assert terms.sum(axis=1) + same_everywhere == pytest.approx(odds)
    assert (model.densities.codes[best] == label).all()
    assert (model.densities.codes[against] == rival).all()
