"""Tables to files, one batch of rows after the other; a file is written whole or not at all."""

import gzip
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
import pyarrow as pa
from pyarrow import compute, csv, ipc, parquet

from sepc.cli.console import UsageError
from sepc.cli.reading import PIPE
from sepc.cli.spreadsheets import written_sheet
from sepc.common.atomic_files import written_whole
from sepc.common.errors import InputError
from sepc.common.messages import message

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


@contextmanager
def written_table(
    path: str, schema: pa.Schema, delimiter: str = ",", decimal: str = "."
) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Yield a function that writes record batches to a file in the format of its suffix; ``-`` is the standard output.

    `delimiter` and `decimal` are those of a CSV file.
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
        raise UsageError("output-suffix", path=path, suffix=suffix, suffixes=", ".join(filter(None, _FORMAT_OF)))
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
    """Writer of rows, which writes the names with the first of them: an error before leaves a pipe empty."""

    def __init__(self, file: Any, schema: pa.Schema, delimiter: str, decimal: str) -> None:
        self.file, self.names, self.delimiter, self.decimal = file, schema.names, delimiter, decimal
        self.header = [self._with_quotes(pd.DataFrame([schema.names]))]

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
        pairs = zip(batch.columns, self.names, strict=True)
        texts = pa.table([_as_text(column, name, self.decimal) for column, name in pairs], self.names)
        lines = pa.BufferOutputStream()
        try:
            csv.write_csv(
                texts, lines, csv.WriteOptions(include_header=False, delimiter=self.delimiter, quoting_style="none")
            )
            rows = lines.getvalue()
        except pa.ArrowInvalid:  # a text needs quotes: pyarrow would quote all of them; pandas takes ten times as long
            rows = self._with_quotes(texts.to_pandas())
        self.end()
        self.file.write(rows)

    def _with_quotes(self, rows: pd.DataFrame) -> bytes:
        text: str = rows.to_csv(sep=self.delimiter, header=False, index=False, lineterminator="\n")
        return text.encode()

    def end(self) -> None:
        """Write the names, if no row has come."""
        self.file.write(self.header.pop() if self.header else b"")


def _as_text(column: pa.Array, name: str, decimal: str) -> pa.Array:
    kind = column.type
    try:
        text = compute.cast(column, pa.string())
    except pa.ArrowException as error:
        raise InputError("column-not-text", name=name, kind=str(kind)) from error
    return compute.replace_substring(text, ".", decimal) if pa.types.is_floating(kind) else text


def require_writable(path: str | None, *inputs: str) -> None:
    """Raise an error if a file cannot be written, or is one of the inputs; None stands for no file."""
    if path is None or path == PIPE or _is_device(Path(path)):
        return
    target = Path(os.path.realpath(path))
    reason = _obstacle(target)
    if reason:
        raise InputError("output-not-writable", path=path, reason=reason)
    for one in inputs:
        if one != PIPE and target.exists() and Path(one).exists() and target.samefile(one):
            raise UsageError("output-is-input", path=path)


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _obstacle(target: Path) -> str:
    if target.is_dir():
        return message("output-is-folder")
    if not target.parent.is_dir():
        return message("output-folder-missing", folder=target.parent)
    return "" if os.access(target.parent, os.W_OK) else message("output-folder-closed", folder=target.parent)
