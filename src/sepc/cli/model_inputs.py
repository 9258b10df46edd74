"""Models from files, with class priors and costs by options, and the columns of a table that they need."""

from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from sepc.cli.cell_values import CellParser, is_text
from sepc.cli.console import UsageError
from sepc.cli.given_answers import answer_kinds, answer_labels, given_of, moved, take_answers
from sepc.cli.labelled_tables import (
    LabelledTable,
    group_texts,
    open_by_options,
    read_labelled_table,
    require_columns,
)
from sepc.cli.notations import common_decimal
from sepc.cli.reading import Source
from sepc.common.days import today
from sepc.common.errors import InputError
from sepc.common.frames import plain
from sepc.common.typing import BoolArray, FloatArray, RowNumbers
from sepc.common.validation import takes_missing_values
from sepc.estimators.label_sets import PredictionSets
from sepc.explanations.notes import out_of_range_in_words
from sepc.explanations.vocabulary import Vocabulary
from sepc.model.acceptance import DEFAULT_TRUST
from sepc.model.assessment import Assessment
from sepc.persist import load
from sepc.tables.cells import CellError
from sepc.tables.notation import TextNotation
from sepc.tables.table_vocabulary import TableVocabulary


def read_model(path: str, options: Namespace, any_kind: bool = False) -> Any:
    """Return the model in a file, which reads another model's answers from the columns that the options name.

    Raise an `InputError` if it has no names of columns, or reads no answers, unless it may be of `any_kind`.
    """
    model = load(path)
    take_answers(model, options, path, any_kind)
    if not hasattr(model, "feature_names_in_"):
        raise InputError("model-without-names", path=path)
    return model


def with_policy(model: Any, options: Namespace) -> Any:
    """Return the model with the class priors and costs of the options."""
    if not options.class_prior and not options.costs and options.asking_cost is None:
        return model
    if options.asking_cost is not None and not options.costs:
        raise UsageError("asking-cost-needs-costs")
    label_of = {str(label): label for label in model.classes_.tolist()}

    def known(text: str, option: str) -> Any:
        if text not in label_of:
            raise UsageError("option-unknown-label", option=option, label=text, labels=", ".join(label_of))
        return label_of[text]

    prior = {known(label, "--class-prior"): share for label, share in options.class_prior}
    costs: dict[Any, Any] = {}
    for true, given, price in options.costs:
        costs.setdefault(known(true, "--costs"), {})[known(given, "--costs")] = price
    if options.asking_cost is not None:
        costs[None] = options.asking_cost
    return model.under(class_prior=prior or None, costs=costs or None)


def least_trust(options: Namespace) -> float:
    """Return the trust from which a label is accepted."""
    return DEFAULT_TRUST if options.min_trust is None else float(options.min_trust)


def group_column_of(model: Any) -> str | None:
    """Return the column that a model's promise goes by, if there is one."""
    promise = model.promise
    return promise.group_column or None if promise is not None and promise.is_kept else None


def state_origin(model: Any, **about: Any) -> None:
    """State the day of a fit, and perhaps the name and tags of the model."""
    clf = model.core
    clf.about_ = clf.about_._replace(fitted_on=today(), **about)


def rows_for(model: Any, table: pa.Table) -> Any:
    """Return the rows of a table as a model takes them."""
    return table.to_pandas() if model.core is model else table


def learned_from(model: Any, table: pa.Table) -> BoolArray | None:
    """Return which rows have the features of a training record; None for a model without digests of these."""
    is_core = model.core is model
    found: BoolArray | None = model.core.has_learned(
        rows_for(model, table) if is_core else model.table_encoder.transform(table)
    )
    return found


def training_row_numbers(model: Any) -> RowNumbers:
    """Return what the command line calls the training rows of a model: by their rows in the file, from 1."""
    known = getattr(model, "row_numbers_", None)
    return 1 if known is None else known


def columns_of(model: Any) -> dict[str, str]:
    """Return the columns that make a model's features, and the kind of each."""
    if model.table_encoder is None:
        return dict.fromkeys(map(str, model.feature_names_in_), "number")
    return {column.name: column.kind for column in model.table_encoder.columns_ if column.features}


def needed_columns(model: Any) -> dict[str, str]:
    """Return the columns that a model needs, with those of another model's answers, and the kind of each."""
    return columns_of(model) | answer_kinds(given_of(model))


def categories_of(model: Any) -> list[str]:
    """Return the categorical columns of a model."""
    return [name for name, kind in columns_of(model).items() if kind == "category"]


def notation_of(model: Any) -> TextNotation:
    """Return the notation that a model remembers of its training file."""
    return TextNotation() if model.table_encoder is None else model.table_encoder.text_notation_


def read_labelled_for(model: Any, options: Namespace, group_column: str | None) -> LabelledTable:
    """Read the labelled table of the options as a model needs it: its columns, notation and type of labels."""
    known: dict[str, Any] = {"category": categories_of(model), "notation": notation_of(model), "given": given_of(model)}
    data = read_labelled_table(options, group_column=group_column, **known)
    require_columns(columns_of(model), data.table.column_names, data.name)
    return data.with_labels_of(model.classes_)


@contextmanager
def open_for_model(options: Namespace, model: Any) -> Iterator[tuple[Source, "BatchPredictor"]]:
    """Open the table of the options, in the notation that a model remembers, and yield it with a predictor."""
    notation = notation_of(model)
    with open_by_options(options, options.data, notation) as source:
        yield source, BatchPredictor(model, source, CellParser.of(options, source.delimiter, notation))


class BatchPredictor:
    """Predictions of a fitted model with names of columns for the batches of a table.

    The table has these columns, in any order; its first rows show their notation.
    """

    def __init__(self, model: Any, source: Source, cell_parser: CellParser) -> None:
        self.model, self.cell_parser = model, cell_parser
        self.encoder, self.given = model.table_encoder, given_of(model)
        self.kinds = needed_columns(model)
        self.policy = model.core.model_.policy
        require_columns(self.kinds, source.schema.names, source.name)
        if source.head is not None:
            self._look_at(source.head)

    def _look_at(self, head: pa.RecordBatch) -> None:
        """Find the notation of numbers and dates."""
        columns = {name: head.column(name) for name, kind in self.kinds.items() if kind in ("number", "date")}
        self.cell_parser.look_at(columns)
        known = {name for name in columns if self.kinds[name] == "number" or name in self.cell_parser.remembered}
        self.cell_parser.take_as_learned({name: columns[name] for name in known})

    @property
    def decimal(self) -> str:
        """Decimal sign of the table."""
        return common_decimal(self.cell_parser.notations.values()) or "."

    @property
    def has_costs(self) -> bool:
        """Whether errors have costs."""
        return self.policy is not None and self.policy.costs is not None

    @property
    def can_ask(self) -> bool:
        """Whether abstaining has a cost."""
        return self.policy is not None and self.policy.asking is not None

    @property
    def classes(self) -> list[Any]:
        """Labels of the model."""
        return [plain(label) for label in self.model.classes_]

    @property
    def label_type(self) -> pa.DataType:
        """Type of the labels in a table."""
        return pa.array(self.model.classes_).type

    def table(self, batch: pa.RecordBatch, rows_before: int) -> pa.Table:
        """Return the columns that the model needs, of a batch that `rows_before` rows of the file precede."""
        columns = {name: self._cells(name, batch.column(name), rows_before) for name in self.kinds}
        table = pa.table(columns)
        if self.encoder is None:
            _require_numbers(table, rows_before, takes_missing_values(self.model))
        return table

    def _cells(self, name: str, column: pa.Array, rows_before: int) -> pa.Array:
        if self.kinds[name] == "answer":
            return answer_labels(column, self.cell_parser, name, self.classes)
        if self.kinds[name] in ("number", "date"):
            return self.cell_parser.values(name, column, rows_before)
        return self.cell_parser.texts(column) if is_text(column) else column

    def groups(self, batch: pa.RecordBatch, column: str | None) -> Any:
        """Return the groups in a column of a batch; None without a column."""
        return None if column is None else group_texts(batch.column(column), self.cell_parser)

    def assess(self, table: pa.Table, rows_before: int) -> Assessment:
        """Return the assessment of a result of `table`."""
        return self._call(self.model.assess, table, rows_before)  # type: ignore[no-any-return]

    def label_sets(self, table: pa.Table, coverage: float, per_class: bool) -> PredictionSets:
        """Return the sets of labels of the rows."""
        return self.model.predict_set(self._rows(table), coverage, per_class)  # type: ignore[no-any-return]

    def learned_from(self, table: pa.Table) -> BoolArray | None:
        """Return which rows the model has learned from; None if it does not know."""
        return learned_from(self.model, table)

    def probabilities(self, table: pa.Table) -> FloatArray:
        """Return the probability of each label, shape (n, n_classes)."""
        return np.asarray(self.model.predict_proba(self._rows(table)))

    def _rows(self, table: pa.Table) -> Any:
        return rows_for(self.model, table)

    def explain(self, batch: pa.RecordBatch, rows_before: int, **asked: Any) -> list[Any]:
        """Return the explanations of the rows of a batch; `asked` are keywords of `explain_many`."""
        explain = partial(self.model.explain_many, **asked)
        rows_from = training_row_numbers(self.model)
        return [
            why.with_rows_from(rows_from) for why in self._call(explain, self.table(batch, rows_before), rows_before)
        ]

    def _call(self, method: Any, table: pa.Table, rows_before: int) -> Any:
        try:
            return method(self._rows(table))
        except CellError as error:
            raise error.moved(rows_before) from error
        except InputError as error:
            raise moved(error, range(rows_before + 1, rows_before + table.num_rows + 1)) from error

    def unseen(self, table: pa.Table) -> dict[str, dict[str, int]]:
        """Return, by column, values that the model has never seen, and their numbers."""
        return {} if self.encoder is None else self.encoder.unseen(table)

    def out_of_range(self, counts: Mapping[str, tuple[int, int]]) -> list[str]:
        """Return texts on the numbers of values below and above the range of each column in training."""
        model = self.model.core.model_
        if self.encoder is None:
            return out_of_range_in_words(model, counts, Vocabulary(model.features))
        vocabulary = TableVocabulary.of_no_record(self.encoder.columns_)
        return out_of_range_in_words(model, counts, vocabulary)


def _require_numbers(table: pa.Table, rows_before: int, takes_gaps: bool) -> None:
    """Raise an `InputError` for a cell that is no number."""
    for name in table.column_names:
        column = table.column(name)
        if is_text(column) or (column.null_count and not takes_gaps):
            raise InputError("column-no-longer-numbers", name=name, row=rows_before + 1)
