"""Explanations in the columns and values of the raw table."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from sepc.common.errors import InputError
from sepc.common.typing import FloatArray
from sepc.explanations.places import FeatureShare
from sepc.explanations.vocabulary import Value, Vocabulary, Word, require_range
from sepc.tables.columns import Column, feature_names, feature_slices


class TableVocabulary(Vocabulary):
    """Vocabulary of the columns and values of a raw table, for one of its records; `of_rows` makes it.

    Parameters
    ----------
    columns : tuple of Column
    """

    _raw: dict[str, Value]
    _features: FloatArray

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self._columns = {column.name: column for column, _ in feature_slices(columns)}
        self.words = tuple(Word(column.name, at, column.is_level) for column, at in feature_slices(columns))
        names = [word.name for word in self.words for _ in range(word.at.start, word.at.stop)]
        self._names = [column.name for column in columns]
        self._column_of = dict(zip(feature_names(columns), names, strict=True))

    @classmethod
    def of_rows(cls, columns: tuple[Column, ...], raw: Mapping[str, Any]) -> "list[TableVocabulary]":
        """Return the vocabularies of the rows of a table, given by its columns."""
        shared = cls(columns)
        values = [column.read(raw[name]) for name, column in shared._columns.items()]
        features = np.concatenate([column.encode(raw[name]) for name, column in shared._columns.items()], axis=1)
        found = [copy(shared) for _ in features]
        for one, own, of_one in zip(found, zip(*values, strict=True), features, strict=True):
            one._raw, one._features = dict(zip(shared._columns, own, strict=True)), of_one
        return found

    @classmethod
    def of_no_record(cls, columns: tuple[Column, ...]) -> "TableVocabulary":
        """Return the vocabulary of the columns for texts on no record in particular."""
        return cls.of_rows(columns, {column.name: np.array([None], dtype=object) for column in columns})[0]

    @property
    def names(self) -> list[str]:
        """Names of all columns of the table."""
        return self._names

    def values_in(self, word: Word, X: FloatArray) -> list[Value]:
        """Return the raw values that features come nearest to."""
        return self._columns[word.name].decode(X[:, word.at])

    def reference(self, word: Word, x: FloatArray) -> Value:
        """Return the raw value of a point of a region in one column, within the column's range in training."""
        column, bounds = self._columns[word.name], self.bounds(word)
        features = np.array(x[word.at])
        if bounds is not None and not column.is_level:
            features[0] = np.clip(features[0], *bounds)
        return column.decode(features[None])[0]

    def proposed(self, word: Word, x: FloatArray) -> Value:
        """Return a raw value that has these features, not a level that pools several."""
        return self._columns[word.name].proposed(x[word.at])

    def own_value(self, word: Word, x: FloatArray) -> Value:  # noqa: ARG002
        """Return the value of the explained record, even if the encoder has not seen it."""
        return self._raw[word.name]

    def records(self, X: FloatArray) -> list[dict[str, Value]]:
        """Return the raw records that features come nearest to."""
        return super().records(self._valid(X, known=()))

    def within_reach(self, X: FloatArray) -> FloatArray:
        """Return the nearest records that raw values can give; known values stay known."""
        valid = self._valid(X, known=[name for name, value in self._raw.items() if value is not None])
        for word in self.words:
            # A value of the record itself may stay, even if no training record has it.
            is_unchanged = (X[:, word.at] == self._features[word.at]).all(axis=1)
            valid[is_unchanged, word.at] = self._features[word.at]
        return valid

    def _valid(self, X: FloatArray, known: Sequence[str]) -> FloatArray:
        blocks = [self._columns[w.name].nearest_valid(X[:, w.at], w.name in known) for w in self.words]
        return np.concatenate(blocks, axis=1)

    def ends(self, word: Word, low: Value, high: Value) -> tuple[float, float]:
        """Return the ends of a range of one column as values of its feature."""
        column = self._columns[word.name]
        if word.is_level or not column.varies:
            raise InputError("range-of-category", name=word.name)
        lowest, highest = column.ends(low, high)
        require_range(word.name, low, high, lowest <= highest)
        return lowest, highest

    def bounds(self, word: Word) -> tuple[float, float] | None:
        """Return the smallest and the largest number of a column in training, as its feature."""
        column = self._columns[word.name]
        return (column.low - column.origin, column.high - column.origin) if column.varies else None

    def values(self, word: Word) -> FloatArray:
        """Return the features of all values that a column of levels, or of a few whole numbers, has in training."""
        return self._columns[word.name].few_values()

    def gaps(self, columns: Sequence[str]) -> tuple[FeatureShare, ...]:
        """Return columns in which the record has gaps, with its values there, all with the same share."""
        share = 1.0 / max(len(columns), 1)
        return tuple(FeatureShare(name, self._raw[name], self._raw[name], share, True) for name in columns)

    def named(self, features: Sequence[str]) -> tuple[str, ...]:
        """Return the raw columns of features, each once."""
        return tuple(dict.fromkeys(self._column_of[feature] for feature in features))
