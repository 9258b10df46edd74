"""Counts by rows of bits are those of plain sets."""

import numpy as np
import pytest

from sepc.model.bitsets import Bitsets, PatternCounts, distinct_patterns, packed


@pytest.mark.parametrize(("n", "k"), [(1, 1), (63, 3), (64, 64), (700, 130)])
def test_intersections_and_unions_hold_what_sets_of_points_hold(n, k):
    rng = np.random.default_rng(n)
    inside, side = rng.random((n, k)) < 0.4, rng.integers(0, 2, n)
    sets = rng.random((300, k)) < 0.1
    sets[np.arange(300), rng.integers(0, k, 300)] = True
    patterns, _, which = distinct_patterns(packed(inside))
    counts = np.zeros((len(patterns), 2), dtype=np.int64)
    np.add.at(counts, (which, side), 1)
    in_all = [[np.all(inside[:, chosen], axis=1)[side == s].sum() for s in (0, 1)] for chosen in sets]
    in_any = [[np.any(inside[:, chosen], axis=1)[side == s].sum() for s in (0, 1)] for chosen in sets]
    for counter in (Bitsets(packed(inside), side, k), PatternCounts(patterns, counts, k)):
        assert counter.in_all(sets).tolist() == in_all
        assert counter.in_any(sets).tolist() == in_any


@pytest.mark.parametrize("n_words", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 300])
def test_distinct_patterns_are_those_of_numpy(n, n_words):
    # Words from both ends of their range, so that the highest bits are among them.
    patterns = np.random.default_rng(n).integers(-2, 3, (n, n_words)).view(np.uint64)
    different, first, back = np.unique(patterns, axis=0, return_index=True, return_inverse=True)
    found = distinct_patterns(patterns)
    assert [part.tolist() for part in found] == [different.tolist(), first.tolist(), back.reshape(-1).tolist()]
