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
from sepc.explanations.shares import BACKGROUND, MainEvidence, feature_terms

BUNDLED = {"iris": load_iris, "wine": load_wine, "wdbc": load_breast_cancer}


def asked_of(X):
    """Return records of a set, one between two of them, and one that is far from all."""
    rows = [X.iloc[i] for i in (0, len(X) // 2, len(X) - 1)]
    return [*rows, (rows[0] + rows[1]) / 2.0, 1000.0 * rows[1] + 1.0]


def shares_of(why, label):
    return [one for one in why.shares if one.label == label]


def assert_sums(why):
    """Check all that shares and terms promise of their sums."""
    own, rival = shares_of(why, why.label), shares_of(why, why.against.rival_label)
    assert [*own, *rival] == list(why.shares)
    assert sum(one.share for one in own) == pytest.approx(why.trust, abs=1e-12)
    for lines in (own, rival):
        assert [one.share for one in lines] == sorted((one.share for one in lines), reverse=True)
    best, against = (next(one for one in lines if one.region != BACKGROUND) for lines in (own, rival))
    parting = why.against
    # Shares that are next to nothing may all be 0.
    assert best.share in (0.0, next(one.share for one in own if one.region == parting.region))
    assert against.share in (0.0, next(one.share for one in rival if one.region == parting.rival_region))
    terms = [parting.size_and_width, *(term.term for term in parting.terms)]
    assert sum(terms) == pytest.approx(parting.log_odds, rel=1e-9, abs=1e-12 * sum(map(abs, terms)))
    sizes = [abs(term.term) for term in parting.terms]
    assert sizes == sorted(sizes, reverse=True)
    if best.share > 1e-250 and against.share > 1e-250:
        whole = parting.log_odds + parting.calibration
        assert np.log(best.share / against.share) == pytest.approx(whole, rel=1e-9, abs=1e-9)


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
    for label in (why.label, why.against.rival_label):
        named = {one.region: one.records for one in shares_of(why, label)}
        assert named.pop(BACKGROUND, n) == n
        assert named.keys() == sizes[str(label)].keys()
        # After EM iterations a record belongs to several regions in part.
        assert abs(sum(named.values()) - sum(sizes[str(label)].values())) <= len(named)
    assert why.label != why.against.rival_label


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
            assert {term.feature for term in why.against.terms} <= set(X.columns)


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
            assert why.against.calibration == 0.0
        if not why.shares[0].is_background:
            assert why.against.region == why.shares[0].region
            assert why.against.in_words() in why.text


@pytest.mark.parametrize("trust", ["local", "raw"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_of_the_rival_are_its_probability(n_classes, trust):
    X, y, asked = overlapping(n_classes)
    clf = SEPClassifier(trust=trust, n_imp=5).fit(X, y)
    for x, proba in zip(asked[:20], clf.predict_proba(asked[:20]), strict=True):
        why = clf.explain(x)
        rival = clf.classes_[np.argsort(proba, kind="stable")[-2]]
        assert why.against.rival_label == rival
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


def test_terms_are_the_squared_distances_feature_by_feature():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = SEPClassifier().fit(X[::2], y[::2])
    densities, names = clf.model_.densities, clf.model_.region_names()
    for i in range(1, 150, 10):
        why = clf.explain(X.iloc[i])
        z = clf.model_.units(X.iloc[i].to_numpy())
        tails, df = [], densities.degrees_of_freedom
        for region in (why.against.region, why.against.rival_region):
            center, frame = densities.frame(names.index(region))
            squares = (z - center) * (frame @ frame.T @ (z - center))
            tails.append(-0.5 * (df + 4) * np.log1p(squares.sum() / df) * squares / squares.sum())
        expected = dict(zip(X.columns, tails[0] - tails[1], strict=True))
        assert {term.feature: term.term for term in why.against.terms} == pytest.approx(expected)


def test_terms_of_a_raw_table_are_those_of_its_columns():
    table, labels = patients()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SepcWarning)
        clf = make_table_pipeline(SEPClassifier()).fit(table, labels)
        why = clf.explain(table.iloc[5])
    assert_sums(why)
    assert {term.feature for term in why.against.terms} == {"age", "color", "smoker", "weight", "joined", "sex"}


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
    assert (why.shares, why.against, why.strange_features) == ((), None, ())
    assert (why.typicality, why.stability, why.n_partitions) == (None, None, 0)
    assert why.region in why.text


def test_who_speaks_is_told_with_shares_and_records(cancer, fitted):
    X, _ = cancer
    for i in range(1, 60, 6):
        why = fitted.explain(X.iloc[i])
        verdict, against = sentences(why)[:2]
        assert f" {why.label} " in verdict
        assert percent(why.trust) in verdict
        rival = why.against.rival_label
        assert f" {rival} " in against
        assert percent(sum(one.share for one in shares_of(why, rival))) in against
        assert f"{why.shares[0].region} ({why.shares[0].records} " in why.text
        assert f" {why.rule} " in why.text
        assert_readable(why.text)


def test_a_contested_label_is_told_with_the_share_of_its_rival(cancer, fitted):
    X, _ = cancer
    rows = np.flatnonzero(fitted.assess(X).contested)
    for i in rows[:5]:
        why = fitted.explain(X.iloc[i])
        share = sum(one.share for one in shares_of(why, why.against.rival_label))
        assert share >= 1.0 / 3.0
        told = [one for one in sentences(why) if f" {why.against.rival_label} " in one and percent(share) in one]
        assert len(told) == 2  # of the strongest rival, and of what is contested


def test_a_strange_record_is_told_with_what_makes_it_strange():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["age", "weight", "height"])
    y = np.where(np.arange(200) % 2, "ill", "well")
    X.loc[y == "ill", "age"] += 10.0
    clf = SEPClassifier().fit(X, y)
    why = clf.explain(pd.Series({"age": 0.0, "weight": 40.0, "height": 0.0}))
    assert (why.reason, why.typicality) == ("strange", 0.0)
    first = why.strange_features[0]
    assert (first.feature, first.value) == ("weight", 40.0)
    assert first.reference == pytest.approx(0.0, abs=0.5)
    assert 0.9 < first.share <= 1.0
    assert "weight (40; " in only_with(why, reason="inside")[0]
    assert why.shares[0].region == BACKGROUND
    assert why.against.in_words() not in why.text
    ordinary = clf.explain(X.iloc[0])
    assert (ordinary.reason == "strange", ordinary.strange_features) == (False, ())


def test_what_makes_a_raw_record_strange_is_told_in_its_columns():
    table, labels = patients()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SepcWarning)
        clf = make_table_pipeline(SEPClassifier()).fit(table, labels)
        why = clf.explain({**table.iloc[3].to_dict(), "weight": "4000"})
    assert why.reason == "strange"
    assert why.strange_features[0].feature == "weight"
    assert "weight (4000; " in why.text
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
        assert told["against"]["terms"][0] == why.against.terms[0]._asdict()
        assert [f["feature"] for f in told["strange_features"]] == [f.feature for f in why.strange_features]
        assert (told["typicality"], told["stability"]) == (why.typicality, why.stability)


def test_nothing_parts_two_regions_that_are_the_same():
    same = MainEvidence("a#1", "b#1", "b", 0.0, 0.0, (), 0.0)
    assert "a#1" in same.in_words()
    assert "b#1" in same.in_words()
    assert "(" not in same.in_words()


@pytest.mark.parametrize("trust", ["local", "raw"])
def test_many_records_have_the_terms_of_their_explanations(trust):
    X, y = load_iris(return_X_y=True)
    clf = SEPClassifier(trust=trust).fit(X[::2], y[::2])
    asked = X[1:50:4]
    proba = clf.predict_proba(asked)
    label, rival = np.argsort(-proba, axis=1)[:, :2].T
    found = feature_terms(clf.model_.densities, clf.model_.units(asked), label, rival, clf.model_.calibration.linear)
    for k, x in enumerate(asked):
        told = {one.feature: one.term for one in clf.explain(x).against.terms}
        assert [told[f"x{j}"] for j in range(4)] == pytest.approx(found.values[k].tolist())


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
