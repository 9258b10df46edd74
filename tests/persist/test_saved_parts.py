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
