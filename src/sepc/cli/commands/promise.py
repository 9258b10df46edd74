"""``sepc promise``: a promise for a model, made from rows that it was not fitted to."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sepc.cli.console import UsageError, note, note_text, say, show, show_json
from sepc.cli.labelled_tables import LabelledTable, require_labels
from sepc.cli.messages import printed
from sepc.cli.model_inputs import read_labelled_for, read_model, rows_for, with_policy
from sepc.cli.writing import require_writable
from sepc.common.errors import InputError
from sepc.common.text import shortened
from sepc.persist import save
from sepc.promises import TrustThreshold, preview_promise, select_min_trust
from sepc.promises.parts import ALL, LABEL, REGION

PARTS = (ALL, LABEL, REGION)  # values of --by that are no column


def run(options: Namespace) -> None:
    """Make a promise, show it, and write the model that keeps it."""
    require_writable(options.output, options.model, options.data)
    model = read_model(options.model, options)
    by, confidence, limit = _terms(options, model.promise)
    model = with_policy(model.sign(None), options)
    data = read_labelled_for(model, options, group_column(by))
    require_labels(data, options.target)
    note_other_meaning(options.by, data.table.column_names)
    made_from = printed("rows-of", n=len(data.labels), name=data.name)
    promise = make_promise(model, data, made_from, by, confidence, **limit)
    if options.output is not None:
        save(model.sign(promise), options.output)
        say("model-written", path=options.output)
    if options.json:
        show_json({"model": options.output, "unlabelled": data.n_unlabelled, "promise": promise.to_dict()})
    else:
        show(promise_text(promise))
    if not promise.is_kept:
        note_no_promise(model, promise, **limit)


def _terms(options: Namespace, before: Any) -> tuple[str | None, float, dict[str, Any]]:
    """Return parts, confidence and limit: by options, else as the model has promised before."""
    if options.by == options.target and options.by not in PARTS:
        raise UsageError("by-names-target", target=options.target)
    by, confidence = options.by, options.confidence
    if by is None and before is not None and before.parts:
        by = before.by if before.by in (LABEL, REGION) else before.group_column or None
        if by is None:
            raise UsageError("promise-by-groups-needs-by")
    if confidence is None:
        confidence = 0.95 if before is None else float(before.confidence)
    return None if by == ALL else by, confidence, _limit(options, before)


def _limit(options: Namespace, before: Any) -> dict[str, Any]:
    """Return the limit by options, else the one that the model has promised before."""
    if options.max_cost is not None:
        return {"max_cost": options.max_cost}
    if options.max_error is not None or before is None:
        return {"max_error": 0.05 if options.max_error is None else options.max_error}
    limits = {part.limit for part in before.thresholds}
    if len(limits) > 1:
        raise UsageError("promise-limits-differ")
    if before.bounds == "error":
        return {"max_error": limits.pop()}
    return {"max_cost": limits.pop(), "costs": None if options.costs else before.costs}


def group_column(by: str | None) -> str | None:
    """Return the column that ``--by`` names; None if it names none."""
    return None if by is None or by in PARTS else by


def note_other_meaning(by: str | None, columns: Sequence[str]) -> None:
    """Print a note on the meaning of ``--by`` where a column has the same name."""
    if by in PARTS and by in columns:
        note("meaning-of-by", by=by)


def make_promise(
    model: Any, data: LabelledTable, made_from: str, by: str | None, confidence: float, **limit: Any
) -> TrustThreshold:
    """Return the promise of `select_min_trust` for held-out rows, which `made_from` describes for messages.

    If `by` names a column, the rows have groups; `limit` is max_error or max_cost.
    """
    groups = None if group_column(by) is None else data.groups
    if groups is not None and None in (values := groups.tolist()):
        raise InputError("by-column-gap", name=data.name, column=by, row=data.numbers_in_file[values.index(None)])
    parts = by if groups is None else groups
    try:
        found = select_min_trust(
            model, rows_for(model, data.table), data.labels, confidence=confidence, by=parts, **limit
        )
    except InputError as error:
        if error.code != "calibration-records-learned":
            raise
        learned = error.fields["rows"]
        rows, n_rows = shortened(data.numbers_in_file[learned].tolist(), 10), len(data.labels)
        raise InputError(
            "calibration-rows-learned", name=data.name, n=len(learned), n_rows=n_rows, rows=rows, learned=learned
        ) from error
    if found.note:
        note_text(f"of the calibration rows: {found.note}")
    return replace(found, made_from=made_from, group_column=found.group_column if groups is None else str(by))


def promise_text(promise: TrustThreshold) -> str:
    """Return a promise as lines of text."""
    made = promise.made_on
    if promise.made_from:
        made = printed("promise-from", date=made, source=promise.made_from)
    nothing = [] if promise.is_kept else [printed("promise-of-nothing")]
    if not promise.parts:
        return "\n".join([printed("promise", made=made, terms=promise.message), *nothing])
    head = printed(
        "promise-by",
        by=promise.group_column or promise.by,
        made=made,
        confidence=promise.confidence,
        n_accepted=promise.n_accepted,
        n=promise.n_calibration,
    )
    return "\n".join([head, *(f"  {line}" for line in promise.lines()), *nothing])


def note_unkept(promise: Any) -> None:
    """Print a note if the promise of a model, None where it has none, accepts no label."""
    if promise is not None and not promise.is_kept:
        note("nothing-promised", why=promise.message.rstrip("."))


def note_no_promise(model: Any, promise: TrustThreshold, **limit: Any) -> None:
    """Print a note that nothing can be promised, with the number of rows that a promise may take."""
    by = LABEL if promise.by == LABEL else None
    try:
        preview = preview_promise(model, confidence=promise.confidence, by=by, **limit)
    except InputError:  # a model without held-out records
        outlook = printed("more-may-help")
    else:
        is_whole = promise.by in (ALL, LABEL)
        outlook = printed("estimate" if is_whole else "estimate-together", rows="; ".join(preview.lines()))
    note("no-promise", outlook=outlook)
