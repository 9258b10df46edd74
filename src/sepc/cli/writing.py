"""Tables to files, one batch of rows after the other; a file is written whole or not at all."""

import gzip
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import compute, ipc, parquet

from sepc.cli.console import UsageError
from sepc.cli.reading import PIPE
from sepc.cli.spreadsheets import written_sheet
from sepc.common.atomic_files import written_whole
from sepc.common.errors import InputError

_FORMAT_OF = {
    "": "csv",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "csv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "stream",
    ".xlsx": "xlsx",
}
_IN_NEED_OF_QUOTES = '["\r\n{delimiter}]'

Write = Callable[[pa.RecordBatch], None]


@contextmanager
def written_table(path: str, schema: pa.Schema, delimiter: str = ",", decimal: str = ".") -> Iterator[Write]:
    """Open a table to write; its suffix says which kind it is.

    Parameters
    ----------
    path : str
        ``-`` is the standard output.
    schema : pyarrow.Schema
    delimiter : str, default=","
        Between the columns of a CSV file.
    decimal : str, default="."
        In the numbers of a text file.

    Yields
    ------
    callable
        Takes a record batch.
    """
    file_format = format_of(path)
    with _target(path) as file:
        if file_format in ("csv", "tsv"):
            with _packed(file, path) as text:
                writer = _TextWriter(text, schema, "\t" if file_format == "tsv" else delimiter, decimal)
                yield writer.write
                writer.end()
        elif file_format == "xlsx":
            with written_sheet(file, schema) as write:
                yield write
        elif file_format == "parquet":
            with parquet.ParquetWriter(file, schema) as table:
                yield table.write_batch
        else:
            make = ipc.new_stream if file_format == "stream" else ipc.new_file
            with make(file, schema) as table:
                yield table.write_batch


def format_of(path: str) -> str:
    """Return the format of a table, by its suffix; CSV if it has none."""
    suffix = Path(path.removesuffix(".gz")).suffix
    if suffix not in _FORMAT_OF:
        raise UsageError(f"{path}: what is {suffix}? Expected one of {', '.join(filter(None, _FORMAT_OF))}.")
    return _FORMAT_OF[suffix]


@contextmanager
def _target(path: str) -> Iterator[BinaryIO]:
    if path == PIPE:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with written_whole(path) as file:
        yield file


@contextmanager
def _packed(file: BinaryIO, path: str) -> Iterator[Any]:
    if not path.endswith(".gz"):
        yield file
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0) as text:
        yield text


class _TextWriter:
    """Writer of rows, with the names above the first of them: what fails before leaves a pipe empty."""

    def __init__(self, file: Any, schema: pa.Schema, delimiter: str, decimal: str) -> None:
        self.file, self.schema, self.delimiter, self.decimal = file, schema, delimiter, decimal
        self.header = [_lines([pa.array([name]) for name in schema.names], delimiter)]

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
        pairs = zip(batch.columns, self.schema.names, strict=True)
        lines = _lines([as_text(column, name, self.decimal) for column, name in pairs], self.delimiter)
        self.end()
        self.file.write(lines)

    def end(self) -> None:
        """Write the names, if no row has come."""
        self.file.write(self.header.pop() if self.header else b"")


def as_text(column: pa.Array, name: str, decimal: str = ".") -> pa.Array:
    """Return a column as texts, an empty one for what is missing."""
    kind = column.type
    if not pa.types.is_string(kind):
        try:
            column = compute.cast(column, pa.string())
        except pa.ArrowException as error:
            raise InputError(
                f"column {name!r} holds {kind}, which has no place in a text file. "
                "Write to a .parquet or .arrow file instead, or leave the column out."
            ) from error
    if decimal != "." and pa.types.is_floating(kind):
        column = compute.replace_substring(column, ".", decimal)
    return compute.fill_null(column, "") if column.null_count else column


def _lines(columns: list[pa.Array], delimiter: str) -> memoryview:
    """Return rows of texts as lines: one joined array holds them one after the other, just as a file does."""
    quoted = [_quoted(column, delimiter) for column in columns]
    quoted[-1] = compute.binary_join_element_wise(quoted[-1], "\n", "")
    joined = compute.binary_join_element_wise(*quoted, delimiter)
    return memoryview(joined.buffers()[2])


def _quoted(column: pa.Array, delimiter: str) -> pa.Array:
    """Return texts, in quotes where they hold what would end them."""
    text = column.buffers()[2]
    if text is None or not _holds(memoryview(text), delimiter):
        return column
    needed = compute.match_substring_regex(column, _IN_NEED_OF_QUOTES.format(delimiter=re.escape(delimiter)))
    doubled = compute.replace_substring(column, '"', '""')
    return compute.if_else(needed, compute.binary_join_element_wise('"', doubled, '"', ""), column)


def _holds(text: memoryview, delimiter: str) -> bool:
    plain = bytes(text)
    return any(mark in plain for mark in (delimiter.encode(), b'"', b"\n", b"\r"))


def require_writable(path: str | None, *inputs: str) -> None:
    """Raise an error if a file cannot be written there, before anything is computed.

    Parameters
    ----------
    path : str or None
        Nothing is written if it is None.
    *inputs : str
        Files that are read: none of them is overwritten.
    """
    if path is None or path == PIPE or _is_device(Path(path)):
        return
    target = Path(os.path.realpath(path))
    reason = _obstacle(target)
    if reason:
        raise InputError(f"{path} cannot be written: {reason}")
    for one in inputs:
        if one != PIPE and target.exists() and Path(one).exists() and target.samefile(one):
            raise UsageError(f"{path} is also what is read; expected another name. Move the result over it later.")


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _obstacle(target: Path) -> str:
    if target.is_dir():
        return "it is a folder. Name a file in it."
    if not target.parent.is_dir():
        return f"there is no folder {target.parent}. Make it first."
    return "" if os.access(target.parent, os.W_OK) else f"you may not write to the folder {target.parent}."
