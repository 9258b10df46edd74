"""Weights of records: a weight of k stands for k copies of the record.

Fractional weights are rounded cumulatively: with the records of a class in an order that depends on their values alone,
the first i get ``floor(w_1 + ... + w_i + 1/2)`` copies together. Of ten records with a weight of 0.3 three take part,
and the number of copies of any run of records differs from the sum of its weights by less than one.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.common.typing import FloatArray, IntArray

# Copies of records: more would not fit into memory.
_MOST_COPIES = 200_000_000


def copies_by_weight(sample_weight: Any, X: FloatArray, codes: IntArray, classes: NDArray[Any]) -> IntArray:
    """Return the number of copies of each record, shape (n,), given class codes of shape (n,) and the classes.

    A class whose weights are all 0 is dropped.
    """
    weight = checked_weights(sample_weight, len(X))
    copies = np.zeros(len(weight), dtype=np.int64)
    for code, label in enumerate(classes):
        rows = np.flatnonzero(codes == code)
        rows = rows[np.lexsort(X[rows].T[::-1])]
        sums = np.floor(np.cumsum(weight[rows]) + 0.5)
        if sums[-1] < 1.0 <= len(rows) and weight[rows].any():
            raise InputError("weights-of-class-too-small", label=str(label), total=weight[rows].sum())
        copies[rows] = np.diff(sums, prepend=0.0)
    return copies


def checked_weights(sample_weight: Any, n: int) -> FloatArray:
    """Return the weights of n records, shape (n,); raise an `InputError` unless they are non-negative numbers."""
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("sample-weight-not-numbers") from None
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise InputError("sample-weight-shape", shape=weight.shape, n_rows=n)
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0.0)))
    if len(bad):
        raise InputError("sample-weight-value", weight=weight[bad[0]], row=bad[0])
    if not weight.any():
        raise InputError("sample-weight-all-zero")
    if weight.sum() > _MOST_COPIES:
        raise InputError("weights-too-large", total=weight.sum(), most=_MOST_COPIES)
    return weight
