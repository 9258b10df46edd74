"""Explanations of single verdicts."""

import json

import numpy as np
import pandas as pd
import pytest

from sepc import SEPClassifier
from sepc.common.text import percent


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
            assert why.region in why.text
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
        assert why.reason == "strange"
        assert why.features[0].feature == "weight"
        assert "weight (30; it reaches to" in why.text

    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    def test_without_any_ellipsoid(self):
        X = np.eye(4)
        why = SEPClassifier().fit(X, [0, 0, 1, 1]).explain([1.0, 0.1, 0.0, 0.0])
        assert why.region == "0@1" or why.region == "0@2"
        assert why.regions == ()
        assert why.counterfactual.label == 1
        assert "The model has no ellipsoid here" in why.text
        assert f"the nearest training record ({why.region}) decides, which is of this label" in why.text
        assert "outside" not in why.text

    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    @pytest.mark.parametrize("trust", ["local", "paper", "counts", "bound"])
    def test_without_any_ellipsoid_no_certainty_and_no_place_in_one_is_told(self, trust):
        X = np.random.default_rng(0).normal(size=(6, 4))
        why = SEPClassifier(trust=trust).fit(X, [0, 0, 0, 1, 1, 1]).explain(X[0])
        assert "100 %" not in why.text
        assert "every ellipsoid" not in why.text
        assert "grown" not in why.text


def test_an_explanation_tells_how_alike_the_labels_are_at_the_point_and_promises_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    X[200:, 0] += 1.5
    clf = SEPClassifier(n_imp=20).fit(X, np.repeat(["a", "b"], 200))
    a = clf.assess(X)
    between = np.flatnonzero((a.reason == "overlap") & ~np.isnan(a.local_overlap))
    assert len(between) > 20
    for i in between[:20]:
        text, overlap = clf.explain(X[i]).text, a.local_overlap[i]
        shares = f"most alike at this point have {percent(1.0 - overlap)} and {percent(overlap)} of their joint density"
        assert shares in text
        assert "bound" not in text.replace("boundary", "")
    alone = clf.explain(X[a.reason == "inside"][0])
    assert "joint density" not in alone.text


@pytest.mark.parametrize(
    ("trust", "grown", "told"),
    [
        ("paper", False, "(rule R3: it lies outside every ellipsoid, so the nearest one decides, as it is)"),
        ("counts", True, "so the nearest one, grown until it touches the point, decides)"),
        ("bound", True, "so the nearest one, grown until it touches the point, decides)"),
        (
            "raw",
            True,
            "it lies outside every ellipsoid: the nearest one, grown until it touches the point, ~low#1, holds 12",
        ),
        (
            "local",
            True,
            "it lies outside every ellipsoid: the nearest one, grown until it touches the point, ~low#1, holds 12",
        ),
    ],
)
def test_an_explanation_says_whether_the_nearest_ellipsoid_was_grown(trust, grown, told):
    X = np.arange(24.0)[:, None]
    clf = SEPClassifier(trust=trust).fit(X, np.repeat(["low", "high"], 12))
    why = clf.explain([-3.0])
    assert (why.rule, why.grows) == ("R3", grown)
    assert why.region == ("~low#1" if grown else "low#1")
    assert told in why.text
    assert ("grown" in why.text) is grown


def test_a_label_may_be_called_others():
    clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["others"] * 3 + ["ours"] * 3)
    why = clf.explain([1.0])
    assert (why.label, why.counts) == ("others", {"others": 3, "all others": 0})
    assert "3 training records of others and 0 of other labels" in why.text
