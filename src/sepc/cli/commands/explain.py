"""``sepc explain``: the reasons for the labels of rows, and what would have to change for others."""

import json
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import pyarrow as pa

from sepc.cli.commands.predict import answer_delimiter
from sepc.cli.console import UsageError, for_json, on_one_line, progress, say, show, show_json
from sepc.cli.messages import printed
from sepc.cli.model_inputs import BatchPredictor, open_for_model, read_model, with_policy
from sepc.cli.reading import Source
from sepc.cli.writing import format_of, require_writable, written_table
from sepc.common.atomic_files import written_whole
from sepc.common.errors import InputError
from sepc.common.text import percent

# Rows that are explained at once, between two steps of the progress.
_AT_ONCE, _WITH_CHANGES = 64, 4
# Columns of a table of explanations, after the number of the row and the label.
COLUMNS = {
    "trust": pa.float64(),
    "reason": pa.string(),
    "region": pa.string(),
    "typicality": pa.float64(),
    "shares": pa.string(),
    "change_label": pa.string(),
    "change_trust": pa.float64(),
    "change_typicality": pa.float64(),
    "change_length": pa.float64(),
    "change": pa.string(),
    "change_of_few": pa.string(),
    "no_change_because": pa.string(),
    "nearest_other": pa.int64(),
    "doubt": pa.string(),
    "advice": pa.string(),
    "text": pa.string(),
    "details": pa.string(),
}


def run(options: Namespace) -> None:
    """Print explanations, or write them to a file."""
    if options.output is None and not options.row:
        raise UsageError("explain-no-rows-asked")
    if options.output is not None:
        _form_of(options.output)
        require_writable(options.output, options.model, options.data)
    model = with_policy(read_model(options.model, options), options)
    with open_for_model(options, model) as (source, predictor):
        limits = change_limits(options)
        if options.output is None:
            _print(options, predictor, source, limits)
        else:
            _write(options, predictor, source, limits)


def _print(options: Namespace, predictor: BatchPredictor, source: Source, limits: dict[str, Any]) -> None:
    # Without details nothing is said of changes.
    asked = {"changes": True, **limits} if options.details or options.json or limits else {}
    explained = [pair for some in _explained(options, predictor, source, asked) for pair in some]
    if options.json:
        found = [{"row": row, **why.to_dict()} for row, why in explained]
        show_json(found if len(options.row) > 1 else found[0])
        return
    for n, (row, why) in enumerate(explained):
        text = why.text if len(explained) == 1 else printed("explained-row", row=row, text=why.text)
        told = [text, why.details] if options.details else [text]
        filled = [fill(one, 100, break_long_words=False, break_on_hyphens=False) for one in told]
        show(("\n" if n else "") + "\n\n".join(filled))


def _write(options: Namespace, predictor: BatchPredictor, source: Source, limits: dict[str, Any]) -> None:
    n_rows, decimal = 0, predictor.decimal
    separated = answer_delimiter(source, decimal), decimal
    with (
        progress("explain", source.position, source.size) as show_progress,
        _written_explanations(options.output, predictor.label_type, options.details, *separated) as write,
    ):
        asked = {"changes": True, **limits} if options.changes or limits else {}
        for some in _explained(options, predictor, source, asked):
            write(some)
            n_rows += len(some)
            show_progress(n_rows)
    say("rows-explained", n=n_rows, path=options.output)
    if options.json:
        show_json({"output": options.output, "rows": n_rows})


def change_limits(options: Namespace) -> dict[str, Any]:
    """Return the limits of changes that the options give."""
    ranges = None if options.ranges is None else dict(options.ranges)
    given = {"fixed": options.fixed, "ranges": ranges}
    given |= {name: getattr(options, name, None) for name in ("min_typicality", "max_columns")}
    return {name: value for name, value in given.items() if value is not None}


def _explained(
    options: Namespace, predictor: BatchPredictor, source: Source, asked: dict[str, Any]
) -> Iterator[list[tuple[int, Any]]]:
    """Yield the numbers of rows, from 1, and their explanations, some at a time."""
    for first, batch in rows_of(source, options.row, _WITH_CHANGES if asked else _AT_ONCE):
        yield list(enumerate(predictor.explain(batch, first - 1, **asked), first))


def rows_of(source: Source, rows: list[int], at_once: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield some rows of a table, all if none are named, in its order.

    They come in runs of at most `at_once` rows, each with the number of the first one, from 1.
    """
    wanted, seen = np.unique(rows), 0
    for batch in source.batches:
        asked = wanted - 1 - seen if rows else np.arange(batch.num_rows)
        asked = asked[(asked >= 0) & (asked < batch.num_rows)]
        for run in np.split(asked, np.flatnonzero(np.diff(asked) > 1) + 1):
            for some in np.split(run, range(at_once, len(run), at_once)) if len(run) else ():
                yield seen + 1 + int(some[0]), batch.slice(int(some[0]), len(some))
        seen += batch.num_rows
        if rows and max(wanted) <= seen:
            return
    if rows and not seen:
        raise InputError("explain-file-without-rows", name=source.name, row=max(wanted))
    if rows:
        raise InputError("explain-row-beyond", name=source.name, n_rows=seen, row=max(wanted))


def _form_of(path: str) -> str:
    """Return the format that explanations are written in: "json", "jsonl", "txt" or "table"."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix in ("json", "jsonl", "txt"):
        return suffix
    format_of(path)
    return "table"


@contextmanager
def _written_explanations(
    path: str, label_type: pa.DataType, has_details: bool, delimiter: str, decimal: str = "."
) -> Iterator[Callable[[list[tuple[int, Any]]], None]]:
    """Yield a function of rows' numbers, from 1, and explanations, which writes them in the form of the suffix."""
    form = _form_of(path)
    if form == "table":
        schema = pa.schema([("row", pa.int64()), ("label", label_type), *COLUMNS.items()])
        with written_table(path, schema, delimiter, decimal) as write_batch:
            yield lambda some: write_batch(pa.RecordBatch.from_pylist([_as_row(*one) for one in some], schema=schema))
        return
    with written_whole(path) as file:
        n_written = 0

        def write(some: list[tuple[int, Any]]) -> None:
            nonlocal n_written
            for row, why in some:
                file.write(_as_text(form, row, why, n_written == 0, has_details).encode())
                n_written += 1

        yield write
        if form == "json":
            file.write(b"\n]\n" if n_written else b"[]\n")


def _as_text(form: str, row: int, why: Any, is_first: bool, has_details: bool) -> str:
    if form == "txt":
        text = on_one_line(f"{why.text} {why.details}" if has_details else why.text)
        return f"{'' if is_first else chr(10)}{printed('explained-row', row=row, text=text)}\n"
    line = json.dumps(for_json({"row": row, **why.to_dict()}), ensure_ascii=False, allow_nan=False)
    if form == "jsonl":
        return f"{line}\n"
    return f"{'[' if is_first else ','}\n{line}"


def _as_row(row: int, why: Any) -> dict[str, Any]:
    """Return one row of a table of explanations."""
    change, few = why.counterfactual, why.actionable_change
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
        "change_typicality": None if change is None else change.typicality,
        "change_length": None if change is None else change.distance,
        "change": None if change is None else "; ".join(one.in_words() for one in change.changes),
        "change_of_few": None if few is None else "; ".join(one.in_words() for one in few.changes),
        "no_change_because": why.no_change_because,
        "nearest_other": None if why.nearest_other is None else why.nearest_other.row,
        "doubt": why.doubt,
        "advice": why.advice,
        "text": why.text,
        "details": why.details,
    }


def _shares(why: Any) -> str:
    """Return the main evidence: regions with their shares of the trust, or members with their log odds."""
    if hasattr(why, "voices"):
        most = [voice for voice in why.voices if voice.evidence > 0.0][:3]
        return "; ".join(f"{voice.region} by log odds of {voice.evidence:.3g}" for voice in most)
    most = [share for share in why.shares if share.label == why.label][:3]
    return "; ".join(f"{share.region} {percent(share.share)}" for share in most)
