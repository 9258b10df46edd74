"""Terms of features of many records are those that the explanation of each tells."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from sepc import SEPClassifier
from sepc.explanations.feature_terms import feature_terms


@pytest.mark.parametrize("trust", ["local", "raw"])
def test_many_records_have_the_terms_of_their_explanations(trust):
    X, y = load_iris(return_X_y=True)
    clf = SEPClassifier(trust=trust).fit(X[::2], y[::2])
    asked = X[1:50:4]
    proba = clf.predict_proba(asked)
    label, rival = np.argsort(-proba, axis=1)[:, :2].T
    found = feature_terms(clf.model_.densities, clf.model_.units(asked), label, rival)
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
