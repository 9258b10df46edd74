"""Problems of several classes, and the blocks of each class."""

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import labelled_points, seeds

from sepc.partitions.problems import class_blocks, problems_of


@pytest.mark.parametrize("one_vs_rest", [False, True])
@settings(max_examples=50)
@given(seed=seeds())
def test_blocks_of_the_classes_hold_every_point_once(seed, one_vs_rest):
    A, B, n_imp = labelled_points(seed)
    X, codes = np.vstack([A, B]), np.repeat([0, 1], [len(A), len(B)])
    if seed % 2 and len(A) > 1:
        codes[: len(A) // 2] = 2
        X, codes = X[np.argsort(codes, kind="stable")], np.sort(codes)
    asked = problems_of(codes, np.unique(codes), one_vs_rest)
    blocks = list(class_blocks([problem.partition(X, n_imp) for problem in asked], asked))
    assert all((codes[rows] == code).all() for code, _, rows in blocks)
    assert [block.code for block in blocks] == sorted(block.code for block in blocks)
    assert len({block.name for block in blocks}) == len(blocks)
    assert np.sort(np.concatenate([block.rows for block in blocks])).tolist() == list(range(len(X)))


@settings(max_examples=30)
@given(seeds())
def test_only_points_that_take_part_are_partitioned(seed):
    A, B, n_imp = labelled_points(seed)
    X, codes = np.vstack([A, B]), np.repeat([0, 1], [len(A), len(B)])
    taking = np.random.default_rng(seed).random(len(X)) < 0.6
    taking[[0, -1]] = True
    before = X.copy()
    (problem,) = problems_of(codes, np.array(["a", "b"]))
    P = problem.partition(X, n_imp, taking)
    assert np.array_equal(X, before)
    for side in (0, 1):
        rows = np.concatenate([*(b.members for b in P.blocks if b.side == side), P.isolated[side]])
        assert sorted(rows) == np.flatnonzero(taking[codes == side]).tolist()
