"""The vocabulary of explanations: names and values of a record, by features or by the columns of a raw table."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sepc.common.errors import InputError
from sepc.common.typing import FloatArray

# A value of a record; None if it is missing.
Value = float | str | bool | None


class Word(NamedTuple):
    """A column, the slice of its features, and whether it holds one of a few values rather than a number."""

    name: str
    at: slice
    is_level: bool = False


class Vocabulary:
    """Columns that are the features themselves; subclasses translate features into the columns of a raw table."""

    def __init__(self, features: Sequence[str]) -> None:
        self.words = tuple(Word(name, slice(j, j + 1)) for j, name in enumerate(features))

    def value(self, word: Word, x: FloatArray) -> Value:
        """Return the value of one column by the features of a record, shape (d,); None if it is missing."""
        return self.values_in(word, x[None])[0]

    def values_in(self, word: Word, X: FloatArray) -> list[Value]:
        """Return the values of one column by the features of some records, shape (n, d)."""
        return [None if number != number else number for number in X[:, word.at.start].tolist()]

    def reference(self, word: Word, x: FloatArray) -> Value:
        """Return the value of one column at a point of a region, shape (d,), within the values in training."""
        return self.value(word, x)

    def most_usual(self, word: Word, X: FloatArray) -> tuple[Value, float]:
        """Return the most frequent value of one column in some records, shape (n, d), and its share."""
        values = self.values_in(word, X)
        value, count = Counter(values).most_common(1)[0]
        return value, count / len(values)

    def proposed(self, word: Word, x: FloatArray) -> Value:
        """Return the value of one column of a changed record, shape (d,)."""
        return self.value(word, x)

    @property
    def names(self) -> list[str]:
        """Names of all columns, with or without features."""
        return [word.name for word in self.words]

    def ends(self, word: Word, low: Value, high: Value) -> tuple[float, float]:
        """Return the ends of a range of one column as numbers of its feature; infinite where it is open."""
        lowest = -np.inf if low is None else _number(word, low)
        highest = np.inf if high is None else _number(word, high)
        require_range(word.name, low, high, lowest <= highest)
        return lowest, highest

    def bounds(self, word: Word) -> tuple[float, float] | None:  # noqa: ARG002
        """Return the smallest and the largest number of a column in training; None if the vocabulary has none."""
        return None

    def values(self, word: Word) -> FloatArray:
        """Return the features, shape (n, n_features), of all values of a column that has only a few of them."""
        return np.empty((0, word.at.stop - word.at.start))

    def own_value(self, word: Word, x: FloatArray) -> Value:
        """Return the value of one column of the explained record, whose features are `x`."""
        return self.value(word, x)

    def records(self, X: FloatArray) -> list[dict[str, Value]]:
        """Return training records, shape (n, d), by columns."""
        names = [word.name for word in self.words]
        columns = [self.values_in(word, X) for word in self.words]
        return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]

    def within_reach(self, X: FloatArray) -> FloatArray:
        """Return the nearest records, shape (n, d), that the explained one could be changed to."""
        return X

    def named(self, features: Sequence[str]) -> tuple[str, ...]:
        """Return the columns that some features belong to."""
        return tuple(features)


def length(moved: FloatArray) -> float:
    """Return the length of a move of some features, with its sign if there is only one."""
    return float(moved[0]) if len(moved) == 1 else float(np.linalg.norm(moved))


def require_range(name: str, low: Value, high: Value, is_sound: bool) -> None:
    """Raise an `InputError` for an empty range."""
    if not is_sound:
        raise InputError("range-empty", name=name, low=low, high=high)


def _number(word: Word, end: Value) -> float:
    try:
        number = float(end)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = np.nan
    if np.isnan(number):
        raise InputError("range-end-no-number", name=word.name, end=end)
    return number
