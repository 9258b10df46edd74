"""Problems of several classes, and the blocks of each class."""

import numpy as np
import pytest
from hypothesis import given
from strategies import classified_points, examples, labelled_points

from sepc.partitions.problems import class_blocks, problems_of


@pytest.mark.parametrize("one_vs_rest", [False, True])
@examples(50)
@given(data=classified_points())
def test_blocks_of_the_classes_hold_every_point_once(data, one_vs_rest):
    X, y, n_imp = data
    codes = np.searchsorted(["a", "b", "c"], y)
    X, codes = X[np.argsort(codes, kind="stable")], np.sort(codes)
    asked = problems_of(codes, np.unique(codes), one_vs_rest)
    blocks = list(class_blocks([problem.partition(X, n_imp) for problem in asked], asked))
    assert all((codes[rows] == code).all() for code, _, rows in blocks)
    assert [block.code for block in blocks] == sorted(block.code for block in blocks)
    assert len({block.name for block in blocks}) == len(blocks)
    assert np.sort(np.concatenate([block.rows for block in blocks])).tolist() == list(range(len(X)))


@examples(30)
@given(labelled_points())
def test_only_points_that_take_part_are_partitioned(data):
    A, B, n_imp = data
    X, codes = np.vstack([A, B]), np.repeat([0, 1], [len(A), len(B)])
    taking = np.random.default_rng(0).random(len(X)) < 0.6
    taking[[0, -1]] = True
    before = X.copy()
    (problem,) = problems_of(codes, np.array(["a", "b"]))
    P = problem.partition(X, n_imp, taking)
    assert np.array_equal(X, before)
    for side in (0, 1):
        rows = np.concatenate([*(b.members for b in P.blocks if b.side == side), P.isolated[side]])
        assert sorted(rows) == np.flatnonzero(taking[codes == side]).tolist()
