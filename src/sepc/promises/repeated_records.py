"""Calibration records that are no evidence of their own: training records, and copies of other calibration records.

Equal records are copies, or records that happen to be equal. They are taken for copies where a column shows that
coincidence is improbable: one with ten values or more, in which at least half of the different records have a value
that no other has. Such records count once. Where all columns have few values, or a record has no value in the others,
equal ones are ordinary, and each counts. That depends on records and labels alone, not on their order.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sepc.common.errors import InputError
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.common.validation import is_of, stays_on_device
from sepc.model.row_digests import row_digests

_FEWEST_VALUES = 10


class IndependentRecords(NamedTuple):
    """Numbers of the records that count, and what became of the others, in a sentence; empty where nothing did."""

    rows: IntArray
    note: str


def independent_records(clf: Any, X: Any, labels: Sequence[Any], groups: Sequence[Any] | None) -> IndependentRecords:
    """Return the calibration records that count, of n with labels and perhaps names of groups; refuse training records.

    Records are compared as the last step of a pipeline takes them.
    """
    everything = np.arange(len(labels))
    for _, step in getattr(clf, "steps", ())[:-1]:
        X = step.transform(X)
    if is_of("dask", X) or stays_on_device(X):
        return IndependentRecords(everything, "Not checked: whether training records or copies are among them.")
    last = clf.steps[-1][1] if hasattr(clf, "steps") else clf
    learned = last.has_learned(X) if hasattr(last, "has_learned") else None
    points = _numbers(X)
    keys = [_codes(labels), *([] if groups is None else [_codes(groups)])]
    rows = np.sort(np.unique(row_digests(np.column_stack([points, *keys])), return_index=True)[1])
    n_learned, n_equal = 0 if learned is None else int(np.count_nonzero(learned)), len(labels) - len(rows)
    notes = ["Not checked: whether training records are among them, of which the model keeps no digests."]
    notes = notes if learned is None and hasattr(last, "has_learned") else []
    if not (n_learned or n_equal):
        return IndependentRecords(everything, " ".join(notes))
    may_be_copy = np.asarray(~np.isnan(points[:, _tells_apart(points[rows])]).all(axis=1))
    if learned is not None and (learned & may_be_copy).any():
        found = np.flatnonzero(learned & may_be_copy)
        raise InputError("calibration-records-learned", n=len(found), n_records=len(labels), rows=found)
    may_be_copy[rows] = False
    n_copies = int(np.count_nonzero(may_be_copy))
    if n_copies:
        notes.append(f"Repeated records ({n_copies:,}) count once: too many values differ for coincidence.")
    if n_equal > n_copies:
        notes.append(f"Equal records ({n_equal - n_copies:,}) all count: with so few values that is ordinary.")
    if n_learned:
        notes.append(f"Some equal training records ({n_learned:,}), and count: with so few values that is ordinary.")
    return IndependentRecords(np.flatnonzero(~may_be_copy), " ".join(notes))


def _numbers(X: Any) -> FloatArray:
    """Return records as numbers, shape (n, d); texts by their order."""
    try:
        points = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.asarray(X, dtype=object)
        points = np.column_stack([_codes(column) for column in values.reshape(len(values), -1).T.tolist()])
    return points.reshape(len(points), -1)


def _codes(values: Sequence[Any]) -> FloatArray:
    return np.unique([str(value) for value in values], return_inverse=True)[1].astype(np.float64)


def _tells_apart(points: FloatArray) -> BoolArray:
    """Return which columns of different records show that equal ones are copies, shape (d,)."""
    counts = [np.unique(column[~np.isnan(column)], return_counts=True)[1] for column in points.T]
    return np.array(
        [len(c) >= _FEWEST_VALUES and 2 * np.count_nonzero(c == 1) >= len(points) for c in counts], dtype=bool
    )
