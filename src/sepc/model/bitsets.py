"""Bitsets of the points that each ellipsoid holds, and counts of points by the ellipsoids that hold them.

Intersections and unions of ellipsoids become ANDs and ORs of rows of bits, for many sets of ellipsoids at once.
"""

from collections.abc import Callable
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import BoolArray, IntArray
from sepc.geometry.chunks import chunk_slices

Patterns = NDArray[np.uint64]

# Words in a temporary table of sets against points; they stay in the cache of a core.
_TABLE = 1 << 16


class Bitsets:
    """The points that each ellipsoid holds, one bit for each point.

    Parameters
    ----------
    patterns : ndarray of uint64, shape (n, n_words)
        Which ellipsoids hold each point, one bit each.
    side : ndarray of int, shape (n,)
        Label of each point, 0, 1, ...
    n_ellipsoids : int
    n_sides : int, default=2
        Number of labels.
    """

    def __init__(self, patterns: Patterns, side: NDArray[np.integer], n_ellipsoids: int, n_sides: int = 2) -> None:
        sides = [patterns[side == s] for s in range(n_sides)]
        self.starts = np.cumsum([0, *(n_words(len(of_side)) for of_side in sides)])
        self.bits = np.empty((n_ellipsoids, self.starts[-1]), dtype=np.uint64)
        for k in range(n_ellipsoids):
            self.bits[k] = np.concatenate([packed(has(of_side, k)[None])[0] for of_side in sides])

    def in_all(self, sets: BoolArray) -> IntArray:
        """Count the points of each label in the intersection of each set of ellipsoids, shape (n, n_sides).

        `sets` has the shape (n, n_ellipsoids), with at least one ellipsoid in each row.
        """
        return self._counted(sets, np.bitwise_and)

    def in_any(self, sets: BoolArray) -> IntArray:
        """Count the points of each label in the union of each set of ellipsoids, shape (n, n_sides)."""
        return self._counted(sets, np.bitwise_or)

    def _counted(self, sets: BoolArray, join: np.ufunc) -> IntArray:
        out = np.empty((len(sets), len(self.starts) - 1), dtype=np.int64)
        # The largest sets first: members are combined one by one, and fewer and fewer sets have another.
        order = np.argsort(-np.count_nonzero(sets, axis=1), kind="stable")
        step = max(_TABLE // max(self.bits.shape[1], 1), 1)
        for rows in chunk_slices(len(sets), step):
            some = order[rows]
            bits = np.bitwise_count(self._combined(sets[some], join))
            out[some] = np.add.reduceat(bits, self.starts[:-1], axis=1, dtype=np.int64)
        return out

    def _combined(self, sets: BoolArray, join: np.ufunc) -> Patterns:
        """Return the combined bits of each set; sets by size, the largest first."""
        size = np.count_nonzero(sets, axis=1)
        member, first = sets.nonzero()[1], np.cumsum(size) - size
        combined = self.bits[member[first]]
        for k in range(1, size[0]):
            n = int(np.searchsorted(-size, -k, side="left"))
            join(combined[:n], self.bits[member[first[:n] + k]], out=combined[:n])
        return np.asarray(combined)


class PatternCounts:
    """Numbers of points for each set of ellipsoids that some of them lie in; counts the same as `Bitsets`.

    Parameters
    ----------
    patterns : ndarray of uint64, shape (n_patterns, n_words)
        Different sets of ellipsoids, one bit each.
    counts : ndarray of int, shape (n_patterns, n_sides)
        Points of each label that lie in just these.
    n_ellipsoids : int
    """

    def __init__(self, patterns: Patterns, counts: IntArray, n_ellipsoids: int) -> None:
        self.patterns = patterns[:, : n_words(n_ellipsoids)]
        self.counts = counts.astype(np.float64)  # exact, and products with it are fast

    def in_all(self, sets: BoolArray) -> IntArray:
        """Count the points of each label in the intersection of each set of ellipsoids, shape (n, n_sides)."""
        return self._counted(sets, lambda words, wanted: words & wanted == wanted, np.logical_and)

    def in_any(self, sets: BoolArray) -> IntArray:
        """Count the points of each label in the union of each set of ellipsoids, shape (n, n_sides)."""
        return self._counted(sets, lambda words, wanted: words & wanted != 0, np.logical_or)

    def _counted(self, sets: BoolArray, test: Callable[[Patterns, Patterns], BoolArray], join: np.ufunc) -> IntArray:
        """Count the points whose patterns pass a test with each set; `join` combines the tests of several words."""
        wanted = packed(sets)
        step = max(_TABLE // max(len(self.counts), 1), 1)
        out = np.empty((len(sets), self.counts.shape[1]), dtype=np.int64)
        for some in chunk_slices(len(sets), step):
            by_word = [test(*pair) for pair in zip(self.patterns.T, wanted[some].T[:, :, None], strict=True)]
            out[some] = reduce(join, by_word).astype(np.float64) @ self.counts
        return out


def points_of_each(patterns: Patterns, counts: IntArray, n_ellipsoids: int) -> IntArray:
    """Return the number of points of each label in each ellipsoid, shape (n_ellipsoids, n_sides)."""
    # Byte by byte: 256 sums stand for all patterns, and these for eight ellipsoids. Sums of counts are exact.
    columns = np.ascontiguousarray(patterns.astype("<u8", copy=False).view(np.uint8).T)
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float64)
    by_byte = [[np.bincount(column, of_side, 256) @ bits for of_side in counts.T] for column in columns]
    return np.array(by_byte).transpose(0, 2, 1).reshape(-1, counts.shape[1])[:n_ellipsoids].astype(np.int64)


def has(patterns: Patterns, which: int) -> BoolArray:
    """Return which patterns have one ellipsoid's bit."""
    word, bit = divmod(which, 64)
    return np.asarray(patterns[:, word] & np.uint64(1 << bit) != 0)


def distinct_patterns(patterns: Patterns) -> tuple[Patterns, IntArray, IntArray]:
    """Return the distinct rows of patterns, where each occurs first, and which of them each pattern is.

    `numpy.unique` does the same, several times as slow for more than one dimension.
    """
    order = np.lexsort(patterns.T[::-1])
    arranged = patterns[order]
    is_new = np.ones(len(patterns), dtype=bool)
    is_new[1:] = (arranged[1:] != arranged[:-1]).any(axis=1)
    which = np.empty(len(patterns), dtype=np.int64)
    which[order] = np.cumsum(is_new) - 1
    return arranged[is_new], order[is_new], which


def n_words(k: int) -> int:
    """Return the number of 64-bit words that hold k flags; at least one."""
    return max(-(-k // 64), 1)


def packed(sets: BoolArray) -> Patterns:
    """Return rows of flags as bits in 64-bit words, at least one word."""
    n, k = sets.shape
    padded = np.zeros((n, 64 * n_words(k)), dtype=bool)
    padded[:, :k] = sets
    return np.packbits(padded, axis=1, bitorder="little").view("<u8")


def unpacked(patterns: Patterns, k: int) -> BoolArray:
    """Return rows of words as k flags each."""
    words = np.ascontiguousarray(patterns, dtype="<u8").view(np.uint8)
    return np.unpackbits(words, axis=1, bitorder="little", count=k).astype(bool)
