"""``sepc feedback``: true labels for a model's predictions, and a model that has learned from them."""

from argparse import Namespace
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from sepc.cli.console import UsageError, aligned, note, say, show, show_json, step_progress
from sepc.cli.labelled_tables import LabelledTable, dates_of, require_columns
from sepc.cli.messages import printed
from sepc.cli.model_inputs import (
    group_column_of,
    learned_from,
    needed_columns,
    read_labelled_for,
    read_model,
    rows_for,
    state_origin,
)
from sepc.cli.writing import require_writable
from sepc.common.errors import InputError, MissingRecordsError
from sepc.common.text import many, shortened
from sepc.common.typing import BoolArray, FloatArray
from sepc.feedback.expected_accuracy import in_short
from sepc.feedback.forgetting import Forgetting
from sepc.feedback.monitor import FeedbackMonitor
from sepc.feedback.observation_log import ObservationLog
from sepc.persist import save

# Of the table of expected accuracy; all are in the JSON.
_ROWS_SHOWN = 40
_SEEN = "seen without labels"
_OPTION_TEXTS = {
    None: "without saying how they were chosen for a label",
    "all": "with --labels all",
    "probability": "with --probability",
}


def run(options: Namespace) -> None:
    """Print the report of a monitor, and write a model partitioned again if predictions were wrong."""
    require_writable(options.output, options.model, options.data)
    if options.labels is not None and options.probability is not None:
        raise UsageError("labels-and-probability-options")
    if options.output is None and (options.forget or options.window or options.half_life):
        raise UsageError("forgetting-needs-output")
    model = read_model(options.model, options)
    data = read_labelled_for(model, options, group_column_of(model))
    monitor = _observed(model, data, options)
    found = monitor.report()
    new, changes = _repartitioned(options, monitor)
    if new is not None:
        state_origin(new)
        save(new, options.output)
        say("model-written", path=options.output)
        if new.promise is not None:
            note("promise-withdrawn", date=new.promise.made_on, path=options.output, target=options.target)
    if options.json:
        show_json(
            {
                "feedback": found.to_dict(),
                "labels": options.labels,
                "probability": options.probability,
                "model": None if new is None else options.output,
                "promise": None if new is None or new.promise is None else new.promise.to_dict(),
                "changes": None if changes is None else changes.to_dict(),
            }
        )
        return
    show(found.text(_remedy(options)))
    show(f"\n{aligned([in_short(record) for record in found.expected_accuracy[:_ROWS_SHOWN]])}")
    if changes is not None:
        show(repr(changes))


def _remedy(options: Namespace) -> str:
    return printed("will-take-rows" if options.output is None else "has-taken-rows", path=options.output)


def _observed(model: Any, data: LabelledTable, options: Namespace) -> FeedbackMonitor:
    """Return a monitor that has observed rows, some of which may have no label."""
    needed, encoder = list(needed_columns(model)), model.table_encoder
    features = data.table.select(needed).to_pandas() if encoder is None else encoder.transform(data.table)
    monitor = _monitor(model, options)
    _note_learned(model, data.table.select(needed))
    repeated = _repeated(features, data)
    if options.once:
        data, features = data.rows(~repeated), features[~repeated]
    if repeated.any():
        _note_repeated(repeated, options.once)
    labelled = data.has_label()
    # All rows first if some have no label: those with one may have been chosen, and differ from the others.
    parts = [labelled] if labelled.all() else [np.ones_like(labelled), labelled][: 1 + labelled.any()]
    seen_now = False
    for which in parts:
        some = data.rows(which)
        rows = rows_for(model, some.table.select(needed))
        has_labels = which is labelled
        chosen_by = "probability" if options.probability is not None else options.labels
        status = (
            _SEEN
            if seen_now
            else _status(
                monitor.log,
                np.asarray(features[which], dtype=np.float64),
                some.labels.tolist() if has_labels else None,
                chosen_by if has_labels else None,
            )
        )
        if status != "known":
            truth = _truth(some, options) if has_labels else {}
            monitor.observe(rows, **truth, seen=status == _SEEN, dates=dates_of(some.table, options.dates))
            seen_now = True
    return monitor


def _truth(data: LabelledTable, options: Namespace) -> dict[str, Any]:
    """Return labels, and how the rows were chosen for them, as arguments of a monitor; print which were used."""
    if options.probability is not None:
        chances = _chances(data, options.probability)
        say("watched-by-chance", column=options.probability)
        return {"y_true": data.labels, "probability": chances, "groups": data.groups}
    if options.labels is not None:
        say("watched-by-all")
        return {"y_true": data.labels, "labels": options.labels, "groups": data.groups}
    note("errors-not-watched")
    return {"y_true": data.labels, "groups": data.groups}


def _chances(data: LabelledTable, name: str) -> FloatArray:
    """Return a column of chances as numbers."""
    require_columns([name], data.table.column_names, data.name)
    column = data.table.column(name)
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)) or column.null_count:
        raise InputError("probability-column-not-numbers", name=name)
    return np.asarray(column.to_numpy(), dtype=np.float64)


def _note_learned(model: Any, table: pa.Table) -> None:
    known = learned_from(model, table)
    if known is not None and known.any():
        rows = (np.flatnonzero(known) + 1).tolist()
        note("learned-before", n=len(rows), rows=shortened(rows, 10))


def _repeated(features: Any, data: LabelledTable) -> BoolArray:
    """Return which rows repeat the features and the label of an earlier one, shape (n,)."""
    labels = [str(label) for label in data.labels.tolist()]
    return np.asarray(features.assign(**{"\x00label": labels}).duplicated())


def _note_repeated(repeated: BoolArray, once: bool) -> None:
    rows = (np.flatnonzero(repeated) + 1).tolist()
    note("repeated-once" if once else "repeated", n=len(rows), rows=shortened(rows, 10))


def _monitor(model: Any, options: Namespace) -> FeedbackMonitor:
    try:
        if options.state is None:
            return FeedbackMonitor(model)
        require_writable(options.state, options.model, options.data)
        monitor = FeedbackMonitor.resume(model, options.state)
    except MissingRecordsError as error:
        raise InputError("model-without-records-to-compare", path=options.model) from error
    assert monitor.log is not None
    n = sum(len(batch.records) for batch in monitor.log.batches)
    say("observed-before" if n else "nothing-observed", path=options.state, n=n)
    if monitor.log.n_elsewhere:
        say("observed-elsewhere", n=monitor.log.n_elsewhere)
    if monitor.log.n_lost:
        note("batch-cut-off", path=options.state)
    return monitor


def _repartitioned(options: Namespace, monitor: FeedbackMonitor) -> tuple[Any, Any]:
    """Return a model fitted to the labelled rows too, and the changes; None if it is not needed."""
    if options.output is None:
        return None, None
    found = monitor.report()
    if not found.n_wrong:
        say("nothing-to-learn", path=options.output)
        return None, None
    with step_progress(printed("trying-to-forget")) as on_step:
        return monitor.repartition(forget=_forgetting(options), on_step=on_step)


def _forgetting(options: Namespace) -> Forgetting | str | None:
    if options.window is not None:
        return Forgetting("window", options.window)
    if options.half_life is not None:
        return Forgetting("fading", options.half_life)
    return options.forget  # type: ignore[no-any-return]


def _status(log: ObservationLog | None, records: FloatArray, labels: list[Any] | None, chosen_by: str | None) -> str:
    """Return whether rows are "new", "known" or "seen without labels" before; print a note on the latter two.

    Only a whole batch of equal rows counts as the same. The rows were `chosen_by` "all", "probability" or None.
    """
    if log is None or not log.batches:
        return "new"
    rows = _row_counts(records)
    if labels is not None:
        return _status_of_labelled(log, rows, labels, chosen_by)
    if rows <= sum((_row_counts(batch.records) for batch in log.batches if not batch.seen), Counter()):
        _note_known(log, len(records), log.batches[0].day)
        return "known"
    return "new"


def _status_of_labelled(log: ObservationLog, rows: Counter[bytes], labels: list[Any], chosen_by: str | None) -> str:
    texts = sorted(map(str, labels))
    for batch in log.batches:
        if batch.labels is None or sorted(map(str, batch.labels)) != texts or _row_counts(batch.records) != rows:
            continue
        before = "all" if batch.all_labelled else None if batch.chance is None else "probability"
        if before != chosen_by:
            raise InputError(
                "batch-seen-otherwise",
                path=log.path,
                rows=many(len(labels), "row"),
                day=batch.day,
                before=_OPTION_TEXTS[before],
                now=_OPTION_TEXTS[chosen_by],
            )
        _note_known(log, len(labels), batch.day)
        return "known"
    waiting = sum((_row_counts(batch.records) for batch in log.batches if batch.labels is None), Counter())
    waiting -= sum((_row_counts(batch.records) for batch in log.batches if batch.seen), Counter())
    if rows <= waiting:
        note("only-labels-new", path=log.path, n=len(labels))
        return _SEEN
    return "new"


def _row_counts(records: FloatArray) -> Counter[bytes]:
    unified = np.where(np.isnan(records), np.nan, records + 0.0)  # one NaN, one zero
    return Counter(row.tobytes() for row in unified)


def _note_known(log: ObservationLog, n: int, day: str) -> None:
    note("known-rows", path=log.path, n=n, day=day)
