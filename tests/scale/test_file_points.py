"""Points in files: the same partitions as of points in memory, and no file that stays."""

import gc
import tempfile

import numpy as np
import pytest
from scattered_partitions import bundled, same
from strategies import point_set

import sepc
from sepc.scale.file_points import FilePoints


def in_files(X, chunk_rows=None, n_threads=1):
    points = FilePoints.of(X, chunk_rows, n_threads)
    points.local_size = 0
    return points


@pytest.mark.parametrize("name", ["iris", "wine", "wdbc"])
@pytest.mark.parametrize("chunk_rows", [7, 97, None])
def test_files_of_any_chunk_size(name, chunk_rows):
    for A, B in bundled(name):
        same(sepc.partition(in_files(A, chunk_rows), in_files(B, chunk_rows)), sepc.partition(A, B))


def test_files_with_a_chunk_for_each_point():
    A, B = bundled("iris")[1]
    same(sepc.partition(in_files(A, 1), in_files(B, 1)), sepc.partition(A, B))


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


def test_bytes_read_and_written_are_counted():
    X = point_set("gauss", 100, 3)
    points = in_files(X, 30)
    points.moments(X[0])
    counters = points.io_counters
    assert (counters.bytes_read, counters.bytes_written, counters.n_passes) == (X.nbytes, 0, 1)
    part = points.beyond(X.min(axis=0), np.eye(3)[0], -1.0)
    assert part.io_counters is counters
    assert counters.bytes_written == 24 * len(part) > 0
