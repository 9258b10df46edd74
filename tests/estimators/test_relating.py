from typing import NamedTuple

import numpy as np
import pytest

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.estimators import relating
from sepc.estimators.constants import LEAST_JUDGED, RELATION_RIDGE
from sepc.estimators.relating import learn_relations
from sepc.model.category_shares import Categories
from sepc.model.relations import largest


class Draw(NamedTuple):
    """Records with a total among their columns, and their classes."""

    X: np.ndarray
    y: np.ndarray


def with_total(n: int, seed: int = 0) -> Draw:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 4)) + y[:, None]
    return Draw(np.column_stack([X, X.sum(axis=1)]), y)


def test_departures_of_a_training_record_are_those_by_all_others(monkeypatch):
    # Limits, which come from other folds, are the same here.
    monkeypatch.setattr(relating, "_tails", lambda *_: (np.full((2, 4), 2.0), np.ones((2, 4))))
    X, y = with_total(80)
    X = X[:, :4] + np.random.default_rng(1).normal(size=(80, 1))
    X, y, equal = np.vstack([X, X[:3]]), np.append(y, y[:3]), np.append(np.arange(80), np.arange(3))
    relations, departures = learn_relations(X, y, equal, None)
    n, d = X.shape
    Z = X / relations.scale
    V = Z - relations.centers[y]
    weight = (V.T @ V)[0, 1] / np.linalg.inv(relations.precision)[0, 1]  # of records and the identity together
    for row in (0, 5, 40):
        rest = equal != equal[row]
        centers = np.array([Z[rest & (y == k)].mean(axis=0) for k in (0, 1)])
        W = Z[rest] - centers[y[rest]]
        P = np.linalg.inv(W.T @ W + (weight - n + RELATION_RIDGE * n) * np.eye(d))
        away = Z[row] - centers[y[row]]
        image = P @ away
        if away @ image > (v := Z[row] - relations.centers[1 - y[row]]) @ P @ v:
            continue  # nearest to the other class
        off = np.sqrt(weight) * image / np.sqrt(P.diagonal())
        expected = largest(np, off[:, None], relations.usual[0][..., None], relations.power[0][..., None])
        assert departures[row, 0] == pytest.approx(expected[0], rel=1e-6)


def test_with_many_columns_new_records_depart_as_far_as_training_records_that_are_left_out():
    rng = np.random.default_rng(0)
    X, new, y = rng.normal(size=(150, 40)), rng.normal(size=(2000, 40)), np.arange(150) % 2
    relations, departures = learn_relations(X, y, np.arange(150), None)
    for left_out, fresh in zip(departures.T, relations.departures(new).T, strict=True):
        assert np.mean(fresh > np.quantile(left_out, 0.9)) < 0.15


def test_few_complete_records_and_columns_without_numbers_show_no_relation():
    X, y = with_total(2 * LEAST_JUDGED)
    each = np.arange(len(X))
    assert learn_relations(X[: LEAST_JUDGED - 1], y[: LEAST_JUDGED - 1], each[: LEAST_JUDGED - 1], None) is None
    X[: LEAST_JUDGED + 1, 0] = np.nan
    assert learn_relations(X, y, each, None) is None
    whole = Categories.of([np.arange(X.shape[1])], np.zeros(X.shape[1]), np.ones(X.shape[1]))
    assert learn_relations(with_total(100).X, np.arange(100) % 2, np.arange(100), whole) is None
    assert learn_relations(np.ones((100, 2)), np.arange(100) % 2, np.arange(100), None) is None


@pytest.mark.slow
def test_both_classifiers_find_a_broken_relation_and_name_its_columns():
    X, y = with_total(200)
    new = with_total(300, 1).X
    broken = new[:100] + np.eye(5)[4]
    for clf in (SEPClassifier(), SEPEnsembleClassifier(n_estimators=2, random_state=0)):
        clf.fit(X, y)
        assert np.mean(clf.assess(broken).typicality < 0.01) > 0.95
        assert np.mean(clf.assess(new).typicality < 0.01) <= 0.04
        why = clf.explain(broken[0])
        names = [f.feature for f in why.strange_features] if hasattr(why, "strange_features") else why.strangest_to
        assert "x4" in names[:5]
        assert why.reason == "strange"


def test_one_value_of_many_columns_is_strange():
    rng = np.random.default_rng(2)
    y = np.arange(150) % 2
    X, new = rng.normal(size=(150, 60)), rng.normal(size=(100, 60))
    X[:, 0] += 3.0 * y
    clf = SEPClassifier().fit(X, y)
    assert np.mean(clf.assess(new).typicality < 0.01) <= 0.04
    new[np.arange(100), 1 + np.arange(100) % 59] += 8.0
    assert np.mean(clf.assess(new).typicality < 0.01) >= 0.9


def test_other_units_keep_the_typicality_of_the_densities():
    X, y = with_total(120)
    assert SEPClassifier(standardize=False).fit(X, y).model_.calibration.relations is None
