"""Rows in the bodies of requests, JSON or CSV, as a model takes them."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from sepc.common.errors import InputError
from sepc.common.frames import plain
from sepc.common.text import shortened
from sepc.common.typing import LARGEST_COORDINATE, BoolArray, FloatArray
from sepc.desk.batches import Batch
from sepc.tables.cells import MISSING_TEXTS, NUMBER_RULE, CellError

# What reads a table, typed or the bytes of a text file, for a model that takes more than plain numbers.
ReadTable = Callable[[Any, pa.Table | bytes], Batch]
_MISSING = sorted({spelt for text in MISSING_TEXTS for spelt in (text, text.upper(), text.title())})


class Columns(NamedTuple):
    """What a model reads: its columns and their kinds, and whether values may be missing.

    Where they `are_plain`, these are numbers that are its points, in this order; else `read` makes rows of a table.
    """

    kinds: Mapping[str, str]
    are_plain: bool
    takes_gaps: bool
    most_rows: int
    read: Callable[[pa.Table | bytes], Batch]

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.kinds)

    def require_number(self, n_rows: int) -> None:
        """Raise an `InputError` for no rows, or too many."""
        if n_rows == 0:
            raise InputError("serve-no-rows")
        if n_rows > self.most_rows:
            raise InputError("serve-too-many-rows", n_rows=n_rows, most=self.most_rows)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one request: points of shape (n, d) or a table, and what shows them as they came."""

    values: FloatArray | pa.Table
    shown: Callable[[], pa.Table]
    groups: NDArray[Any] | None = None
    unanswered: BoolArray | None = None

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @classmethod
    def of(cls, batch: Batch, shown: Callable[[], pa.Table]) -> "Rows":
        """Return the rows of a table that was read."""
        return cls(batch.rows, shown, batch.groups, batch.unanswered if batch.unanswered.any() else None)


def json_of(data: bytes) -> Any:
    """Return what JSON holds; raise an `InputError` for what is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError("serve-json", why=beginning(str(error))) from error


def rows_of_json(data: bytes, columns: Columns) -> Rows:
    """Return the rows of JSON: records, columns, or lists with names."""
    body = json_of(data)
    records = body.get("records") if isinstance(body, dict) else body
    if isinstance(records, list):
        return rows_of_columns(_columns_of(records, columns.names), columns, partial(_everything, records))
    values = body.get("columns") if isinstance(body, dict) else None
    if isinstance(body, dict) and isinstance(body.get("names"), list) and isinstance(body.get("rows"), list):
        values = _columns_of_lists(body["names"], body["rows"])
    if not isinstance(values, dict):
        raise InputError("serve-body")
    return rows_of_columns(values, columns)


def _columns_of(records: list[Any], names: list[str]) -> dict[str, list[Any]]:
    try:
        return {name: [record[name] for record in records] for name in names}
    except (KeyError, TypeError, IndexError):
        row = next(k for k, one in enumerate(records) if not isinstance(one, dict) or not one.keys() >= set(names))
    if not isinstance(records[row], dict):
        raise InputError("serve-record", row=row + 1)
    raise _missing(names, records[row], row + 1)


def _missing(names: list[str], known: Mapping[str, Any], row: int) -> InputError:
    missing = shortened([repr(name) for name in names if name not in known], 5)
    there = shortened([repr(beginning(name)) for name in known], 12)
    return InputError("serve-columns-missing", row=row, columns=missing, known=there)


def _everything(records: list[Any]) -> pa.Table:
    return table_of(
        {name: [record.get(name) for record in records] for name in dict.fromkeys(n for r in records for n in r)}
    )


def _columns_of_lists(names: list[Any], rows: list[Any]) -> dict[str, list[Any]]:
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InputError("serve-names")
    for row, values in enumerate(rows, 1):
        if not isinstance(values, list) or len(values) != len(names):
            raise InputError("serve-list", row=row, n=len(names))
    return {name: [values[k] for values in rows] for k, name in enumerate(names)}


def rows_of_columns(values: Mapping[str, Any], columns: Columns, shown: Callable[[], pa.Table] | None = None) -> Rows:
    """Return the rows of columns: lists or arrays of one length. `shown` returns all of them, with other columns."""
    names, shown = columns.names, shown or partial(table_of, values)
    if not values.keys() >= set(names):
        raise _missing(names, values, 1)
    needed = [values[name] for name in names]
    lengths = {len(cells) if isinstance(cells, (list, np.ndarray)) else -1 for cells in needed}
    if len(lengths) != 1 or -1 in lengths:
        raise InputError("serve-column-lengths")
    columns.require_number(lengths.pop())
    if not columns.are_plain:
        return Rows.of(columns.read(table_of(dict(zip(names, needed, strict=True)))), shown)
    try:
        # Of texts NumPy would take "1_000", too.
        has_texts = any(isinstance(cells, list) and str in map(type, cells) for cells in needed)
        points = np.empty(0) if has_texts else np.array(needed, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        points = np.empty(0)
    if points.ndim != 2:
        slowly = [[_number(cell) for cell in cells] for cells in needed]
        _require_none(np.array([[one is None for one in cells] for cells in slowly]).T, needed, columns)
        points = np.array(slowly, dtype=np.float64)
    return Rows(_checked(points.T, needed, columns), shown)


def rows_of_csv(data: bytes, columns: Columns) -> Rows:
    """Return the rows of a CSV text with the names of the columns in its first line."""
    points = _numbers_of_csv(data, columns.names) if columns.are_plain else None
    if points is not None:
        columns.require_number(len(points))
        return Rows(_checked(points, points.T, columns), lambda: columns.read(data).shown)
    batch = columns.read(data)
    if not columns.are_plain:
        return Rows.of(batch, lambda: batch.shown)
    return rows_of_columns({name: batch.rows[name].to_numpy() for name in columns.names}, columns, lambda: batch.shown)


def _numbers_of_csv(data: bytes, names: list[str]) -> FloatArray | None:
    """Return numbers, shape (n, d), as they are usually written; None for a text that needs a closer look."""
    convert = arrow_csv.ConvertOptions(
        include_columns=names,
        column_types=dict.fromkeys(names, pa.float64()),
        null_values=_MISSING,
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
    )
    first = re.split(rb"[\r\n]", data.lstrip(), maxsplit=1)[0]
    header = [cell.strip(b' "\xef\xbb\xbf') for cell in first.split(b",")]
    if len(set(header)) < len(header):
        return None
    # In one block: the text of a request is short, and other requests have the other cores.
    read = arrow_csv.ReadOptions(use_threads=False, block_size=len(data) + 1)
    try:
        table = arrow_csv.read_csv(pa.py_buffer(data), read, None, convert)
    except (pa.ArrowException, KeyError, ValueError):
        return None
    return np.column_stack([column.to_numpy() for column in table.columns])


def _number(cell: Any) -> float | None:
    """Return a cell as a number, NaN if it is missing; None for what is none."""
    if cell is None or (isinstance(cell, str) and cell.strip().lower() in MISSING_TEXTS):
        return float("nan")
    if isinstance(cell, str) and (not cell.isascii() or "_" in cell):
        return None
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return None


def _checked(points: FloatArray, cells: Any, columns: Columns) -> FloatArray:
    """Return points, shape (n, d); raise a `CellError` for the first value that the model does not take."""
    bad = ~(np.abs(points) <= LARGEST_COORDINATE)
    if bad.any():
        _require_none(bad & ~np.isnan(points) if columns.takes_gaps else bad, cells, columns)
    return np.ascontiguousarray(points)


def _require_none(bad: BoolArray, cells: Any, columns: Columns) -> None:
    """Raise a `CellError` for the first bad value, by rows; `cells` are columns."""
    for row, k in np.argwhere(bad)[:1].tolist():
        value = plain(cells[k][row])
        if isinstance(value, int) and value.bit_length() > 256:
            value = "a number of very many digits"  # which Python does not print
        shown = value if isinstance(value, (int, float, type(None))) else beginning(str(value))
        raise CellError("cell-value", column=columns.names[k], value=shown, row=row + 1, rule=NUMBER_RULE)


def beginning(text: str) -> str:
    """Return the beginning of a text from outside, for a message."""
    return text if len(text) <= 80 else f"{text[:77]}..."


def table_of(values: Mapping[str, Any]) -> pa.Table:
    """Return columns of values as a table; those of several kinds as texts."""
    try:
        return pa.table({name: _column(name, cells) for name, cells in values.items()})
    except UnicodeEncodeError:
        raise InputError("serve-text") from None


def _column(name: str, cells: Any) -> pa.Array:
    for row, cell in enumerate(cells if isinstance(cells, list) else (), 1):
        if isinstance(cell, (list, dict)):
            raise CellError("cell-value", column=name, value=type(cell).__name__, row=row, rule="a single value")
    try:
        return pa.array(cells, from_pandas=True)
    except UnicodeEncodeError:
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([cell if cell is None or isinstance(cell, str) else repr(cell) for cell in cells], pa.string())
