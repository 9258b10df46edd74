"""Neighbours: the training records nearest to a point."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sepc.common.frames import plain
from sepc.common.text import length_in_words, listed
from sepc.common.typing import FloatArray, IntArray
from sepc.explanations.vocabulary import Value, Vocabulary
from sepc.model.fitted_model import FittedModel
from sepc.model.incomplete import has_gaps

_N_NEIGHBOURS = 5


class Neighbour(NamedTuple):
    """A training record near the point: its row in the training set, its label, and how far it is."""

    row: int
    label: Any
    distance: float
    values: dict[str, Value]


def nearest_records(model: FittedModel, x: FloatArray, vocabulary: Vocabulary) -> tuple[Neighbour, ...]:
    """Return the training records nearest to a point, in the units of the data; none if they were not kept."""
    if model.records is None:
        return ()
    points, codes, rows = model.records.as_they_came, model.records.codes, model.records.rows
    distances = _distances(model, x)
    once = np.unique(rows, return_index=True)[1]  # one that counts more often is near once
    n = min(_N_NEIGHBOURS, len(once))
    nearest = once[np.argpartition(distances[once], n - 1)[:n]]
    nearest = nearest[np.lexsort((rows[nearest], distances[nearest]))]
    return tuple(
        Neighbour(
            int(rows[i]),
            plain(model.classes[codes[i]]),
            float(distances[i]),
            vocabulary.record(model.original(points[i])),
        )
        for i in nearest[np.isfinite(distances[nearest])]
    )


def order_by_distance(model: FittedModel, x: FloatArray) -> IntArray:
    """Return the numbers of the training records, those nearest to a point first; the model must have them."""
    return np.argsort(_distances(model, x), kind="stable")


def _distances(model: FittedModel, x: FloatArray) -> FloatArray:
    """Return the distance of each training record to a point, shape (n,).

    Where values are missing, what is known of both, as if the rest lay as far apart; infinite where nothing is.
    """
    assert model.records is not None
    squares = np.square(model.records.as_they_came - model.units(x))
    if not has_gaps(squares):
        return np.asarray(np.sqrt(squares.sum(axis=1)))
    known = np.count_nonzero(~np.isnan(squares), axis=1)
    total = np.where(known > 0, np.nansum(squares, axis=1), np.inf)
    return np.asarray(np.sqrt(total * (squares.shape[1] / np.maximum(known, 1))))


def nearest_in_words(neighbours: Sequence[Neighbour], unit: str) -> str:
    """Return a sentence about the nearest training records; none if none are known."""
    near = [f"row {n.row} ({n.label}, {length_in_words(n.distance, unit)} away)" for n in neighbours[:3]]
    return f"The nearest training records are {listed(near)}." if near else ""
