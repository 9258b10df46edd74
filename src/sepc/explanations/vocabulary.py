"""The vocabulary of explanations: a record in words, feature by feature or by the columns of a raw table."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sepc.common.typing import BoolArray, FloatArray

# What a record holds in one place; None if that is missing.
Value = float | str | bool | None
Judgement = Callable[[FloatArray], BoolArray]


class Word(NamedTuple):
    """A column that is spoken of.

    Attributes
    ----------
    name : str
    at : slice
        Which features belong to it.
    is_level : bool
        Whether it holds one of a few values, rather than a number.

    Examples
    --------
    >>> Word("color", slice(1, 4), True).name
    'color'
    """

    name: str
    at: slice
    is_level: bool = False


class Vocabulary:
    """Speaks of the features of a record as they are; subclasses speak of what the features were made from.

    Parameters
    ----------
    features : sequence of str

    Examples
    --------
    >>> vocabulary = Vocabulary(["age", "height"])
    >>> vocabulary.record(np.array([61.0, 1.7]))
    {'age': 61.0, 'height': 1.7}
    """

    def __init__(self, features: Sequence[str]) -> None:
        self.words = tuple(Word(name, slice(j, j + 1)) for j, name in enumerate(features))

    def value(self, word: Word, x: FloatArray) -> Value:
        """Return what features, shape (d,), mean in one column."""
        return float(x[word.at.start])

    def asked(self, word: Word, x: FloatArray) -> Value:
        """Return what the record that is explained holds in one column; `x` are its features."""
        return self.value(word, x)

    def record(self, x: FloatArray) -> dict[str, Value]:
        """Return a training record by columns."""
        return {word.name: self.value(word, x) for word in self.words}

    def within_reach(self, X: FloatArray) -> FloatArray:
        """Return the nearest records, shape (n, d), that the record that is explained could be changed to."""
        return X

    def keeps(self, word: Word, x: FloatArray) -> bool:  # noqa: ARG002
        """Return whether a change leaves a column alone, so that nothing is said of it."""
        return False

    def simplest(self, x: FloatArray, moved: FloatArray, enough: Judgement) -> FloatArray:  # noqa: ARG002
        """Return a changed record, shape (d,), without what need not change.

        Parameters
        ----------
        x : ndarray of shape (d,)
        moved : ndarray of shape (d,)
            How far each feature has moved.
        enough : callable
            Says of records, shape (n, d), whether their labels have changed; that of `x` has.
        """
        return x

    def named(self, features: Sequence[str]) -> tuple[str, ...]:
        """Return the columns that some features belong to.

        Examples
        --------
        >>> Vocabulary(["age", "height"]).named(["height"])
        ('height',)
        """
        return tuple(features)


def length(moved: FloatArray) -> float:
    """Return how far some features move: with its sign if it is only one.

    Examples
    --------
    >>> length(np.array([-2.0])), length(np.array([3.0, 4.0]))
    (-2.0, 5.0)
    """
    return float(moved[0]) if len(moved) == 1 else float(np.linalg.norm(moved))
