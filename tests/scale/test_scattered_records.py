"""Records in chunks: passes over them give what one look at all records gives."""

import gc
import weakref

import dask
import numpy as np
import pytest
from coded import raises
from dask.delayed import delayed
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn_points, examples, orders

from sepc.common.splits import record_hashes
from sepc.geometry.chunks import Extents
from sepc.partitions.units import location_and_unit
from sepc.scale import training_sets
from sepc.scale.dask_training import ClusterRecords
from sepc.scale.scattered_records import Chunk, SlicedRecords, in_order
from sepc.scale.training_sets import ScatteredTrainingSet


def sliced(X, codes, chunk_rows, n_threads=1):
    return SlicedRecords(X.__getitem__, codes, X.shape[1], n_threads, chunk_rows)


def on_cluster(X, codes, chunk_rows, _=1):
    """Return records in chunks that Dask makes; between any two of them an empty one."""
    cuts = np.repeat(np.arange(chunk_rows, len(X), chunk_rows), 2)
    rows = np.split(np.arange(len(X)), cuts)
    return ClusterRecords(
        [delayed(Chunk)(X[at], codes[at], at, X[at]) for at in rows], list(map(len, rows)), X.shape[1]
    )


KINDS = st.sampled_from([sliced, on_cluster])


@pytest.fixture(autouse=True, scope="module")
def in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


@st.composite
def some_records(draw):
    X = draw(drawn_points(min_size=6, max_size=50))
    codes = draw(orders(len(X))) % draw(st.integers(2, 3))
    return X, codes, draw(st.integers(1, len(X)))


@examples(60)
@given(some_records(), KINDS, st.booleans())
def test_units_and_extents_are_those_of_all_records(data, kind, standardize):
    X, codes, chunk_rows = data
    found = ScatteredTrainingSet.of(kind(X, codes, chunk_rows), np.unique(codes), None, standardize)
    mean, scale = (X.mean(axis=0), X.std(axis=0)) if standardize else (0.0, 1.0)
    if standardize:
        scale = np.where(np.ptp(X, axis=0) > 0.0, scale, 1.0)
        np.testing.assert_allclose(found.scales.mean, mean, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.scales.scale, scale, rtol=1e-12)
    Z = (X - found.scales.mean) / found.scales.scale
    expected = Extents.of([Z[codes == k] for k in np.unique(codes)])
    assert found.extents.n.tolist() == expected.n.tolist()
    assert np.array_equal(found.extents.low, expected.low)
    assert np.array_equal(found.extents.high, expected.high)
    np.testing.assert_allclose(found.extents.mean, expected.mean, rtol=1e-10, atol=1e-10)
    center, unit = location_and_unit(Z)
    np.testing.assert_allclose(found.center, center, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.unit, unit, rtol=1e-10)
    assert found.records.n_passes == 2
    shown = Chunk(*map(np.concatenate, zip(*found.records.each(lambda chunk: chunk), strict=True)))
    assert np.array_equal(shown.points, Z)
    assert np.array_equal(shown.codes, codes)
    assert shown.rows.tolist() == list(range(len(X)))
    assert np.array_equal(shown.hashes, record_hashes(X))


@examples(30)
@given(some_records(), KINDS, st.integers(1, 3))
def test_answers_come_in_order_and_are_merged(data, kind, n_threads):
    X, codes, chunk_rows = data
    records = kind(X, codes, chunk_rows, n_threads)
    assert len(records) == len(X)
    first_rows = list(records.each(lambda chunk: int(chunk.rows[0])))
    assert first_rows == list(range(0, len(X), chunk_rows))
    total = records.total(lambda chunk: chunk.points.sum(axis=0), lambda found: sum(found))
    np.testing.assert_allclose(total, X.sum(axis=0), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("kind", [sliced, on_cluster])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e301])
def test_values_that_are_no_numbers_name_their_column(kind, value):
    X = np.random.default_rng(0).random((20, 2))
    X[13, 1] = value
    with raises("not-finite", columns="'b' (1 rows)"):
        ScatteredTrainingSet.of(kind(X, np.arange(20) % 2, 6), np.arange(2), np.array(["a", "b"], dtype=object), True)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_in_a_chunk_ends_the_pass(n_threads):
    records = sliced(np.zeros((50, 1)), np.zeros(50, dtype=int), 5, n_threads)
    seen = []

    def fails(chunk):
        seen.append(int(chunk.rows[0]))
        return 1 // (20 - seen[-1])

    with pytest.raises(ZeroDivisionError):
        list(records.each(fails))
    assert max(seen) < 45


def test_results_in_order_whoever_ends_first():
    assert list(in_order(lambda n: n * n, range(20), n_threads=4)) == [n * n for n in range(20)]


def test_without_a_cluster_nothing_is_kept_in_memory():
    made = []

    def chunk(k):
        made.append(k)
        points = np.full((2, 1), float(k))
        return Chunk(points, np.zeros(2, dtype=int), np.arange(2), points)

    records = ClusterRecords([delayed(chunk, pure=False)(k) for k in range(3)], [2, 2, 2], 1)
    for _ in range(2):
        assert list(records.each(lambda one: float(one.points[0, 0]))) == [0.0, 1.0, 2.0]
    assert sorted(made) == [0, 0, 1, 1, 2, 2]
    assert records.bytes_received == [24, 24]


@pytest.mark.slow
def test_answers_keep_no_chunk_alive():
    alive = []

    def read(rows):
        points = np.random.default_rng(rows.start).random((rows.stop - rows.start, 2))
        alive.append(weakref.ref(points))
        return points

    codes = np.arange(60) % 2
    ScatteredTrainingSet.of(SlicedRecords(read, codes, 2, chunk_rows=6), np.arange(2), None, True)
    gc.collect()
    assert sum(ref() is not None for ref in alive) == 0

    def with_number_alive(chunk):
        return sum(ref() is not None for ref in alive), chunk.points.sum()

    alive.clear()
    records = SlicedRecords(read, codes, 2, chunk_rows=6)
    assert max(n for n, _ in records.each(with_number_alive)) <= 2


def test_extents_of_many_chunks_are_merged_as_they_come(monkeypatch):
    answers = []
    extents_of = training_sets._extents_of

    def followed(n_classes, chunk):
        found = extents_of(n_classes, chunk)
        answers.append(weakref.ref(found[-1]))
        assert sum(ref() is not None for ref in answers) <= 3
        assert all(not np.shares_memory(array, chunk.points) for array in found)
        return found

    monkeypatch.setattr(training_sets, "_extents_of", followed)
    X = np.random.default_rng(0).random((60, 2))
    ScatteredTrainingSet.of(sliced(X, np.arange(60) % 2, 6), np.arange(2), None, True)
    assert len(answers) == 10
