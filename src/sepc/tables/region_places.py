"""Places of regions in the columns of a raw table: ranges of numbers, and shares of values."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sepc.common.text import in_words
from sepc.common.typing import BoolArray, FloatArray
from sepc.geometry.ellipsoid import Ellipsoid, is_held
from sepc.model.partition_model import PartitionModel
from sepc.tables.columns import Column, feature_slices

# Columns that say best where a region lies, values of one that are named, and the share from which they are.
_N_TOLD, _N_VALUES, _LEAST_SHARE = 3, 3, 0.05


class _Told(NamedTuple):
    """What is said of one column, and how much of all training records it is true of."""

    text: str
    share_of_all: float


def region_places(model: PartitionModel, columns: tuple[Column, ...]) -> list[str]:
    """Return in words where each region lies: in the columns that tell it best from other places.

    Of numbers and dates it is the range, of other columns the shares of the values among the training records in the
    region. Where the records were left out it is the value at the centre instead.

    Parameters
    ----------
    model : PartitionModel
        Of the features of the columns.
    columns : tuple of Column

    Returns
    -------
    list of str
        In the order of the rules and of their ellipsoids.
    """
    records = None if model.records is None else model.original(model.records.points)
    places = []
    for rules in model.rules:
        for k in range(len(rules.names)):
            E = rules.stack[k]
            inside = None if model.records is None else is_held(E.gauge(model.records.points))
            told = sorted(_told(model, columns, E, records, inside), key=lambda one: one.share_of_all)
            places.append("; ".join(one.text for one in told[:_N_TOLD]))
    return places


def _told(
    model: PartitionModel,
    columns: tuple[Column, ...],
    E: Ellipsoid,
    records: FloatArray | None,
    inside: BoolArray | None,
) -> Iterator[_Told]:
    center = model.original(E.center)
    for column, at in feature_slices(columns):
        if column.is_level:
            yield _level(column, center[at], None if records is None else records[:, at], inside)
        elif column.varies:
            j = at.start
            half = float(E.half_widths[j] * model.scale[j])
            yield _range(column, center[j] - half, center[j] + half, None if records is None else records[:, j])


def _range(column: Column, low: float, high: float, records: FloatArray | None) -> _Told:
    # An ellipsoid reaches beyond its records, but not where no record can be.
    smallest, largest = column.low - column.origin, column.high - column.origin
    first, last = np.clip([low, high], smallest, largest).tolist()
    ends = [in_words(value) for value in column.told(np.array([first, last]))]
    text = f"{column.name} {ends[0] if ends[0] == ends[1] else f'{ends[0]} to {ends[1]}'}"
    if records is None:
        return _Told(text, (last - first) / (largest - smallest))
    return _Told(text, float(np.mean((records >= first) & (records <= last))))


def _level(column: Column, center: FloatArray, records: FloatArray | None, inside: BoolArray | None) -> _Told:
    if records is None or inside is None:
        # Nobody knows how usual that is, so other columns come first.
        return _Told(f"{column.name}: mostly {in_words(column.decode(center[None])[0])}", 1.0)
    shares, of_all = value_shares(column, records[inside]), value_shares(column, records)
    named = [(value, share) for value, share in shares.items() if share >= _LEAST_SHARE][:_N_VALUES]
    text = ", ".join(f"{value} {100.0 * share:.0f} %" for value, share in named)
    # What two distributions have in common: all if the values are as frequent here as anywhere.
    common = sum(min(share, of_all.get(value, 0.0)) for value, share in shares.items())
    return _Told(f"{column.name}: {text}", common)


def value_shares(column: Column, features: FloatArray) -> dict[str, float]:
    """Return how frequent the values of a column are among records, the most frequent first.

    Parameters
    ----------
    column : Column
    features : ndarray of shape (n, n_features)
        Of the column in each record.
    """
    values = [in_words(value) for value in column.decode(features)]
    found, counts = np.unique(np.array(values, dtype=object), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return {str(found[i]): float(counts[i] / len(values)) for i in order.tolist()}
