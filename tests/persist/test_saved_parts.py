"""Saved partitions and counts."""

import numpy as np
import pytest
from saved_models import fixture_path, stored

import sepc
from sepc import ModelFileError
from sepc.persist.model_files import FORMAT


class TestPartitions:
    def test_partitions_are_the_same(self, fitted, tmp_path):
        clf, _ = fitted["three classes"]
        for one, two in zip(stored(clf, tmp_path).partitions_, clf.partitions_, strict=True):
            assert (one.n_iter, one.stopped, one.n_imp, repr(one)) == (two.n_iter, two.stopped, two.n_imp, repr(two))
            assert all(np.array_equal(a, b) for a, b in zip(one.isolated, two.isolated, strict=True))
            for a, b in zip(one.blocks, two.blocks, strict=True):
                assert (a.side, a.iteration, a.members.tolist()) == (b.side, b.iteration, b.members.tolist())
            for a, b in zip(one.hyperplanes, two.hyperplanes, strict=True):
                assert (a.normal.tolist(), a.offset) == (b.normal.tolist(), b.offset)


class TestEnds:
    """Numbers at the ends of what they may be, and one beyond them."""

    def loads(self, name, tmp_path, changed):
        header, arrays = FORMAT.read(fixture_path(name))
        key, index, value = changed
        array = arrays[key].copy()
        array[index] = value
        FORMAT.write(tmp_path / "model.sepc", header, arrays | {key: array})
        try:
            sepc.load(tmp_path / "model.sepc")
        except ModelFileError:
            return False
        return True

    def test_a_component_has_as_many_records_as_there_are(self, tmp_path):
        n = len(sepc.load(fixture_path("v1-ensemble")).model_.records.points)
        for name in ("sizes", "claimed"):
            key = f"member0/part0/{name}"
            assert self.loads("v1-ensemble", tmp_path, (key, 0, n))
            assert not self.loads("v1-ensemble", tmp_path, (key, 0, n + 1))

    def test_an_isolated_record_is_one_of_its_side(self, tmp_path):
        model = sepc.load(fixture_path("v1-ensemble")).model_
        part = model.members[0].parts[1]
        n = np.count_nonzero(model.records.codes[np.concatenate([part.rows, part.out])] == 0)
        key = "member0/part1/problem0/isolated"
        assert self.loads("v1-ensemble", tmp_path, (key, 0, n - 1))
        assert not self.loads("v1-ensemble", tmp_path, (key, 0, n))

    @pytest.mark.parametrize("name", ["sides", "iterations"])
    def test_nothing_is_numbered_below_zero(self, name, tmp_path):
        assert not self.loads("v1-binary-local", tmp_path, (f"problem0/{name}", 0, -1))


class TestCounts:
    @pytest.mark.parametrize("name", ["v1-binary-paper-without-rows", "v1-binary-counts-without-rows"])
    def test_counts_that_contradict_each_other_are_refused(self, name, tmp_path):
        header, arrays = FORMAT.read(fixture_path(name))
        held = next(key for key in arrays if key.endswith("held"))
        FORMAT.write(tmp_path / "model.sepc", header, arrays)
        sepc.load(tmp_path / "model.sepc")
        FORMAT.write(tmp_path / "model.sepc", header, arrays | {held: arrays[held][:, ::-1].copy()})
        with pytest.raises(ModelFileError):
            sepc.load(tmp_path / "model.sepc")
