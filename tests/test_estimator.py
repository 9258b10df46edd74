"""SEPClassifier as its users meet it."""

import json
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from real_sets import real_set
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from strategies import labelled_points, seeds

import sepc
from sepc import SEPClassifier


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer(as_frame=True)
    return data.data, data.target_names[data.target]


@pytest.fixture(scope="module")
def fitted(cancer):
    X, y = cancer
    return SEPClassifier().fit(X[::2], y[::2])


def data_of(seed):
    """Return a random small labelled set with two or three classes."""
    A, B, n_imp = labelled_points(seed)
    X, y = np.vstack([A, B]), np.repeat(["a", "b"], [len(A), len(B)])
    if seed % 2 and len(A) > 3:
        y[: len(A) // 2] = "c"
    return X, y, n_imp


def same_model(p, q):
    return all(
        np.array_equal(getattr(a.ellipsoid, field), getattr(b.ellipsoid, field))
        for one, two in zip(p.partitions_, q.partitions_, strict=True)
        for a, b in zip(one.blocks, two.blocks, strict=True)
        for field in ("center", "axes", "radii")
    )


@pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
class TestLaws:
    @settings(max_examples=100, deadline=None)
    @given(seeds())
    def test_verdicts_obey_their_bounds(self, seed):
        X, y, n_imp = data_of(seed)
        clf = SEPClassifier(n_imp=n_imp).fit(X, y)
        rng = np.random.default_rng(seed)
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

    @settings(max_examples=60, deadline=None)
    @given(seeds())
    def test_the_order_of_rows_does_not_matter(self, seed):
        X, y, n_imp = data_of(seed)
        order = np.random.default_rng(seed).permutation(len(X))
        p, q = SEPClassifier(n_imp=n_imp).fit(X, y), SEPClassifier(n_imp=n_imp).fit(X[order], y[order])
        assert same_model(p, q)
        assert np.array_equal(p.mean_, q.mean_)
        assert p.assess(X).to_frame().equals(q.assess(X).to_frame())

    @settings(max_examples=60, deadline=None)
    @given(seeds())
    def test_one_row_at_a_time_and_all_at_once(self, seed):
        X, y, n_imp = data_of(seed)
        clf = SEPClassifier(n_imp=n_imp).fit(X, y)
        Z = np.vstack([X, X.mean(0) + 3 * X.std(0)])
        together, alone = clf.assess(Z), [clf.assess(z[None]) for z in Z]
        for field in ("label", "trust", "rule", "reason", "region", "counts", "distance"):
            assert np.array_equal(getattr(together, field), np.concatenate([getattr(a, field) for a in alone]))

    @settings(max_examples=60, deadline=None)
    @given(seeds())
    def test_blocks_and_isolated_points_are_rows_of_the_training_set(self, seed):
        X, y, n_imp = data_of(seed)
        clf = SEPClassifier(n_imp=n_imp).fit(X, y)
        for k, p in enumerate(clf.partitions_):
            own = y == clf.classes_[k] if len(clf.partitions_) > 1 else y == clf.classes_[0]
            for side, mask in enumerate((own, ~own)):
                rows = [b.members for b in p.blocks if b.side == side]
                assert sorted(np.concatenate([*rows, p.isolated[side]])) == np.flatnonzero(mask).tolist()

    @settings(max_examples=30, deadline=None)
    @given(seeds())
    def test_float32_copies_of_whole_numbers_give_the_same_verdicts(self, seed):
        rng = np.random.default_rng(seed)
        X = rng.integers(-20, 20, size=(60, 3))
        y = (X[:, 0] + rng.integers(-8, 8, size=60) > 0).astype(int)
        Z = rng.integers(-30, 30, size=(50, 3))
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

    def test_the_winner_s_problem_gives_rule_region_counts_and_trust(self):
        iris = load_iris()
        clf = SEPClassifier().fit(iris.data, iris.target_names[iris.target])
        a = clf.assess(iris.data)
        setosa = a.label == "setosa"
        assert set(a.region[setosa]) == {"setosa#1"}
        assert a.counts[setosa].tolist() == [[50, 0]] * 50
        assert all(label in region for label, region in zip(a.label, a.region, strict=True))

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_jobs_do_not_change_the_result(self, n_jobs):
        X, y = load_iris(return_X_y=True)
        assert same_model(SEPClassifier(n_jobs=n_jobs).fit(X, y), SEPClassifier().fit(X, y))


class TestVoters:
    @pytest.mark.parametrize("trust", ["counts", "bound"])
    def test_they_shape_no_ellipsoid(self, trust):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(80, 2)), np.repeat([0, 1], 40)
        X[40:, 0] += 4.0
        clf = SEPClassifier(trust=trust, standardize=False).fit(X, y)
        (found,) = clf.partitions_
        voters = np.setdiff1d(np.arange(80), np.concatenate([*(b.members for b in found.blocks), *found.isolated]))
        assert len(voters) == 26
        moved = X.copy()
        moved[voters, 1] += 1000.0 * (np.arange(26) % 2)  # they stay the same rows in sorted order
        assert same_model(SEPClassifier(trust=trust, standardize=False).fit(moved, y), clf)


class TestMemory:
    @pytest.mark.parametrize(
        ("what", "n_imp"),
        [
            (1_000, 0.01),
            (20_000, 0.1),
            ("breast cancer", 2),
            ("vertebral_2c", 2),
            ("banknote", 2),
            ("heart_statlog", 2),
        ],
    )
    def test_a_fit_takes_less_than_four_copies_of_the_data(self, what, n_imp):
        if what == "breast cancer":
            X, y = load_breast_cancer(return_X_y=True)
        elif isinstance(what, str):
            X, y = real_set(what)
        else:
            y = np.arange(what) % 2
            X = np.random.default_rng(0).standard_normal((what, 10))
            X[:, 0] += 2.0 * y
        SEPClassifier(n_imp=n_imp).fit(X[:1000], y[:1000])  # the compiled code is loaded
        tracemalloc.start()
        try:
            SEPClassifier(n_imp=n_imp).fit(X, y)
            assert tracemalloc.get_traced_memory()[1] < 4 * X.nbytes
        finally:
            tracemalloc.stop()


class TestUnits:
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
        assert repr(a).startswith("Assessment of 3 points")
        assert "<table" in a._repr_html_()
        assert "SEPClassifier" in repr(fitted)
        assert "SEPClassifier" in fitted._repr_html_()


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


class TestWithScikitLearn:
    def test_pipeline_search_and_calibration(self, cancer):
        X, y = cancer
        search = GridSearchCV(
            make_pipeline(StandardScaler(), SEPClassifier()), {"sepclassifier__n_imp": [0, 2, 0.05]}, cv=3
        )
        assert search.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
        proba = cross_val_predict(clone(SEPClassifier(n_imp=1)), X, y, cv=3, method="predict_proba")
        assert proba.shape == (len(X), 2)
        calibrated = CalibratedClassifierCV(SEPClassifier(), cv=3).fit(X[::2], y[::2])
        assert calibrated.score(X[1::2], y[1::2]) > 0.85

    def test_pickle(self, cancer, fitted):
        X, _ = cancer
        again = pickle.loads(pickle.dumps(fitted))
        assert again.assess(X).to_frame().equals(fitted.assess(X).to_frame())

    def test_callbacks_see_the_fit_advance(self, cancer):
        callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9 has no callbacks")
        seen = []

        class Log:
            def setup(self, estimator, context):
                seen.append(("setup", type(estimator), context.task_name))

            def teardown(self, estimator, context):
                seen.append(("teardown", type(estimator), context.task_name))

            def on_fit_task_begin(self, estimator, context):
                pass

            def on_fit_task_end(self, estimator, context):
                seen.append(("done", type(estimator), context.task_name))

        assert isinstance(Log(), callback.FitCallback)
        SEPClassifier().set_callbacks(Log()).fit(*cancer)
        tasks = [("setup", "fit"), *[("done", "partition")] * 100, ("done", "fit"), ("teardown", "fit")]
        assert seen == [(event, SEPClassifier, task) for event, task in tasks]

    def test_verbose_writes_to_stderr(self, capsys):
        SEPClassifier(verbose=True).fit(*load_iris(return_X_y=True))
        out, err = capsys.readouterr()
        assert out == ""
        assert "0: 150 of 150 points settled" in err


class TestBadInput:
    def test_missing_values_are_named(self, cancer):
        X, y = cancer
        bad = X.copy()
        bad.loc[3:5, "mean area"] = np.nan
        bad.loc[7, "worst texture"] = np.inf
        message = r"NaN and inf in columns 'mean area' \(3 rows\), 'worst texture' \(1 rows\).*SimpleImputer"
        with pytest.raises(sepc.InputError, match=message):
            SEPClassifier().fit(bad, y)
        with pytest.raises(sepc.InputError, match="X contains NaN in column 0"):
            SEPClassifier().fit([[0.0], [1.0]], [0, 1]).predict([[np.nan]])

    def test_constant_labels(self):
        with pytest.raises(sepc.InputError, match=r"y has 1 class, .*'a'.*; expected at least two"):
            SEPClassifier().fit([[0.0], [1.0]], ["a", "a"])

    @pytest.mark.parametrize("n_imp", [-1, 1.0, "2", None, 0.0])
    def test_n_imp(self, n_imp):
        with pytest.raises(sepc.InputError, match="n_imp"):
            SEPClassifier(n_imp=n_imp).fit([[0.0], [1.0]], [0, 1])

    def test_numbers_too_large_to_square(self):
        with pytest.raises(sepc.InputError, match="beyond 1e"):
            SEPClassifier().fit([[0.0], [1e200]], [0, 1])

    def test_more_features_than_rows_works_and_says_so(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(12, 30)), np.repeat([0, 1], 6)
        X[y == 1] += 3
        with pytest.warns(sepc.SepcWarning, match=r"0, 1: fewer training points than the 30 features"):
            clf = SEPClassifier().fit(X, y)
        assert repr(clf.partitions_[0]).startswith("Partition(A +6 | B +6,")
        assert np.array_equal(clf.predict(X), y)
        assert set(clf.assess(X).region) == {f"{k}@{i}" for k in (0, 1) for i in range(1, 7)}

    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    def test_a_class_of_one_record(self):
        X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
        clf = SEPClassifier().fit(X, [0, 0, 0, 1])
        assert clf.predict(X).tolist() == [0, 0, 0, 1]
        assert clf.assess([[5.0, 5.1]]).region.tolist() == ["1@1"]

    def test_two_rows(self):
        clf = SEPClassifier().fit([[0.0], [1.0]], ["a", "b"])
        assert clf.predict([[-0.1], [0.9]]).tolist() == ["a", "b"]

    def test_interrupting_leaves_the_classifier_as_it_was(self, cancer, monkeypatch):
        X, y = cancer
        clf = SEPClassifier().fit(X.iloc[:, :3], y)
        before = clf.assess(X.iloc[:, :3]).to_frame()
        attributes = set(vars(clf))
        monkeypatch.setattr("sepc.partitioning.nearest_points", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            clf.fit(X, y)
        assert set(vars(clf)) == attributes
        assert clf.assess(X.iloc[:, :3]).to_frame().equals(before)
        fresh = SEPClassifier()
        with pytest.raises(KeyboardInterrupt):
            fresh.fit(X, y)
        assert not hasattr(fresh, "n_features_in_")


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

    def test_changes_are_in_original_units_and_ranked_in_standard_deviations(self, cancer, fitted):
        X, _ = cancer
        found = fitted.explain(X.iloc[1]).counterfactual
        sizes = [abs(change.in_units) for change in found.changes]
        assert sizes == sorted(sizes, reverse=True)
        assert np.linalg.norm(sizes) == pytest.approx(found.distance)
        scale = dict(zip(X.columns, fitted.scale_, strict=True))
        for change in found.changes:
            assert change.before == pytest.approx(X.iloc[1][change.feature])
            assert change.after - change.before == pytest.approx(change.change)
            assert change.change == pytest.approx(change.in_units * scale[change.feature], abs=1e-9)

    def test_no_shorter_change_into_a_region_of_another_label(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(180, 2)) + np.repeat([[0, 0], [6, 0], [0, 5]], 60, axis=0)
        y = np.repeat(["a", "b", "b"], 60)
        clf = SEPClassifier(standardize=False, trust="paper").fit(X, y)
        z = np.array([0.5, 0.5])
        found = clf.explain(z).counterfactual
        (p,) = clf.partitions_
        ways = [b.ellipsoid.distance(z[None])[0] for b in p.blocks if b.side == 1]
        ways += np.linalg.norm(X[p.isolated[1]] - z, axis=1).tolist()
        assert found.distance == pytest.approx(min(ways))

    def test_neighbours_are_the_nearest_training_records(self, cancer, fitted):
        X, y = cancer
        why = fitted.explain(X.iloc[1])
        Z = (X[::2] - fitted.mean_) / fitted.scale_
        distances = np.linalg.norm(Z - (X.iloc[1] - fitted.mean_) / fitted.scale_, axis=1)
        nearest = np.argsort(distances)[:5]
        assert [n.row for n in why.neighbours] == nearest.tolist()
        assert [n.label for n in why.neighbours] == y[::2][nearest].tolist()
        assert why.neighbours[0].values == pytest.approx(X[::2].iloc[nearest[0]].to_dict())

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
        assert why.reason in {"outside", "contested"}
        assert why.features[0].feature == "weight"
        assert "weight (30; it reaches to" in why.text

    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    def test_without_any_ellipsoid(self):
        X = np.eye(4)
        why = SEPClassifier().fit(X, [0, 0, 1, 1]).explain([1.0, 0.1, 0.0, 0.0])
        assert why.region == "0@1" or why.region == "0@2"
        assert why.regions == ()
        assert why.counterfactual.label == 1
        assert "The nearest training record is" in why.text

    def test_one_record_at_a_time(self, cancer, fitted):
        X, _ = cancer
        assert fitted.explain(X[:1]).label == fitted.explain(X.iloc[0]).label
        with pytest.raises(sepc.InputError, match="x has 2 rows; expected one record"):
            fitted.explain(X[:2])
        with pytest.raises(sepc.InputError, match="NaN"):
            fitted.explain(X.iloc[0] * np.nan)


def test_an_explanation_tells_the_bound_of_the_error_only_where_the_records_do_not_refute_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    X[200:, 0] += 1.5
    clf = SEPClassifier(n_imp=20).fit(X, np.repeat(["a", "b"], 200))
    a = clf.assess(X)
    told = {True: 0, False: 0}
    for i in np.flatnonzero(a.reason == "overlap")[:60]:
        why = clf.explain(X[i])
        if why.error_bound is not None:
            own, others = why.counts.values()
            refuted = others > why.error_bound * (own + others)
            assert ("which bounds the error" in why.text) is not refuted
            told[refuted] += 1
    assert all(told.values())
