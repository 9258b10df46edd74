"""Places of regions in the columns of a raw table: ranges of numbers, and shares of values."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sepc.common.frames import FrameMaker
from sepc.common.text import in_words
from sepc.common.typing import BoolArray, FloatArray
from sepc.explanations.region_words import region_words
from sepc.geometry.ellipsoid import Ellipsoid, is_held
from sepc.model.partition_model import PartitionModel
from sepc.tables.columns import Column, feature_slices
from sepc.tables.table_vocabulary import TableVocabulary


class _Place(NamedTuple):
    """Description of a region in one column, and the share of all training records that it fits."""

    text: str
    share_of_all: float


def regions_in_words(frame: Any, model: PartitionModel, columns: tuple[Column, ...]) -> Any:
    """Return a table of regions, one row each, with their `description` and their place, `where`, in raw columns."""
    known = {name: frame[name].to_list() for name in frame.columns}
    described = region_words(model, TableVocabulary.of_no_record(columns))
    known["description"] = [described.get(name, "") for name in known["region"]]
    return FrameMaker.like(frame).frame({**known, "where": region_places(model, columns)})


def region_places(model: PartitionModel, columns: tuple[Column, ...]) -> list[str]:
    """Return where each region lies, in words, in the order of the rules: in the three columns that separate it best.

    That is the range of numbers and dates, and the shares of other values among the training records in the region; the
    value at the centre in a model without its training records.
    """
    records = None if model.records is None else model.original(model.records.points)
    places = []
    for rules in model.rules:
        for k in range(len(rules.names)):
            E = rules.stack[k]
            inside = None if model.records is None else is_held(E.gauge(model.records.points))
            found = sorted(_places(model, columns, E, records, inside), key=lambda one: one.share_of_all)
            places.append("; ".join(one.text for one in found[:3]))
    return places


def _places(
    model: PartitionModel,
    columns: tuple[Column, ...],
    E: Ellipsoid,
    records: FloatArray | None,
    inside: BoolArray | None,
) -> Iterator[_Place]:
    center, low, high = model.original(np.stack([E.center, E.center - E.half_widths, E.center + E.half_widths]))
    for column, at in feature_slices(columns):
        if column.is_level:
            yield _level(column, center[at], None if records is None else records[:, at], inside)
        elif column.varies:
            j = at.start
            yield _range(column, low[j], high[j], None if records is None else records[:, j])


def _range(column: Column, low: float, high: float, records: FloatArray | None) -> _Place:
    # An ellipsoid reaches beyond its records, but not where no record can be.
    smallest, largest = column.low - column.origin, column.high - column.origin
    first, last = np.clip([low, high], smallest, largest).tolist()
    ends = [in_words(value) for value in column.raw_values(np.array([first, last]))]
    text = f"{column.name} {ends[0] if ends[0] == ends[1] else f'{ends[0]} to {ends[1]}'}"
    if records is None:
        return _Place(text, (last - first) / (largest - smallest))
    slack = 1e-9 * (largest - smallest)  # records at the ends, which were converted to standard deviations and back
    return _Place(text, float(np.mean((records >= first - slack) & (records <= last + slack))))


def _level(column: Column, center: FloatArray, records: FloatArray | None, inside: BoolArray | None) -> _Place:
    if records is None or inside is None:
        # How frequent the value is elsewhere is unknown, so other columns come first.
        return _Place(f"{column.name}: mostly {in_words(column.decode(center[None])[0])}", 1.0)
    shares, of_all = value_shares(column, records[inside]), value_shares(column, records)
    named = [(value, share) for value, share in shares.items() if share >= 0.05][:3]
    text = ", ".join(f"{value} {100.0 * share:.0f} %" for value, share in named)
    # The overlap of two distributions: 1 if the values are as frequent here as anywhere.
    common = sum(min(share, of_all.get(value, 0.0)) for value, share in shares.items())
    return _Place(f"{column.name}: {text}", common)


def value_shares(column: Column, features: FloatArray) -> dict[str, float]:
    """Return how frequent the values of a column are among records, the most frequent first."""
    values = [in_words(value) for value in column.decode(features)]
    found, counts = np.unique(np.array(values, dtype=object), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return {str(found[i]): float(counts[i] / len(values)) for i in order.tolist()}
