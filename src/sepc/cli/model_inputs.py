"""Models from files, and the columns of a table that a model needs."""

from dataclasses import replace
from typing import Any

import pyarrow as pa

from sepc.cli.cell_values import CellParser, is_text
from sepc.cli.labelled_tables import require_columns
from sepc.cli.reading import Source
from sepc.common.errors import InputError
from sepc.common.frames import plain
from sepc.model.assessment import Assessment
from sepc.persist import load
from sepc.tables import CellError, TablePipeline


def read_model(path: str) -> Any:
    """Return the model in a file, if it knows the names of its columns.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sepc import SEPClassifier, save
    >>> with TemporaryDirectory() as folder:
    ...     save(SEPClassifier().fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]), f"{folder}/m.sepc")
    ...     try:
    ...         read_model(f"{folder}/m.sepc")
    ...     except InputError as error:
    ...         print(str(error).partition(" holds ")[2].partition(";")[0])
    a model that was fitted to columns without names
    """
    model = load(path)
    if not hasattr(model, "feature_names_in_"):
        raise InputError(
            f"{path} holds a model that was fitted to columns without names; expected names, to find them in a table. "
            "Fit it with sepc fit, or to a data frame."
        )
    return model


def classifier_of(model: Any) -> Any:
    """Return the classifier of a pipeline, or the model itself."""
    return model["classifier"] if isinstance(model, TablePipeline) else model


def columns_of(model: Any) -> dict[str, str]:
    """Return the columns that a model needs, and the kind of each.

    Examples
    --------
    >>> import pandas as pd
    >>> from sepc import make_table_pipeline
    >>> table = pd.DataFrame({"age": [61, 58, 31, 28], "smoker": ["yes", "yes", "no", "no"], "n": [1, 1, 1, 1]})
    >>> columns_of(make_table_pipeline().fit(table, ["ill", "ill", "well", "well"]))
    {'age': 'number', 'smoker': 'category'}
    """
    if not isinstance(model, TablePipeline):
        return dict.fromkeys(map(str, model.feature_names_in_), "number")
    return {column.name: column.kind for column in model["columns"].columns_ if column.features}


def categories_of(model: Any) -> list[str]:
    """Return the columns that a model takes for texts, even if all of them look like numbers."""
    return [name for name, kind in columns_of(model).items() if kind == "category"]


class BatchPredictor:
    """Model that is applied to the batches of a table.

    Parameters
    ----------
    model : TablePipeline, SEPClassifier or SEPEnsembleClassifier
        Fitted, with names of columns.
    source : Source
        Has to hold these columns, in any order.
    cell_parser : CellParser

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from sepc import make_table_pipeline
    >>> model = make_table_pipeline().fit(pa.table({"x": [0.0, 1.0, 5.0, 6.0]}), ["a", "a", "b", "b"])
    >>> batch = pa.record_batch({"name": ["Jo"], "x": ["0.5"]})
    >>> predictor = BatchPredictor(model, SimpleNamespace(name="new.csv", schema=batch.schema), CellParser())
    >>> predictor.assess(predictor.table(batch, 0), 0).label.tolist()
    ['a']
    """

    def __init__(self, model: Any, source: Source, cell_parser: CellParser) -> None:
        self.model, self.cell_parser = model, cell_parser
        self.encoder = model["columns"] if isinstance(model, TablePipeline) else None
        self.kinds = columns_of(model)
        require_columns(self.kinds, source.schema.names, source.name)

    @property
    def classes(self) -> list[Any]:
        """Labels that the model knows."""
        return [plain(label) for label in self.model.classes_]

    @property
    def label_type(self) -> pa.DataType:
        """Type of the labels in a table."""
        return pa.array(self.model.classes_).type

    def table(self, batch: pa.RecordBatch, rows_before: int) -> pa.Table:
        """Return the columns that the model needs.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
        rows_before : int
            How many rows of the file come before it, for messages.
        """
        table = pa.table({name: self._cells(batch.column(name), kind) for name, kind in self.kinds.items()})
        if self.encoder is None:
            _require_numbers(table, rows_before)
        return table

    def _cells(self, column: pa.Array, kind: str) -> pa.Array:
        if kind == "number":
            return self.cell_parser.cells(column)
        return self.cell_parser.texts(column) if is_text(column) else column

    def assess(self, table: pa.Table, rows_before: int) -> Assessment:
        """Return the assessment of a table that `table` has made."""
        assessment: Assessment = self._call(self.model.assess, table, rows_before)
        return assessment

    def explain(self, batch: pa.RecordBatch, rows_before: int) -> Any:
        """Return the explanation of the only row of a batch."""
        explanation = self._call(self.model.explain, self.table(batch, rows_before), rows_before)
        # On the command line all rows are counted from 1.
        neighbours = tuple(neighbour._replace(row=neighbour.row + 1) for neighbour in explanation.neighbours)
        return replace(explanation, neighbours=neighbours)

    def _call(self, method: Any, table: pa.Table, rows_before: int) -> Any:
        try:
            return method(table if self.encoder is not None else table.to_pandas())
        except CellError as error:
            raise error.moved(rows_before) from error

    def unseen(self, table: pa.Table) -> dict[str, dict[str, int]]:
        """Return, by column, values that the model has never seen."""
        found: dict[str, dict[str, int]] = {} if self.encoder is None else self.encoder.unseen(table)
        return found


def _require_numbers(table: pa.Table, rows_before: int) -> None:
    """Raise an `InputError` for a cell that is no number, where no encoder looks after it."""
    for name in table.column_names:
        column = table.column(name)
        if is_text(column) or column.null_count:
            raise InputError(
                f"column {name!r} holds something else than numbers from row {rows_before + 1} on; this model takes "
                "nothing else. Correct the column, or fit a model with sepc fit, which copes with texts and gaps."
            )
