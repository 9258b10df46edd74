"""SEPEnsembleClassifier as its users meet it."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from coded import raises
from fitted_ensembles import FIELDS, overlapping, same
from hypothesis import given
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, make_circles, make_moons
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from strategies import classified_points, examples

from sepc import SEPClassifier, SEPEnsembleClassifier, select_min_trust
from sepc.common.errors import SepcError
from sepc.metrics import aurc


class TestBits:
    @pytest.mark.slow
    def test_jobs_and_the_order_of_rows_do_not_matter(self, data, fitted, asked):
        X, y = data
        order = np.random.default_rng(0).permutation(len(X))
        again = SEPEnsembleClassifier(n_estimators=6, n_jobs=2).fit(X[order], y[order])
        assert np.array_equal(again.weights_, fitted.weights_)
        assert np.array_equal(again.predict_proba(asked), fitted.predict_proba(asked))
        assert np.array_equal(again.out_of_fold_proba_, fitted.out_of_fold_proba_[order])
        assert same(again.assess(asked), fitted.assess(asked))

    @pytest.mark.slow
    @examples(8)
    @given(classified_points())
    def test_the_order_of_rows_does_not_matter_with_ties_flats_and_label_noise(self, data):
        X, y, n_imp = data
        order = np.random.default_rng(0).permutation(len(X))
        one = SEPEnsembleClassifier(n_estimators=2, n_imp=n_imp).fit(X, y)
        two = SEPEnsembleClassifier(n_estimators=2, n_imp=n_imp).fit(X[order], y[order])
        Z = np.vstack([X, X.mean(axis=0) + 1e6 * X.std(axis=0)])
        assert np.array_equal(one.predict_proba(Z), two.predict_proba(Z))
        assert same(one.assess(Z), two.assess(Z))

    @pytest.mark.slow
    def test_another_seed_makes_another_ensemble(self, data, fitted, asked):
        other = SEPEnsembleClassifier(n_estimators=6, random_state=1).fit(*data)
        assert not np.array_equal(other.predict_proba(asked), fitted.predict_proba(asked))

    @pytest.mark.slow
    def test_one_row_at_a_time_and_all_at_once(self, fitted, asked):
        together, alone = fitted.assess(asked), [fitted.assess(z[None]) for z in asked]
        for field in FIELDS:
            assert np.array_equal(getattr(together, field), np.concatenate([getattr(a, field) for a in alone]))
        proba = np.vstack([fitted.predict_proba(z[None]) for z in asked])
        assert np.array_equal(fitted.predict_proba(asked), proba)

    @pytest.mark.slow
    def test_float32_copies_of_whole_numbers_give_the_same_verdicts(self):
        rng = np.random.default_rng(0)
        X, Z = rng.integers(-20, 20, size=(60, 3)), rng.integers(-30, 30, size=(30, 3))
        y = X[:, 0] + rng.integers(-8, 8, size=60) > 0
        one, *others = (
            SEPEnsembleClassifier(n_estimators=2).fit(X.astype(kind), y).assess(Z.astype(kind))
            for kind in (np.float64, np.float32, int)
        )
        assert all(same(one, other) for other in others)


class TestHonestProbabilities:
    def test_they_are_in_the_order_of_the_rows_and_close_to_what_new_rows_get(self, data, fitted):
        X, y = data
        honest = fitted.out_of_fold_proba_
        assert honest.shape == (len(X), 3)
        assert np.isfinite(honest).all()
        assert honest.sum(axis=1) == pytest.approx(1)
        codes = np.searchsorted(fitted.classes_, y)
        seen = fitted.predict_proba(X)[np.arange(len(X)), codes]
        assert -np.log(honest[np.arange(len(X)), codes]).mean() > -np.log(seen).mean()
        assert np.mean(honest.argmax(axis=1) == codes) > 0.65

    @pytest.mark.slow
    def test_labels_that_are_noise_are_not_foretold(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(150, 3)), rng.permutation(np.repeat([0, 1], 75))
        clf = SEPEnsembleClassifier(n_estimators=4).fit(X, y)
        honest = np.mean(clf.out_of_fold_proba_.argmax(axis=1) == y)
        assert 0.35 < honest < 0.62
        assert (clf.trust_score(X) < 0.8).all()
        assert "member" in clf.explain(X[0]).details

    def test_the_only_record_of_a_class_has_none(self):
        X, y = np.arange(9.0)[:, None], np.array([1] * 4 + [0] + [2] * 4)
        clf = SEPEnsembleClassifier(n_estimators=2).fit(X, y)
        assert np.flatnonzero(np.isnan(clf.out_of_fold_proba_).any(axis=1)).tolist() == [4]


class TestHardTrainingSets:
    @pytest.mark.parametrize("sizes", [(1, 1), (1, 1, 1), (1, 9), (2, 9), (3, 9), (1, 2, 3), (2, 2), (1, 2, 30)])
    def test_classes_of_few_records(self, sizes):
        y = np.repeat(np.arange(len(sizes)), sizes)
        X = np.random.default_rng(0).normal(size=(len(y), 2)) + 6 * y[:, None]
        clf = SEPEnsembleClassifier(n_estimators=3).fit(X, y)
        assert np.isfinite(clf.predict_proba(X)).all()
        assert clf.predict(X).tolist() == y.tolist()
        assert len(clf.explain(X[0]).voices) == 3

    @pytest.mark.parametrize("kind", ["constant feature", "all constant", "one feature", "wide", "duplicates", "both"])
    def test_flat_narrow_wide_and_repeated(self, kind):
        X, y = overlapping(n_classes=2, n=12)
        if kind == "constant feature":
            X[:, 1] = 3.0
        elif kind == "all constant":
            X[:] = 1.0
        elif kind == "one feature":
            X = X[:, :1]
        elif kind == "wide":
            X = np.hstack([X, np.random.default_rng(0).normal(size=(24, 40))])
        elif kind == "duplicates":
            X = np.round(X)
        else:  # each record under both labels
            X[12:] = X[:12]
        clf = SEPEnsembleClassifier(n_estimators=4).fit(X, y)
        assert np.isfinite(clf.predict_proba(np.vstack([X, X + 1e9]))).all()
        assert set(clf.predict(X)) <= {"k0", "k1"}
        assert isinstance(clf.explain(X[0]).text, str)
        assert clf.regions()["n_shaped"].min() > 0

    def test_ten_classes(self):
        X, y = overlapping(n_classes=10, n=8, d=2)
        clf = SEPEnsembleClassifier(n_estimators=2).fit(X, y)
        assert clf.predict_proba(X).shape == (80, 10)
        assert clf.score(X, y) > 0.5
        assert clf.explain(X[0]).runner_up in clf.classes_

    @pytest.mark.parametrize("labels", [[False, True], [-7, 3], ["no", "yes"]])
    def test_any_label_type(self, labels):
        y = np.array(labels)[[0] * 6 + [1] * 6]
        clf = SEPEnsembleClassifier(n_estimators=2).fit(np.arange(12.0)[:, None], y)
        assert clf.predict([[0.0], [11.0]]).tolist() == labels
        assert clf.predict([[0.0]]).dtype == y.dtype
        why = json.loads(json.dumps(clf.explain([0.0]).to_dict()))
        assert (why["label"], why["runner_up"]) == tuple(labels)


class TestFrames:
    @pytest.mark.slow
    def test_pandas_keeps_names_and_index(self, data, fitted, asked):
        X, y = pd.DataFrame(data[0], columns=["age", "height", "weight"]), data[1]
        clf = SEPEnsembleClassifier(n_estimators=6).fit(X, y)
        Z = pd.DataFrame(asked, columns=X.columns, index=np.arange(len(asked)) + 100)
        frame = clf.assess(Z).to_frame()
        assert frame.index.equals(Z.index)
        assert frame["trust"].tolist() == fitted.assess(asked).trust.tolist()
        assert clf.feature_names_in_.tolist() == X.columns.tolist()
        assert "age" in clf.explain(Z.iloc[0]).text
        assert set(", ".join(clf.regions()["features"]).split(", ")) <= set(X.columns)
        with pytest.raises(ValueError, match="feature names"):
            clf.predict(Z[["weight", "age", "height"]])

    @pytest.mark.slow
    def test_polars(self, data, fitted, asked):
        X = pl.DataFrame(data[0], schema=["age", "height", "weight"])
        clf = SEPEnsembleClassifier(n_estimators=6).fit(X, data[1])
        frame = clf.assess(pl.DataFrame(asked, schema=X.columns)).to_frame()
        assert isinstance(frame, pl.DataFrame)
        assert isinstance(clf.regions(), pl.DataFrame)
        assert frame["region"].to_list() == fitted.assess(asked).region.tolist()


class TestWithScikitLearn:
    @pytest.mark.slow
    def test_search_pipeline_calibration_and_cross_validation(self):
        X, y = load_iris(return_X_y=True)
        small = SEPEnsembleClassifier(n_estimators=2, n_imp=0.05)
        search = GridSearchCV(
            make_pipeline(StandardScaler(), small), {"sepensembleclassifier__max_features": [2, 0.99]}, cv=2
        )
        assert search.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.85
        assert cross_val_predict(clone(small), X, y, cv=2, method="predict_proba").shape == (150, 3)
        assert CalibratedClassifierCV(small, cv=2).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.85

    @pytest.mark.slow
    def test_pickle_before_and_after_it_was_asked(self, fitted, asked):
        before = fitted.assess(asked)
        for _ in range(2):
            again = pickle.loads(pickle.dumps(fitted))
            assert same(again.assess(asked), before)
            assert again.explain(asked[0]).text == fitted.explain(asked[0]).text

    def test_thresholds_and_label_sets(self, fitted):
        X, y = overlapping(n=60, seed=5)
        found = select_min_trust(fitted, X, y, max_error=0.2)
        given = fitted.predict_or_abstain(X, min_trust=found.min_trust)
        accepted = np.array([label is not None for label in given])
        assert accepted.sum() == found.n_accepted
        assert np.count_nonzero(given[accepted] != y[accepted]) == found.n_errors
        sets = pickle.loads(pickle.dumps(fitted)).calibrate(X, y).predict_set(X, coverage=0.8)
        assert np.mean([label in labels for label, labels in zip(y, sets.labels(), strict=True)]) >= 0.8

    def test_progress_counts_members(self, data, capsys):
        SEPEnsembleClassifier(n_estimators=2, verbose=True).fit(*data)
        out, err = capsys.readouterr()
        assert out == ""
        assert "ensemble: 2 of 2 " in err

    @pytest.mark.slow
    def test_callbacks_see_the_fit_advance(self, data):
        pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9 has no callbacks")
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

        SEPEnsembleClassifier(n_estimators=3).set_callbacks(Log()).fit(*data)
        tasks = [("setup", "fit"), *[("done", "partition")] * 100, ("done", "fit"), ("teardown", "fit")]
        assert seen == [(event, SEPEnsembleClassifier, task) for event, task in tasks]

    @pytest.mark.slow
    def test_interrupting_leaves_the_classifier_as_it_was(self, data, asked, monkeypatch):
        X, y = data
        clf = SEPEnsembleClassifier(n_estimators=2).fit(X, y)
        before, attributes = clf.assess(asked), set(vars(clf))
        monkeypatch.setattr(
            "sepc.estimators.ensemble.ensemble_fitting.learn_stack",
            lambda *_: (_ for _ in ()).throw(KeyboardInterrupt),
        )
        with pytest.raises(KeyboardInterrupt):
            clf.fit(X[:, :2], y)
        assert set(vars(clf)) == attributes
        assert same(clf.assess(asked), before)
        fresh = SEPEnsembleClassifier(n_estimators=1)
        with pytest.raises(KeyboardInterrupt):
            fresh.fit(X, y)
        assert not hasattr(fresh, "n_features_in_")

    def test_a_refit_forgets_the_calibration(self, data):
        clf = SEPEnsembleClassifier(n_estimators=1).fit(*data).calibrate(*data).fit(*data)
        with raises("not-calibrated", SepcError, type="SEPEnsembleClassifier"):
            clf.predict_set(data[0])


class TestBadParameters:
    @pytest.mark.parametrize("n", [0, -1, "x", None, 2.0, True])
    def test_n_estimators(self, data, n):
        with raises("n-estimators", n_estimators=n):
            SEPEnsembleClassifier(n_estimators=n).fit(*data)

    @pytest.mark.parametrize("m", [0, 1.5, "sqrt", True, None, -2, 0.0])
    def test_max_features(self, data, m):
        with raises("max-features", max_features=m):
            SEPEnsembleClassifier(max_features=m).fit(*data)

    @pytest.mark.parametrize("n_imp", [-1, 1.0, "2"])
    def test_n_imp(self, data, n_imp):
        with raises("n-imp-value", n_imp=n_imp):
            SEPEnsembleClassifier(n_imp=n_imp).fit(*data)

    @pytest.mark.slow
    @pytest.mark.parametrize(("m", "size"), [(1, 1), (2, 2), (99, 3), (0.5, 2), (1e-9, 1), (1.0, 3), ("auto", 3)])
    def test_members_have_as_many_features_as_asked_for(self, data, m, size):
        clf = SEPEnsembleClassifier(n_estimators=1, max_features=m).fit(*data)
        assert len(clf.model_.members[0].plan.features) == size


@pytest.mark.slow
@pytest.mark.parametrize("name", ["moons", "circles", "cancer"])
def test_its_trust_ranks_better_than_the_paper_s(name):
    if name == "cancer":
        X, y = load_breast_cancer(return_X_y=True)
        X = X[:, :10]
    else:
        make, noise = {"moons": (make_moons, 0.3), "circles": (make_circles, 0.2)}[name]
        X, y = make(500, noise=noise, random_state=0)
    ensemble, paper = SEPEnsembleClassifier(n_estimators=4), SEPClassifier(trust="paper")
    risks = []
    for clf in (ensemble, paper):
        a = clf.fit(X[::2], y[::2]).assess(X[1::2])
        risks.append(aurc(y[1::2], a.label, a.trust))
    assert risks[0] < 0.8 * risks[1]


def test_regions_list_every_name_that_verdicts_use(fitted, asked):
    regions = fitted.regions()
    assert regions["region"].is_unique
    assert set(fitted.assess(asked).region) <= set(regions["region"])
    for number, part in regions.groupby(regions["region"].str.split(":").str[0]):
        member, out = fitted.model_.members[int(number[:-1]) - 1], "abc".index(number[-1])
        assert part["n_shaped"].sum() == len(member.parts[out].rows)
        assert part["n_label"].sum() + part["n_others"].sum() == len(member.parts[out].out)
