"""Training sets in Dask collections, in chunks of any kind."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from coded import raises
from distributed import Client, LocalCluster
from scattered_fits import agree, in_file, iris, same_partitions
from sklearn.datasets import make_moons

from sepc import SEPClassifier
from sepc.scale.dask_training import ClusterRecords

pytestmark = [
    pytest.mark.usefixtures("small_chunks"),
    pytest.mark.filterwarnings("ignore::sepc.SepcWarning"),  # isolated points are wanted here
]


class TestChunks:
    @pytest.fixture(scope="class")
    @classmethod
    def data(cls):
        X, y = make_moons(90, noise=0.3, random_state=0)
        y = np.array(["moon", "sun"])[y]
        return X, y, SEPClassifier().fit(X, y)

    @pytest.mark.slow
    @pytest.mark.parametrize("chunks", [(90, 2), (17, 1), ((0, 50, 0, 40, 0), -1), (1, -1)], ids=str)
    def test_arrays(self, data, chunks, tmp_path):
        X, y, expected = data
        agree(SEPClassifier().fit(da.from_array(X, chunks=chunks), y), expected, X, tmp_path)

    @pytest.mark.parametrize("chunks", [90, 13, ((0, 80, 10),)], ids=str)
    def test_labels_in_other_chunks(self, data, chunks, tmp_path):
        X, y, expected = data
        agree(SEPClassifier().fit(da.from_array(X, chunks=(40, 2)), da.from_array(y, chunks)), expected, X, tmp_path)

    @pytest.mark.slow
    def test_texts_of_other_lengths_in_other_chunks(self, data):
        X, _, _ = data
        y = np.array(["no", "never"])[np.sort(np.arange(90) % 2)]
        parts = [da.from_delayed(dask.delayed(np.array)(part.tolist()), (45,), "<U5") for part in np.split(y, 2)]
        found = SEPClassifier().fit(da.from_array(X, chunks=(40, 2)), da.concatenate(parts))
        assert found.classes_.tolist() == ["never", "no"]
        same_partitions(found, SEPClassifier().fit(X, y))

    @pytest.mark.slow
    def test_sizes_that_nobody_knows(self, data, tmp_path):
        X, y, _ = data
        order = np.argsort(X[:, 0])
        X, y = X[order], y[order]
        lazy, right = da.from_array(X, chunks=(20, 2)), X[:, 0] > 0.5
        chosen = lazy[:, 0] > 0.5
        assert not chosen.blocks[0].any()  # an empty chunk
        expected = SEPClassifier().fit(X[right], y[right])
        for labels in (da.from_array(y, 20)[chosen], da.from_array(y, 30)[da.from_array(right, 30)]):
            agree(SEPClassifier().fit(lazy[chosen], labels), expected, X[right], tmp_path)

    @pytest.mark.slow
    def test_frames(self, data):
        X, y, _ = data
        frame = pd.DataFrame(X, columns=["u", "v"]).assign(sky=y, number=np.arange(90) % 2)
        lazy = dd.from_pandas(frame, npartitions=4)
        features = lazy[["u", "v"]]
        others = dd.from_pandas(frame, npartitions=3)["sky"]
        expected = SEPClassifier().fit(frame[["u", "v"]], y)
        for labels in (lazy["sky"], others, y, da.from_array(y, 50)):
            found = SEPClassifier().fit(features, labels)
            same_partitions(found, expected)
            assert found.predict(frame[["u", "v"]]).tolist() == expected.predict(frame[["u", "v"]]).tolist()
        found = SEPClassifier().fit(features.to_dask_array(), lazy["number"].to_dask_array())
        same_partitions(found, SEPClassifier().fit(X, frame["number"]))

    def test_a_frame_without_rows_in_some_partitions(self, data):
        X, y, _ = data
        frame = pd.DataFrame(X, columns=["u", "v"]).assign(sky=y)
        lazy = dd.from_pandas(frame.sort_values("u"), npartitions=5, sort=False)
        lazy = lazy[lazy["u"] > 0.0]
        near = frame[frame["u"] > 0.0].sort_values("u")
        found = SEPClassifier().fit(lazy[["u", "v"]], lazy["sky"])
        same_partitions(found, SEPClassifier().fit(near[["u", "v"]], near["sky"]))

    def test_the_collections_are_as_they_were(self, data):
        X, y, _ = data
        lazy = da.from_array(X, chunks=(40, 2))
        labels = da.from_array(y, 30)[da.from_array(X[:, 0], 30) > 0.0]
        SEPClassifier().fit(lazy[lazy[:, 0] > 0.0], labels)
        assert np.isnan(labels.shape[0])


def test_names_of_the_features():
    X, y = iris()
    named = SEPClassifier().fit(dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=3), y)
    assert named.feature_names_in_.tolist() == list("abcd")
    assert named.n_features_in_ == 4
    again = in_file(named, X, y)
    assert again is named
    assert not hasattr(named, "feature_names_in_")


def test_gaps_of_a_frame():
    frame = pd.DataFrame({"age": [1.0, np.nan, 3.0, 4.0], "dose": [1.0, 2.0, 3.0, 4.0]})
    with raises("not-finite", kinds="NaN", columns="'age' (1 rows)"):
        SEPClassifier().fit(dd.from_pandas(frame, npartitions=2), [0, 1, 0, 1])


def test_as_many_lazy_labels_as_rows():
    X, y = iris()
    with raises("training-rows", n_rows=150, n_labels=149):
        SEPClassifier().fit(da.from_array(X, chunks=(50, 4)), da.from_array(y[1:], 50))


@pytest.mark.processes
def test_a_worker_that_dies_is_replaced(monkeypatch):
    X, y = make_moons(400, noise=0.3, random_state=0)
    expected = SEPClassifier(n_imp=8).fit(X, y)
    n_asked, ask = [0], ClusterRecords._asked
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster),
    ):

        def ask_and_kill(records, question):
            n_asked[0] += 1
            if n_asked[0] == 2:
                next(iter(cluster.workers.values())).process.process._process.kill()
            return ask(records, question)

        monkeypatch.setattr(ClusterRecords, "_asked", ask_and_kill)
        with dask.config.set(scheduler=None):
            found = SEPClassifier(n_imp=8).fit(da.from_array(X, chunks=(100, 2)), y)
            assert n_asked[0] > 2
            same_partitions(found, expected)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-9)
