"""Columns of a raw table for the search for rules: their bins, and conditions on them in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sepc.common.text import in_words
from sepc.common.typing import BoolArray, FloatArray
from sepc.landscapes.failing_rules import Axis, Rule

# Ranges of a number, of as many records each as its values allow; fewer for few records.
_MOST_BINS, _RECORDS_OF_BIN = 128, 8
# What an encoder calls the levels that stand for gaps and rare values.
_MISSING, _OTHER = "(missing)", "(other)"


@dataclass(frozen=True, eq=False)
class RuleColumn:
    """A column of the table, with the features that its encoder made of it.

    Attributes
    ----------
    column : Column
        Of the encoder.
    at : slice
        Its features.
    first, last : ndarray of shape (n_ranges,)
        Of a number: the smallest and the largest value in each range.
    ends : ndarray of shape (n_ranges - 1,)
        Between the ranges: up to these numbers, each has as few digits as will do.
    """

    column: Any
    at: slice
    first: FloatArray
    last: FloatArray
    ends: FloatArray

    @classmethod
    def of(cls, column: Any, at: slice, features: FloatArray) -> Self:
        """Choose the ranges of a column by the features of all records, shape (n, d)."""
        if column.is_level or not column.varies:
            return cls(column, at, *np.empty((3, 0)))
        values = np.sort(features[:, at.start])
        values = values[~np.isnan(values)]
        distinct = np.unique(values)
        n_bins = int(np.clip(len(values) // _RECORDS_OF_BIN, 1, _MOST_BINS))
        ends = (np.arange(1, n_bins + 1) * len(values)) // n_bins - 1
        last = distinct if len(distinct) <= n_bins else np.unique(values[ends])
        first = distinct[np.concatenate([[0], np.searchsorted(distinct, last[:-1], side="right")])]
        return cls(column, at, first, last, _between(last[:-1], first[1:]))

    @property
    def levels(self) -> tuple[str, ...]:
        """Levels of a category, or of true and false; whether a number without a range is there."""
        if self.column.kind == "category":
            return tuple(self.column.levels)
        return ("false", "true") if self.column.is_level and self.column.varies else ()

    def axis(self, features: FloatArray) -> Axis:
        """Return the bins of some records, given by their features."""
        own = features[:, self.at]
        gaps = np.isnan(own[:, 0])
        if len(self.levels) > 2:
            n, codes = len(self.levels), own.argmax(axis=1)
            gaps |= ~own.any(axis=1)  # a value that the encoder has not seen
        elif self.levels:
            n, codes = 2, own[:, 0] > 0.5
            gaps |= own[:, 0] == 0.5
        elif len(self.last):
            n, codes = len(self.last), np.searchsorted(self.ends, own[:, 0])
        else:
            n, codes, gaps = 1, np.zeros(len(own), dtype=np.int64), own[:, 0] >= 0.5
        return Axis(np.where(gaps, n, codes), n + 1, bool(self.levels))

    def words(self, mask: BoolArray) -> str:
        """Return a condition in words."""
        name, known = self.column.name, mask[:-1]
        if self.levels:
            values = [*self.levels, _MISSING]
            return f"{name} is {' or '.join(_level(values[k]) for k in np.flatnonzero(mask).tolist())}"
        if not known.any():
            return f"{name} is missing"
        if known.all():
            return f"{name} is not missing"
        a, b = int(known.argmax()), len(known) - int(known[::-1].argmax()) - 1
        if self.first[a] == self.last[b]:
            return f"{name} is {self._value(self.last[b])}"
        above = f"above {self._value(self.ends[a - 1])}" if a else ""
        upto = f"at most {self._value(self.ends[b])}" if b < len(known) - 1 else ""
        return f"{name} {' and '.join(filter(None, (above, upto)))}"

    def _value(self, number: float) -> str:
        return in_words(self.column.raw_values(np.array([number]))[0])


@dataclass(frozen=True, eq=False)
class RuleColumns:
    """Columns of a raw table, and the encoder that reads it."""

    encoder: Any
    columns: Sequence[RuleColumn]

    @classmethod
    def of(cls, encoder: Any, features: FloatArray) -> Self:
        """Return the columns of a fitted encoder, whose features of all records are given, shape (n, d)."""
        found, start = [], 0
        for column in encoder.columns_:
            stop = start + len(column.features)
            if stop > start:
                found.append(RuleColumn.of(column, slice(start, stop), features))
            start = stop
        return cls(encoder, tuple(found))

    def axes(self, features: FloatArray) -> list[Axis]:
        """Return the bins of some records, given by their features, shape (n, d)."""
        return [column.axis(features) for column in self.columns]

    def words(self, rule: Rule) -> str:
        """Return a rule in the columns' own words."""
        pairs = zip(self.columns, rule, strict=True)
        return " and ".join(column.words(mask) for column, mask in pairs if not mask.all())


def _level(value: str) -> str:
    return {_MISSING: "missing", _OTHER: "a rare value"}.get(value, value)


def _between(last: FloatArray, first: FloatArray) -> FloatArray:
    """Return numbers of few digits that are at least `last` and below `first`, shape (n,)."""
    found = last.copy()
    for digits in range(15, -16, -1):
        rounded = np.round(np.ceil(last * 10.0**digits) / 10.0**digits, max(digits, 0)) + 0.0  # not -0
        found = np.where((rounded >= last) & (rounded < first), rounded, found)
    return found
