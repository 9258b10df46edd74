"""The canonical order of points, which makes results independent of the order of the rows."""

import numpy as np

from sepc.common.typing import FloatArray, IntArray, compact


def canonical_order(points: FloatArray, among: IntArray | None = None) -> IntArray:
    """Return the row numbers that sort the points, or those `among` them, by their coordinates.

    Examples
    --------
    >>> points = np.array([[2.0, 0.0], [1.0, 9.0], [2.0, -1.0]])
    >>> canonical_order(points).tolist(), canonical_order(points, np.array([0, 2])).tolist()
    ([1, 2, 0], [2, 0])
    """
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


def canonical_rows(X: FloatArray, codes: IntArray, n_classes: int) -> IntArray:
    """Return the order of rows by class, and by coordinates within each class.

    Examples
    --------
    >>> canonical_rows(np.array([[3.0], [1.0], [2.0]]), np.array([0, 1, 0]), 2).tolist()
    [2, 0, 1]
    """
    n = len(codes)
    return np.concatenate([compact(canonical_order(X, np.flatnonzero(codes == k)), n) for k in range(n_classes)])
