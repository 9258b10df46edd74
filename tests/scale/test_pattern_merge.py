"""Merged patterns of two sides, against those of NumPy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from sepc.scale._pattern_merge import merged_patterns


@given(seeds(), st.integers(1, 3), st.integers(0, 12), st.integers(0, 12))
def test_merged_patterns_are_those_of_numpy(seed, n_words, n_a, n_b):
    rng = np.random.default_rng(seed)

    def side(n):
        words = rng.choice(np.array([0, 1, 2**63, 2**64 - 1], dtype=np.uint64), size=(n, n_words))
        different = np.unique(words, axis=0)
        return different, rng.integers(1, 9, size=len(different))

    (a, counts_a), (b, counts_b) = side(n_a), side(n_b)
    patterns, counts = merged_patterns(a, counts_a, b, counts_b)
    expected, which = np.unique(np.concatenate([a, b]), axis=0, return_inverse=True)
    both = np.zeros((len(expected), 2), dtype=np.int64)
    both[which.ravel(), np.repeat([0, 1], [len(a), len(b)])] = np.concatenate([counts_a, counts_b])
    assert np.array_equal(patterns, expected)
    assert np.array_equal(counts, both)
