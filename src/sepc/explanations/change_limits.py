"""Limits of a counterfactual: fixed columns, ranges of others, how ordinary it is, and how many columns may change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sepc.common.errors import InputError
from sepc.common.text import in_words, listed, shortened
from sepc.common.typing import FloatArray
from sepc.explanations.constants import MAX_COLUMNS, MIN_TYPICALITY
from sepc.explanations.vocabulary import Value, Vocabulary


@dataclass(frozen=True, slots=True)
class ChangeLimits:
    """Limits of a counterfactual, by columns.

    Attributes
    ----------
    fixed : tuple of str
        Columns that do not change.
    ranges : dict of str to pair
        Lowest and highest value of a column after the change, None for an open end. A column that is beyond its range
        may keep its value.
    min_typicality : float
        Least typicality of the changed record.
    max_columns : int
        Most columns that the actionable form of the change may have.
    """

    fixed: tuple[str, ...] = ()
    ranges: dict[str, tuple[Value, Value]] = field(default_factory=dict)
    min_typicality: float = MIN_TYPICALITY
    max_columns: int = MAX_COLUMNS

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        fixed: Any = None,
        ranges: Any = None,
        min_typicality: Any = MIN_TYPICALITY,
        max_columns: Any = MAX_COLUMNS,
        kept: "ChangeLimits | None" = None,
    ) -> "ChangeLimits":
        """Return the limits that a user gives, checked.

        `fixed` is a column, by its name or by its number from 0, or a sequence of them; `ranges` is a dict of columns,
        by name or number, to pairs of their lowest and highest value. What is None is that of `kept`, except for
        columns that the other names. `names` are those of all columns.
        """
        columns = [fixed] if isinstance(fixed, (str, int, np.integer)) else list(fixed or ())
        held = tuple(dict.fromkeys(_named(column, names) for column in columns))
        if ranges is not None and not isinstance(ranges, Mapping):
            raise InputError("ranges", ranges=ranges)
        within = {_named(column, names): _pair(column, ends) for column, ends in (ranges or {}).items()}
        if kept is not None and fixed is None:
            held = tuple(_named(name, names) for name in kept.fixed if name not in within)
        if kept is not None and ranges is None:
            within = {_named(name, names): ends for name, ends in kept.ranges.items() if name not in held}
        both = [name for name in held if name in within]
        if both:
            raise InputError("fixed-with-range", columns=listed(both))
        if not isinstance(min_typicality, (int, float, np.number)) or not 0.0 <= min_typicality < 1.0:
            raise InputError("min-typicality", min_typicality=min_typicality)
        if not isinstance(max_columns, (int, np.integer)) or isinstance(max_columns, bool) or max_columns < 1:
            raise InputError("max-columns", max_columns=max_columns)
        return cls(held, within, float(min_typicality), int(max_columns))

    def for_columns(self, vocabulary: Vocabulary) -> "ChangeLimits":
        """Return the same; raise an `InputError` for ranges that columns cannot have."""
        for word in vocabulary.words:
            if word.name in self.ranges:
                vocabulary.ends(word, *self.ranges[word.name])
        return self

    def in_words(self) -> str:
        """Return them as a part of a sentence, with a leading blank; an empty text if there are none."""
        parts = [f"{listed(self.fixed)} as {'it is' if len(self.fixed) == 1 else 'they are'}"] if self.fixed else []
        parts += [f"{name} {_range_in_words(*ends)}" for name, ends in self.ranges.items()]
        return f" with {listed(parts)}" if parts else ""


def _named(column: Any, names: Sequence[str]) -> str:
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < len(names):
        return names[int(column)]
    if column in names:
        return str(column)
    raise InputError("change-unknown-column", column=column, columns=shortened(names, 8), last=len(names) - 1)


def _pair(column: Any, ends: Any) -> tuple[Value, Value]:
    if isinstance(ends, str) or not isinstance(ends, Iterable) or len(pair := tuple(ends)) != 2:
        raise InputError("range-ends", column=column, ends=ends)
    low, high = (float(end) if isinstance(end, (int, float, np.number)) else end for end in pair)
    return low, high


def _range_in_words(low: Value, high: Value) -> str:
    if low is None:
        return f"up to {in_words(high)}"
    return f"from {in_words(low)}" + ("" if high is None else f" to {in_words(high)}")


class ReachableRecords:
    """The records that a record x, shape (d,), may be changed to: valid values of its columns, within limits.

    Attributes
    ----------
    x : ndarray of shape (d,)
        The record's features; 0 in place of missing values.
    gaps : ndarray of bool, shape (d,)
        Which features are missing.
    words : tuple of Word
        The columns that may change: those with a value.
    is_number : ndarray of bool, shape (d,)
        Which features are numbers that may change.
    low, high : ndarray of shape (d,)
        Ends of the ranges of the features.
    """

    def __init__(self, vocabulary: Vocabulary, limits: ChangeLimits, x: FloatArray) -> None:
        self.gaps = np.isnan(x)
        self.vocabulary, self.x = vocabulary, np.where(self.gaps, 0.0, x)
        self.low, self.high = np.full(len(x), -np.inf), np.full(len(x), np.inf)
        self.is_fixed = np.zeros(len(x), dtype=bool)
        for word in vocabulary.words:
            if word.name in limits.fixed or self.gaps[word.at].any():
                self.is_fixed[word.at] = True
            if word.name in limits.ranges:
                j = word.at.start
                self.low[j], self.high[j] = vocabulary.ends(word, *limits.ranges[word.name])
        self.is_number = np.zeros(len(x), dtype=bool)
        for word in vocabulary.words:
            # A missing number cannot change.
            self.is_number[word.at.start] = not word.is_level and vocabulary.own_value(word, x) is not None
        self.is_number &= ~self.is_fixed
        self._is_limited = bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())
        self.words = tuple(word for word in vocabulary.words if not self.is_fixed[word.at].any())

    def with_gaps(self, X: FloatArray) -> FloatArray:
        """Return records, shape (n, d), with the missing values of the explained one."""
        return np.where(self.gaps, np.nan, X) if self.gaps.any() else X

    def nearest(self, X: FloatArray) -> FloatArray:
        """Return the nearest records, shape (n, d), that the record may be changed to."""
        if self._is_limited:
            within = np.clip(X, self.low, self.high)
            # A value beyond its range may stay where it is.
            X = np.where(np.abs(X - self.x) < np.abs(X - within), self.x, within)
        out = np.array(self.vocabulary.within_reach(X))
        out[:, self.is_fixed] = self.x[self.is_fixed]
        return out
