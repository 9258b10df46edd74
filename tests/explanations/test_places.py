"""Places of points among the ellipsoids, with three classes."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from sepc import SEPClassifier
from sepc.explanations.places import places_of
from sepc.explanations.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return SEPClassifier(n_imp=0.4).fit(X[::2, :2], y[::2]), X[:, :2], y


def places(clf, X):
    for x in X:
        a = clf.assess(x[None])
        codes = np.searchsorted(clf.classes_, a.label)
        yield a, places_of(clf.model_, x[None], codes, a, [Vocabulary(["a", "b"])])[0]


def test_records_of_all_other_labels_are_counted(iris):
    clf, X, y = iris
    ellipsoids = dict(zip(clf.model_.rules[0].names, clf.model_.rules[0].stack.ellipsoids, strict=True))
    others = 0
    for _, place in places(clf, X[1::6]):
        for note in place.regions:
            inside = y[::2][ellipsoids[note.region].contains(clf.model_.units(X[::2]))]
            assert note.n_label == np.count_nonzero(inside == int(note.label))
            assert note.n_others == np.count_nonzero(inside != int(note.label))
            others += note.n_others
    assert others > 0


def test_outside_of_all_the_nearest_ellipsoids_of_two_labels_are_told(iris):
    clf, X, _ = iris
    rules = clf.model_.rules[0]
    for x, (a, place) in zip(X[1::6] + 3.0, places(clf, X[1::6] + 3.0), strict=True):
        assert a.rule[0] == "R3"
        distances = rules.stack.distances(clf.model_.units(x))
        nearest = sorted(distances[rules.sides == side].min() for side in range(3))
        first, second = place.regions
        assert first.label != second.label
        assert [first.distance, second.distance] == pytest.approx(nearest[:2])
