"""Text files as they are opened: bytes that are known to be UTF-8, and the names in the first line."""

import codecs
import csv
import io
from shlex import quote
from typing import Any

from sepc.common.errors import InputError

# A row that is longer than this is refused; a file is read in pieces of this size.
BLOCK = 4 << 20
DELIMITERS = (",", "\t", ";", "|")
# Number of rows that show the delimiter.
_ROWS_LOOKED_AT = 50
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Utf8Stream(io.RawIOBase):
    r"""Bytes of a text file as UTF-8; the first that does not fit the encoding is named.

    Parameters
    ----------
    raw : binary file
    name : str
        What messages call it.
    encoding : str, default="utf-8"
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


def names_and_delimiter(
    head: bytes, name: str, delimiter: str | None = None, usual: str | None = None
) -> tuple[list[str], str]:
    r"""Return the names of the columns and what stands between them.

    Parameters
    ----------
    head : bytes
        The beginning of the file, in UTF-8.
    name : str
        What messages call the file.
    delimiter : str, optional
        By default the one of comma, tab, semicolon and bar that splits all of the first rows alike, into most columns
        if several do; if none does, the one that splits the first line into most.
    usual : str, optional
        Another one that may be it, and the one to take if several could be it.
    """
    text = head.decode("utf-8", errors="ignore").removeprefix("\ufeff")
    if not text.strip():
        raise InputError(f"{name} is empty; expected a line of column names, and rows below. Check the export.")
    candidates = (delimiter,) if delimiter else tuple(dict.fromkeys((*DELIMITERS, *filter(None, [usual]))))
    first = {d: _first_rows(text, d, name, len(head) >= BLOCK) for d in candidates}
    best = _chosen(first, name, usual)
    names = first[best][0]
    if any("\x00" in column for column in names):
        raise InputError(
            f"{name} has NUL characters in its first line; expected text. Name the encoding that it has, for example "
            "--encoding utf-16-le."
        )
    return names, best


def _chosen(first: dict[str, list[list[str]]], name: str, usual: str | None) -> str:
    splits = {d: len(rows[0]) for d, rows in first.items() if len(rows[0]) > 1}
    even = [d for d in splits if len(first[d]) > 1 and all(len(row) == splits[d] for row in first[d])]
    if usual in even:
        return str(usual)
    even = [d for d in even if splits[d] == max(splits[one] for one in even)]
    if len(even) > 1:
        raise InputError(
            f"{name} can be split into columns by {' and by '.join(map(repr, even))}; expected one that can be it. "
            f"Say which: {' or '.join(f'--sep {quote(d)}' for d in even)}."
        )
    return even[0] if even else max(splits or first, key=lambda d: len(first[d][0]))


def _first_rows(text: str, delimiter: str, name: str, is_cut: bool) -> list[list[str]]:
    rows = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            rows += [row] if row else []
            if len(rows) > _ROWS_LOOKED_AT:
                return rows
    except csv.Error as error:
        if not rows:
            raise InputError(f"{name} has no readable first line: {error}. Is it a text file with columns?") from error
    return rows[:-1] if is_cut and len(rows) > 1 else rows
