"""``sepc promise``: a promise for a model, made from rows that it has not learned from."""

from argparse import Namespace
from typing import Any

import numpy as np

from sepc.cli.console import UsageError, note, say, show, show_json
from sepc.cli.labelled_tables import LabelledTable, read_labelled_table, require_columns, require_labels
from sepc.cli.model_inputs import categories_of, columns_of, learned_from, notation_of, read_model, under_policy
from sepc.cli.promised import (
    PARTS,
    group_column,
    make_promise,
    note_no_promise,
    note_other_meaning,
    promise_text,
)
from sepc.cli.writing import require_writable
from sepc.common.errors import InputError
from sepc.common.text import many, shortened
from sepc.persist import save
from sepc.promises.parts import ALL, LABEL, REGION
from sepc.tables import TablePipeline

_NAMED = 10
_USUAL_ERROR, _USUAL_CONFIDENCE = 0.05, 0.95


def run(options: Namespace) -> None:
    """Make a promise, show it, and write the model that keeps it."""
    require_writable(options.output, options.model, options.data)
    model = under_policy(read_model(options.model), options)
    by, confidence, limit = _asked(options, model.promise)
    data = read_labelled_table(
        options, category=categories_of(model), notation=notation_of(model), group_column=group_column(by)
    )
    require_labels(data, options.target)
    note_other_meaning(options.by, data.table.column_names)
    require_columns(columns_of(model), data.table.column_names, data.name)
    data = data.with_labels_of(model.classes_)
    _note_learned(model, data)
    made_from = f"{many(len(data.labels), 'row')} of {data.name}"
    promise = make_promise(model, data, made_from, by, confidence, **limit)
    kept = promise.is_kept
    if kept and options.output is not None:
        save(model.sign(promise), options.output)
        say(f"model written to {options.output}")
    if options.json:
        show_json({"model": options.output if kept else None, "promise": promise.to_dict()})
    else:
        show(promise_text(promise))
    if not kept:
        note_no_promise(model, promise, **limit)
        if options.output is not None:
            raise InputError(f"{options.output} is not written: there is nothing to promise.")


def _asked(options: Namespace, before: Any) -> tuple[str | None, float, dict[str, Any]]:
    """Return parts, confidence and limit: as asked for, or else as the model has promised before."""
    if options.by == options.target and options.by not in PARTS:
        raise UsageError(f"--by names {options.target!r}, the column of the labels; expected --by label.")
    by, confidence = options.by, options.confidence
    if by == ALL:
        return None, _confidence(confidence, before), _limit(options, before)
    if by is None and before is not None and before.parts:
        by = before.by if before.by in (LABEL, REGION) else before.group_column or None
        if by is None:
            raise UsageError("the model keeps a promise by groups that are no column of a table; expected --by.")
    return by, _confidence(confidence, before), _limit(options, before)


def _confidence(asked: float | None, before: Any) -> float:
    if asked is not None:
        return asked
    return _USUAL_CONFIDENCE if before is None else float(before.confidence)


def _limit(options: Namespace, before: Any) -> dict[str, Any]:
    """Return the limit that was asked for, or else the one that the model has promised before."""
    if options.max_cost is not None:
        return {"max_cost": options.max_cost}
    if options.max_error is not None or before is None:
        return {"max_error": _USUAL_ERROR if options.max_error is None else options.max_error}
    limits = {part.limit for part in before.thresholds}
    if len(limits) > 1:
        raise UsageError(
            "the model keeps a promise with limits that differ by part; expected --max-error or --max-cost, for all."
        )
    if before.bounds == "error":
        return {"max_error": limits.pop()}
    return {"max_cost": limits.pop(), "costs": None if options.costs else before.costs}


def _note_learned(model: Any, data: LabelledTable) -> None:
    features = model["columns"].transform(data.table) if isinstance(model, TablePipeline) else data.table.to_pandas()
    known = learned_from(model, features)
    if known is not None and known.any():
        rows = (np.flatnonzero(known) + 1).tolist()
        note(
            f"the model has learned from {many(len(rows), 'row')} like these ({shortened(rows, _NAMED)}). If they are "
            "the same records, the promise does not hold: take others."
        )
