"""SEPClassifier as its users meet it."""

import json
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from coded import raises, warns
from fitted_classifiers import overlapping, same_model
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from strategies import classified_points, examples

from sepc import SEPClassifier, select_n_imp
from sepc.feedback import FeedbackMonitor
from sepc.model.decision import TRUST_METHODS

ignore_few = pytest.mark.filterwarnings("ignore::sepc.SepcWarning")


@ignore_few
class TestLaws:
    @pytest.mark.slow
    @examples(40)
    @given(classified_points())
    def test_verdicts_obey_their_bounds(self, data):
        X, y, n_imp = data
        clf = SEPClassifier(n_imp=n_imp).fit(X, y)
        rng = np.random.default_rng(0)
        Z = np.vstack([X, X.mean(0) + 3 * X.std(0) * rng.normal(size=(30, X.shape[1]))])
        a, proba = clf.assess(Z), clf.predict_proba(Z)
        binary = len(clf.classes_) == 2
        assert ((a.trust > 0) if binary else (a.trust >= 0)).all()
        assert (a.trust <= 1).all()
        assert proba.sum(axis=1) == pytest.approx(1)
        assert np.array_equal(clf.classes_[proba.argmax(axis=1)], clf.predict(Z))
        assert np.array_equal(a.label, clf.predict(Z))
        assert np.array_equal(a.trust, clf.trust_score(Z))
        assert (a.counts.sum(axis=1) > 0).all()
        assert (a.distance[a.rule != "R3"] == 0).all()

    @pytest.mark.slow
    @examples(25)
    @given(classified_points())
    def test_the_order_of_rows_does_not_matter(self, data):
        X, y, n_imp = data
        order = np.random.default_rng(0).permutation(len(X))
        p, q = SEPClassifier(n_imp=n_imp).fit(X, y), SEPClassifier(n_imp=n_imp).fit(X[order], y[order])
        assert same_model(p, q)
        assert np.array_equal(p.mean_, q.mean_)
        assert p.assess(X).to_frame().equals(q.assess(X).to_frame())

    @pytest.mark.slow
    @examples(25)
    @given(classified_points())
    def test_one_row_at_a_time_and_all_at_once(self, data):
        X, y, n_imp = data
        clf = SEPClassifier(n_imp=n_imp).fit(X, y)
        Z = np.vstack([X, X.mean(0) + 3 * X.std(0)])
        together, alone = clf.assess(Z), [clf.assess(z[None]) for z in Z]
        for field in ("label", "trust", "rule", "reason", "region", "counts", "distance"):
            assert np.array_equal(getattr(together, field), np.concatenate([getattr(a, field) for a in alone]))

    @pytest.mark.slow
    @examples(25)
    @given(classified_points(), st.sampled_from(["local", "paper"]))
    def test_blocks_and_isolated_points_are_rows_of_the_training_set(self, data, trust):
        X, y, n_imp = data
        clf = SEPClassifier(n_imp=n_imp, trust=trust).fit(X, y)
        for k, p in enumerate(clf.partitions_):
            own = y == clf.classes_[k]
            together = [y == label for label in clf.classes_]
            for side, mask in enumerate(together if len(clf.partitions_) == 1 else (own, ~own)):
                rows = [b.members for b in p.blocks if b.side == side]
                assert sorted(np.concatenate([*rows, p.isolated[side]])) == np.flatnonzero(mask).tolist()

    @pytest.mark.slow
    @examples(12)
    @given(
        arrays(np.int64, st.tuples(st.integers(2, 60), st.just(3)), elements=st.integers(-20, 20), fill=st.nothing()),
        st.integers(1, 8),
    )
    def test_float32_copies_of_whole_numbers_give_the_same_verdicts(self, X, every):
        y = (np.arange(len(X)) % every == 0) ^ (X[:, 0] > 0)
        y[:2] = False, True
        Z = np.random.default_rng(0).integers(-30, 30, size=(50, 3))
        frames = [
            SEPClassifier().fit(X.astype(kind), y).assess(Z.astype(kind)).to_frame()
            for kind in (np.float64, np.float32, int)
        ]
        assert frames[0].equals(frames[1])
        assert frames[0].equals(frames[2])


class TestSeveralClasses:
    def test_it_is_one_against_the_rest(self):
        X, y = load_wine(return_X_y=True)
        clf = SEPClassifier(n_imp=1, trust="paper").fit(X[::2], y[::2])
        assert len(clf.partitions_) == 3
        assert (clf.predict(X[1::2]) == y[1::2]).mean() > 0.85
        Z = (X[1::2] - clf.mean_) / clf.scale_
        shares = []
        for k in range(3):
            rest = np.where(y[::2] == k, "one", "rest")
            binary = SEPClassifier(n_imp=1, standardize=False, trust="paper")
            binary.fit((X[::2] - clf.mean_) / clf.scale_, rest)
            shares.append(binary.predict_proba(Z)[:, 0])
        shares = np.column_stack(shares)
        assert clf.predict_proba(X[1::2]) == pytest.approx(shares / shares.sum(axis=1, keepdims=True), abs=1e-8)


class TestUnits:
    @pytest.mark.slow
    def test_units_of_the_features_do_not_matter_when_standardised(self, cancer):
        X, y = cancer
        factors = 2.0 ** np.arange(-15, 15)
        p, q = SEPClassifier().fit(X, y), SEPClassifier().fit(X * factors, y)
        assert np.array_equal(p.predict(X), q.predict(X * factors))

    def test_the_raw_form_is_the_paper_s(self, cancer):
        X, y = cancer
        clf = SEPClassifier(standardize=False).fit(X, y)
        assert repr(clf.partitions_[0]).startswith("Partition(A 264 54 39 | B 95 37 45 35,")

    def test_regions_are_in_original_units(self, cancer, fitted):
        X, y = cancer
        regions = fitted.regions()
        first = fitted.partitions_[0].blocks[0].members
        inside = X[::2].iloc[first]
        for name in X.columns:
            assert regions.loc[0, f"{name} low"] <= inside[name].min()
            assert regions.loc[0, f"{name} high"] >= inside[name].max()
        raw = SEPClassifier(standardize=False).fit(X[::2], y[::2])
        E = raw.partitions_[0].blocks[0].ellipsoid
        assert raw.regions().loc[0, "log_volume"] == pytest.approx(E.log_volume)

    def test_regions_tell_what_they_hold(self, cancer, fitted):
        X, y = cancer
        for row in fitted.regions().itertuples():
            side = list(fitted.classes_).index(row.label)
            blocks = [b for b in fitted.partitions_[0].blocks if b.side == side]
            E = blocks[int(row.region.split("#")[1]) - 1].ellipsoid
            inside = E.contains((X[::2] - fitted.mean_) / fitted.scale_)
            assert row.n_label == np.count_nonzero(inside & (y[::2] == row.label))
            assert row.n_others == np.count_nonzero(inside & (y[::2] != row.label))


class TestFrames:
    def test_pandas(self, cancer, fitted):
        X, _ = cancer
        frame = fitted.assess(X[1::2]).to_frame()
        assert frame.index.equals(X[1::2].index)
        assert fitted.feature_names_in_.tolist() == X.columns.tolist()
        with pytest.raises(ValueError, match="feature names"):
            fitted.predict(X[1::2].rename(columns={"mean radius": "radius"}))

    def test_polars(self, cancer, fitted):
        X, y = cancer
        P = pl.from_pandas(X)
        clf = SEPClassifier().fit(P[::2], y[::2])
        assert clf.feature_names_in_.tolist() == X.columns.tolist()
        frame = clf.assess(P[1::2]).to_frame()
        assert isinstance(frame, pl.DataFrame)
        assert isinstance(clf.regions(), pl.DataFrame)
        assert frame["label"].to_list() == fitted.predict(X[1::2]).tolist()

    @pytest.mark.parametrize("labels", [[True, False], [3, -7], ["yes", "no"]])
    def test_any_label_type(self, labels):
        y = np.array(labels)[[0] * 5 + [1] * 5]
        clf = SEPClassifier().fit(np.arange(10.0)[:, None] ** 2, y)
        assert clf.predict([[0.0], [81.0]]).tolist() == labels
        assert clf.predict([[0.0]]).dtype == y.dtype

    def test_text_and_html(self, fitted, cancer):
        a = fitted.assess(cancer[0][:3])
        assert repr(a).startswith("Assessment of 3 ")
        assert "<table" in a._repr_html_()
        assert "SEPClassifier" in repr(fitted)
        assert "SEPClassifier" in fitted._repr_html_()


class TestWithScikitLearn:
    @pytest.mark.slow
    def test_pipeline_search_and_calibration(self, cancer):
        X, y = cancer
        search = GridSearchCV(
            make_pipeline(StandardScaler(), SEPClassifier()), {"sepclassifier__n_imp": [0, 0.05]}, cv=3
        )
        assert search.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
        proba = cross_val_predict(clone(SEPClassifier(n_imp=1)), X[::2], y[::2], cv=3, method="predict_proba")
        assert proba.shape == (len(X[::2]), 2)
        calibrated = CalibratedClassifierCV(SEPClassifier(), cv=3).fit(X[::2], y[::2])
        assert calibrated.score(X[1::2], y[1::2]) > 0.85

    def test_pickle(self, cancer, fitted):
        X, _ = cancer
        again = pickle.loads(pickle.dumps(fitted))
        assert again.assess(X).to_frame().equals(fitted.assess(X).to_frame())


class TestBadInput:
    def test_missing_values_are_named(self, cancer):
        X, y = cancer
        bad = X.copy()
        bad.loc[3:5, "mean area"] = np.nan
        bad.loc[7, "worst texture"] = np.inf
        with raises("not-finite", kinds="NaN and inf", columns="'mean area' (3 rows), 'worst texture' (1 rows)"):
            SEPClassifier(trust="paper").fit(bad, y)
        with raises("not-finite", kinds="inf", columns="'worst texture' (1 rows)"):
            SEPClassifier().fit(bad, y)
        with raises("not-finite", kinds="NaN", columns="0 (1 rows)"):
            SEPClassifier(trust="counts").fit([[0.0], [1.0]] * 3, [0, 1] * 3).predict([[np.nan]])
        bad.loc[7, "worst texture"] = 20.0
        bad["mean area"] = np.nan
        with raises("columns-without-values", columns="'mean area'"):
            SEPClassifier().fit(bad, y)

    def test_constant_labels(self):
        with raises("one-class", label="a"):
            SEPClassifier().fit([[0.0], [1.0]], ["a", "a"])

    @pytest.mark.parametrize("n_imp", [-1, 1.0, "2", 0.0])
    def test_n_imp(self, n_imp):
        with raises("n-imp-value", n_imp=n_imp):
            SEPClassifier(n_imp=n_imp).fit([[0.0], [1.0]], [0, 1])

    def test_numbers_too_large_to_square(self):
        with raises("not-finite", kinds="numbers beyond 1e+150", columns="0 (1 rows)"):
            SEPClassifier().fit([[0.0], [1e200]], [0, 1])

    def test_more_features_than_rows_works_and_says_so(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(12, 30)), np.repeat([0, 1], 6)
        X[y == 1] += 3
        with warns("too-few-points", regions="0, 1", n_features=30):
            clf = SEPClassifier().fit(X, y)
        assert repr(clf.partitions_[0]).startswith("Partition(A +6 | B +6,")
        assert np.array_equal(clf.predict(X), y)
        assert set(clf.assess(X).region) == {f"{k}@{i}" for k in (0, 1) for i in range(1, 7)}

    @ignore_few
    def test_a_class_of_one_record(self):
        X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
        clf = SEPClassifier().fit(X, [0, 0, 0, 1])
        assert clf.predict(X).tolist() == [0, 0, 0, 1]
        assert clf.assess([[5.0, 5.1]]).region.tolist() == ["1@1"]

    def test_two_rows(self):
        clf = SEPClassifier().fit([[0.0], [1.0]], ["a", "b"])
        assert clf.predict([[-0.1], [0.9]]).tolist() == ["a", "b"]


@pytest.mark.parametrize("trust", TRUST_METHODS)
class TestEachReading:
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_verdicts_obey_their_bounds(self, trust, n_classes):
        X, y, Z = overlapping(n_classes)
        clf = SEPClassifier(trust=trust).fit(X, y)
        a, proba = clf.assess(Z), clf.predict_proba(Z)
        assert proba.sum(axis=1) == pytest.approx(1)
        assert np.array_equal(clf.classes_[proba.argmax(axis=1)], clf.predict(Z))
        assert np.array_equal(a.label, clf.predict(Z))
        assert np.array_equal(a.trust, clf.trust_score(Z))
        # Of several classes none may be likely: the paper's trust in one is 0 where a pure region speaks for the rest.
        assert ((a.trust >= 0) & (a.trust <= 1)).all()
        assert (a.trust > 0).all() or (trust, n_classes) == ("paper", 3)
        assert set(a.reason) <= {"inside", "overlap", "outside", "contested", "strange", "beyond"}
        assert clf.score(X, y) > 0.7

    @pytest.mark.slow
    @ignore_few
    @examples(10)
    @given(data=classified_points())
    def test_the_order_of_rows_does_not_matter_and_rows_are_judged_one_by_one(self, trust, data):
        X, y, n_imp = data
        order = np.random.default_rng(0).permutation(len(X))
        p = SEPClassifier(trust=trust, n_imp=n_imp).fit(X, y)
        q = SEPClassifier(trust=trust, n_imp=n_imp).fit(X[order], y[order])
        assert p.assess(X).to_frame().equals(q.assess(X).to_frame())
        assert np.array_equal(p.predict_proba(X), q.predict_proba(X))
        assert np.array_equal(p.predict_proba(X), np.vstack([p.predict_proba(x[None]) for x in X]))

    @pytest.mark.slow
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
        assert repr(clf.landscape_)
        report = FeedbackMonitor(clf).observe(Z[:50], clf.predict(Z[:50])).report()
        assert re.findall(r"\d+", repr(report))[:2] == ["50", "50"]
        again = pickle.loads(pickle.dumps(clf))
        assert again.assess(Z).to_frame().equals(a.to_frame())

    @pytest.mark.slow
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
