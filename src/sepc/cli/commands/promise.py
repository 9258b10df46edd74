"""``sepc promise``: a promise for a model, made from rows that it has not learned from."""

from argparse import Namespace
from typing import Any

import numpy as np

from sepc.cli.console import note, say, show, show_json
from sepc.cli.labelled_tables import LabelledTable, read_labelled_table, require_columns, require_labels
from sepc.cli.model_inputs import categories_of, columns_of, learned_from, notation_of, read_model
from sepc.cli.policies import under_policy
from sepc.cli.promised import group_column, is_kept, make_promise, note_no_promise, promise_text
from sepc.cli.usage import UsageError
from sepc.cli.writing import require_writable
from sepc.common.text import many, shortened
from sepc.persist import save
from sepc.promises import PartPromises, TrustThreshold
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
    require_columns(columns_of(model), data.table.column_names, data.name)
    data = data.with_labels_of(model.classes_)
    _note_learned(model, data)
    promise = make_promise(model, data, f"{many(len(data.labels), 'row')} of {data.name}", by, confidence, **limit)
    kept = is_kept(promise)
    if not kept:
        note_no_promise(model, promise, **limit)
    if options.output is not None and kept:
        save(model.sign(promise), options.output)
        say(f"model written to {options.output}")
    elif options.output is not None:
        say(f"{options.output} is not written: there is nothing to promise")
    if options.json:
        show_json({"model": options.output if kept else None, "promise": promise.to_dict()})
        return
    show(promise_text(promise))


def _asked(options: Namespace, before: Any) -> tuple[str | None, float, dict[str, float]]:
    """Return parts, confidence and limit: as asked for, or else as the model has promised before."""
    if options.by == options.target:
        raise UsageError(f"--by names {options.target!r}, the column of the labels; expected --by label.")
    by, confidence, error = options.by, options.confidence, options.max_error
    if isinstance(before, PartPromises):
        was = before.by if before.by in ("label", "region") else before.group_column or None
        limits = {part.limit for part in before.parts}
        by = was if by is None else by
        error = limits.pop() if error is None and before.bounds == "error" and len(limits) == 1 else error
    elif isinstance(before, TrustThreshold):
        error = before.max_error if error is None else error
    if before is not None and confidence is None:
        confidence = before.confidence
    limit = {"max_error": _USUAL_ERROR if error is None else error}
    if options.max_cost is not None:
        limit = {"max_cost": options.max_cost}
    return by, _USUAL_CONFIDENCE if confidence is None else confidence, limit


def _note_learned(model: Any, data: LabelledTable) -> None:
    features = model["columns"].transform(data.table) if isinstance(model, TablePipeline) else data.table.to_pandas()
    known = learned_from(model, features)
    if known is not None and known.any():
        rows = (np.flatnonzero(known) + 1).tolist()
        note(
            f"the model has learned from {many(len(rows), 'row')} like these ({shortened(rows, _NAMED)}). If they are "
            "the same records, the promise does not hold: take others."
        )
