"""Explanations in the columns and values of the raw table."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sepc.geometry._checks import FloatArray
from sepc.tables.columns import Column, feature_names, placed
from sepc.vocabulary import Judgement, Value, Vocabulary, Word


class TableVocabulary(Vocabulary):
    """Speaks of one record of a raw table.

    Parameters
    ----------
    columns : tuple of Column
        Of the encoder.
    raw : dict of str to column
        The cells of the record, as they came in.

    Examples
    --------
    >>> color = Column("color", "category", levels=("red", "blue", "green"))
    >>> vocabulary = TableVocabulary((color,), {"color": np.array(["pink"])})
    >>> vocabulary.asked(vocabulary.words[0], np.zeros(3)), vocabulary.record(np.array([0.2, 0.7, 0.1]))
    ('pink', {'color': 'blue'})
    """

    def __init__(self, columns: tuple[Column, ...], raw: dict[str, Any]) -> None:
        self._columns = {column.name: column for column, _ in placed(columns)}
        self.words = tuple(Word(column.name, at, column.is_level) for column, at in placed(columns))
        self._raw = {name: column.read_one(raw[name]) for name, column in self._columns.items()}
        self._features = np.concatenate([column.encode(raw[name])[0] for name, column in self._columns.items()])
        owners = [word.name for word in self.words for _ in range(word.at.start, word.at.stop)]
        self._owner = dict(zip(feature_names(columns), owners, strict=True))

    def value(self, word: Word, x: FloatArray) -> Value:
        """Return the raw value that features come nearest to."""
        return self._columns[word.name].decode(x[None, word.at])[0]

    def asked(self, word: Word, x: FloatArray) -> Value:  # noqa: ARG002
        """Return what the record that is explained holds, even if the encoder has not seen it."""
        return self._raw[word.name]

    def record(self, x: FloatArray) -> dict[str, Value]:
        """Return the raw record that features come nearest to."""
        return super().record(self._valid(x[None], known=())[0])

    def within_reach(self, X: FloatArray) -> FloatArray:
        """Return the nearest records that raw values can give; what is known does not get lost."""
        return self._valid(X, known=[name for name, value in self._raw.items() if value is not None])

    def _valid(self, X: FloatArray, known: Sequence[str]) -> FloatArray:
        blocks = [self._columns[w.name].nearest_valid(X[:, w.at], w.name in known) for w in self.words]
        return np.concatenate(blocks, axis=1)

    def keeps(self, word: Word, x: FloatArray) -> bool:
        """Return whether a change leaves a column alone."""
        return bool(np.array_equal(x[word.at], self._features[word.at]))

    def simplest(self, x: FloatArray, moved: FloatArray, enough: Judgement) -> FloatArray:
        """Return a changed record with every column as it was that need not change; small changes go back first."""
        words = sorted(self.words, key=lambda word: float(np.square(moved[word.at]).sum()))
        fewer = [np.array(x)]
        for word in words:
            fewer.append(self._with_back(fewer[-1], word))
        # At once as many as possible, then the others one by one.
        n = int(np.flatnonzero(enough(np.stack(fewer)))[-1])
        best = fewer[n]
        for word in words[n:]:
            back = self._with_back(best, word)
            best = back if enough(back[None])[0] else best
        return best

    def _with_back(self, x: FloatArray, word: Word) -> FloatArray:
        """Return a record with one column as it was."""
        back = np.array(x)
        back[word.at] = self._features[word.at]
        return back

    def named(self, features: Sequence[str]) -> tuple[str, ...]:
        """Return the raw columns that some features belong to, each once."""
        return tuple(dict.fromkeys(self._owner[feature] for feature in features))
