"""Tables from files of any size, by batches of rows: CSV, TSV, JSON lines, Parquet, Arrow, Excel, a pipe."""

import codecs
import csv
import io
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Any

import pyarrow as pa
from pyarrow import compute, ipc, parquet
from pyarrow import csv as arrow_csv

from sepc.cli.cell_values import is_text
from sepc.cli.console import note
from sepc.cli.json_lines import is_json_lines, read_json_lines
from sepc.cli.packed import BROKEN, seekable, unpacked
from sepc.cli.spreadsheets import read_sheet
from sepc.common.errors import InputError

PIPE = "-"
BLOCK = 4 << 20  # bytes of a text file read at once, and in its longest row
_ROWS = 1 << 16
_ARROW_STREAM = b"\xff\xff\xff\xff"
_NO_TABLES = {
    b"%pdf-": "a PDF",
    b"<html": "a web page",
    b"<!doctype html": "a web page",
    b"<?xml": "XML",
    b"\x89png": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"sqlite format 3": "a database",
    b"\x89hdf": "an HDF5 file",
    b"\x80\x04\x95": "a pickle",
}
_FOOTER = re.compile(
    r"\W*((sub|grand|overall)[ -]?)?(totals?|sum|average|mean|summe|gesamt\w*|insgesamt|mittelwert|somme|moyenne|suma)"
    r"\b.{0,20}|\(?\d+ (rows?|records?)\b.{0,20}",
    re.IGNORECASE,
)
_FORMAT_BY_START = {b"PK\x03\x04": "xlsx", b"PAR1": "parquet", b"ARROW1": "arrow", _ARROW_STREAM: "arrow"}


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
    sheet: str | None = None,
    skip_rows: int = 0,
    skip_footer: int = 0,
) -> Iterator[Source]:
    """Open a file, or the standard input if `path` is ``-``.

    Parameters
    ----------
    path : str
    file_format : {"csv", "tsv", "jsonl", "parquet", "arrow", "xlsx"}, optional
        By default detected from the first bytes.
    encoding : str, default="utf-8"
        Of a text file.
    separator : str, optional
        Between the columns of a text file; by default detected from the first rows.
    usual_separator : str, optional
        The one to take if several are possible.
    sheet : str, optional
        Name of a sheet of a workbook, or its number, from 1; by default the first that holds something.
    skip_rows : int, default=0
        Lines of a text file, or rows of a sheet, above the names of the columns.
    skip_footer : int, default=0
        Lines of a text file, or rows of a sheet, at the end; empty ones do not count.
    """
    name = "standard input" if path == PIPE else path
    with _opened(path) as file, ExitStack() as at_exit:
        size = None if path == PIPE else os.fstat(file.fileno()).st_size
        errors = _ReadErrors(name)
        with errors.as_input_errors():
            raw, inner_name = unpacked(file, path)
            file_format = file_format or _detected_format(raw, inner_name)
            skipped = skip_rows, skip_footer
            _require_form(file_format, sheet, skipped, name)
            delimiter: str | None = None
            separator = separator or {"csv": ",", "tsv": "\t"}.get(file_format)
            if file_format in ("csv", "tsv", "text"):
                text = Utf8Stream(raw, name, encoding, *skipped)
                separator = text.stated_separator() or separator
                names, delimiter = names_and_delimiter(text.head(), name, separator, usual_separator)
                reader = _text_reader(text, names, delimiter, errors)
                if raw is not sys.stdin.buffer:  # a pipe may keep a thread waiting for ever
                    at_exit.callback(_end, reader, text)
                schema, batches = reader.schema, _with_ended_quotes(reader, text)
            elif file_format == "jsonl":
                schema, batches = read_json_lines(Utf8Stream(raw, name, encoding, *skipped), name, _ROWS)
            else:
                schema, batches = _typed_reader(raw, name, file_format, sheet, skipped)
            _require_different(schema.names, name)
        batches = _with_rows(batches, errors)
        head = next(batches, None)
        position = (lambda: 0) if size is None else file.tell
        yield Source(name, schema, chain([] if head is None else [head], batches), head, delimiter, position, size)


@contextmanager
def text_source(data: bytes, name: str, usual_separator: str | None = None) -> Iterator[Source]:
    """Open a text in memory, in UTF-8, as `open_table` does a file."""
    errors, text = _ReadErrors(name), Utf8Stream(io.BytesIO(data), name)
    with ExitStack() as at_exit:
        with errors.as_input_errors():
            stated = text.stated_separator()
            names, delimiter = names_and_delimiter(text.head(), name, stated, usual_separator)
            reader = _text_reader(text, names, delimiter, errors)
            at_exit.callback(_end, reader, text)
            _require_different(reader.schema.names, name)
        batches = _with_rows(_with_ended_quotes(reader, text), errors)
        head = next(batches, None)
        every = chain([] if head is None else [head], batches)
        yield Source(name, reader.schema, every, head, delimiter, lambda: 0, len(data))


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    if path == PIPE:
        yield sys.stdin.buffer
        return
    with open(path, "rb") as file:
        yield file


def _detected_format(raw: Any, path: str) -> str:
    head = raw.peek(BLOCK)
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        raise InputError("old-spreadsheet", path=path)
    if kind := next((kind for start, kind in _NO_TABLES.items() if head[: len(start)].lower() == start), None):
        raise InputError("file-no-table", path=path, kind=kind)
    suffix = Path(path).suffix.lower()
    if suffix in (".jsonl", ".ndjson") or is_json_lines(head):
        return "jsonl"
    if head.lstrip().startswith(b"[") and (suffix == ".json" or head.lstrip()[1:].lstrip().startswith(b"{")):
        raise InputError("json-array", path=path)
    text = "tsv" if suffix in (".tsv", ".tab") else "text"
    return next((form for start, form in _FORMAT_BY_START.items() if head.startswith(start)), text)


def _require_form(file_format: str, sheet: str | None, skipped: tuple[int, int], name: str) -> None:
    """Raise an `InputError` for options that belong to files of another format."""
    if sheet is not None and file_format != "xlsx":
        raise InputError("option-of-other-files", option="--sheet", name=name, files="Excel workbooks")
    if any(skipped) and file_format in ("parquet", "arrow"):
        option = "--skip-rows" if skipped[0] else "--skip-footer"
        raise InputError("option-of-other-files", option=option, name=name, files="texts and workbooks")


def _typed_reader(
    raw: Any, name: str, file_format: str, sheet: str | None, skipped: tuple[int, int]
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    if file_format == "parquet":
        file = parquet.ParquetFile(seekable(raw))
        return file.schema_arrow, file.iter_batches(_ROWS)
    if file_format == "xlsx":
        table = read_sheet(seekable(raw), name, sheet, *skipped)
        return table.schema, iter(table.to_batches(_ROWS))
    if raw.peek(4)[:4] == _ARROW_STREAM:
        reader = ipc.open_stream(raw)
        return reader.schema, _in_pieces(iter(reader))
    reader = ipc.open_file(seekable(raw))
    return reader.schema, _in_pieces(reader.get_batch(k) for k in range(reader.num_record_batches))


def _require_different(names: list[str], name: str) -> None:
    duplicates = sorted(name for name, n in Counter(names).items() if n > 1)
    if duplicates:
        raise InputError("file-columns-duplicated", name=name, columns=", ".join(map(repr, duplicates)))


def _in_pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            yield batch.slice(start, _ROWS)


def _text_reader(text: "Utf8Stream", names: list[str], delimiter: str, errors: "_ReadErrors") -> Any:
    """Return a reader of unchanged texts: no type is inferred."""
    as_texts = dict.fromkeys(names, pa.string())
    try:
        reader = arrow_csv.open_csv(
            text,
            read_options=arrow_csv.ReadOptions(block_size=BLOCK, use_threads=False),  # else rows have no numbers
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=errors.with_row
            ),
            convert_options=arrow_csv.ConvertOptions(column_types=as_texts, strings_can_be_null=False),
        )
    except pa.ArrowInvalid as error:
        if "Empty CSV file" not in str(error):  # names alone, on a line that does not end
            raise
        return pa.RecordBatchReader.from_batches(pa.schema(as_texts.items()), [])
    if reader.schema.names != names:
        raise InputError("first-line-unclear", name=text.name, one=names, other=reader.schema.names)
    return reader


def _end(reader: Any, text: "Utf8Stream") -> None:
    """End a reader, whose thread must not read ahead when the interpreter exits."""
    text.end()
    with suppress(pa.ArrowException, InputError, *BROKEN, OSError):  # what is cut off may be no table
        for _ in reader:
            pass


def _with_ended_quotes(batches: Iterator[pa.RecordBatch], text: "Utf8Stream") -> Iterator[pa.RecordBatch]:
    yield from batches
    if text.n_quotes % 2:
        note("odd-quotes", name=text.name)


def _with_rows(batches: Iterator[pa.RecordBatch], errors: "_ReadErrors") -> Iterator[pa.RecordBatch]:
    with errors.as_input_errors():
        n_rows, last = 0, None
        for batch in batches:
            if batch.num_rows:
                yield from [] if last is None else [last]
                n_rows, last = n_rows + batch.num_rows, batch
        if last is not None:
            _note_footer(last, n_rows, errors.name)
            yield last


def _note_footer(last: pa.RecordBatch, n_rows: int, name: str) -> None:
    """Print a note if the last row of several has a word of footers, such as Total, where no other row has it."""
    for column, cells in zip(last.schema.names, last.columns, strict=True):
        word = cells[-1].as_py() if is_text(cells) else None
        if n_rows > 4 and word and _FOOTER.fullmatch(word) and compute.sum(compute.equal(cells, word)).as_py() == 1:
            note("footer", name=name, row=n_rows, column=column, word=word)
            return


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
        except (pa.ArrowException, *BROKEN, OSError) as error:
            if getattr(error, "errno", None):  # the system's message is clear
                raise
            raise self._input_error(str(error)) from error

    def _input_error(self, text: str) -> InputError:
        if self.row is not None:
            return InputError(
                "row-fields",
                name=self.name,
                row=self.row.number - 1,
                n_fields=self.row.actual_columns,
                expected=self.row.expected_columns,
                text=self.row.text[:80],
            )
        if "straddling" in text:
            return InputError("row-too-long", name=self.name, megabytes=BLOCK >> 20)
        return InputError("file-unreadable", name=self.name, reason=text.splitlines()[0].rstrip("."))


class Utf8Stream(io.RawIOBase):
    """Bytes of a text file as UTF-8, with an error for the first byte that is not in the encoding.

    The first `n_skipped` lines are left out, and the last `n_footers` that are not empty.
    """

    def __init__(self, raw: Any, name: str, encoding: str = "utf-8", n_skipped: int = 0, n_footers: int = 0) -> None:
        self.raw, self.name, self.encoding = raw, name, encoding
        self.decoder = codecs.getincrementaldecoder(encoding)()
        self.is_utf8 = codecs.lookup(encoding).name == "utf-8"
        self.n_bytes, self.n_lines, self.n_quotes = 0, 0, 0
        self.buffer, self.ended, self.n_skipped = b"", False, n_skipped
        self.held, self.n_footers = b"", n_footers  # what may be footers
        if n_skipped:
            self._skip()

    def readable(self) -> bool:
        """Return True."""
        return True

    def head(self) -> bytes:
        """Return the beginning of the text, which `read` returns again."""
        while len(self.buffer) < BLOCK:
            block = self._next(BLOCK)
            if not block:
                break
            self.buffer += block
        return self.buffer

    def _skip(self) -> None:
        """Drop the first lines, which must lie in the beginning."""
        lines = self.head().split(b"\n", self.n_skipped)
        if len(lines) <= self.n_skipped:
            raise InputError("skip-rows-too-many", name=self.name, skip_rows=self.n_skipped, n_rows=len(lines))
        self.buffer = lines[-1]
        self.n_quotes -= b"\n".join(lines[:-1]).count(b'"')

    def stated_separator(self) -> str | None:
        """Return the separator that the first line states, as in ``sep=;``, and drop the line; None without."""
        line, _, rest = self.head().partition(b"\n")
        stated = line.removeprefix(b"\xef\xbb\xbf").strip(b'\r" ')
        if not (stated[:4].lower() == b"sep=" and len(stated) == 5):
            return None
        self.buffer = rest
        return stated[4:].decode()

    def end(self) -> None:
        """End the text here."""
        self.ended = True

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes; none at the end."""
        if self.ended:
            return b""
        size = BLOCK if size < 0 else size
        block = self.buffer or self._next(size)
        self.buffer = block[size:]
        return block[:size]

    def _next(self, size: int) -> bytes:
        """Return about `size` bytes, checked."""
        while True:
            block = self.raw.read(size)
            text = self._decoded(block, final=not block)
            out = self.held + (block if self.is_utf8 else text.encode())
            start = len(out)
            for _ in range(self.n_footers):
                start = out.rfind(b"\n", 0, len(out[:start].rstrip())) + 1
            self.held, out = out[start:] if block else b"", out[:start]
            if out or not block:
                return bytes(out)

    def _decoded(self, block: bytes, final: bool) -> str:
        undecoded = self.decoder.getstate()[0]
        try:
            text = self.decoder.decode(block, final)
        except UnicodeDecodeError as error:
            raise self._refusal(error, len(undecoded)) from error
        self.n_bytes += len(block)
        self.n_lines += text.count("\n")
        self.n_quotes += text.count('"')
        return text

    def _refusal(self, error: UnicodeDecodeError, n_undecoded: int) -> InputError:
        broken, start = error.object, error.start
        position = self.n_bytes - n_undecoded + start
        marked = position == 0 and broken[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        return InputError(
            "file-encoding",
            name=self.name,
            encoding=self.encoding,
            byte=broken[start],
            position=position,
            line=self.n_lines + broken[:start].count(10) + 1,
            suggestion="utf-16" if marked else "latin-1",
        )


def names_and_delimiter(
    head: bytes, name: str, delimiter: str | None = None, usual: str | None = None
) -> tuple[list[str], str]:
    """Return the names of the columns and the delimiter.

    Parameters
    ----------
    head : bytes
        Beginning of the file, in UTF-8.
    name : str
        Of the file, for messages.
    delimiter : str, optional
        By default the one of comma, tab, semicolon and bar that splits all of the first rows alike, into most columns
        if several do; if none does, the one that splits the first line into most.
    usual : str, optional
        Another possible delimiter, preferred if several are.
    """
    text = head.decode("utf-8", errors="ignore").removeprefix("\ufeff")
    if not text.strip():
        raise InputError("file-empty", name=name)
    candidates = (delimiter,) if delimiter else tuple(dict.fromkeys((",", "\t", ";", "|", *filter(None, [usual]))))
    first = {d: _first_rows(text, d, name, len(head) >= BLOCK) for d in candidates}
    best = _chosen(first, name, usual)
    names = first[best][0]
    if any("\x00" in column for column in names):
        raise InputError("first-line-nul", name=name)
    return names, best


def _chosen(first: dict[str, list[list[str]]], name: str, usual: str | None) -> str:
    splits = {d: len(rows[0]) for d, rows in first.items() if len(rows[0]) > 1}
    even = [d for d in splits if len(first[d]) > 1 and all(len(row) == splits[d] for row in first[d])]
    if usual in even:
        return str(usual)
    even = [d for d in even if splits[d] == max(splits[one] for one in even)]
    if len(even) > 1:
        raise InputError(
            "separator-unclear",
            name=name,
            separators=" and by ".join(map(repr, even)),
            options=" or ".join(f"--sep {quote(d)}" for d in even),
        )
    return even[0] if even else max(splits or first, key=lambda d: len(first[d][0]))


def _first_rows(text: str, delimiter: str, name: str, is_cut: bool) -> list[list[str]]:
    rows = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            rows += [row] if row else []
            if len(rows) > 50:
                return rows
    except csv.Error as error:
        if not rows:
            raise InputError("first-line-unreadable", name=name, reason=str(error)) from error
    return rows[:-1] if is_cut and len(rows) > 1 else rows
