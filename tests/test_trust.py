"""The ways to read the regions: local densities, honest counts, their bounds, the paper's formula."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from sklearn.datasets import load_iris
from strategies import labelled_points, seeds

import sepc
from sepc import FeedbackMonitor, InputError, SEPClassifier, select_n_imp
from sepc.assessment import TRUSTS, lower_bound_of, share_of, trust_of

every_trust = pytest.mark.parametrize("trust", TRUSTS)
ignore_few = pytest.mark.filterwarnings("ignore::sepc.SepcWarning")


def overlapping(n_classes, n=40, seed=0):
    """Return classes in a row, each overlapping with the next."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.array(["a", "b", "c"])[:n_classes], n)
    X = rng.normal(size=(len(y), 2))
    X[:, 0] += 2.0 * np.repeat(np.arange(n_classes), n)
    return X, y, 3 * rng.normal(size=(150, 2)) + X.mean(axis=0)


def voters(clf, n):
    """Return the training rows that shaped no ellipsoid and are no isolated point, in all problems alike."""
    used = [[*(b.members for b in p.blocks), *p.isolated] for p in clf.partitions_]
    found = [np.setdiff1d(np.arange(n), np.concatenate(rows)) for rows in used]
    assert all(np.array_equal(rows, found[0]) for rows in found)
    return found[0]


@every_trust
class TestEach:
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_verdicts_obey_their_bounds(self, trust, n_classes):
        X, y, Z = overlapping(n_classes)
        clf = SEPClassifier(trust=trust).fit(X, y)
        a, proba = clf.assess(Z), clf.predict_proba(Z)
        assert proba.sum(axis=1) == pytest.approx(1)
        assert np.array_equal(clf.classes_[proba.argmax(axis=1)], clf.predict(Z))
        assert np.array_equal(a.label, clf.predict(Z))
        assert np.array_equal(a.trust, clf.trust_score(Z))
        assert ((a.trust > 0) & (a.trust <= 1)).all()
        assert set(a.reason) <= {"inside", "overlap", "outside", "contested"}
        assert clf.score(X, y) > 0.7

    @ignore_few
    @settings(max_examples=25)
    @given(seed=seeds())
    def test_the_order_of_rows_does_not_matter_and_rows_are_judged_one_by_one(self, trust, seed):
        A, B, n_imp = labelled_points(seed)
        X, y = np.vstack([A, B]), np.repeat([0, 1], [len(A), len(B)])
        if seed % 2 and len(A) > 3:
            y[: len(A) // 2] = 2
        order = np.random.default_rng(seed).permutation(len(X))
        p = SEPClassifier(trust=trust, n_imp=n_imp).fit(X, y)
        q = SEPClassifier(trust=trust, n_imp=n_imp).fit(X[order], y[order])
        assert p.assess(X).to_frame().equals(q.assess(X).to_frame())
        assert np.array_equal(p.predict_proba(X), q.predict_proba(X))
        assert np.array_equal(p.predict_proba(X), np.vstack([p.predict_proba(x[None]) for x in X]))

    def test_what_reads_the_classifier_works(self, trust):
        X, y, Z = overlapping(3)
        clf = SEPClassifier(trust=trust).fit(X, y)
        a = clf.assess(Z)
        for i in range(0, 150, 30):
            why = clf.explain(Z[i])
            assert (why.label, why.trust, why.region) == (a.label[i], a.trust[i], a.region[i])
            assert list(why.counts.values()) == a.counts[i].tolist()
            assert json.loads(json.dumps(why.to_dict()))["trust"] == why.trust
            if why.counterfactual is not None:
                assert (
                    clf.predict([list(why.counterfactual.point.values())])[0] == why.counterfactual.label != why.label
                )
        regions = clf.regions()
        assert ((regions["trust"] > 0) & (regions["trust"] <= 1)).all()
        assert len(clf.query(Z, 7)) == 7
        assert "records" in repr(clf.landscape_)
        report = FeedbackMonitor(clf).observe(Z[:50], clf.predict(Z[:50])).report()
        assert repr(report).startswith("50 records observed, 50 with a label")
        again = pickle.loads(pickle.dumps(clf))
        assert again.assess(Z).to_frame().equals(a.to_frame())

    @ignore_few
    @pytest.mark.parametrize("seed", range(3))
    def test_regions_that_hold_nothing_that_is_counted_are_no_obstacle(self, trust, seed):
        X, y, _ = overlapping(3, n=8, seed=seed)
        clf = SEPClassifier(trust=trust, n_imp=0).fit(X, y)
        for label in "abc":
            drawn, labels = clf.sample(5, label=label, random_state=0)
            assert drawn.shape == (5, 2)
            assert set(labels) == {label}
        held = clf.landscape_.regions
        assert ((held["purity"] > 0) & (held["purity"] <= 1)).all()
        assert select_n_imp(X, y, estimator=SEPClassifier(trust=trust), candidates=[0, 1], cv=2).best in (0, 1)

    @ignore_few
    @pytest.mark.parametrize("sizes", [(1, 1), (1, 2), (2, 1), (2, 1, 4), (1, 1, 1), (3, 3, 1), (5, 1, 5)])
    def test_classes_of_few_records(self, trust, sizes):
        y = np.repeat(np.arange(len(sizes)), sizes)
        X = np.random.default_rng(0).normal(size=(len(y), 2))
        clf = SEPClassifier(trust=trust).fit(X, y)
        assert set(clf.predict(X)) <= set(y)
        assert np.isfinite(clf.predict_proba(X)).all()

    def test_pandas_and_polars(self, trust):
        X, y = load_iris(return_X_y=True, as_frame=True)
        by_pandas, by_polars = (
            SEPClassifier(trust=trust).fit(X, y),
            SEPClassifier(trust=trust).fit(pl.from_pandas(X), y),
        )
        one, two = by_pandas.assess(X).to_frame(), by_polars.assess(pl.from_pandas(X)).to_frame()
        assert isinstance(one, pd.DataFrame)
        assert isinstance(two, pl.DataFrame)
        assert one["trust"].tolist() == two["trust"].to_list()
        assert one["region"].tolist() == two["region"].to_list()

    def test_a_refit_reads_the_regions_anew(self, trust):
        X, y, Z = overlapping(2)
        again = (
            SEPClassifier(trust="paper" if trust == "local" else "local").fit(X, y).set_params(trust=trust).fit(X, y)
        )
        assert again.assess(Z).to_frame().equals(SEPClassifier(trust=trust).fit(X, y).assess(Z).to_frame())


class TestPaper:
    def test_it_is_the_formula_on_the_counts_of_all_training_points(self):
        X, y, Z = overlapping(2)
        clf = SEPClassifier(trust="paper").fit(X, y)
        a = clf.assess(Z)
        assert np.array_equal(a.trust, trust_of(*a.counts.T, 40, 40))
        assert len(voters(clf, len(X))) == 0
        (E,) = [b.ellipsoid for b in clf.partitions_[0].blocks if b.side == 0][:1]
        inside = E.contains((X - clf.mean_) / clf.scale_)
        alone = a.region == "a#1"
        assert alone.any()
        assert (a.counts[alone].max(axis=1) == max(np.count_nonzero(inside & (y == c)) for c in "ab")).all()


@pytest.mark.parametrize("n_classes", [2, 3])
class TestHonestCounts:
    def test_a_third_of_each_class_shapes_nothing(self, n_classes):
        X, y, _ = overlapping(n_classes)
        rows = voters(SEPClassifier(trust="counts").fit(X, y), len(X))
        shares = [np.mean(y[rows] == c) for c in np.unique(y)]
        assert len(rows) == len(X) // 3
        assert shares == pytest.approx([1 / n_classes] * n_classes, abs=0.02)

    @pytest.mark.parametrize("trust", ["counts", "bound"])
    def test_only_these_are_counted(self, n_classes, trust):
        X, y, Z = overlapping(n_classes, n=80)
        clf = SEPClassifier(trust=trust).fit(X, y)
        rows = voters(clf, len(X))
        V, label = (X[rows] - clf.mean_) / clf.scale_, y[rows]
        ellipsoids = {
            name: block.ellipsoid
            for rules, p in zip(clf._model.rules, clf.partitions_, strict=True)
            for name, block in zip(rules.names, p.blocks, strict=True)
        }
        a = clf.assess(np.vstack([Z, X]))
        alone = np.flatnonzero(a.rule == "R1")
        assert len(alone) > 20
        for i in alone:
            inside = ellipsoids[a.region[i]].contains(V)
            assert a.counts[i].tolist() == [
                np.count_nonzero(inside & (label == a.label[i])),
                np.count_nonzero(inside & (label != a.label[i])),
            ]
        outside = np.flatnonzero((a.rule == "R3") & np.array([r[1:] in ellipsoids for r in a.region]))
        assert len(outside) > 20
        for i in outside:
            z = (np.vstack([Z, X])[i] - clf.mean_) / clf.scale_
            inside = ellipsoids[a.region[i][1:]].grown_to(z).contains(V)
            assert a.counts[i].sum() == np.count_nonzero(inside)

    def test_the_trust_is_the_share_or_its_bound(self, n_classes):
        X, y, Z = overlapping(n_classes)
        counts, bound = (SEPClassifier(trust=t).fit(X, y).assess(Z) for t in ("counts", "bound"))
        assert np.array_equal(counts.counts, bound.counts)
        assert np.array_equal(counts.label, bound.label)
        assert np.array_equal(counts.trust, share_of(*counts.counts.T))
        assert np.array_equal(bound.trust, lower_bound_of(*bound.counts.T))
        assert (bound.trust < counts.trust).all()


@ignore_few
@pytest.mark.parametrize("trust", ["counts", "bound"])
class TestNothingCounted:
    def test_the_label_is_theirs_who_shaped_the_region(self, trust):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(12, 30)), np.repeat([0, 1], 6)
        X[y == 1] += 3
        clf = SEPClassifier(trust=trust).fit(X, y)
        a = clf.assess(X)
        assert np.array_equal(a.label, y)
        nothing = a.counts.sum(axis=1) == 0
        assert nothing.any()
        assert (a.reason[nothing] == "contested").all()
        assert (a.trust[nothing] <= 0.5).all()
        text = clf.explain(X[nothing.argmax()]).text
        assert "holds 0 held-out records of 0 and 0 of other labels" in text
        assert "nothing confirms it" in text

    @settings(max_examples=40)
    @given(seed=seeds())
    def test_regions_of_one_label_alone(self, trust, seed):
        A, B, n_imp = labelled_points(seed)
        X, y = np.vstack([A, B]), np.repeat(["a", "b"], [len(A), len(B)])
        a = SEPClassifier(trust=trust, n_imp=n_imp).fit(X, y).assess(X)
        for label, region, counts in zip(a.label, a.region, a.counts, strict=True):
            owners = {name.removeprefix("~")[0] for name in region.replace("|", "&").split("&")}
            if counts.sum() == 0 and len(owners) == 1 and "@" not in region:
                assert owners == {label}


def test_the_bound_is_below_the_share_and_grows_with_the_points_at_the_same_share():
    own, other = (n.ravel() for n in np.mgrid[0:60, 0:60])
    assert (lower_bound_of(own, other) < share_of(own, other)).all()
    sizes = np.arange(1, 200)
    for a, b in ((1, 0), (3, 1), (9, 1), (1, 1)):
        assert (np.diff(lower_bound_of(a * sizes, b * sizes)) > 0).all()


def test_a_label_that_is_outnumbered_in_its_region_is_contested():
    X, y, Z = overlapping(2)
    a = SEPClassifier().fit(X, y).assess(np.vstack([Z, X]))
    outnumbered = a.counts[:, 0] <= a.counts[:, 1]
    assert 0 < outnumbered.sum() < len(outnumbered)
    assert np.array_equal(a.reason == "contested", outnumbered)


@pytest.mark.parametrize("trust", ["Local", None, 0.95, "", ["local"]])
def test_another_trust_is_refused(trust):
    with pytest.raises(
        InputError, match=r"trust is .*; expected one of 'local', 'counts', 'bound', 'paper'. Use 'local'"
    ):
        SEPClassifier(trust=trust).fit([[0.0], [1.0]], [0, 1])


def test_a_monitor_does_not_take_an_ensemble():
    X, y, _ = overlapping(2)
    clf = sepc.SEPEnsembleClassifier(n_estimators=1).fit(X, y)
    with pytest.raises(InputError, match="expected a fitted SEPClassifier"):
        FeedbackMonitor(clf)
