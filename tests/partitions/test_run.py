"""Runs of which only the blocks are asked for."""

import numpy as np
import pytest

from sepc.geometry.mve import min_volume_ellipsoid
from sepc.partitions import run as partitioning
from sepc.partitions.problems import class_blocks, problems_of
from sepc.partitions.run import PartitionOptions
from sepc.partitions.units import location_and_unit


def labelled(n, d, n_classes):
    rng = np.random.default_rng(d)
    codes = np.repeat(np.arange(n_classes), n // n_classes)
    X = rng.normal(size=(len(codes), d))
    X[:, 0] += 1.5 * codes
    return X, codes


def blocks(X, codes, n_classes, only_blocks):
    problems = problems_of(codes, np.arange(n_classes))
    options = PartitionOptions(only_blocks=only_blocks)
    unit = location_and_unit(X)[1]
    found = [problem.partition(X.copy(), 2, options=options, unit=unit) for problem in problems]
    return [(block.code, block.rows.tolist()) for block in class_blocks(found, problems)]


@pytest.mark.parametrize(("n", "d", "n_classes"), [(200, 3, 2), (210, 3, 3), (300, 45, 2), (300, 45, 3)])
def test_they_are_the_blocks_of_the_whole_run(n, d, n_classes):
    X, codes = labelled(n, d, n_classes)
    assert blocks(X, codes, n_classes, only_blocks=True) == blocks(X, codes, n_classes, only_blocks=False)


def test_what_is_left_over_gets_no_ellipsoid_and_rough_ones_are_enough_with_many_features(monkeypatch):
    asked = []

    def noted(points, *, tol, unit):
        asked.append(tol)
        return min_volume_ellipsoid(points, tol=tol, unit=unit)

    monkeypatch.setattr(partitioning, "min_volume_ellipsoid", noted)
    X, codes = labelled(200, 3, 2)
    for only_blocks, rest in ((False, [1e-7] * 2), (True, [])):
        asked.clear()
        blocks(X[:103], codes[:103], 2, only_blocks)  # no more points of one label than features: nothing can be cut
        assert asked == rest
    for (n, d), tol in (((200, 3), 1e-7), ((300, 45), 1e-2)):
        asked.clear()
        blocks(*labelled(n, d, 2), 2, only_blocks=True)
        assert set(asked) == {tol}
