"""Assessments: labels that are accepted or not, odds, the deciding region, the bound of the error."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import sepc
from sepc import SEPClassifier


class TestAbstaining:
    def test_accepted_labels_have_the_trust_asked_for(self, cancer, fitted):
        X, _ = cancer
        a = fitted.assess(X)
        assert np.array_equal(a.accepted(0.99), a.trust >= 0.99)
        assert not a.accepted(0.0, allow_outside=False)[a.rule == "R3"].any()
        limits = {"benign": 0.9, "malignant": 0.999}
        expected = a.trust >= np.where(a.label == "benign", 0.9, 0.999)
        assert np.array_equal(a.accepted(limits), expected)
        labels = fitted.predict_or_abstain(X, limits)
        assert labels.dtype == object
        assert np.array_equal([label is not None for label in labels], expected)
        asked = fitted.predict_or_abstain(X, limits, abstain_label="?")
        assert np.array_equal(asked == "?", ~expected)
        assert np.array_equal(asked[expected], a.label[expected])

    @pytest.mark.parametrize("min_trust", [-0.1, 1.5, "high", None, {"benign": 0.5}, {"benign": 2.0, "malignant": 0.5}])
    def test_bad_thresholds_are_refused(self, cancer, fitted, min_trust):
        with pytest.raises(sepc.InputError, match="min_trust"):
            fitted.predict_or_abstain(cancer[0][:3], min_trust)

    def test_odds(self, cancer, fitted):
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
    assert all(label in region for label, region in zip(a.label, a.region, strict=True))


def test_verdicts_and_explanations_carry_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + np.repeat([[0, 0], [2, 0]], 150, axis=0)
    clf = sepc.SEPClassifier(n_imp=10).fit(X, np.repeat(["a", "b"], 150))
    a = clf.assess(X)
    bounded = np.flatnonzero(~np.isnan(a.error_bound))
    assert len(bounded)
    assert set(a.rule[bounded]) <= {"R2a", "R2b"}
    assert ((a.error_bound[bounded] > 0) & (a.error_bound[bounded] <= 1)).all()
    why = clf.explain(X[bounded[0]])
    assert why.error_bound == a.error_bound[bounded[0]]
    alone = np.flatnonzero(a.rule == "R1")[0]
    assert clf.explain(X[alone]).error_bound is None
