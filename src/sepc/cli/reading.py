"""Tables from files of any size, one batch of rows after the other: CSV, TSV, Parquet, Arrow, Excel, a pipe."""

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, ipc, parquet

from sepc.cli.console import note
from sepc.cli.spreadsheets import read_sheet
from sepc.cli.text_files import BLOCK, Utf8Stream, names_and_delimiter
from sepc.common.errors import InputError

PIPE = "-"
_ROWS = 1 << 16
_ARROW_STREAM = b"\xff\xff\xff\xff"
_FORMAT_BY_START = {b"PK\x03\x04": "xlsx", b"PAR1": "parquet", b"ARRO": "arrow", _ARROW_STREAM: "arrow"}


@dataclass(frozen=True)
class Source:
    """Table in an open file; columns of a text file are unchanged texts, empty ones where fields are empty."""

    name: str  # for messages
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    head: pa.RecordBatch | None  # the first batch, which comes again in `batches`; None without rows
    delimiter: str | None  # of a text file
    position: Callable[[], int]  # number of bytes read
    size: int | None  # of the file in bytes; None for a pipe


@contextmanager
def open_table(
    path: str,
    file_format: str | None = None,
    encoding: str = "utf-8",
    separator: str | None = None,
    usual_separator: str | None = None,
) -> Iterator[Source]:
    """Open a file, or the standard input if `path` is ``-``.

    Parameters
    ----------
    path : str
    file_format : {"csv", "tsv", "parquet", "arrow", "xlsx"}, optional
        By default detected from the first bytes.
    encoding : str, default="utf-8"
        Of a text file.
    separator : str, optional
        Between the columns of a text file; by default detected from the first rows.
    usual_separator : str, optional
        The one to take if several are possible.
    """
    name = "standard input" if path == PIPE else path
    with _opened(path) as file, ExitStack() as at_exit:
        size = None if path == PIPE else os.fstat(file.fileno()).st_size
        errors = _ReadErrors(name)
        with errors.as_input_errors():
            raw = _unpacked(file)
            file_format = file_format or _detected_format(raw, path)
            delimiter: str | None = None
            separator = separator or {"csv": ",", "tsv": "\t"}.get(file_format)
            if file_format in ("csv", "tsv", "text"):
                text = Utf8Stream(raw, name, encoding)
                names, delimiter = names_and_delimiter(text.head(), name, separator, usual_separator)
                reader = _text_reader(text, names, delimiter, errors)
                if raw is not sys.stdin.buffer:  # a pipe may keep a thread waiting for ever
                    at_exit.callback(_end, reader, text)
                schema, batches = reader.schema, _with_ended_quotes(reader, text)
            else:
                schema, batches = _typed_reader(raw, name, file_format)
            _require_different(schema.names, name)
        batches = _with_rows(batches, errors)
        head = next(batches, None)
        position = (lambda: 0) if size is None else file.tell
        yield Source(name, schema, chain([] if head is None else [head], batches), head, delimiter, position, size)


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    if path == PIPE:
        yield sys.stdin.buffer
        return
    with open(path, "rb") as file:
        yield file


def _unpacked(file: Any) -> Any:
    return gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == b"\x1f\x8b" else file


def _detected_format(raw: Any, path: str) -> str:
    start = raw.peek(6)[:6]
    if start[:4] == b"\xd0\xcf\x11\xe0":
        raise InputError(f"{path} is a spreadsheet of the old kind, .xls; expected .xlsx. Save it as that, or as CSV.")
    if start[:4] in _FORMAT_BY_START and (start[:4] != b"ARRO" or start == b"ARROW1"):
        return _FORMAT_BY_START[start[:4]]
    return "tsv" if Path(path.removesuffix(".gz")).suffix in (".tsv", ".tab") else "text"


def _typed_reader(raw: Any, name: str, file_format: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    if file_format == "parquet":
        file = parquet.ParquetFile(_seekable(raw))
        return file.schema_arrow, file.iter_batches(_ROWS)
    if file_format == "xlsx":
        table = read_sheet(_seekable(raw), name)
        return table.schema, iter(table.to_batches(_ROWS))
    if raw.peek(4)[:4] == _ARROW_STREAM:
        reader = ipc.open_stream(raw)
        return reader.schema, _in_pieces(iter(reader))
    reader = ipc.open_file(_seekable(raw))
    return reader.schema, _in_pieces(reader.get_batch(k) for k in range(reader.num_record_batches))


def _require_different(names: list[str], name: str) -> None:
    duplicates = sorted({column for column in names if names.count(column) > 1})
    if duplicates:
        raise InputError(
            f"{name} has more than one column named {', '.join(map(repr, duplicates))}; expected different names. "
            "Rename them in the file."
        )


def _seekable(raw: Any) -> Any:
    return raw if raw.seekable() else io.BytesIO(raw.read())


def _in_pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            yield batch.slice(start, _ROWS)


def _text_reader(text: Utf8Stream, names: list[str], delimiter: str, errors: "_ReadErrors") -> Any:
    """Return a reader of unchanged texts: no type is inferred."""
    as_texts = dict.fromkeys(names, pa.string())
    try:
        reader = csv.open_csv(
            text,
            read_options=csv.ReadOptions(block_size=BLOCK, use_threads=False),  # else rows have no numbers
            parse_options=csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=errors.with_row
            ),
            convert_options=csv.ConvertOptions(column_types=as_texts, strings_can_be_null=False),
        )
    except pa.ArrowInvalid as error:
        if "Empty CSV file" not in str(error):  # names alone, on a line that does not end
            raise
        return pa.RecordBatchReader.from_batches(pa.schema(as_texts.items()), [])
    if reader.schema.names != names:
        raise InputError(
            f"{text.name} has an unclear first line: {names} or {reader.schema.names}? Correct the quotes in it."
        )
    return reader


def _end(reader: Any, text: Utf8Stream) -> None:
    """End a reader, whose thread must not read ahead when the interpreter exits."""
    text.end()
    with suppress(pa.ArrowException, InputError, EOFError, zlib.error, OSError):  # what is cut off may be no table
        for _ in reader:
            pass


def _with_ended_quotes(batches: Iterator[pa.RecordBatch], text: Utf8Stream) -> Iterator[pa.RecordBatch]:
    yield from batches
    if text.n_quotes % 2:
        note(f"{text.name} has an odd number of quotes: one of them may have swallowed rows.")


def _with_rows(batches: Iterator[pa.RecordBatch], errors: "_ReadErrors") -> Iterator[pa.RecordBatch]:
    with errors.as_input_errors():
        yield from (batch for batch in batches if batch.num_rows)


class _ReadErrors:
    """Errors while a file is read, as messages that name it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.row: Any = None

    def with_row(self, row: Any) -> str:
        """Remember a row of too few or too many fields; an exception raised here, in the reader, would be lost."""
        self.row = row
        return "error"

    @contextmanager
    def as_input_errors(self) -> Iterator[None]:
        try:
            yield
        except InputError:
            raise
        except (pa.ArrowException, EOFError, zlib.error, OSError) as error:
            if getattr(error, "errno", None):  # the system's message is clear
                raise
            raise self._input_error(str(error)) from error

    def _input_error(self, text: str) -> InputError:
        if self.row is not None:
            return InputError(
                f"{self.name}: row {self.row.number - 1} has {self.row.actual_columns} field(s); expected "
                f"{self.row.expected_columns}, as in the first line. It reads {self.row.text[:80]!r}. "
                "Correct it; quotes belong around a field that holds the separator."
            )
        if "straddling" in text:
            return InputError(
                f"{self.name} has a row of more than {BLOCK >> 20} MB; expected shorter ones. "
                "Look for a quote that is never closed."
            )
        return InputError(f"{self.name} cannot be read: {text.splitlines()[0].rstrip('.')}. Is the file complete?")
