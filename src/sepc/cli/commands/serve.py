"""``sepc serve``: a model behind HTTP."""

import logging
import os
from argparse import Namespace
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import compute

from sepc.cli.cell_values import CellParser, is_missing, is_text
from sepc.cli.console import be_quiet, complain, say, show_json
from sepc.cli.given_answers import answered, given_by, take_answers
from sepc.cli.labelled_tables import require_columns
from sepc.cli.model_inputs import BatchPredictor, notation_of, with_policy
from sepc.cli.reading import Source, text_source
from sepc.desk.batches import Batch
from sepc.desk.desk import Desk
from sepc.desk.listening import Address
from sepc.desk.opening import open_desk, owner
from sepc.persist import load
from sepc.serving.server.running import serve
from sepc.serving.server.scoring import Acceptance, Limits, Served
from sepc.tables.notation import ColumnNotation

# The notation of the training file, else the one that the rows of a request show.
_NOTATION = Namespace(missing=[], decimal=None, thousands=None, date=None)
_USUAL = {"number": pa.float64(), "date": pa.timestamp("us")}
_PLAIN_NOTATIONS = {(decimal, None, "", date) for decimal in (None, ".") for date in (None, "ymd")}


def run(options: Namespace) -> None:
    """Serve a model until it is interrupted."""
    tls = None if options.tls is None else tuple(options.tls)
    log = logging.getLogger("sepc.serving")
    log.addHandler(_Complaints())
    log.propagate = False
    serve(
        Path(options.model),
        partial(load_model, options),
        rows_of,
        Address(options.host, options.port, options.hostname, tls, options.behind_proxy),
        name=options.name,
        token=_token(options),
        accepts=Acceptance(options.min_trust, options.min_typicality),
        limits=Limits(options.max_bytes, options.timeout, options.max_rows, options.max_explained),
        desk=None if options.desk is None else _desk(options),
        on_start=partial(_announce, options),
    )


class _Complaints(logging.Handler):
    """Prints what a server reports while it runs."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(f"sepc serve: {self.format(record)}")


def load_model(options: Namespace, path: Path) -> Any:
    """Return the model in a file, with the answers, class priors and costs of the options."""
    model = load(path)
    take_answers(model, options, str(path))
    return with_policy(model, options)


def _token(options: Namespace) -> str | None:
    if options.token_file is not None:
        return Path(options.token_file).read_text(encoding="utf-8").strip()
    return os.environ.get("SEPC_TOKEN")


def _desk(options: Namespace) -> Desk:
    given = given_by(options)
    desk = open_desk(Path(options.desk), Path(options.model), given=None if given is None else given.get_params())
    if options.min_trust is not None:
        desk.agree(owner(), desk.terms._replace(min_trust=options.min_trust))
    return desk


def _announce(options: Namespace, served: Served, url: str) -> None:
    say("serving", name=served.name, version=served.version, url=url)
    if options.json:
        show_json({"url": url, "name": served.name, "version": served.version})
    be_quiet(True)  # no notes on the notation of each request


def rows_of(served: Served, table: pa.Table | bytes) -> Batch:
    """Return the rows of a table, typed or a CSV text, read as ``sepc predict`` reads a file."""
    model, name, delimiter = served.clf, "the request", None
    if isinstance(table, bytes):
        with text_source(table, name, notation_of(model).separator) as text:
            table, delimiter = pa.Table.from_batches(text.batches, text.schema), text.delimiter
    require_columns(served.columns.kinds, table.column_names, name)
    served.columns.require_number(table.num_rows)
    if delimiter in (None, ","):
        table = _with_usual(table, served)
    (batch,) = table.combine_chunks().to_batches()
    source = Source(name, batch.schema, iter([batch]), batch, delimiter, lambda: 0, None)
    predictor = BatchPredictor(model, source, CellParser.of(_NOTATION, delimiter, notation_of(model)))
    rows, unanswered = answered(predictor.given, predictor.table(batch, 0))
    return Batch(table, rows, predictor.groups(batch, served.group_column), unanswered, 1)


def _with_usual(table: pa.Table, served: Served) -> pa.Table:
    """Return a table whose texts that are written as usual are numbers and dates already.

    To find the notation of the others takes a hundred times as long as to judge a row.
    """
    remembered = notation_of(served.clf).columns
    for k, name in enumerate(table.column_names):
        kind = _USUAL.get(served.columns.kinds.get(name, ""))
        if served.columns.kinds.get(name) == "category" and pa.types.is_integer(table.column(k).type):
            # As numbers, long ones would be other names beside those of other requests.
            table = table.set_column(k, name, compute.cast(table.column(k), pa.string()))
        if kind is not None and astuple(remembered.get(name, ColumnNotation())) in _PLAIN_NOTATIONS:
            table = table.set_column(k, name, _cast(table.column(k), kind))
    return table


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a column of texts as a type; as it is if some text is not written as usual."""
    if not is_text(column):
        return column
    try:
        return compute.cast(compute.if_else(is_missing(column), None, column), kind)
    except pa.ArrowInvalid:
        return column
