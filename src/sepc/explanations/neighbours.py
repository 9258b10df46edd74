"""The training records nearest to explained ones; those with the same values count as one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from scipy.spatial.distance import cdist

from sepc.common.frames import plain
from sepc.common.text import length_in_words, listed, percent
from sepc.common.typing import FloatArray, IntArray
from sepc.common.validation import has_gaps
from sepc.explanations.change_search import change_metric
from sepc.explanations.vocabulary import Value, Vocabulary
from sepc.model.fitted_model import FittedModel, in_one_way

_MOST, _NAMED = 5, 3
_NO_ROW = np.iinfo(np.int64).max


class Neighbour(NamedTuple):
    """A training record near the point, or several with the same values.

    Attributes
    ----------
    row : int
        Its row in the training set; of several that of the first one with the label.
    label : object
        Of several the most frequent one.
    distance : float
    values : dict of str to value
    n_equal : int, default=1
        Number of training records with these values.
    share : float, default=1.0
        Share of these that have the label.
    """

    row: int
    label: Any
    distance: float
    values: dict[str, Value]
    n_equal: int = 1
    share: float = 1.0

    def in_words(self, unit: str) -> str:
        """Return it as part of a sentence."""
        away = f"{length_in_words(self.distance, unit)} away"
        if self.n_equal == 1:
            return f"row {self.row} ({self.label}, {away})"
        labels = f"{'all' if self.share == 1.0 else percent(self.share)} of them {self.label}, as row {self.row}"
        if self.distance == 0.0:
            return f"{self.n_equal:,} equal to it ({labels})"
        return f"{self.n_equal:,} equal ones ({labels}; {away})"


def nearest_in_words(neighbours: Sequence[Neighbour], unit: str, other: Neighbour | None = None) -> str:
    """Return a sentence on the nearest training records, and on that of another label; none if none are known."""
    near = neighbours[:_NAMED]
    if not near:
        return ""
    of_other = ""
    if other is not None and other.row not in [n.row for n in near]:
        of_other = f", the nearest of another label is row {other.row} ({other.label})"
    return f"The nearest training records are {listed([n.in_words(unit) for n in near])}{of_other}."


@dataclass(frozen=True, eq=False)
class _DistinctRecords:
    """The values that training records have, each once, in the units of the model.

    Attributes
    ----------
    points : ndarray of shape (m, d)
        NaN where values are missing.
    filled : ndarray of shape (m, d)
        The same with what stands in for missing values.
    counts : ndarray of int, shape (m, n_classes)
        Numbers of training records of each class.
    first : ndarray of int, shape (m, n_classes)
        Row of the first of them in the training set.
    metric : ndarray of shape (d, d)
        Of the lengths of changes.
    """

    points: FloatArray
    filled: FloatArray
    counts: IntArray
    first: IntArray
    metric: FloatArray

    @classmethod
    def of(cls, model: FittedModel) -> "_DistinctRecords":
        """Return those of a model with training records; they are kept."""
        if model not in _DISTINCT:
            records = model.records
            assert records is not None
            once = np.unique(records.rows, return_index=True)[1]  # records of a weight above 1 are repeated
            points, numbers = in_one_way(records.as_they_came[once]), dict[bytes, int]()
            which = np.array([numbers.setdefault(point.tobytes(), len(numbers)) for point in points])
            index, cells = np.unique(which, return_index=True)[1], (which, records.codes[once])
            counts = np.zeros((len(numbers), len(model.classes)), dtype=np.int64)
            first = np.full_like(counts, _NO_ROW)
            np.add.at(counts, cells, 1)
            np.minimum.at(first, cells, records.rows[once])
            _DISTINCT[model] = cls(points[index], records.points[once][index], counts, first, change_metric(model))
        return _DISTINCT[model]

    @cached_property
    def _has_gaps(self) -> bool:
        return has_gaps(self.points)

    @cached_property
    def _root(self) -> FloatArray:
        return np.asarray(np.linalg.cholesky(self.metric), dtype=np.float64)

    @cached_property
    def _whitened(self) -> FloatArray:
        return self.filled @ self._root

    def distances(self, z: FloatArray) -> FloatArray:
        """Return the distance of each to a point, shape (m,)."""
        if self._has_gaps or has_gaps(z):
            return scaled_distances(self.points, z)
        return np.asarray(cdist(z[None], self.points)[0])

    def lengths(self, z: FloatArray) -> FloatArray:
        """Return the lengths of the changes of a point to each, shape (m,); missing values of the point stay."""
        if not has_gaps(z):
            return np.asarray(cdist((z @ self._root)[None], self._whitened)[0])
        return np.asarray(np.linalg.norm(np.where(np.isnan(z), 0.0, self.filled - z) @ self._root, axis=1))


def scaled_distances(points: FloatArray, z: FloatArray) -> FloatArray:
    """Return the distance of each of n points to another, shape (n,).

    Where values are missing, the squared distance over the features that are known of both is scaled up to all
    features; infinite where there are none.
    """
    squares = np.square(points - z)
    known = np.count_nonzero(~np.isnan(squares), axis=1)
    total = np.where(known > 0, np.nansum(squares, axis=1), np.inf)
    return np.asarray(np.sqrt(total * (squares.shape[1] / np.maximum(known, 1))))


# By model: they cost a pass over the training records.
_DISTINCT: "WeakKeyDictionary[FittedModel, _DistinctRecords]" = WeakKeyDictionary()


def nearest_records(model: FittedModel, X: FloatArray, vocabulary: Vocabulary) -> list[tuple[Neighbour, ...]]:
    """Return the training records nearest to each of some points in original units; none if they were not kept."""
    if model.records is None:
        return [()] * len(X)
    records = _DistinctRecords.of(model)
    rows, codes = records.first.min(axis=1), records.counts.argmax(axis=1)
    of_label = records.first[np.arange(len(codes)), codes]
    share = records.counts.max(axis=1) / records.counts.sum(axis=1)
    found = []
    for z in np.ascontiguousarray(model.units(X)):
        distances = records.distances(z)
        n = min(_MOST, len(distances))
        near = np.flatnonzero(distances <= np.partition(distances, n - 1)[n - 1])
        near = near[np.lexsort((rows[near], distances[near]))][:n]
        found.append([(i, float(distances[i])) for i in near[np.isfinite(distances[near])].tolist()])
    values = _values_of(model, records.points, [i for near in found for i, _ in near], vocabulary)
    return [
        tuple(
            Neighbour(
                int(of_label[i]),
                plain(model.classes[codes[i]]),
                distance,
                values[i],
                int(records.counts[i].sum()),
                float(share[i]),
            )
            for i, distance in near
        )
        for near in found
    ]


def nearest_of_others(
    model: FittedModel, X: FloatArray, labels: IntArray, vocabulary: Vocabulary
) -> list[Neighbour | None]:
    """Return the nearest training record of another label than each point has, by the length of the change to it.

    None where no records are kept, or nothing is known of a point. `labels`, shape (n,), are numbers of classes.
    """
    if model.records is None:
        return [None] * len(X)
    records, found = _DistinctRecords.of(model), list[tuple[int, int, int, float] | None]()
    for z, label in zip(np.ascontiguousarray(model.units(X)), labels.tolist(), strict=True):
        first = records.first.copy()
        first[:, label] = _NO_ROW
        rows = first.min(axis=1)
        lengths = np.where(rows < _NO_ROW, records.lengths(z), np.inf)
        nearest = np.flatnonzero(lengths == lengths.min())
        near = int(nearest[rows[nearest].argmin()])
        is_known = np.isfinite(lengths[near]) and not np.isnan(z).all()
        found.append((near, int(rows[near]), int(first[near].argmin()), float(lengths[near])) if is_known else None)
    values = _values_of(model, records.points, [one[0] for one in found if one is not None], vocabulary)
    return [
        None if one is None else Neighbour(one[1], plain(model.classes[one[2]]), one[3], values[one[0]])
        for one in found
    ]


def _values_of(
    model: FittedModel, points: FloatArray, which: Sequence[int], vocabulary: Vocabulary
) -> dict[int, dict[str, Value]]:
    """Return some training records by columns, by their numbers."""
    some = sorted(set(which))
    return dict(zip(some, vocabulary.records(model.original(points[some])), strict=True)) if some else {}
