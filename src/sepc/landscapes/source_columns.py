"""Columns of a raw table behind the features that an encoder made of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sepc.common.errors import InputError
from sepc.common.typing import FloatArray, IntArray

# A feature with no more values than this holds levels rather than measurements.
_FEW_VALUES = 10


@dataclass(frozen=True, eq=False)
class SourceColumn:
    """One column of a table, and the features that say the same thing of it: its value, or whether there is one.

    Attributes
    ----------
    name : str
    features : ndarray of int
        Numbers of its features: one, or those of all levels of a category.
    is_one_hot : bool
        Whether each record has 1 in one of several features, and 0 in the others.
    is_encoded : bool
        Whether the features are other than the column itself.
    """

    name: str
    features: IntArray
    is_one_hot: bool
    is_encoded: bool

    def values(self, X: FloatArray) -> FloatArray:
        """Return one number for each record: the level of a category, or the measurement, shape (n,)."""
        return X[:, self.features].argmax(axis=1).astype(np.float64) if self.is_one_hot else X[:, self.features[0]]

    def level_name(self, value: float, names: Sequence[str]) -> str:
        """Return the value that a level stands for, as in the name of its feature."""
        own = names[self.features[int(value)] if self.is_one_hot else self.features[0]]
        if self.is_encoded and own.endswith(" is missing"):
            return "missing" if value else "not missing"
        if not self.is_encoded or " = " not in own:
            return f"{value:g}"
        level = own.partition(" = ")[2]
        return level if self.is_one_hot or value == 1.0 else f"not {level}"


def source_columns(
    X: FloatArray, names: Sequence[str], columns: Mapping[str, Sequence[str]] | None
) -> list[SourceColumn]:
    """Return the columns of a table; each feature by itself where nobody says what they come from.

    A column of numbers with gaps is there twice: with its numbers, and with where they are missing.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    names : sequence of d str
        Of the features.
    columns : dict of str to sequence of str, or None
        Names of the features of each column.
    """
    number = {name: j for j, name in enumerate(names)}
    if columns is None:
        columns = {name: [name] for name in names}
    unknown = [feature for features in columns.values() for feature in features if feature not in number]
    if unknown:
        raise InputError(f"columns names the feature {unknown[0]!r}; expected some of {list(names)[:5]}.")
    found = []
    for name, features in columns.items():
        which = np.array([number[feature] for feature in features], dtype=np.int64)
        is_encoded = list(features) != [name]
        if len(which) > 1 and _is_one_hot(X[:, which]):
            found.append(SourceColumn(name, which, True, is_encoded))
        else:
            found += [SourceColumn(name, which[[k]], False, is_encoded) for k in range(len(which))]
    return found


def _is_one_hot(part: FloatArray) -> bool:
    return bool(np.isin(part, (0.0, 1.0)).all() and (part.sum(axis=1) == 1.0).all())


def level_values(column: SourceColumn, X: FloatArray) -> FloatArray | None:
    """Return the levels of a column of few values, shape (n,); None for a measurement."""
    values = column.values(X)
    if column.is_one_hot:
        return values
    some = values[:: -(-len(values) // 500)]
    few = len(np.unique(some)) <= _FEW_VALUES and len(np.unique(values)) <= _FEW_VALUES
    return values if few else None
