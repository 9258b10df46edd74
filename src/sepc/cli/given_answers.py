"""Answers of another model in columns of a table: by options, or as a model remembers them."""

import re
from argparse import Namespace
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute
from sklearn.base import clone

from sepc.around import GivenScores, TrustedClassifier
from sepc.around.completing import complete
from sepc.cli.cell_values import CellParser, is_missing
from sepc.cli.console import UsageError
from sepc.common.errors import InputError
from sepc.common.frames import plain
from sepc.common.typing import BoolArray, IntArray

# Why a row without an answer gets no label.
NO_ANSWER = "no answer"


def given_by(options: Namespace) -> GivenScores | None:
    """Return the columns that the options of a command name; None without any."""
    scores, label, score = (getattr(options, name, None) for name in ("scores", "given", "given_score"))
    if score is not None and (label is None or scores):
        raise UsageError("given-score-alone-option")
    return GivenScores(scores or (), label, score) if scores or label is not None else None


def given_of(model: Any) -> GivenScores | None:
    """Return the columns of answers that a model reads; None where it is around no other model."""
    estimator = getattr(model.core, "estimator_", None)
    return estimator if isinstance(estimator, GivenScores) else None


def answer_kinds(given: GivenScores | None) -> dict[str, str]:
    """Return the columns of answers with their kinds: "number" or "answer", a label."""
    if given is None:
        return {}
    return {name: "answer" if name == given.label else "number" for name in given.columns}


def take_answers(model: Any, options: Namespace, path: str, any_kind: bool = False) -> None:
    """Let a model read the columns that the options name; raise an error if it needs some and has none.

    One that reads no answers is an error, too, unless it may be of `any_kind`.
    """
    core, given = model.core, given_by(options)
    is_around = isinstance(core, TrustedClassifier)
    if given is not None and is_around:
        complete(core, given)
    elif given is not None and not any_kind:
        raise UsageError("scores-for-another-model", path=path)
    elif is_around and core.estimator_ is None:
        raise InputError("model-needs-scores", path=path, estimator=core.estimator_name)


def answer_labels(column: pa.Array, cell_parser: CellParser, name: str, classes: Iterable[Any]) -> pa.Array:
    """Return a column of labels that another model gives as those of `classes` that are written alike."""
    known = {str(label): label for label in map(plain, classes)}

    def label(text: str | None) -> Any:
        if text is None or text.strip() in known:
            return None if text is None else known[text.strip()]
        # 1.0 is 1: programs write whole numbers as floats if a value is missing.
        return known.get(re.sub(r"\.0+$", "", text.strip()), text.strip())

    texts = cell_parser.texts(column)
    texts = compute.if_else(is_missing(texts), None, texts).dictionary_encode()
    found = [label(text) for text in texts.dictionary.to_pylist()]
    others = [one for one in found if type(one) not in {type(label) for label in known.values()}]
    if others:
        raise InputError("given-label-kind", column=name, label=others[0], dtype=type(next(iter(known.values()))))
    return pa.array(found, pa.array(list(known.values())).type).take(texts.indices)


def require_answers(given: GivenScores, table: pa.Table, labels: NDArray[Any], numbers: IntArray) -> None:
    """Raise an `InputError` for answers of labelled rows, which have these `numbers` in the file, that are none."""
    classes = {plain(label) for label in labels.tolist()} - {None}
    if not hasattr(given, "classes_"):
        if len(classes) < 2:
            return
        said = [] if given.label is None else table[given.label].drop_null().to_pylist()
        known = np.array(sorted(classes.union(said)))
        given = clone(given).knowing(known.astype(object), np.ones(len(known), dtype=np.int64))
    try:
        ask(given, table)
    except InputError as error:
        raise moved(error, numbers) from error


def ask(given: GivenScores, table: pa.Table) -> None:
    """Read all answers, for the errors of those that are none."""
    rows = table.select(given.columns).to_pandas()
    given.predict(rows)
    if hasattr(given, "predict_proba"):
        given.predict_proba(rows)


def moved(error: InputError, numbers: Any) -> InputError:
    """Return an error of an answer with the number of the row in the file."""
    if not error.code.startswith("given-") or "row" not in error.fields:
        return error
    return InputError(error.code, **error.fields | {"row": int(numbers[error.fields["row"] - 1])})


def answered(given: GivenScores | None, table: pa.Table) -> tuple[pa.Table, BoolArray]:
    """Return a table with some answer in each row, and which rows had none, or a label that is not known."""
    missing = np.zeros(table.num_rows, dtype=bool)
    if given is None:
        return table, missing
    values = {name: table[name].combine_chunks() for name in given.columns}
    for name, column in values.items():
        lacks = compute.is_null(column, nan_is_null=True)
        if name == given.label:
            known = pa.array(list(map(plain, given.classes_))).cast(column.type)
            lacks = compute.or_(lacks, compute.invert(compute.is_in(column, value_set=known)))
        missing |= np.asarray(lacks)
    if missing.any():
        for name, column in values.items():
            any_answer = plain(given.classes_[0]) if name == given.label else 1.0 / len(given.classes_)
            kind = column.type if name == given.label else pa.float64()
            column = compute.if_else(pa.array(missing), pa.scalar(any_answer, kind), column.cast(kind))
            table = table.set_column(table.column_names.index(name), name, column)
    return table, missing
