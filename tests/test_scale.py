"""Partitions of points that are not in one memory: the same as of those that are, whatever happens on the way."""

import gc
import os
import signal
import tempfile
from pathlib import Path

import dask
import dask.array as da
import distributed
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scattered import random_cuts, scattered
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from strategies import labelled_points, point_set, seeds

import sepc
from sepc.geometry import _core_search, _far_hulls
from sepc.scale.clusters import ClusterPoints
from sepc.scale.files import FilePoints

MOST_ROWS = 1500


@pytest.fixture(autouse=True, scope="module")
def in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def little_memory(monkeypatch):
    """Let the solvers have so little memory that sets of hundreds are large."""
    for name, value in (("_CORE", 2), ("_LEAST", 64), ("_MOST", 512)):
        monkeypatch.setattr(_core_search, name, value)
    for name, value in (("_SAMPLE", 1500), ("_WINDOW", 3000)):
        monkeypatch.setattr(_far_hulls, name, value)


def standardized(X):
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)


def one_against_rest(X, y):
    """Yield the two sides of each binary problem; of two labels there is one."""
    labels = np.unique(y)
    for label in labels[: 1 if len(labels) == 2 else None]:
        yield X[y == label], X[y != label]


def same(far, near):
    """Assert that two partitions have the same blocks."""
    assert far.n_iter == near.n_iter
    assert far.stopped == near.stopped
    assert [(b.side, b.iteration) for b in far.blocks] == [(b.side, b.iteration) for b in near.blocks]
    for mine, other in zip(far.blocks, near.blocks, strict=True):
        assert np.array_equal(np.asarray(mine.members), other.members)
        assert mine.ellipsoid.log_volume == pytest.approx(other.ellipsoid.log_volume, abs=1e-5)
    for mine, other in zip(far.isolated, near.isolated, strict=True):
        assert np.array_equal(np.asarray(mine), other)


def in_files(X, chunk_rows=None, n_threads=1):
    points = FilePoints.of(X, chunk_rows, n_threads)
    points.local_size = 0
    return points


def bundled(name):
    data = {"iris": load_iris, "wine": load_wine, "wdbc": load_breast_cancer}[name]()
    return list(one_against_rest(standardized(data.data), data.target))


def folder():
    path = os.environ.get("SEPC_DATA")
    if not path or not list(Path(path).glob("*.csv")):
        pytest.skip("set SEPC_DATA to the folder with the data sets")
    return Path(path)


@pytest.mark.parametrize("name", ["iris", "wine", "wdbc"])
@pytest.mark.parametrize("chunk_rows", [7, 97, None])
def test_files_of_any_chunk_size(name, chunk_rows):
    for A, B in bundled(name):
        same(sepc.partition(in_files(A, chunk_rows), in_files(B, chunk_rows)), sepc.partition(A, B))


def test_files_with_a_chunk_for_each_point():
    A, B = bundled("iris")[1]
    same(sepc.partition(in_files(A, 1), in_files(B, 1)), sepc.partition(A, B))


@pytest.mark.parametrize("form", ["device", "strict", "cluster"])
@pytest.mark.parametrize("n_cuts", [0, 3])
def test_devices_and_clusters(form, n_cuts):
    for A, B in (*bundled("iris"), *bundled("wine")):
        cuts = [[len(X) // 3] * (n_cuts // 2) + [len(X) // 2] * (n_cuts > 0) for X in (A, B)]
        far = [scattered(form, X, cut) for X, cut in zip((A, B), cuts, strict=True)]
        same(sepc.partition(*far), sepc.partition(A, B))


@pytest.mark.usefixtures("little_memory")
def test_real_sets():
    found = 0
    for path in sorted(folder().glob("*.csv")):
        table = pd.read_csv(path)
        if len(table) > MOST_ROWS:
            continue
        y = table.pop(table.columns[-1]).to_numpy()
        X = standardized(pd.get_dummies(table).to_numpy(dtype=float))
        for A, B in one_against_rest(X, y):
            rng = np.random.default_rng(len(A))
            far = [scattered("device", np.ascontiguousarray(Z), random_cuts(rng, len(Z))) for Z in (A, B)]
            same(sepc.partition(*far), sepc.partition(A, B))
            found += 1
    assert found > 0


@settings(max_examples=100)
@given(seeds())
def test_small_sets_with_ties_copies_flats_and_noise(seed):
    A, B, n_imp = labelled_points(seed)
    rng = np.random.default_rng(seed)
    far = [scattered("device", X, random_cuts(rng, len(X))) for X in (A, B)]
    same(sepc.partition(*far, n_imp), sepc.partition(A, B, n_imp))


@pytest.mark.parametrize("family", ["gauss", "lattice", "clusters", "student"])
@pytest.mark.usefixtures("little_memory")
def test_sets_that_are_large_for_the_memory(family):
    A, B = point_set(family, 1000, 3, seed=1) + 2.0 * np.eye(3)[0], point_set(family, 500, 3, seed=2)
    far = [scattered("device", X, [400, 400, 600]) for X in (A, B)]
    for relax in (False, True):
        same(sepc.partition(*far, 5, relax=relax), sepc.partition(A, B, 5, relax=relax))


@pytest.mark.parametrize("columns", [[0, 1, 2, 2], [0, 1, 0]])
def test_flats_and_copies(columns):
    A, B = (point_set("lattice", n, 3, seed=n)[:, columns] for n in (400, 250))
    B[:, 0] += 2.0
    same(sepc.partition(in_files(A, 97), in_files(B, 97)), sepc.partition(A, B))


def test_one_set_in_memory():
    A, B = bundled("wdbc")[0]
    near = sepc.partition(A, B)
    same(sepc.partition(in_files(A, 97), B), near)
    same(sepc.partition(A, in_files(B, 97)), near)


def test_sets_that_become_small_come_into_memory():
    A, B = bundled("wdbc")[0]
    far = in_files(A, 97), in_files(B, 97)
    for points in far:
        points.local_size = 30 * 150
    same(sepc.partition(*far), sepc.partition(A, B))


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """Let temporary files go to a folder of this test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_files_vanish_with_the_points(own_folder):
    A, B = bundled("wine")[0]
    far = in_files(A, 7), in_files(B, 7)
    assert len(list(own_folder.iterdir())) == 4
    P = sepc.partition(*far)
    gc.collect()
    assert len(list(own_folder.iterdir())) == 4
    part = far[0].beyond(A[0], np.eye(A.shape[1])[0], 0.0)
    del far
    gc.collect()
    assert len(list(own_folder.iterdir())) == 2
    assert len(part.local()) == len(part)
    del part
    gc.collect()
    assert list(own_folder.iterdir()) == []
    assert P.n_iter > 0


@pytest.mark.parametrize("n_threads", [1, 2])
def test_files_vanish_after_an_error(own_folder, n_threads):
    A, B = bundled("wine")[0]
    steps = []

    def stop(n_settled, n_total):
        steps.append(n_settled)
        if len(steps) == 4:
            raise RuntimeError(f"{n_settled} of {n_total}")

    with pytest.raises(RuntimeError):
        sepc.partition(in_files(A, 7, n_threads), in_files(B, 7, n_threads), on_step=stop)
    points = in_files(A, 7, n_threads)
    with pytest.raises(ZeroDivisionError):
        points.keep(lambda xp, x: xp.ones(len(x)) > 1 // 0)
    del points
    gc.collect()
    assert list(own_folder.iterdir()) == []


def test_threads_change_no_bit():
    A, B = (point_set("gauss", n, 3, seed=n) + n / 90 for n in (240, 150))
    one, two = (sepc.partition(*(in_files(X, 50, n_threads) for X in (A, B))) for n_threads in (1, 2))
    same(one, two)
    assert len(one.blocks) > 2
    for mine, other in zip(one.blocks, two.blocks, strict=True):
        for field in ("center", "axes", "radii"):
            assert np.array_equal(getattr(mine.ellipsoid, field), getattr(other.ellipsoid, field))


def test_traffic_is_counted():
    X = point_set("gauss", 100, 3)
    points = in_files(X, 30)
    points.moments(X[0])
    assert (points.traffic.read, points.traffic.written, points.traffic.passes) == (X.nbytes, 0, 1)
    part = points.beyond(X.min(axis=0), np.eye(3)[0], -1.0)
    assert part.traffic is points.traffic
    assert points.traffic.written == 24 * len(part) > 0


@pytest.fixture(scope="module")
def client():
    """Two processes, which are started again when they die."""
    settings = {
        "distributed.nanny.pre-spawn-environ.OPENBLAS_NUM_THREADS": 1,
        "distributed.comm.retry.count": 3,
        "distributed.scheduler.allowed-failures": 10,
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        dask.config.set(scheduler="distributed"),
    ):
        yield client


def from_a_graph(X, chunk_rows):
    """Return points whose chunks are made by tasks, and can be made again."""
    rows = da.from_array(np.arange(len(X)), chunks=chunk_rows)
    shape = rows.chunks[0], X.shape[1]
    points = ClusterPoints.of(rows.map_blocks(lambda at: X[at], new_axis=1, chunks=shape, dtype=float))
    points.local_size = 0
    return points


@pytest.mark.usefixtures("client")
def test_a_cluster_of_processes():
    A, B = bundled("iris")[1]
    far = from_a_graph(A, 20), from_a_graph(B, 30)
    same(sepc.partition(*far), sepc.partition(A, B))
    assert max(far[0].bytes_received) <= 2 * (A.nbytes + B.nbytes)


def test_a_worker_that_dies_loses_nothing(client):
    A, B = bundled("iris")[1]
    far = from_a_graph(A, 20), from_a_graph(B, 30)
    killed = []

    def kill_one(n_settled, _):
        if len(killed) < 2 and n_settled > 10 * len(killed):
            pid = next(worker.pid for worker in client.cluster.workers.values() if worker.pid not in killed)
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    same(sepc.partition(*far, on_step=kill_one), sepc.partition(A, B))
    assert len(killed) == 2
