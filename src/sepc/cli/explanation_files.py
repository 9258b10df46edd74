"""Explanations of many rows in a file: a table, JSON, JSON lines or plain text, by its suffix."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from sepc.cli.console import for_json, on_one_line
from sepc.cli.writing import format_of, written_table
from sepc.common.atomic_files import written_whole
from sepc.common.text import percent

_N_SHARES = 3
_TEXT, _NUMBER = pa.string(), pa.float64()
# Columns of a table of explanations, after the number of the row and the label.
COLUMNS = {
    "trust": _NUMBER,
    "reason": _TEXT,
    "region": _TEXT,
    "typicality": _NUMBER,
    "shares": _TEXT,
    "change_label": _TEXT,
    "change_trust": _NUMBER,
    "change_length": _NUMBER,
    "change": _TEXT,
    "change_beyond": _TEXT,
    "text": _TEXT,
}

Write = Callable[[int, Any], None]


def form_of(path: str) -> str:
    """Return what kind of file explanations are written to: "json", "jsonl", "txt" or "table"."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix in ("json", "jsonl", "txt"):
        return suffix
    format_of(path)
    return "table"


@contextmanager
def written_explanations(path: str, label_type: pa.DataType, delimiter: str, decimal: str = ".") -> Iterator[Write]:
    """Open a file for explanations; it is written whole or not at all.

    Parameters
    ----------
    path : str
        Its suffix says what is written; ``-`` is a table on the standard output.
    label_type : pyarrow.DataType
    delimiter : str
        Between the columns of a CSV file.
    decimal : str
        Decimal sign there.

    Yields
    ------
    callable
        Takes the number of a row, from 1, and its explanation.
    """
    form = form_of(path)
    if form == "table":
        schema = pa.schema([("row", pa.int64()), ("label", label_type), *COLUMNS.items()])
        with written_table(path, schema, delimiter, decimal) as write_batch:
            yield lambda row, why: write_batch(pa.RecordBatch.from_pylist([as_row(row, why)], schema=schema))
        return
    with written_whole(path) as file:
        n_written = 0

        def write(row: int, why: Any) -> None:
            nonlocal n_written
            file.write(_as_text(form, row, why, is_first=n_written == 0).encode())
            n_written += 1

        yield write
        if form == "json":
            file.write(b"\n]\n" if n_written else b"[]\n")


def _as_text(form: str, row: int, why: Any, is_first: bool) -> str:
    if form == "txt":
        return f"{'' if is_first else chr(10)}Row {row}. {on_one_line(why.text)}\n"
    line = json.dumps(for_json({"row": row, **why.to_dict()}), ensure_ascii=False, allow_nan=False)
    if form == "jsonl":
        return f"{line}\n"
    return f"{'[' if is_first else ','}\n{line}"


def as_row(row: int, why: Any) -> dict[str, Any]:
    """Return what a table of explanations says of one row."""
    change = why.counterfactual
    return {
        "row": row,
        "label": why.label,
        "trust": why.trust,
        "reason": why.reason,
        "region": why.region,
        "typicality": why.typicality,
        "shares": _shares(why),
        "change_label": None if change is None else str(change.label),
        "change_trust": None if change is None else change.trust,
        "change_length": None if change is None else change.distance,
        "change": None if change is None else "; ".join(one.in_words() for one in change.changes),
        "change_beyond": None if change is None else "; ".join(change.beyond),
        "text": why.text,
    }


def _shares(why: Any) -> str:
    """Return what speaks most for the label: regions with their shares of the trust, or members with their odds."""
    if hasattr(why, "voices"):
        most = [voice for voice in why.voices if voice.evidence > 0.0][:_N_SHARES]
        return "; ".join(f"{voice.region} by log odds of {voice.evidence:.3g}" for voice in most)
    most = [share for share in why.shares if share.label == why.label][:_N_SHARES]
    return "; ".join(f"{share.region} {percent(share.share)}" for share in most)
