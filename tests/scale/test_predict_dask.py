"""Predictions for Dask collections: nothing is computed early, and every answer is NumPy's, to the bit."""

import pickle
import re

import cloudpickle
import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest
from coded import raises
from distributed import Client, LocalCluster, get_task_stream
from sklearn.datasets import load_breast_cancer, load_iris, make_moons

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.model.assessment import Assessment
from sepc.model.rules import Rules

FIELDS = ("label", "trust", "odds", "rule", "reason", "region", "counts", "distance", "local_overlap")
CHUNKS = [1, 7, 1000, (0, 30, 0, 8, 0)]


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    return data.data, data.target_names[data.target]


@pytest.fixture(scope="module", params=["local", "counts", "bound", "paper"])
def fitted(request, iris):
    X, y = iris
    return SEPClassifier(trust=request.param).fit(X[::2].to_numpy(), y[::2])


@pytest.fixture(scope="module")
def named(iris):
    X, y = iris
    return SEPClassifier().fit(X[::2], y[::2])


@pytest.fixture(scope="module")
def points(iris):
    return np.ascontiguousarray(iris[0][1::4].to_numpy())


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(300, noise=0.25, random_state=0)
    return SEPClassifier(n_imp=2).fit(X[:150], y[:150]), X[150:]


@pytest.fixture(scope="module")
def cluster():
    with (
        LocalCluster(processes=True, n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def in_chunks(X, size):
    return da.from_array(X, chunks=(size, -1))


def poisoned(n, d):
    """Return an array that cannot be computed."""

    def burst():
        raise AssertionError("something was computed")

    return da.from_delayed(dask.delayed(burst)(), (n, d), dtype=np.float64)


def same(lazy, value):
    all_same([lazy], [value])


def same_fields(lazy, assessment, fields=FIELDS):
    all_same(*([getattr(a, name) for name in fields] for a in (lazy, assessment)))


def all_same(lazy, values):
    assert all(isinstance(one, da.Array) for one in lazy)
    for one, found, value in zip(lazy, dask.compute(*lazy), values, strict=True):
        assert one.dtype == found.dtype == value.dtype
        np.testing.assert_array_equal(found, value)


class TestBits:
    @pytest.mark.slow
    @pytest.mark.parametrize("size", CHUNKS, ids=str)
    def test_every_chunking_gives_what_numpy_gives(self, fitted, points, size):
        X = in_chunks(points, size)
        same(fitted.predict(X), fitted.predict(points))
        same(fitted.predict_proba(X), fitted.predict_proba(points))
        same(fitted.trust_score(X), fitted.trust_score(points))
        same(fitted.predict_or_abstain(X, 0.9, "?"), fitted.predict_or_abstain(points, 0.9, "?"))
        lazy, a = fitted.assess(X), fitted.assess(points)
        same_fields(lazy, a)
        same(lazy.accepted(0.8, allow_outside=False), a.accepted(0.8, allow_outside=False))

    def test_two_classes_with_overlaps(self, moons):
        clf, points = moons
        lazy, a = clf.assess(in_chunks(points, 40)), clf.assess(points)
        assert {"R1", "R2a", "R3"} <= set(a.rule)
        same_fields(lazy, a)

    def test_products_that_blas_would_share_out_among_threads(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 60))
        X[200:] += 0.5
        clf = SEPClassifier().fit(X[::2], np.repeat([0, 1], 100))
        same(clf.predict_proba(in_chunks(X, 50)), clf.predict_proba(X))

    def test_columns_may_be_in_several_chunks(self, fitted, points):
        same(fitted.predict_proba(da.from_array(points, chunks=(20, 3))), fitted.predict_proba(points))

    @pytest.mark.slow
    def test_an_ensemble(self, iris, points):
        X, y = iris
        clf = SEPEnsembleClassifier(n_estimators=3).fit(X[::2].to_numpy(), y[::2])
        lazily = in_chunks(points, 30)
        same(clf.predict(lazily), clf.predict(points))
        same(clf.predict_proba(lazily), clf.predict_proba(points))
        lazy, a = clf.assess(lazily), clf.assess(points)
        same_fields(lazy, a, (*FIELDS, "agreement"))
        pd.testing.assert_frame_equal(lazy.compute().to_frame(), a.to_frame())

    def test_only_an_ensemble_has_an_agreement(self, moons):
        clf, points = moons
        assert not hasattr(clf.assess(in_chunks(points, 40)), "agreement")


class TestLaziness:
    def test_nothing_is_computed_early(self, fitted):
        X = poisoned(10, 4)
        a = fitted.assess(X)
        asked = [fitted.predict(X), fitted.predict_proba(X), fitted.trust_score(X), fitted.predict_or_abstain(X)]
        asked += [getattr(a, name) for name in FIELDS] + [a.accepted(), a.to_frame()]
        assert re.findall(r"\w*Assessment|\d+", repr(a)) == ["DaskAssessment", "10", "1"]
        for one in asked:
            with pytest.raises(AssertionError, match="something was computed"):
                one.compute()

    def test_chunks_are_those_of_the_points(self, fitted, points):
        X = in_chunks(points, (0, 30, 0, 8, 0))
        assert fitted.predict(X).chunks == ((0, 30, 0, 8, 0),)
        assert fitted.predict_proba(X).chunks == ((0, 30, 0, 8, 0), (3,))
        assert fitted.assess(X).counts.chunks == ((0, 30, 0, 8, 0), (2,))
        assert len(fitted.assess(X)) == 38

    def test_the_model_is_in_the_graph_once(self, fitted, points):
        def size(n):
            a = fitted.assess(in_chunks(points[:30], n)).trust
            return len(cloudpickle.dumps(dict(a.__dask_graph__())))

        assert size(1) - size(30) < 29 * 1000

    def test_outcomes_take_no_training_records_along(self, moons):
        clf, points = moons
        X, records = in_chunks(points, 40), clf.model_.points[:10].tobytes()
        assert records not in cloudpickle.dumps(dict(clf.predict_proba(X).__dask_graph__()))
        assert records in cloudpickle.dumps(dict(clf.assess(X).trust.__dask_graph__()))

    def test_fields_asked_for_together_share_the_work(self, moons, monkeypatch):
        clf, points = moons
        a = clf.assess(in_chunks(points, 50))
        n_judged = []
        judge = Rules.judge
        monkeypatch.setattr(Rules, "judge", lambda self, Z: n_judged.append(len(Z)) or judge(self, Z))
        dask.compute(a.label, a.region, a.counts)
        assert sorted(n_judged) == [0, 50, 50, 50]  # of no points for the types, and each chunk once


class TestDataFrames:
    @pytest.fixture
    def frame(self, iris):
        return iris[0][1::2].set_index(pd.Index(np.arange(1000, 1075), name="flower"))

    def test_partitions_of_unknown_size(self, named, frame):
        X = dd.from_pandas(frame, npartitions=3)
        same(named.predict(X), named.predict(frame))
        same(named.predict_proba(X), named.predict_proba(frame))
        same(named.predict_or_abstain(X), named.predict_or_abstain(frame))
        same_fields(named.assess(X), named.assess(frame))
        with pytest.raises(ValueError, match="unknown"):
            len(named.assess(X))
        assert re.findall(r"\w*Assessment|\d+", repr(named.assess(X))) == ["DaskAssessment", "3"]

    def test_an_empty_partition(self, named, frame):
        X = dd.from_pandas(frame, npartitions=3)
        X = X[X["sepal length (cm)"] > 1e9]
        assert named.predict(X).compute().tolist() == []
        assert named.assess(X).to_frame().compute().empty

    def test_a_frame_keeps_index_and_divisions(self, named, frame):
        X = dd.from_pandas(frame, npartitions=3)
        lazy = named.assess(X).to_frame()
        assert isinstance(lazy, dd.DataFrame)
        assert lazy.divisions == X.divisions
        expected = named.assess(frame).to_frame()
        pd.testing.assert_frame_equal(lazy.compute(), expected)
        pd.testing.assert_frame_equal(lazy._meta, expected.iloc[:0])
        pd.testing.assert_frame_equal(named.assess(X).compute().to_frame(), expected)

    @pytest.mark.slow
    @pytest.mark.parametrize("size", CHUNKS, ids=str)
    def test_rows_of_an_array_are_numbered_on(self, fitted, points, size):
        lazy = fitted.assess(in_chunks(points, size)).to_frame()
        expected = fitted.assess(points).to_frame()
        pd.testing.assert_frame_equal(lazy.compute(), expected, check_index_type=False)
        pd.testing.assert_series_equal(lazy.dtypes, expected.dtypes)

    def test_rows_of_unknown_number_are_numbered_in_each_chunk(self, moons):
        clf, points = moons
        X = in_chunks(points, 50)
        lazy = clf.assess(X[X[:, 0] > 0.0]).to_frame()
        sizes = [int((points[i : i + 50, 0] > 0.0).sum()) for i in (0, 50, 100)]
        assert not lazy.known_divisions
        assert lazy.index.compute().tolist() == [i for n in sizes for i in range(n)]

    def test_names_are_checked_at_once(self, named, frame):
        X = dd.from_pandas(frame, npartitions=2)
        with pytest.raises(ValueError, match="feature names should match"):
            named.predict(X.rename(columns={"sepal length (cm)": "sepal"}))
        with pytest.raises(ValueError, match="same order"):
            named.assess(X[list(frame.columns[::-1])])
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            named.predict(X.to_dask_array())


class TestErrors:
    def test_the_number_of_features_is_checked_at_once(self, fitted):
        with pytest.raises(ValueError, match="X has 3 features, but SEPClassifier is expecting 4 features"):
            fitted.predict(poisoned(10, 3))

    def test_what_is_no_table(self, fitted, iris):
        for X in (da.zeros(4), dd.from_pandas(iris[0], npartitions=2)["sepal width (cm)"], dask.bag.range(4, 2)):
            with raises("dask-dimensions"):
                fitted.predict(X)

    def test_a_gap_is_found_with_its_chunk(self, iris):
        X, y = iris
        clf = SEPClassifier(trust="paper").fit(X, y)
        broken = X.copy()
        broken.iloc[100, 1] = np.nan
        lazy = clf.predict(dd.from_pandas(broken, npartitions=3))
        assert len(lazy.blocks[0].compute()) == 50
        with raises("not-finite", kinds="NaN", columns="'sepal width (cm)' (1 rows)"):
            lazy.compute()

    def test_arguments_are_checked_at_once(self, fitted):
        a = fitted.assess(poisoned(10, 4))
        with raises("not-between-0-and-1", name="min_trust", value=95):
            a.accepted(95)
        with raises("min-trust-without-entry"):
            fitted.predict_or_abstain(poisoned(10, 4), {"setosa": 0.5})

    def test_an_unfitted_classifier(self):
        with pytest.raises(ValueError, match="not fitted"):
            SEPClassifier().predict(poisoned(10, 4))


class TestAssessments:
    def test_a_copy_for_another_process_has_no_training_records(self, moons):
        clf, points = moons
        a = clf.assess(points[:50])
        copy = pickle.loads(pickle.dumps(a))
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(copy, name), getattr(a, name))
        pd.testing.assert_frame_equal(copy.to_frame(), a.to_frame())
        assert len(pickle.dumps(a)) < 50 * 300

    def test_parts_joined_are_the_whole(self, moons):
        clf, points = moons
        X = pd.DataFrame(points, index=[f"p{i}" for i in range(150)])
        joined = Assessment.joined([clf.assess(X[:40]), clf.assess(X[40:41]), clf.assess(X[41:])])
        a = clf.assess(X)
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(joined, name), getattr(a, name))
        pd.testing.assert_frame_equal(joined.to_frame(), a.to_frame())
        np.testing.assert_array_equal(joined.accepted({0: 0.9, 1: 0.8}), a.accepted({0: 0.9, 1: 0.8}))


@pytest.mark.processes
@pytest.mark.usefixtures("cluster")
class TestCluster:
    def test_workers_give_what_numpy_gives(self, moons):
        clf, points = moons
        X = in_chunks(points, (0, 70, 1, 79))
        same(clf.predict_proba(X), clf.predict_proba(points))
        lazy, a = clf.assess(X).compute(), clf.assess(points)
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(lazy, name), getattr(a, name))
        pd.testing.assert_frame_equal(clf.assess(X).to_frame().compute(), a.to_frame(), check_index_type=False)

    def test_an_ensemble_fitted_by_workers_has_the_same_bits(self, cluster):
        X, y = load_breast_cancer(return_X_y=True)
        X, y = X[:200, :6], y[:200]
        here = SEPEnsembleClassifier(n_estimators=3).fit(X, y)
        with joblib.parallel_config(backend="dask"), get_task_stream(cluster) as done:
            there = SEPEnsembleClassifier(n_estimators=3, n_jobs=2).fit(X, y)
        assert len(done.data) == 3
        np.testing.assert_array_equal(here.out_of_fold_proba_, there.out_of_fold_proba_)
        np.testing.assert_array_equal(here.predict_proba(X), there.predict_proba(X))
