"""Numbers of points: which are among others."""

import numpy as np
from numpy.typing import NDArray

from sepc.geometry._checks import Rows


def not_among(rows: Rows, others: Rows) -> NDArray[np.bool_]:
    """Return which of these numbers are not among others, which are ascending, shape (n,).

    Examples
    --------
    >>> not_among(np.array([4, 1, 9]), np.array([1, 2, 9])).tolist()
    [True, False, False]
    """
    if not len(others):
        return np.ones(len(rows), dtype=bool)
    at = np.minimum(np.searchsorted(others, rows), len(others) - 1)
    return np.asarray(others[at] != rows)
