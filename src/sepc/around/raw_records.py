"""Raw records: a record as another model takes it, with some of its columns changed."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import numpy as np

from sepc.common.frames import as_frame
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.explanations.counterfactual import Counterfactual
from sepc.explanations.vocabulary import Value, Vocabulary, Word


class RawRecords(ABC):
    """Records that differ from one in some columns."""

    @abstractmethod
    def of(self, X: FloatArray) -> Any:
        """Return records with features X, shape (n, d), as the other model takes them.

        Columns whose features are those of the record itself, or that have none, keep what is in them.
        """

    @abstractmethod
    def changed(self, change: Counterfactual) -> Any:
        """Return the record after a change, as the other model takes it: a table of one row."""


class RawArrays(RawRecords):
    """Records of an array, whose columns are features themselves.

    Parameters
    ----------
    row : array-like of shape (1, n_columns)
    features : sequence of str
        Names of the features.
    read : ndarray of int, shape (d,), or None
        Columns that are features, where not all are.
    """

    def __init__(self, row: Any, features: Sequence[str], read: IntArray | None) -> None:
        self.row, self.features = np.asarray(row, dtype=np.float64), features
        self.read = np.arange(self.row.shape[1]) if read is None else read

    def of(self, X: FloatArray) -> FloatArray:
        """Return records with features X, shape (n, d)."""
        raw = np.repeat(self.row, len(X), axis=0)
        raw[:, self.read] = X
        return raw

    def changed(self, change: Counterfactual) -> FloatArray:
        """Return the record after a change, shape (1, n_columns)."""
        record, number = self.row.copy(), {name: j for j, name in enumerate(self.features)}
        for one in change.changes:
            record[0, self.read[number[one.feature]]] = one.after
        return record


class RawTables(RawRecords):
    """Records of a frame, whose columns a vocabulary knows.

    Parameters
    ----------
    row : frame of one row
    x : ndarray of shape (d,)
        Its features.
    vocabulary : Vocabulary
        Of this record.
    """

    def __init__(self, row: Any, x: FloatArray, vocabulary: Vocabulary) -> None:
        self.row, self.x, self.vocabulary = row, x, vocabulary
        self.cells = {name: as_frame(row)[name].to_list()[0] for name in row.columns}  # type: ignore[index]
        self._proposed: dict[tuple[int, bytes], Value] = {}

    def of(self, X: FloatArray) -> Any:
        """Return records with features X, shape (n, d)."""
        changed = {}
        for word in self.vocabulary.words:
            own, block = self.x[word.at], X[:, word.at]
            moved = np.asarray(((block != own) & ~(np.isnan(block) & np.isnan(own))).any(axis=1))
            if moved.any():
                changed[word.name] = self._cells(word, X, moved)
        return _with_columns(self.row, len(X), changed)

    def changed(self, change: Counterfactual) -> Any:
        """Return the record after a change, a frame of one row."""
        cells = {one.feature: [_like(self.cells[one.feature], one.after)] for one in change.changes}
        return _with_columns(self.row, 1, cells)

    def _cells(self, word: Word, X: FloatArray, moved: BoolArray) -> list[Any]:
        """Return the cells of one column, those that `moved` with the value of their features."""
        own, rows = self.cells[word.name], np.flatnonzero(moved)
        out = [own] * len(X)
        values = self._levels(word, X[rows]) if word.is_level else self._numbers(word, X[rows])
        for row, value in zip(rows.tolist(), values, strict=True):
            out[row] = _like(own, value)
        return out

    def _numbers(self, word: Word, X: FloatArray) -> list[Value]:
        bounds = self.vocabulary.bounds(word)
        if bounds is not None and isinstance(self.vocabulary.own_value(word, self.x), str):
            # A date: thousands of years away there is none.
            low, high = bounds
            X = X.copy()
            X[:, word.at.start] = X[:, word.at.start].clip(2.0 * low - high, 2.0 * high - low)
        return self.vocabulary.values_in(word, X)

    def _levels(self, word: Word, X: FloatArray) -> list[Value]:
        for x in X:
            key = word.at.start, x[word.at].tobytes()
            if key not in self._proposed:
                self._proposed[key] = self.vocabulary.proposed(word, x)
        return [self._proposed[word.at.start, x[word.at].tobytes()] for x in X]


def _like(own: Any, value: Value) -> Any:
    """Return a value as the cells of its column have it, by the record's own cell."""
    if value is None or own is None:
        return value
    if isinstance(own, str):
        return value if isinstance(value, str) else repr(value).removesuffix(".0")
    if isinstance(own, date):
        when = datetime.fromisoformat(str(value))
        return when if isinstance(own, datetime) else when.date()
    if isinstance(own, (bool, np.bool_)):
        return bool(value)
    number = float(value)
    return int(number) if isinstance(own, (int, np.integer)) and number.is_integer() else number


def _with_columns(row: Any, n: int, changed: dict[str, list[Any]]) -> Any:
    """Return n copies of a frame of one row, with other cells in some columns, of the same types where these fit."""
    frame = as_frame(row)
    assert frame is not None
    if not frame.implementation.is_pandas():
        import narwhals as nw

        columns = [
            nw.new_series(name, cells, dtype=_fitting(frame[name].dtype, cells), backend=frame.implementation)
            for name, cells in changed.items()
        ]
        return frame[[0] * n].with_columns(*columns).to_native()
    import pandas as pd

    out = row.iloc[[0] * n].reset_index(drop=True)
    for name, cells in changed.items():
        series = pd.Series(cells, dtype=object)
        whole = not pd.api.types.is_integer_dtype(row[name].dtype) or _are_whole(cells)
        out[name] = series.astype(row[name].dtype) if whole else series.astype(float)
    return out


def _fitting(dtype: Any, cells: list[Any]) -> Any:
    return dtype if not dtype.is_integer() or _are_whole(cells) else None


def _are_whole(cells: list[Any]) -> bool:
    return all(cell is None or float(cell).is_integer() for cell in cells)
