"""``sepc explain``: the reasons for the labels of rows, and what would have to change for others."""

from argparse import Namespace
from collections.abc import Iterator
from textwrap import fill
from typing import Any

import pyarrow as pa

from sepc.cli.commands.predict import answer_delimiter
from sepc.cli.console import progress, say, show, show_json
from sepc.cli.explanation_files import form_of, written_explanations
from sepc.cli.model_inputs import BatchPredictor, open_for_model, read_model
from sepc.cli.policies import under_policy
from sepc.cli.reading import Source
from sepc.cli.usage import UsageError
from sepc.cli.writing import require_writable
from sepc.common.errors import InputError
from sepc.common.text import many

_WIDTH = 100


def run(options: Namespace) -> None:
    """Print explanations, or write them to a file."""
    if options.output is None and not options.row:
        raise UsageError("neither --row nor -o is given; expected the rows to explain, or -o FILE for all of them.")
    if options.output is not None:
        form_of(options.output)
        require_writable(options.output, options.model, options.data)
    model = under_policy(read_model(options.model), options)
    with open_for_model(options, model) as (source, predictor):
        limits = {"fixed": options.fixed, "ranges": dict(options.range)}
        if options.output is None:
            _print(options, predictor, source, limits)
        else:
            _write(options, predictor, source, limits)


def _print(options: Namespace, predictor: BatchPredictor, source: Source, limits: dict[str, Any]) -> None:
    told = [(row, predictor.explain(batch, row - 1, **limits)) for row, batch in rows_of(source, options.row)]
    if options.json:
        found = [{"row": row, **why.to_dict()} for row, why in told]
        show_json(found if len(options.row) > 1 else found[0])
        return
    for n, (row, why) in enumerate(told):
        # A name or a value is not taken apart.
        text = why.text if len(told) == 1 else f"Row {row}. {why.text}"
        show(("\n" if n else "") + fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False))


def _write(options: Namespace, predictor: BatchPredictor, source: Source, limits: dict[str, Any]) -> None:
    n_rows, decimal = 0, predictor.decimal
    separated = answer_delimiter(source, decimal), decimal
    with (
        progress("explain", source.position, source.size) as tell,
        written_explanations(options.output, predictor.label_type, *separated) as write,
    ):
        for row, batch in rows_of(source, options.row):
            write(row, predictor.explain(batch, row - 1, **limits))
            n_rows += 1
            tell(n_rows)
    say(f"{many(n_rows, 'row')} explained in {options.output}")
    if options.json:
        show_json({"output": options.output, "rows": n_rows})


def rows_of(source: Source, rows: list[int]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield some rows of a table, counted from 1, each with its number, in the order of the table.

    Parameters
    ----------
    source : Source
    rows : list of int
        Which ones; all if there are none.
    """
    wanted, seen = set(rows), 0
    for batch in source.batches:
        for row in range(seen + 1, seen + 1 + batch.num_rows):
            if not rows or row in wanted:
                yield row, batch.slice(row - seen - 1, 1)
        seen += batch.num_rows
        if rows and max(wanted) <= seen:
            return
    if rows and not seen:
        raise InputError(f"{source.name} has column names but no rows; there is no row {max(wanted)} to explain.")
    if rows:
        raise InputError(f"{source.name} has {seen} rows; expected a row from 1 to {seen}, not {max(wanted)}.")
