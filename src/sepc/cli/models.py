"""Models from files, and tables as a model wants them."""

from dataclasses import replace
from typing import Any

import pyarrow as pa

from sepc.assessment import Assessment
from sepc.cli.reading import Source
from sepc.cli.samples import require_columns
from sepc.cli.values import Meaning, is_text
from sepc.errors import InputError
from sepc.frames import plain
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
    """Return the classifier of a pipeline, or the model itself.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> classifier_of(SEPClassifier())
    SEPClassifier()
    """
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
    """Return the columns that a model takes for texts, even if all of them look like numbers.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> import pandas as pd
    >>> categories_of(SEPClassifier().fit(pd.DataFrame({"age": [61, 58, 31, 28]}), [0, 0, 1, 1]))
    []
    """
    return [name for name, kind in columns_of(model).items() if kind == "category"]


class Reader:
    """Takes what a model needs from the batches of a table, and asks the model.

    Parameters
    ----------
    model : TablePipeline, SEPClassifier or SEPEnsembleClassifier
        Fitted, with names of columns.
    source : Source
        Has to hold these columns, in any order.
    meaning : Meaning

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from sepc import make_table_pipeline
    >>> model = make_table_pipeline().fit(pa.table({"x": [0.0, 1.0, 5.0, 6.0]}), ["a", "a", "b", "b"])
    >>> batch = pa.record_batch({"name": ["Jo"], "x": ["0.5"]})
    >>> reader = Reader(model, SimpleNamespace(name="new.csv", schema=batch.schema), Meaning())
    >>> reader.assess(reader.table(batch, 0), 0).label.tolist()
    ['a']
    """

    def __init__(self, model: Any, source: Source, meaning: Meaning) -> None:
        self.model, self.meaning = model, meaning
        self.encoder = model["columns"] if isinstance(model, TablePipeline) else None
        self.kinds = columns_of(model)
        require_columns(self.kinds, source.schema.names, source.name)

    @property
    def classes(self) -> list[Any]:
        """The labels that the model knows."""
        return [plain(label) for label in self.model.classes_]

    @property
    def label_type(self) -> pa.DataType:
        """What labels are in a table."""
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
            return self.meaning.cells(column)
        return self.meaning.texts(column) if is_text(column) else column

    def assess(self, table: pa.Table, rows_before: int) -> Assessment:
        """Return the verdicts on a table that `table` has made."""
        verdicts: Assessment = self._asked(self.model.assess, table, rows_before)
        return verdicts

    def explain(self, batch: pa.RecordBatch, rows_before: int) -> Any:
        """Return the explanation of the only row of a batch."""
        told = self._asked(self.model.explain, self.table(batch, rows_before), rows_before)
        # On the command line all rows are counted from 1.
        neighbours = tuple(neighbour._replace(row=neighbour.row + 1) for neighbour in told.neighbours)
        return replace(told, neighbours=neighbours)

    def _asked(self, question: Any, table: pa.Table, rows_before: int) -> Any:
        try:
            return question(table if self.encoder is not None else table.to_pandas())
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
