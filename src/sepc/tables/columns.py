"""Encoding of one column of a raw table: its kind, its features, and the way back."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import Any

import numpy as np

from sepc.common.errors import InputError
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.explanations.vocabulary import Value
from sepc.tables.cells import (
    BOOL,
    DATE,
    MISSING,
    NUMBER,
    OTHER,
    SECONDS_A_DAY,
    Cells,
    as_category,
    as_kind,
    date_text,
    read_cells,
)

CATEGORY, LEFT_OUT = "category", "left out"
# Reason of a column that a classifier has chosen not to read.
NOT_READ = "not read"
KINDS = (NUMBER, BOOL, DATE, CATEGORY, LEFT_OUT)


@dataclass(frozen=True, slots=True)
class Column:
    """Encoding of one column of a raw table, as a fit has learnt it.

    Attributes
    ----------
    name : str
    kind : {"number", "bool", "date", "category", "left out"}
    levels : tuple of str
        Of a category: the values with a feature of their own, the most frequent first; then ``(missing)`` and
        ``(other)``, where these occur.
    pooled : tuple of str
        Of a category: the rare values that share ``(other)``.
    fill : float
        Replacement of a missing number, unless these stay missing: the median.
    origin : float
        Of a date: the earliest one, in days since 1970-01-01; it counts as 0.
    low, high : float
        Smallest and largest number.
    whole : bool
        Whether all numbers are whole; of a date, all of them days without a time.
    flagged : bool
        Whether a feature shows where a number is missing.
    n_missing : int
    reason : str
        Why the column has no features.
    decimals : int
        Digits after the point that write all numbers exactly; -1 if six are too few.
    keeps_gaps : bool
        Whether the features of a missing value are NaN, except for a category with the level ``(missing)``; else a
        number becomes `fill`, and a category ``(other)``, or none of its levels.
    """

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    pooled: tuple[str, ...] = ()
    fill: float = 0.0
    origin: float = 0.0
    low: float = 0.0
    high: float = 0.0
    whole: bool = False
    flagged: bool = False
    n_missing: int = 0
    reason: str = ""
    decimals: int = -1
    keeps_gaps: bool = False

    @property
    def varies(self) -> bool:
        """Whether its number is a feature: not if there is only one."""
        return self.low < self.high

    @property
    def is_level(self) -> bool:
        """Whether it holds levels rather than numbers."""
        return self.kind in (BOOL, CATEGORY)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of its features."""
        if self.kind == CATEGORY:
            return tuple(f"{self.name} = {level}" for level in self.levels[len(self.levels) == 2 :])
        if self.kind == LEFT_OUT:
            return ()
        flag = (f"{self.name} is missing",) if self.flagged else ()
        return ((self.name,) if self.varies else ()) + flag

    def encode(self, raw: Any) -> FloatArray:
        """Return the features of raw cells, shape (n, n_features)."""
        cells = read_cells(raw)
        if self.kind == CATEGORY:
            cells = as_category(cells)
            features = self._one_hot(self._level_numbers(cells))
            if self.keeps_gaps and MISSING not in self.levels:
                features[cells.codes < 0] = np.nan
            return features
        values = as_kind(cells, self.kind, self.name)
        missing = np.isnan(values)
        if not self.flagged and not self.origin and (self.keeps_gaps or not missing.any()):
            return values[:, None]
        filled = np.where(missing, self._in_gaps, values - self.origin)
        return np.column_stack([filled][: self.varies] + [missing.astype(np.float64)][: self.flagged])

    def missing(self, raw: Any) -> BoolArray:
        """Return which of the raw cells have no value, shape (n,)."""
        cells = read_cells(raw)
        if self.kind == CATEGORY:
            return np.asarray(as_category(cells).codes < 0)
        return np.isnan(as_kind(cells, self.kind, self.name))

    def gaps(self, raw: Any, in_training: bool = False) -> BoolArray:
        """Return which raw cells are gaps, shape (n,): without a value, unless these stay missing, or an unseen text.

        A text of a training row counts as unseen if no other training row has it, as it would be without this row.
        """
        if self.kind != CATEGORY:
            return np.zeros(len(raw), dtype=bool) if self.keeps_gaps else self.missing(raw)
        cells = as_category(read_cells(raw))
        if in_training:
            unseen = np.bincount(cells.codes + 1, minlength=len(cells.texts) + 1)[1:] == 1
        else:
            known = {*self.levels, *self.pooled}
            unseen = np.array([text not in known for text in cells.texts], dtype=bool)
        # The last entry is for the code -1, where there is no text.
        return np.append(unseen, not self.keeps_gaps)[cells.codes]

    @property
    def _in_gaps(self) -> float:
        """Feature of a missing number."""
        return np.nan if self.keeps_gaps else self.fill

    def read(self, raw: Any) -> list[Value]:
        """Return the values of raw cells, seen in the fit or not; None where they are missing."""
        cells = read_cells(raw)
        if self.kind == CATEGORY:
            cells = as_category(cells)
            texts = [*map(str, cells.texts), None]  # the last one for the code -1
            return [texts[code] for code in cells.codes.tolist()]
        numbers = (as_kind(cells, self.kind, self.name) - self.origin).tolist()
        return [None if number != number else self.value_of(number) for number in numbers]

    def _level_numbers(self, cells: Cells) -> IntArray:
        """Return which level each cell has, -1 for one that the fit has not seen."""
        numbers = {level: number for number, level in enumerate(self.levels)}
        other = numbers.get(OTHER, -1)
        # The last entry is for the code -1.
        of_text = [numbers.get(text, other) for text in cells.texts] + [numbers.get(MISSING, other)]
        return np.array(of_text)[cells.codes]

    def _one_hot(self, level: IntArray) -> FloatArray:
        if len(self.levels) == 2:
            return np.where(level < 0, 0.5, level)[:, None].astype(np.float64)  # unseen: between the two
        return np.asarray(level[:, None] == np.arange(len(self.levels)), dtype=np.float64)

    def unseen(self, raw: Any) -> dict[str, int]:
        """Return the values of a category that the fit has not seen, and how often they occur."""
        if self.kind != CATEGORY:
            return {}
        cells = as_category(read_cells(raw))
        counts = np.bincount(cells.codes + 1, minlength=len(cells.texts) + 1).tolist()
        known = {*self.levels, *self.pooled, *([MISSING] if self.keeps_gaps else [])}
        return {text: n for text, n in zip([MISSING, *cells.texts], counts, strict=True) if n and text not in known}

    def nearest_valid(self, features: FloatArray, known: bool = False) -> FloatArray:
        """Return the features, shape (n, n_features), of the nearest values, of known ones only if `known`."""
        if self.kind == CATEGORY:
            valid = self._one_hot(self._nearest_level(features, known))
            valid[np.isnan(features).any(axis=1)] = np.nan
            return valid
        valid = np.array(features)
        if self.varies:
            valid[:, 0] = self._nearest_number(valid[:, 0])
        if self.flagged:
            valid[:, -1] = 0.0 if known else valid[:, -1] >= 0.5
            valid[valid[:, -1] == 1.0, : self.varies] = self._in_gaps
        return valid

    def _nearest_number(self, number: FloatArray) -> FloatArray:
        if self.kind == BOOL:
            return np.where(np.isnan(number), np.nan, number >= 0.5)
        if self.kind == NUMBER and self.low >= 0.0:
            number = np.maximum(number, 0.0)  # a count or an age
        if self.kind == NUMBER and not self.whole:
            return np.round(number, self.decimals) if self.decimals >= 0 else number
        step = 1.0 if self.whole else SECONDS_A_DAY
        return np.asarray(np.rint((number + self.origin) * step) / step - self.origin)

    def ends(self, low: Value, high: Value) -> tuple[float, float]:
        """Return a range of raw numbers or dates, None for an open end, in values of the feature.

        The ends are values that the column can have: from 0.5 to 2.5 is from 1 to 2 if all numbers are whole.
        """
        lowest = -np.inf if low is None else self._end(low, np.ceil)
        highest = np.inf if high is None else self._end(high, np.floor)
        return lowest, highest

    def _end(self, end: Value, inwards: Any) -> float:
        try:
            number = float(as_kind(read_cells(np.array([end], dtype=object)), self.kind, self.name)[0])
        except InputError:
            number = np.nan
        if np.isnan(number):
            raise InputError("range-end-kind", name=self.name, end=end, kind=self.kind)
        if not self.whole and (self.kind == DATE or self.decimals < 0):
            return number - self.origin
        steps = 10.0 ** (0 if self.whole else self.decimals)
        return float(inwards(round(number * steps, 6)) / steps - self.origin)  # rounded, against rounding errors

    def few_values(self) -> FloatArray:
        """Return the features, shape (n, n_features), of the values to try in the search for a change.

        These are levels, truths, and whole numbers of a range of up to 20; other columns have none here.
        """
        if self.kind == CATEGORY:
            return self._one_hot(np.flatnonzero(self._is_value()))
        if not self.varies or not self.whole or self.kind not in (BOOL, NUMBER) or self.high - self.low > 20:
            return np.empty((0, len(self.features)))
        numbers = np.arange(self.low, self.high + 1.0)
        return np.column_stack([numbers, np.zeros((len(numbers), len(self.features) - 1))])

    def proposed(self, features: FloatArray) -> Value:
        """Return a raw value with these features, shape (n_features,): the first one pooled if they share them."""
        value = self.decode(features[None])[0]
        return self._rare_values()[0] if self.kind == CATEGORY and value == OTHER else value

    def _rare_values(self) -> list[str]:
        return [text for text in self.pooled if text != MISSING]

    def _is_value(self) -> BoolArray:
        """Return which levels stand for known values."""
        has_rare = bool(self._rare_values())
        return np.array([level != MISSING and (level != OTHER or has_rare) for level in self.levels])

    def _nearest_level(self, features: FloatArray, known: bool = False) -> IntArray:
        if len(self.levels) == 2:
            features = np.column_stack([1.0 - features[:, 0], features[:, 0]])
        allowed = self._is_value() if known else np.ones(len(self.levels), dtype=bool)
        return np.asarray(np.where(allowed, features, -np.inf).argmax(axis=1))

    def decode(self, features: FloatArray) -> list[Value]:
        """Return the raw values that features, shape (n, n_features), come nearest to; None for a missing one."""
        if self.kind == CATEGORY:
            levels = [None if level == MISSING else level for level in self.levels]
            gaps = np.asarray(np.isnan(features).any(axis=1))
            pairs = zip(self._nearest_level(features).tolist(), gaps.tolist(), strict=True)
            return [None if is_missing else levels[number] for number, is_missing in pairs]
        numbers = features[:, 0] if self.varies else np.full(len(features), self.low - self.origin)
        missing = np.isnan(numbers)
        if self.flagged:
            missing |= features[:, -1] >= 0.5
        values = iter(self.raw_values(numbers[~missing]))
        return [None if is_missing else next(values) for is_missing in missing.tolist()]

    def raw_values(self, numbers: FloatArray) -> list[Value]:
        """Return the raw values of the feature of a number, a truth or a date, with the digits that the column has."""
        if self.kind == NUMBER and self.decimals >= 0:
            numbers = np.round(numbers, self.decimals) + 0.0  # not -0
        return [self.value_of(number) for number in numbers.tolist()]

    def value_of(self, number: float) -> Value:
        """Return the raw value of the feature of a number, a truth or a date."""
        if self.kind == BOOL:
            return number >= 0.5
        return date_text(number + self.origin, self.whole) if self.kind == DATE else number

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, ready for JSON."""
        return {**asdict(self), "levels": list(self.levels), "pooled": list(self.pooled)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Column":
        """Return the column that `to_dict` described; raise an `InputError` if it cannot be one."""
        if not isinstance(values, Mapping) or set(values) != {field.name for field in fields(cls)}:
            raise InputError("column-state", values=values)
        wrong = [name for name, value in values.items() if not _is_sound(cls.__annotations__[name], value)]
        if wrong or values["kind"] not in KINDS:
            raise InputError("column-fields", name=values["name"], fields=wrong or ["kind"])
        if values["kind"] == CATEGORY and not 2 <= len(set(values["levels"])) == len(values["levels"]):
            raise InputError("category-levels", name=values["name"])
        return cls(**{**values, "levels": tuple(values["levels"]), "pooled": tuple(values["pooled"])})


def _is_sound(kind: Any, value: Any) -> bool:
    if kind in (str, bool):
        return isinstance(value, kind)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
    return isinstance(value, (list, tuple)) and all(isinstance(text, str) for text in value)


def feature_names(columns: tuple[Column, ...]) -> list[str]:
    """Return the names of all features; one that is taken gets a prime."""
    names: dict[str, None] = {}
    for column in columns:
        for feature in column.features:
            name = feature
            while name in names:
                name += "'"
            names[name] = None
    return list(names)


def features_by_column(columns: tuple[Column, ...], names: list[str]) -> dict[str, list[str]]:
    """Return the names of the features of each column that has some."""
    return {column.name: names[at] for column, at in feature_slices(columns)}


def date_columns(columns: tuple[Column, ...]) -> list[str]:
    """Return the names of the columns of dates."""
    return [column.name for column in columns if column.kind == DATE]


def feature_slices(columns: tuple[Column, ...]) -> list[tuple[Column, slice]]:
    """Return the columns that have features, and where these are."""
    ends = np.cumsum([len(column.features) for column in columns]).tolist()
    starts = [0, *ends][: len(ends)]
    return [(column, slice(a, b)) for column, a, b in zip(columns, starts, ends, strict=True) if b > a]
