"""WDBC: points outside of all ellipsoids, by the nearest one as it is and by what it holds once it is grown."""

import numpy as np
import pytest

from paper import wdbc
from paper.paper_readings import PaperClassifier
from paper.shared_measures import classifier


def test_the_grown_form_has_the_same_partition_and_counts_more_points_outside_alone():
    X, y, X_test, _ = wdbc.splits(0)[0]
    as_it_is, grown = (classifier(form, 2).fit(X, y) for form in ("paper", "grown"))
    assert repr(as_it_is.partitions_) == repr(grown.partitions_)
    a, b = as_it_is.assess(X_test), grown.assess(X_test)
    outside = a.rule == "R3"
    assert np.array_equal(a.rule, b.rule)
    assert np.array_equal(a.counts[~outside], b.counts[~outside])
    assert (a.counts[outside] <= b.counts[outside]).all()
    assert a.counts[outside].sum() < b.counts[outside].sum()


def test_a_grown_ellipsoid_is_counted_by_hand():
    X, y = np.array([[0.0], [1.0], [2.0], [3.5], [5.0], [6.0]]), ["a", "a", "a", "b", "b", "b"]
    point = [[2.6]]  # nearest to the ellipsoid of a, from 0 to 2: grown about 1 it reaches from -0.6 to 2.6
    counts = [PaperClassifier(0, "exit", grown=grown).fit(X, y).assess(point).counts[0].tolist() for grown in (0, 1)]
    assert counts == [[3, 0], [3, 0]]
    far = [[-4.0]]  # grown about 1 by 5 it holds all
    counts = [PaperClassifier(0, "exit", grown=grown).fit(X, y).assess(far).counts[0].tolist() for grown in (0, 1)]
    assert counts == [[3, 0], [3, 3]]


@pytest.mark.study
def test_by_counts_of_grown_ellipsoids_errors_are_mostly_malignant_with_low_trust():
    values = wdbc.of_form("grown", 0) | wdbc.of_form("raw", 0)
    assert values["grown.malignant_wrong"] > values["grown.benign_wrong"]
    assert values["grown.high_trust"] < 0.5
    assert values["raw.malignant_wrong"] < values["raw.benign_wrong"]
    assert values["raw.high_trust"] > 0.9
    assert values["grown.regions"] == values["raw.regions"]
