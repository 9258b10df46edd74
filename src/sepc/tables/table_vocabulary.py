"""Explanations in the columns and values of the raw table."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sepc.common.typing import FloatArray
from sepc.explanations.places import FeatureShare
from sepc.explanations.vocabulary import Judgement, Value, Vocabulary, Word
from sepc.tables.columns import Column, feature_names, feature_slices


class TableVocabulary(Vocabulary):
    """Vocabulary of the columns and values of a raw table, for one of its records.

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
        self._columns = {column.name: column for column, _ in feature_slices(columns)}
        self.words = tuple(Word(column.name, at, column.is_level) for column, at in feature_slices(columns))
        self._raw = {name: column.read_one(raw[name]) for name, column in self._columns.items()}
        self._features = np.concatenate([column.encode(raw[name])[0] for name, column in self._columns.items()])
        names = [word.name for word in self.words for _ in range(word.at.start, word.at.stop)]
        self._column_of = dict(zip(feature_names(columns), names, strict=True))

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
            fewer.append(self._with_original(fewer[-1], word))
        # At once as many as possible, then the others one by one.
        n = int(np.flatnonzero(enough(np.stack(fewer)))[-1])
        best = fewer[n]
        for word in words[n:]:
            fewer_changes = self._with_original(best, word)
            best = fewer_changes if enough(fewer_changes[None])[0] else best
        return best

    def _with_original(self, x: FloatArray, word: Word) -> FloatArray:
        """Return a record with one column as it was."""
        restored = np.array(x)
        restored[word.at] = self._features[word.at]
        return restored

    def gaps(self, columns: Sequence[str]) -> tuple[FeatureShare, ...]:
        """Return columns that tell nothing of the record, with what it holds there, all with the same share.

        Examples
        --------
        >>> color = Column("color", "category", levels=("red", "blue", "green"))
        >>> TableVocabulary((color,), {"color": np.array(["pink"])}).gaps(["color"])[0].in_words("centre")
        'color (pink)'
        """
        share = 1.0 / max(len(columns), 1)
        return tuple(FeatureShare(name, self._raw[name], self._raw[name], share, True) for name in columns)

    def named(self, features: Sequence[str]) -> tuple[str, ...]:
        """Return the raw columns that some features belong to, each once."""
        return tuple(dict.fromkeys(self._column_of[feature] for feature in features))
