"""Text files as they are opened: bytes that are known to be UTF-8, and the names in the first line."""

import codecs
import csv
import io
from typing import Any

from sepc.common.errors import InputError

# A row that is longer than this is refused; a file is read in pieces of this size.
BLOCK = 4 << 20
DELIMITERS = (",", "\t", ";")
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Utf8Stream(io.RawIOBase):
    r"""Bytes of a text file as UTF-8; the first that does not fit the encoding is named.

    Parameters
    ----------
    raw : binary file
    name : str
        What messages call it.
    encoding : str, default="utf-8"

    Examples
    --------
    >>> Utf8Stream(io.BytesIO(b"na\xefve"), "a.csv", "latin-1").read(100).decode()
    'naïve'
    """

    def __init__(self, raw: Any, name: str, encoding: str = "utf-8") -> None:
        self.raw, self.name, self.encoding = raw, name, encoding
        self.decoder = codecs.getincrementaldecoder(encoding)()
        self.as_it_is = codecs.lookup(encoding).name == "utf-8"
        self.n_bytes, self.n_lines, self.n_quotes = 0, 0, 0
        self.buffer, self.ended = b"", False

    def readable(self) -> bool:
        """Return True."""
        return True

    def head(self) -> bytes:
        """Return the beginning of the text, which stays to be read."""
        while len(self.buffer) < BLOCK:
            block = self._next(BLOCK)
            if not block:
                break
            self.buffer += block
        return self.buffer

    def end(self) -> None:
        """Let the text end here, whatever follows."""
        self.ended = True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""
        if self.ended:
            return b""
        size = BLOCK if size < 0 else size
        block = self.buffer or self._next(size)
        self.buffer = block[size:]
        return block[:size]

    def _next(self, size: int) -> bytes:
        """Return about as many bytes, checked."""
        while True:
            block = self.raw.read(size)
            text = self._decoded(block, final=not block)
            out = block if self.as_it_is else text.encode()
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
        marked = position == 0 and broken[:2] in _UTF16_MARKS
        return InputError(
            f"{self.name} is not {self.encoding}: byte 0x{broken[start]:02x} at position {position}, "
            f"line {self.n_lines + broken[:start].count(10) + 1}. "
            f"Name the encoding that it has, for example --encoding {'utf-16' if marked else 'latin-1'}."
        )


def names_and_delimiter(head: bytes, name: str, delimiter: str | None = None) -> tuple[list[str], str]:
    r"""Return the names of the columns and what stands between them.

    Parameters
    ----------
    head : bytes
        The beginning of the file, in UTF-8.
    name : str
        What messages call the file.
    delimiter : str, optional
        By default the one of comma, tab and semicolon that splits the first line into most columns.

    Examples
    --------
    >>> names_and_delimiter(b'age;"size; cm"\n1;2\n', "a.csv")
    (['age', 'size; cm'], ';')
    """
    text = head.decode("utf-8", errors="ignore").removeprefix("\ufeff")
    if not text.strip():
        raise InputError(f"{name} is empty; expected a line of column names, and rows below. Check the export.")
    splits = {d: _first_row(text, d, name) for d in (DELIMITERS if delimiter is None else (delimiter,))}
    best = max(splits, key=lambda d: len(splits[d]))
    return splits[best], best


def _first_row(text: str, delimiter: str, name: str) -> list[str]:
    try:
        return next(row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row)
    except csv.Error as error:
        raise InputError(f"{name} has no readable first line: {error}. Is it a text file with columns?") from error
