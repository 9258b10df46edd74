"""``sepc explain``: the reasons for the label of one row."""

from argparse import Namespace
from textwrap import fill

import pyarrow as pa

from sepc.cli.cell_values import CellParser
from sepc.cli.console import show, show_json
from sepc.cli.model_inputs import BatchPredictor, read_model
from sepc.cli.reading import Source, open_table
from sepc.common.errors import InputError

_WIDTH = 100


def run(options: Namespace) -> None:
    """Print an explanation."""
    model = read_model(options.model)
    with open_table(options.data, options.format, options.encoding) as source:
        predictor = BatchPredictor(model, source, CellParser(options.missing, source.delimiter))
        explanation = predictor.explain(row_of(source, options.row), options.row - 1)
    if options.json:
        show_json({"row": options.row, **explanation.to_dict()})
    else:
        # A name or a value is not taken apart.
        show(fill(explanation.text, _WIDTH, break_long_words=False, break_on_hyphens=False))


def row_of(source: Source, row: int) -> pa.RecordBatch:
    """Return one row of a table, counted from 1.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> source = SimpleNamespace(name="a.csv", batches=iter([pa.record_batch({"x": [1, 2]})]))
    >>> row_of(source, 2).to_pydict()
    {'x': [2]}
    """
    seen = 0
    for batch in source.batches:
        if row <= seen + batch.num_rows:
            return batch.slice(row - seen - 1, 1)
        seen += batch.num_rows
    raise InputError(f"{source.name} has {seen} rows; expected a row from 1 to {seen}, not {row}.")
