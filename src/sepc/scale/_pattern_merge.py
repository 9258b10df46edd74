"""Patterns and counts of two sides merged, compiled."""

import numpy as np

from sepc.common.typing import IntArray
from sepc.geometry.compilation import kernel
from sepc.model.bitsets import Patterns


@kernel
def merged_patterns(a: Patterns, counts_a: IntArray, b: Patterns, counts_b: IntArray) -> tuple[Patterns, IntArray]:
    """Return the patterns of both sides, and how many points of A and of B have each.

    Parameters
    ----------
    a, b : ndarray of uint64, shape (n_a, n_words) and (n_b, n_words)
        Different patterns, ascending, the first word counting most.
    counts_a, counts_b : ndarray of int, shape (n_a,) and (n_b,)

    Returns
    -------
    patterns : ndarray of uint64, shape (n, n_words)
        Ascending.
    counts : ndarray of int, shape (n, 2)
    """
    patterns = np.empty((len(a) + len(b), a.shape[1]), dtype=np.uint64)
    counts = np.zeros((len(patterns), 2), dtype=np.int64)
    i = j = n = 0
    while i < len(a) or j < len(b):
        # Below 0 if A's is the next pattern, above 0 if B's is, 0 if it is both.
        sign = 1 if i == len(a) else (-1 if j == len(b) else 0)
        word = 0
        while sign == 0 and word < a.shape[1]:
            if a[i, word] != b[j, word]:
                sign = -1 if a[i, word] < b[j, word] else 1
            word += 1
        patterns[n] = a[i] if sign <= 0 else b[j]
        if sign <= 0:
            counts[n, 0] = counts_a[i]
            i += 1
        if sign >= 0:
            counts[n, 1] = counts_b[j]
            j += 1
        n += 1
    return patterns[:n].copy(), counts[:n].copy()
