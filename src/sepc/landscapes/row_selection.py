"""Selections of rows: those of each class, those of several arrays in one, those that occur more than once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.chunks import chunks

# Records in which the most varied feature is looked for.
_SAMPLE = 500


def rows_by_class(X: FloatArray, codes: IntArray, n_classes: int) -> list[FloatArray]:
    """Return the points of each class, read-only."""
    rows = [np.flatnonzero(codes == k) for k in range(n_classes)]
    together = joined_rows(*((X, some) for some in rows))
    together.setflags(write=False)  # as the compiled code expects points
    return np.split(together, np.cumsum([len(some) for some in rows[:-1]]))


def joined_rows(*parts: tuple[FloatArray, IntArray]) -> FloatArray:
    """Return some rows of several arrays, in one array."""
    out = np.empty((sum(len(rows) for _, rows in parts), parts[0][0].shape[1]))
    start = 0
    for points, rows in parts:
        # Any other mode would take them into a buffer first.
        np.take(points, rows, axis=0, out=out[start : start + len(rows)], mode="clip")
        start += len(rows)
    return out


def repeated_rows(X: FloatArray) -> IntArray:
    """Return the rows that (almost certainly) occur more than once: those whose hashes do."""
    sample = X[:: -(-len(X) // _SAMPLE)]
    varied = max(range(X.shape[1]), key=lambda j: len(np.unique(sample[:, j])))
    rows = _repeated_values(X[:, varied])
    if not len(rows):
        return rows
    factors = np.asarray(np.random.default_rng(0).integers(2**63, size=X.shape[1]), dtype=np.uint64)
    return rows[_repeated_values(np.concatenate([_hashes(X[some], factors) for some in chunks(rows)]))]


def _repeated_values(values: NDArray[Any]) -> IntArray:
    """Return the positions of values that occur more than once."""
    ordered = np.sort(values)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    return np.flatnonzero(np.isin(values, twice)) if len(twice) else np.empty(0, np.int64)


def _hashes(x: FloatArray, factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (x + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    bits ^= bits >> np.uint64(32)  # the last bits of a short number are all 0
    hashed: NDArray[np.uint64] = bits @ factors
    return hashed
