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
            raise InputError(
                f"the weights of {str(label)!r} add up to {weight[rows].sum():.3g}; expected at least one record of "
                "each class, as a weight tells how often a record is there. Multiply all weights by the same number."
            )
        copies[rows] = np.diff(sums, prepend=0.0)
    return copies


def checked_weights(sample_weight: Any, n: int) -> FloatArray:
    """Return the weights of n records, shape (n,); raise an `InputError` unless they are non-negative numbers."""
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("sample_weight holds something else than numbers; expected one number per record.") from None
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise InputError(
            f"sample_weight has shape {weight.shape} and X {n} rows; expected one weight for each, a 1D array. Pass "
            "the weights of these records, in their order."
        )
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0.0)))
    if len(bad):
        raise InputError(
            f"sample_weight has {weight[bad[0]]:g} in row {bad[0]}; expected finite numbers of 0 or more. Drop the "
            "records that are not to take part, or give them a weight of 0."
        )
    if not weight.any():
        raise InputError(
            "sample_weight is zero for all records; expected at least two classes with records whose weight is not."
        )
    if weight.sum() > _MOST_COPIES:
        raise InputError(
            f"the weights add up to {weight.sum():.3g}; expected at most {_MOST_COPIES:,}, as a weight tells how often "
            "a record is there. Divide all weights by the same number."
        )
    return weight
