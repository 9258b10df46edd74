"""The canonical order of points, which makes results independent of the order of the rows."""

import numpy as np

from sepc.common.typing import FloatArray, IntArray, compact


def canonical_order(points: FloatArray, among: IntArray | None = None) -> IntArray:
    """Return the row numbers that sort the points, or those `among` them, by their coordinates."""
    first = points[:, 0] if among is None else points[among, 0]
    order = np.argsort(first, kind="stable")
    first = first[order]
    if among is not None:
        order = among[order]
    same = first[1:] == first[:-1]
    if same.any() and points.shape[1] > 1:  # the other columns decide within ties only
        tied = np.zeros(len(order), dtype=bool)
        tied[1:] |= same
        tied[:-1] |= same
        rows = order[tied]
        order[tied] = rows[np.lexsort(points[rows, ::-1].T)]
    return order


def without_last_bits(points: FloatArray, unit: FloatArray) -> FloatArray:
    """Return ranks of the coordinates, shape (n, d), equal for neighbours less than 1e-9 units apart.

    In the canonical order the last bits of a column decide over all columns after it. Where records are chosen by that
    order, rounding would choose others.
    """
    ranks = np.empty_like(points)
    for k, column in enumerate(points.T):
        order = np.argsort(column, kind="stable")
        steps = np.diff(column[order]) > 1e-9 * unit[k]
        ranks[order, k] = np.concatenate([[0.0], np.cumsum(steps)])
    return ranks


def canonical_rows(X: FloatArray, codes: IntArray, n_classes: int) -> IntArray:
    """Return the order of rows by class, and by coordinates within each class."""
    n = len(codes)
    return np.concatenate([compact(canonical_order(X, np.flatnonzero(codes == k)), n) for k in range(n_classes)])
