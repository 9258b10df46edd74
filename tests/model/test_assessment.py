"""Assessments: odds, the deciding region, the local overlap, columns that are made when they are asked for."""

import pickle

import numpy as np
import pytest
from normal_reading import largest_local_overlap
from sklearn.datasets import load_iris

from sepc import SEPClassifier
from sepc.model.rules import Rules


def test_odds(cancer, fitted):
    a = fitted.assess(cancer[0])
    sure = a.trust == 1
    assert np.isinf(a.odds[sure]).all()
    assert a.odds[~sure] == pytest.approx(a.trust[~sure] / (1 - a.trust[~sure]))


def test_the_winner_s_problem_gives_rule_region_counts_and_trust():
    iris = load_iris()
    clf = SEPClassifier().fit(iris.data, iris.target_names[iris.target])
    a = clf.assess(iris.data)
    setosa = a.label == "setosa"
    assert set(a.region[setosa]) == {"setosa#1"}
    assert a.counts[setosa].tolist() == [[50, 0]] * 50
    paper = SEPClassifier(trust="paper").fit(iris.data, iris.target_names[iris.target]).assess(iris.data)
    assert all(label in region for label, region in zip(paper.label, paper.region, strict=True))


class TestLocalOverlap:
    @pytest.fixture(scope="class")
    @classmethod
    def overlapping(cls):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 2)) + np.repeat([[0, 0], [2, 0], [1, 2]], 100, axis=0)
        return X, np.repeat(["a", "b", "c"], 100)

    @pytest.mark.slow
    @pytest.mark.parametrize("trust", ["local", "paper"])
    @pytest.mark.parametrize("labels", [["a", "b"], ["a", "b", "c"]])
    def test_it_is_that_of_the_problem_that_decides_the_label(self, overlapping, labels, trust):
        X, y = (part[np.isin(overlapping[1], labels)] for part in overlapping)
        clf = SEPClassifier(n_imp=10, trust=trust).fit(X, y)
        a, Z = clf.assess(X), clf.model_.units(X)
        found = 0
        for i, label in enumerate(a.label):
            rules = clf.model_.rules[labels.index(label) if len(clf.model_.rules) > 1 else 0]
            expected = largest_local_overlap(rules.stack.ellipsoids, rules.sides, Z[i])
            assert a.local_overlap[i] == pytest.approx(expected, abs=1e-9, nan_ok=True)
            found += not np.isnan(expected)
        assert 0 < found < len(X)

    def test_explanations_carry_it(self, overlapping):
        X, y = overlapping
        clf = SEPClassifier(n_imp=10).fit(X, y)
        a = clf.assess(X)
        between = np.flatnonzero(~np.isnan(a.local_overlap))
        assert set(a.rule[between]) <= {"R2a", "R2b"}
        assert clf.explain(X[between[0]]).local_overlap == a.local_overlap[between[0]]
        assert clf.explain(X[a.rule == "R1"][0]).local_overlap is None

    def test_it_goes_with_the_points_that_are_taken_joined_and_sent_to_other_processes(self, overlapping):
        X, y = overlapping
        a = SEPClassifier(n_imp=10).fit(X, y).assess(X)
        rows = np.array([7, 0, 7, 250, 120])
        halves = a.taken(np.arange(150)), pickle.loads(pickle.dumps(a.taken(np.arange(150, 300))))
        for same, expected in ((a.taken(rows), a.local_overlap[rows]), (a.joined(halves), a.local_overlap)):
            np.testing.assert_array_equal(same.local_overlap, expected)


class TestColumns:
    def test_regions_are_looked_up_when_they_are_asked_for(self, cancer, fitted, monkeypatch):
        asked, judge = [], Rules.judge
        monkeypatch.setattr(Rules, "judge", lambda rules, Z: asked.append(len(Z)) or judge(rules, Z))
        a = fitted.assess(cancer[0])
        assert a.accepted().any()
        assert not asked
        assert set(a.rule) <= {"R1", "R2a", "R2b", "R3"}
        assert len(a.region) == len(a.reason) == asked[0] == len(a)
        assert len(asked) == 1

    def test_what_is_no_column_is_missed_as_ever(self, cancer, fitted):
        a = fitted.assess(cancer[0][:3])
        assert {"label", "region", "odds"} <= set(dir(a))
        with pytest.raises(AttributeError, match="'Assessment' object has no attribute 'lable'"):
            a.lable  # noqa: B018
        assert not hasattr(a, "agreement")
