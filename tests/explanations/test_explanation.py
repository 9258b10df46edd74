"""Explanations of single verdicts."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from texts import assert_readable, only_with

from sepc import SEPClassifier
from sepc.common.text import percent
from sepc.explanations.explanation import rules_in_words


class TestExplain:
    @pytest.mark.parametrize("reason", ["inside", "overlap", "outside", "contested"])
    def test_it_repeats_the_assessment_and_finds_a_change(self, cancer, fitted, reason):
        X, _ = cancer
        a = fitted.assess(X)
        rows = np.flatnonzero(a.reason == reason)
        assert len(rows)
        for i in rows[:5]:
            why = fitted.explain(X.iloc[i])
            assert (why.label, why.trust, why.rule) == (a.label[i], a.trust[i], a.rule[i])
            assert (why.reason, why.region, why.distance) == (a.reason[i], a.region[i], a.distance[i])
            assert list(why.counts.values()) == a.counts[i].tolist()
            assert str(why.label) in why.text
            assert all(name in why.details for name in re.split("[&|]", why.region.removeprefix("~")))
            assert_readable(why.text)
            assert_readable(why.details)
            assert json.loads(json.dumps(why.to_dict()))["text"] == why.text
            changed = fitted.assess(pd.DataFrame([why.counterfactual.point]))
            assert changed.label[0] == why.counterfactual.label != why.label
            assert changed.region[0] == why.counterfactual.region
            assert changed.trust[0] == why.counterfactual.trust

    def test_neighbours_are_the_nearest_training_records(self, cancer, fitted):
        X, y = cancer
        why = fitted.explain(X.iloc[1])
        Z = (X[::2] - fitted.mean_) / fitted.scale_
        distances = np.linalg.norm(Z - (X.iloc[1] - fitted.mean_) / fitted.scale_, axis=1)
        nearest = np.argsort(distances)[:5]
        assert [n.row for n in why.neighbours] == nearest.tolist()
        assert [n.label for n in why.neighbours] == y[::2][nearest].tolist()
        assert why.neighbours[0].values == pytest.approx(X[::2].iloc[nearest[0]].to_dict())

    @pytest.mark.slow
    def test_shares_say_what_distance_and_depth_are_made_of(self, cancer, fitted):
        X, _ = cancer
        for i in range(1, 60, 2):
            why = fitted.explain(X.iloc[i])
            assert sum(f.share for f in why.features) == pytest.approx(1)
            assert all(f.value == pytest.approx(X.iloc[i][f.feature]) for f in why.features)

    def test_a_far_feature_is_the_one_that_is_named(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["age", "weight", "height"])
        y = np.where(np.arange(200) % 2, "ill", "well")
        X.loc[y == "ill", "age"] += 10
        why = SEPClassifier().fit(X, y).explain(pd.Series({"age": 0.0, "weight": 30.0, "height": 0.0}))
        assert why.reason == "beyond"
        assert why.features[0].feature == "weight"
        assert "weight (30; " in why.details

    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    def test_without_any_ellipsoid(self):
        X = np.eye(4)
        why = SEPClassifier().fit(X, [0, 0, 1, 1]).explain([1.0, 0.1, 0.0, 0.0])
        assert why.region == "0@1" or why.region == "0@2"
        assert why.regions == ()
        assert why.counterfactual.label == 1
        assert f"({why.region})" in why.details
        assert_readable(why.details)

    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    @pytest.mark.parametrize("trust", ["local", "paper", "counts", "bound"])
    def test_without_any_ellipsoid_no_certainty_and_no_place_in_one_is_told(self, trust):
        X = np.random.default_rng(0).normal(size=(6, 4))
        why = SEPClassifier(trust=trust).fit(X, [0, 0, 0, 1, 1, 1]).explain(X[0])
        assert "100 %" not in why.text
        assert not any(condition in why.text for condition in rules_in_words(why.grows).values())
        assert_readable(why.text)


def test_an_explanation_tells_how_alike_the_labels_are_at_the_point_and_promises_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    X[200:, 0] += 1.5
    clf = SEPClassifier(n_imp=20).fit(X, np.repeat(["a", "b"], 200))
    a = clf.assess(X)
    between = np.flatnonzero((a.reason == "overlap") & ~np.isnan(a.local_overlap))
    assert len(between) > 20
    for i in between[:20]:
        overlap = a.local_overlap[i]
        (told,) = only_with(clf.explain(X[i]), local_overlap=None)
        assert f"{percent(1.0 - overlap)} and {percent(overlap)}" in told
    assert clf.explain(X[a.reason == "inside"][0]).local_overlap is None


@pytest.mark.parametrize(
    ("trust", "grown"), [("paper", False), ("counts", True), ("bound", True), ("raw", True), ("local", True)]
)
def test_an_explanation_says_whether_the_nearest_ellipsoid_was_grown(trust, grown):
    X = np.arange(24.0)[:, None]
    clf = SEPClassifier(trust=trust).fit(X, np.repeat(["low", "high"], 12))
    why = clf.explain([-3.0])
    assert (why.rule, why.grows) == ("R3", grown)
    assert why.region == ("~low#1" if grown else "low#1")
    (told,) = only_with(why, grows=not grown)
    assert "R3" in told
    if trust in ("raw", "local"):
        assert " low#1, " in told
        assert " 12 " in told


def test_a_label_may_be_called_others():
    clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["others"] * 3 + ["ours"] * 3)
    why = clf.explain([1.0])
    assert (why.label, why.counts) == ("others", {"others": 3, "all others": 0})
    assert " 3 " in why.details
    assert_readable(why.text)
