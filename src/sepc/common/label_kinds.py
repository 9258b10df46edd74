"""Kinds of labels: texts, numbers or any one type. Labels that are missing or of several kinds are refused, by name."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.common.frames import plain
from sepc.common.typing import IntArray

MISSING = "missing"
_TEXTS, _NUMBERS = "texts", "numbers"
# Types of arrays whose entries are all there and of one kind.
_KIND_OF_ARRAY = {"b": _NUMBERS, "i": _NUMBERS, "u": _NUMBERS, "U": _TEXTS, "T": _TEXTS}
# Types of arrays in which a missing entry differs from itself: NaN and NaT.
_WITH_NAN = {"f": _NUMBERS, "M": "dates", "m": "durations"}
_DROP = "Drop the records without one, from X too."


class LabelsOfAKind(NamedTuple):
    """Labels of one kind: how many there are, the row of the first, and the first itself."""

    n: int
    row: int
    first: Any


def as_they_came(y: Any) -> NDArray[Any]:
    """Return labels as an array, none of them changed."""
    return np.asarray(y, dtype=None if hasattr(y, "dtype") else object)


def is_missing(label: Any) -> bool:
    """Return whether a label is none: None, NaN, NaT or the missing value of pandas."""
    if isinstance(label, float | np.floating | np.datetime64 | np.timedelta64):
        return bool(label != label)
    return label is None or type(label).__name__ in ("NAType", "NaTType")


def kinds_of(labels: NDArray[Any], start: int = 0) -> dict[str, LabelsOfAKind]:
    """Return the kinds of labels that there are.

    Parameters
    ----------
    labels : ndarray of shape (n,)
    start : int, default=0
        Number of the first row.

    Returns
    -------
    dict of str to LabelsOfAKind
        By the name of the kind; `MISSING` for those that are none.
    """
    rows = _rows_by_kind(labels)
    return {
        name: LabelsOfAKind(len(found), start + int(found[0]), labels[found[0]])
        for name, found in rows.items()
        if len(found)
    }


def joined_kinds(parts: Iterable[Mapping[str, LabelsOfAKind]]) -> dict[str, LabelsOfAKind]:
    """Return the kinds of labels of several parts, whose rows follow each other."""
    whole: dict[str, LabelsOfAKind] = {}
    for part in parts:
        for name, found in part.items():
            before = whole.get(name, found._replace(n=0))
            whole[name] = before._replace(n=before.n + found.n)
    return whole


def require_labels(y: Any, name: str = "y", remedy: str = _DROP) -> None:
    """Raise an `InputError` if a label is missing, or labels are of several kinds.

    Parameters
    ----------
    y : array-like of shape (n,) or (n, 1)
        Anything else is left to other checks.
    name : str, default="y"
        What the user calls them.
    remedy : str, optional
        What to do about missing ones.
    """
    labels = as_they_came(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim == 1 and len(labels):
        require_one_kind(kinds_of(labels), name, remedy)


def require_one_kind(kinds: Mapping[str, LabelsOfAKind], name: str = "y", remedy: str = _DROP) -> None:
    """Raise an `InputError` unless there is one kind of labels, and none is missing."""
    if MISSING in kinds:
        lost = kinds[MISSING]
        raise InputError(
            f"{name} has {lost.n} missing label(s), the first in row {lost.row}: {lost.first}; expected a label for "
            f"each record. {remedy}"
        )
    if len(kinds) > 1:
        one, other = sorted(kinds.values(), key=lambda found: found.row)[:2]
        raise InputError(
            f"{name} holds {plain(one.first)!r} in row {one.row} and {plain(other.first)!r} in row {other.row}; "
            "expected texts only, or numbers only. Make them one kind, for example texts: "
            f"[str(label) for label in {name}]."
        )


def _rows_by_kind(labels: NDArray[Any]) -> Mapping[str, Sequence[int] | IntArray]:
    """Return the rows of each kind."""
    kind = labels.dtype.kind
    if kind in _KIND_OF_ARRAY:
        return {_KIND_OF_ARRAY[kind]: range(len(labels))}
    if kind in _WITH_NAN:
        lost = np.asarray(labels != labels)
        return {_WITH_NAN[kind]: np.flatnonzero(~lost), MISSING: np.flatnonzero(lost)}
    values = labels.tolist()
    if set(map(type, values)) == {str}:  # as a rule
        return {_TEXTS: range(len(values))}
    rows: dict[str, list[int]] = {}
    for row, label in enumerate(values):
        rows.setdefault(_kind(label), []).append(row)
    return rows


def _kind(label: Any) -> str:
    if is_missing(label):
        return MISSING
    if isinstance(label, str):
        return _TEXTS
    return _NUMBERS if isinstance(label, Number | np.bool_) else type(label).__name__
