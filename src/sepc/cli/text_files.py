"""Text files as they are opened: bytes checked to be UTF-8, and the names in the first line."""

import codecs
import csv
import io
from shlex import quote
from typing import Any

from sepc.common.errors import InputError

BLOCK = 4 << 20  # bytes read at once, and in the longest row


class Utf8Stream(io.RawIOBase):
    """Bytes of a text file as UTF-8, with an error for the first byte that is not in the encoding."""

    def __init__(self, raw: Any, name: str, encoding: str = "utf-8") -> None:
        self.raw, self.name, self.encoding = raw, name, encoding
        self.decoder = codecs.getincrementaldecoder(encoding)()
        self.is_utf8 = codecs.lookup(encoding).name == "utf-8"
        self.n_bytes, self.n_lines, self.n_quotes = 0, 0, 0
        self.buffer, self.ended = b"", False

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
            out = block if self.is_utf8 else text.encode()
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
            f"{self.name} is not {self.encoding}: byte 0x{broken[start]:02x} at position {position}, "
            f"line {self.n_lines + broken[:start].count(10) + 1}. "
            f"Name the encoding that it has, for example --encoding {'utf-16' if marked else 'latin-1'}."
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
        raise InputError(f"{name} is empty; expected a line of column names, and rows below. Check the export.")
    candidates = (delimiter,) if delimiter else tuple(dict.fromkeys((",", "\t", ";", "|", *filter(None, [usual]))))
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
            if len(rows) > 50:
                return rows
    except csv.Error as error:
        if not rows:
            raise InputError(f"{name} has no readable first line: {error}. Is it a text file with columns?") from error
    return rows[:-1] if is_cut and len(rows) > 1 else rows
