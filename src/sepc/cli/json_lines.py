"""Tables from JSON lines: one object for each row, its values as texts."""

import json
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from sepc.common.errors import InputError


def read_json_lines(text: Any, name: str, batch_rows: int) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return the columns and the rows of a stream of JSON lines: numbers and texts as they are written.

    The objects of the first batch have all columns; what an object does not have, and null, is an empty text.
    """
    rows = _objects(text, name)
    first = list(islice(rows, batch_rows))
    if not first:
        raise InputError("file-empty", name=name)
    names = list(dict.fromkeys(column for _, row in first for column in row))
    schema = pa.schema([(column, pa.string()) for column in names])

    def batches() -> Iterator[pa.RecordBatch]:
        left = chain(first, rows)
        while some := list(islice(left, batch_rows)):
            for number, row in some:
                if late := next((column for column in row if column not in names), None):
                    raise InputError("json-late-column", name=name, line=number, column=late)
            columns = [[_text(value) for _, row in some for value in (row.get(column),)] for column in names]
            yield pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in columns], schema=schema)

    return schema, batches()


def is_json_lines(head: bytes) -> bool:
    """Return whether the first line of a text is a JSON object."""
    line = head.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)[0]
    if not line.startswith(b"{"):
        return False
    if b"\n" not in head:  # a long line, or only one
        return line.startswith((b'{"', b"{ "))
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _objects(text: Any, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line that is not empty, from 1, and its object."""
    for number, line in enumerate(_lines(text), text.n_skipped + 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=_pairs)
        except ValueError as error:
            reason = str(error).partition(": line 1")[0]
            raise InputError("json-line", name=name, line=number, reason=reason, text=line[:80]) from error
        if not isinstance(row, dict):
            raise InputError("json-line", name=name, line=number, reason="No object", text=line[:80])
        for column, value in row.items():
            if isinstance(value, (dict, list)):
                raise InputError("json-nested", name=name, line=number, column=column, text=json.dumps(value)[:80])
        yield number, row


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("A name twice")
    return dict(pairs)


def _lines(text: Any) -> Iterator[str]:
    rest = b""
    while block := text.read():
        *whole, rest = (rest + block).split(b"\n")
        yield from (line.decode().removeprefix("\ufeff") for line in whole)
    yield rest.decode()


def _text(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
