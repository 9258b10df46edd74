"""The values of records that are there, by the columns of the table that they came from."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sepc.common.errors import InputError
from sepc.common.typing import BoolArray, FloatArray, IntArray

# How an encoder ends the name of a feature that is 1 where a value is missing.
_IS_MISSING = (" is missing", " = (missing)")


@dataclass(frozen=True, eq=False)
class SourceColumn:
    """One column of a table, with its features.

    `features` has their numbers among those of `KnownValues`: one, those of all levels of a category, which are then
    `is_one_hot`, or none where values are known or missing and do not differ otherwise. `is_encoded`: the features are
    other than the column itself. `values`, shape (n,), are its measurements or levels; NaN where they are missing. A
    date may have equal steps and is still no id.
    """

    name: str
    features: IntArray
    is_one_hot: bool
    is_encoded: bool
    values: FloatArray
    is_date: bool

    @property
    def missing(self) -> BoolArray:
        """Which records have no value, shape (n,)."""
        return np.isnan(self.values)

    def level_name(self, value: float, names: Sequence[str]) -> str:
        """Return the name of a level, as in that of its feature."""
        own = names[self.features[int(value)] if self.is_one_hot else self.features[0]]
        if not self.is_encoded or " = " not in own:
            return f"{value:g}"
        level = own.partition(" = ")[2]
        return level if self.is_one_hot or value == 1.0 else f"not {level}"


class KnownValues(NamedTuple):
    """The values of records that are there, without features that only say where one is missing.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        NaN where a value is missing.
    features : list of str
        Names of the features.
    columns : list of SourceColumn
    """

    X: FloatArray
    features: list[str]
    columns: list[SourceColumn]

    @property
    def complete(self) -> BoolArray:
        """Which records have a value in all columns, shape (n,)."""
        return np.asarray(~np.any([column.missing for column in self.columns], axis=0))

    @property
    def gappy(self) -> BoolArray:
        """Which features some records lack, shape (d,)."""
        return np.asarray(np.isnan(self.X).any(axis=0))

    @classmethod
    def of(
        cls,
        X: FloatArray,
        names: Sequence[str],
        columns: Mapping[str, Sequence[str]] | None,
        dates: Collection[str] = (),
    ) -> "KnownValues":
        """Return the known values of records, shape (n, d).

        `columns` names the features that an encoder has made of each column; without it each is a column by itself.
        `dates` names the columns of dates.
        """
        number = {name: j for j, name in enumerate(names)}
        if columns is None:
            columns = {name: [name] for name in names}
        unknown = [feature for features in columns.values() for feature in features if feature not in number]
        if unknown:
            raise InputError("columns-unknown-feature", feature=unknown[0], features=list(names)[:5])
        values, dropped = X.copy(), np.zeros(X.shape[1], dtype=bool)
        split = []
        for name, features in columns.items():
            which = np.array([number[feature] for feature in features], dtype=np.int64)
            is_encoded = list(features) != [name]
            marks = np.array([is_encoded and one.rstrip("'").endswith(_IS_MISSING) for one in features], dtype=bool)
            missing = (X[:, which[marks]] == 1.0).any(axis=1) | np.isnan(X[:, which[marks]]).any(axis=1)
            dropped[which[marks]] = True
            rest = which[~marks]
            values[np.ix_(missing, rest)] = np.nan
            if marks.any() and len(rest) == 2 and _is_one_hot(values[:, rest]):
                dropped[rest[0]] = True  # one of two levels tells the other
                rest = rest[1:]
            split.append((name, rest, is_encoded, missing))
        if dropped.all():
            dropped[:] = False  # there is nothing else to describe
        position = np.cumsum(~dropped) - 1
        found = [
            SourceColumn(name, position[part], is_one_hot, is_encoded, own, name in dates)
            for name, rest, is_encoded, missing in split
            for part, is_one_hot, own in _parts(values, rest, missing)
        ]
        return cls(
            values[:, ~dropped],
            [name for name, is_dropped in zip(names, dropped.tolist(), strict=True) if not is_dropped],
            found,
        )


def _parts(values: FloatArray, which: IntArray, missing: BoolArray) -> Iterator[tuple[IntArray, bool, FloatArray]]:
    """Yield features that are one column, whether they are levels of a category, and its values, shape (n,)."""
    if not len(which):
        yield which, False, np.where(missing, np.nan, 0.0)
    elif len(which) > 1 and _is_one_hot(values[:, which]):
        level = values[:, which].argmax(axis=1).astype(np.float64)
        yield which, True, np.where(np.isnan(values[:, which[0]]), np.nan, level)
    else:
        yield from ((which[[k]], False, values[:, which[k]]) for k in range(len(which)))


def _is_one_hot(part: FloatArray) -> bool:
    known = part[~np.isnan(part).any(axis=1)]
    return len(known) > 0 and bool(np.isin(known, (0.0, 1.0)).all() and (known.sum(axis=1) == 1.0).all())
