"""Points on a cluster: the same partitions as of points in memory, whatever happens to the workers."""

import os
import signal

import dask
import dask.array as da
import distributed
import numpy as np
import pytest
from scattered import scattered
from scattered_partitions import bundled, same

import sepc
from sepc.scale.cluster_points import ClusterPoints


@pytest.fixture(autouse=True, scope="module")
def in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("n_cuts", [0, 3])
def test_clusters(n_cuts):
    for A, B in (*bundled("iris"), *bundled("wine")):
        cuts = [[len(X) // 3] * (n_cuts // 2) + [len(X) // 2] * (n_cuts > 0) for X in (A, B)]
        far = [scattered("cluster", X, cut) for X, cut in zip((A, B), cuts, strict=True)]
        same(sepc.partition(*far), sepc.partition(A, B))


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
