"""Passes over labelled records: split by class, moments, membership, repeated rows. Plain arrays, no judgement."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.geometry._checks import FloatArray, Rows
from sepc.geometry._chunks import chunks
from sepc.geometry._passes import kernels, squared_gauges
from sepc.geometry._threads import one_blas_thread
from sepc.geometry.ellipsoid import MEMBERSHIP_TOLERANCE, Ellipsoid

# Records in which the most varied feature is looked for.
_SAMPLE = 500


class Moments(NamedTuple):
    """Number, mean and covariance (ddof 0) of some points.

    Examples
    --------
    >>> moments(np.array([[1.0], [3.0]])).covariance.tolist()
    [[1.0]]
    """

    n: int
    mean: FloatArray
    covariance: FloatArray


def repeated(X: FloatArray) -> Rows:
    """Return the rows that (almost certainly) occur more than once: those whose hashes do.

    Examples
    --------
    >>> repeated(np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]])).tolist()
    [0, 2]
    """
    some = X[:: -(-len(X) // _SAMPLE)]
    varied = max(range(X.shape[1]), key=lambda j: len(np.unique(some[:, j])))
    rows = _tied(X[:, varied])
    if not len(rows):
        return rows
    factors = np.asarray(np.random.default_rng(0).integers(2**63, size=X.shape[1]), dtype=np.uint64)
    return rows[_tied(np.concatenate([_hashed(X[some], factors) for some in chunks(rows)]))]


def _tied(values: NDArray[Any]) -> Rows:
    """Return the positions of values that occur more than once."""
    ordered = np.sort(values)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    return np.flatnonzero(np.isin(values, twice)) if len(twice) else np.empty(0, np.int64)


def _hashed(x: FloatArray, factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (x + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    bits ^= bits >> np.uint64(32)  # the last bits of a short number are all 0
    hashed: NDArray[np.uint64] = bits @ factors
    return hashed


def split(X: FloatArray, codes: Rows, n_classes: int) -> list[FloatArray]:
    """Return the points of each class, read-only.

    Examples
    --------
    >>> [points.tolist() for points in split(np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 0]), 2)]
    [[[1.0], [3.0]], [[2.0]]]
    """
    rows = [np.flatnonzero(codes == k) for k in range(n_classes)]
    together = taken(*((X, some) for some in rows))
    together.setflags(write=False)  # as the compiled code expects points
    return np.split(together, np.cumsum([len(some) for some in rows[:-1]]))


def taken(*parts: tuple[FloatArray, Rows]) -> FloatArray:
    """Return some rows of several arrays, in one array.

    Examples
    --------
    >>> taken((np.array([[1.0], [2.0]]), np.array([1])), (np.array([[3.0]]), np.array([0]))).tolist()
    [[2.0], [3.0]]
    """
    out = np.empty((sum(len(rows) for _, rows in parts), parts[0][0].shape[1]))
    start = 0
    for points, rows in parts:
        # Any other mode would take them into a buffer first.
        np.take(points, rows, axis=0, out=out[start : start + len(rows)], mode="clip")
        start += len(rows)
    return out


def moments(points: FloatArray) -> Moments:
    """Return number, mean and covariance; a constant column has a variance of exactly 0.

    Examples
    --------
    >>> moments(np.array([[0.1, 1.0], [0.1, 3.0]])).mean.tolist()
    [0.1, 2.0]
    """
    with one_blas_thread(points.size):
        origin, mean, _, covariance = kernels().moments(points, np.ones(points.shape[1]))
    return Moments(len(points), origin + mean, covariance)


def holds(E: Ellipsoid, points: FloatArray) -> NDArray[np.bool_]:
    """Return which points an ellipsoid contains, in a quarter of the time of its own method.

    Examples
    --------
    >>> holds(Ellipsoid([0.0], [[1.0]], [2.0]), np.array([[1.0], [3.0]])).tolist()
    [True, False]
    """
    return squared_gauges(E, points) <= (1.0 + MEMBERSHIP_TOLERANCE) ** 2


def joint(parts: list[Moments]) -> Moments:
    """Return the moments of all points from those of their parts.

    Examples
    --------
    >>> joint([moments(np.array([[1.0]])), moments(np.array([[3.0]]))]).covariance.tolist()
    [[1.0]]
    """
    n = sum(part.n for part in parts)
    start = parts[0].mean
    mean = sum((part.n / n) * (part.mean - start) for part in parts)
    steps = [part.mean - start - mean for part in parts]
    covariance = np.zeros((len(start), len(start)))
    for part, step in zip(parts, steps, strict=True):
        covariance += (part.n / n) * (part.covariance + np.outer(step, step))
    return Moments(n, start + mean, covariance)
