"""Labelled data as a whole, and the columns that someone named."""

from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sepc.cli.console import note, progress
from sepc.cli.reading import Source, open_table
from sepc.cli.values import Meaning, is_text, labels_of, require_no_strays
from sepc.errors import InputError
from sepc.frames import plain

_NAMED = 12


@dataclass(frozen=True)
class Sample:
    """Labelled rows.

    Attributes
    ----------
    name : str
        Where they come from.
    table : pyarrow.Table of n rows
        The columns to learn from.
    labels : ndarray of int or object, shape (n,)
        None where one is missing.
    numbers : ndarray of int, shape (n,), or None
        Of the rows in the file, from 1; None for all of them.

    Examples
    --------
    >>> sample = Sample("a.csv", pa.table({"x": [1.0, 2.0, 3.0]}), np.array(["a", None, "b"], dtype=object))
    >>> sample.labelled().tolist()
    [True, False, True]
    >>> sample.rows(np.array([2])).table.to_pydict()
    {'x': [3.0]}
    >>> sample.rows(np.array([2])).frame()
         x
    3  3.0
    """

    name: str
    table: pa.Table
    labels: NDArray[Any]
    numbers: NDArray[np.int64] | None = None

    def labelled(self) -> NDArray[np.bool_]:
        """Return which rows have a label, shape (n,)."""
        return np.array([label is not None for label in self.labels.tolist()])

    def rows(self, which: NDArray[Any]) -> "Sample":
        """Return some of the rows, by number or by flag."""
        numbers = np.flatnonzero(which) if which.dtype == bool else which
        labels = _as_array(self.labels[numbers].tolist())
        return Sample(self.name, self.table.take(pa.array(numbers)), labels, self._in_file[numbers])

    @property
    def _in_file(self) -> NDArray[np.int64]:
        return np.arange(1, len(self.labels) + 1) if self.numbers is None else self.numbers

    def frame(self) -> Any:
        """Return the table as a pandas frame; its index holds the numbers of the rows in the file, from 1."""
        return self.table.to_pandas().set_axis(self._in_file, axis=0)

    def in_terms_of(self, classes: Iterable[Any]) -> "Sample":
        """Return the sample with the labels that a model knows: "1" is 1 to a model of numbers, and "1" to others.

        Examples
        --------
        >>> sample = Sample("a.csv", pa.table({"x": [1.0, 2.0]}), np.array([1, 2]))
        >>> sample.in_terms_of(["1", "2"]).labels.tolist()
        ['1', '2']
        """
        known = {str(plain(label)): plain(label) for label in classes}
        labels = [label if label is None else known.get(str(label), label) for label in self.labels.tolist()]
        return replace(self, labels=_as_array(labels))


def _as_array(labels: list[Any]) -> NDArray[Any]:
    """Return labels as an array: of numbers, if all of them are."""
    whole = all(isinstance(label, int) for label in labels)
    return np.array(labels, dtype=np.int64 if whole and labels else object)


def read_sample(options: Namespace, path: str | None = None, category: Sequence[str] = ()) -> Sample:
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
    Sample

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,kind\n61,a\n40,b\n")
    ...     file.flush()
    ...     options = Namespace(data=file.name, target="kind", format=None, encoding="utf-8", missing=[])
    ...     sample = read_sample(options)
    >>> sample.table.to_pydict(), sample.labels.tolist()
    ({'age': [61.0, 40.0]}, ['a', 'b'])
    """
    with open_table(path or options.data, options.format, options.encoding) as source:
        meaning = Meaning(options.missing, source.delimiter)
        drop, category = getattr(options, "drop", []), [*getattr(options, "category", []), *category]
        require_columns([options.target, *drop, *category], source.schema.names, source.name)
        table = _all_rows(source)
    labels = labels_of(table.column(options.target), meaning, options.target)
    left = _wanted(source, [options.target, *drop])
    columns = {name: _cells(table.column(name), name, meaning, name in category) for name in left}
    return Sample(source.name, pa.table(columns), labels)


def _all_rows(source: Source) -> pa.Table:
    batches, n_rows = [], 0
    with progress(f"reading {source.name}", source.position, source.size) as tell:
        for batch in source.batches:
            batches.append(batch)
            n_rows += batch.num_rows
            tell(n_rows)
    return pa.Table.from_batches(batches)


def _wanted(source: Source, without: Sequence[str]) -> list[str]:
    names = source.schema.names
    if "" in names:
        note(f"{source.name} has a column without a name, number {names.index('') + 1}; it is left out.")
    wanted = [name for name in names if name and name not in without]
    if not wanted:
        raise InputError(f"{source.name} has no column left to learn from; expected at least one besides the labels.")
    return wanted


def _cells(column: pa.ChunkedArray, name: str, meaning: Meaning, is_category: bool) -> pa.ChunkedArray:
    if is_category:
        return meaning.texts(column).dictionary_encode()
    cells = meaning.cells(column)
    if is_text(cells):
        require_no_strays(cells, name)
    return cells


def require_labels(sample: Sample, target: str) -> None:
    """Raise an `InputError` if a row has no label.

    Examples
    --------
    >>> require_labels(Sample("a.csv", pa.table({"x": [1.0]}), np.array(["a"], dtype=object)), "y")
    """
    gaps = np.flatnonzero(~sample.labelled())
    if len(gaps):
        raise InputError(
            f"{sample.name}: column {target!r} has no label in {len(gaps)} of {len(sample.labels)} rows, first in row "
            f"{gaps[0] + 1}; expected one in each. Remove these rows first; sepc predict can label them."
        )


def require_columns(wanted: Iterable[str], columns: Sequence[str], name: str) -> None:
    """Raise an `InputError` that names the columns that are not there, with those that may be meant.

    Examples
    --------
    >>> require_columns(["labl"], ["age", "label"], "a.csv")
    Traceback (most recent call last):
    sepc.errors.InputError: a.csv has no column 'labl'. Did you mean 'label'?
    """
    lost = [column for column in wanted if column not in columns]
    if not lost:
        return
    meant = [near for column in lost for near in get_close_matches(column, columns, 1)]
    more = ", ..." if len(columns) > _NAMED else ""
    raise InputError(
        f"{name} has no column {', '.join(map(repr, lost))}. "
        + (f"Did you mean {', '.join(map(repr, meant))}?" if meant else f"It has {_listed(columns)}{more}.")
    )


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(map(repr, columns[:_NAMED]))
