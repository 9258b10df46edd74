"""Tables with labels, read as a whole, and checks of the columns that were named."""

from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sepc.cli.cell_values import CellParser, is_text, parse_labels, require_no_strays
from sepc.cli.console import note, progress
from sepc.cli.reading import Source, open_table
from sepc.common.errors import InputError
from sepc.common.frames import plain
from sepc.common.text import shortened
from sepc.common.typing import BoolArray

_MAX_LISTED = 12


@dataclass(frozen=True)
class LabelledTable:
    """Rows of a table, and their labels.

    Attributes
    ----------
    name : str
        Where they come from.
    table : pyarrow.Table of n rows
        The columns to learn from.
    labels : ndarray of int or object, shape (n,)
        None where one is missing.
    row_numbers : ndarray of int, shape (n,), or None
        Of the rows in the file, from 1; None for all of them.

    Examples
    --------
    >>> data = LabelledTable("a.csv", pa.table({"x": [1.0, 2.0, 3.0]}), np.array(["a", None, "b"], dtype=object))
    >>> data.has_label().tolist()
    [True, False, True]
    >>> data.rows(np.array([2])).table.to_pydict()
    {'x': [3.0]}
    >>> data.rows(np.array([2])).frame()
         x
    3  3.0
    """

    name: str
    table: pa.Table
    labels: NDArray[Any]
    row_numbers: NDArray[np.int64] | None = None

    def has_label(self) -> BoolArray:
        """Return which rows have a label, shape (n,)."""
        return np.array([label is not None for label in self.labels.tolist()])

    def rows(self, which: NDArray[Any]) -> "LabelledTable":
        """Return some of the rows, by number or by flag."""
        numbers = np.flatnonzero(which) if which.dtype == bool else which
        labels = _as_array(self.labels[numbers].tolist())
        return LabelledTable(self.name, self.table.take(pa.array(numbers)), labels, self._in_file[numbers])

    @property
    def _in_file(self) -> NDArray[np.int64]:
        return np.arange(1, len(self.labels) + 1) if self.row_numbers is None else self.row_numbers

    def frame(self) -> Any:
        """Return the table as a pandas frame; its index holds the numbers of the rows in the file, from 1."""
        return self.table.to_pandas().set_axis(self._in_file, axis=0)

    def with_labels_of(self, classes: Iterable[Any]) -> "LabelledTable":
        """Return the rows with the labels that a model knows: "1" is 1 to a model of numbers, and "1" to others.

        Examples
        --------
        >>> data = LabelledTable("a.csv", pa.table({"x": [1.0, 2.0]}), np.array([1, 2]))
        >>> data.with_labels_of(["1", "2"]).labels.tolist()
        ['1', '2']
        """
        known = {str(plain(label)): plain(label) for label in classes}
        labels = [label if label is None else known.get(str(label), label) for label in self.labels.tolist()]
        return replace(self, labels=_as_array(labels))


def _as_array(labels: list[Any]) -> NDArray[Any]:
    """Return labels as an array: of numbers, if all of them are."""
    whole = all(isinstance(label, int) for label in labels)
    return np.array(labels, dtype=np.int64 if whole and labels else object)


def read_labelled_table(options: Namespace, path: str | None = None, category: Sequence[str] = ()) -> LabelledTable:
    r"""Read the file that `options` names, or another one like it, without the columns that are to be left out.

    Parameters
    ----------
    options : Namespace
        With `data`, `target`, `format`, `encoding`, `missing`, and possibly `drop` and `category`.
    path : str, optional
    category : sequence of str, optional
        Columns whose numbers are mere names, besides those that `options` names.

    Returns
    -------
    LabelledTable

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,kind\n61,a\n40,b\n")
    ...     file.flush()
    ...     options = Namespace(data=file.name, target="kind", format=None, encoding="utf-8", missing=[])
    ...     data = read_labelled_table(options)
    >>> data.table.to_pydict(), data.labels.tolist()
    ({'age': [61.0, 40.0]}, ['a', 'b'])
    """
    with open_table(path or options.data, options.format, options.encoding) as source:
        cell_parser = CellParser(options.missing, source.delimiter)
        drop, category = getattr(options, "drop", []), [*getattr(options, "category", []), *category]
        require_columns([options.target, *drop, *category], source.schema.names, source.name)
        table = _all_rows(source)
    labels = parse_labels(table.column(options.target), cell_parser, options.target)
    names = _names_without(source, [options.target, *drop])
    columns = {name: _cells(table.column(name), name, cell_parser, name in category) for name in names}
    return LabelledTable(source.name, pa.table(columns), labels)


def _all_rows(source: Source) -> pa.Table:
    batches, n_rows = [], 0
    with progress(f"reading {source.name}", source.position, source.size) as tell:
        for batch in source.batches:
            batches.append(batch)
            n_rows += batch.num_rows
            tell(n_rows)
    return pa.Table.from_batches(batches)


def _names_without(source: Source, without: Sequence[str]) -> list[str]:
    names = source.schema.names
    if "" in names:
        note(f"{source.name} has a column without a name, number {names.index('') + 1}; it is left out.")
    wanted = [name for name in names if name and name not in without]
    if not wanted:
        raise InputError(f"{source.name} has no column left to learn from; expected at least one besides the labels.")
    return wanted


def _cells(column: pa.ChunkedArray, name: str, cell_parser: CellParser, is_category: bool) -> pa.ChunkedArray:
    if is_category:
        return cell_parser.texts(column).dictionary_encode()
    cells = cell_parser.cells(column)
    if is_text(cells):
        require_no_strays(cells, name)
    return cells


def require_labels(data: LabelledTable, target: str) -> None:
    """Raise an `InputError` if a row has no label."""
    missing = np.flatnonzero(~data.has_label())
    if len(missing):
        raise InputError(
            f"{data.name}: column {target!r} has no label in {len(missing)} of {len(data.labels)} rows, first in row "
            f"{missing[0] + 1}; expected one in each. Remove these rows first; sepc predict can label them."
        )


def require_columns(wanted: Iterable[str], columns: Sequence[str], name: str) -> None:
    """Raise an `InputError` that names the columns that are not there, with those that may be meant.

    Examples
    --------
    >>> require_columns(["labl"], ["age", "label"], "a.csv")
    Traceback (most recent call last):
    sepc.common.errors.InputError: a.csv has no column 'labl'. Did you mean 'label'?
    """
    missing = [column for column in wanted if column not in columns]
    if not missing:
        return
    meant = [near for column in missing for near in get_close_matches(column, columns, 1)]
    known = shortened(map(repr, columns), _MAX_LISTED)
    hint = f"Did you mean {', '.join(map(repr, meant))}?" if meant else f"It has {known}."
    raise InputError(f"{name} has no column {', '.join(map(repr, missing))}. {hint}")
