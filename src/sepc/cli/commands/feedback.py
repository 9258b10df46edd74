"""``sepc feedback``: true labels for a model's predictions, and a model that has learned from them."""

from argparse import Namespace
from typing import Any

import numpy as np

from sepc.cli.console import note, say, show, show_json
from sepc.cli.labelled_tables import LabelledTable, read_labelled_table, require_columns
from sepc.cli.model_inputs import categories_of, classifier_of, columns_of, learned_from, notation_of, read_model
from sepc.cli.writing import require_writable
from sepc.common.errors import InputError, MissingRecordsError
from sepc.common.text import many, shortened
from sepc.common.typing import BoolArray
from sepc.feedback import FeedbackMonitor
from sepc.persist import save
from sepc.tables import TablePipeline

_NAMED = 10
# No feature is called like that.
_LABEL = "\x00label"


def run(options: Namespace) -> None:
    """Print the report of a monitor; partition afresh where predictions were wrong."""
    require_writable(options.output, options.model, options.data)
    model = read_model(options.model)
    data = read_labelled_table(options, category=categories_of(model), notation=notation_of(model))
    data = data.with_labels_of(model.classes_)
    monitor = _observed(model, data, options)
    found = monitor.report()
    new, changes = _repartitioned(options, monitor, model)
    if new is not None:
        save(new, options.output)
        say(f"model written to {options.output}")
    if options.json:
        show_json(
            {
                "feedback": found.to_dict(),
                "model": None if new is None else options.output,
                "changes": None if changes is None else changes.to_dict(),
            }
        )
        return
    show(found.text(_remedy(options)))
    if changes is not None:
        show(repr(changes))


def _remedy(options: Namespace) -> str:
    which = "-o MODEL takes" if options.output is None else f"{options.output} has taken"
    return f"{which} these rows into the training records, partitioned afresh"


def _observed(model: Any, data: LabelledTable, options: Namespace) -> FeedbackMonitor:
    """Return a monitor that has observed rows, some of which may have no label."""
    path = options.model
    clf = classifier_of(model)
    if not hasattr(clf, "partitions_"):
        raise InputError(
            f"{path} holds a {type(clf).__name__}; expected a single partition, which is what feedback watches. "
            "Fit a model without --ensemble."
        )
    require_columns(columns_of(model), data.table.column_names, data.name)
    features = model["columns"].transform(data.table) if isinstance(model, TablePipeline) else data.table.to_pandas()
    monitor = _monitor(clf, path)
    _note_learned(model, features)
    repeated = _repeated(features, data)
    if options.once:
        data, features = data.rows(~repeated), features[~repeated]
    if repeated.any():
        _note_repeated(repeated, options.once)
    labelled = data.has_label()
    if labelled.any():
        monitor.observe(features[labelled], data.rows(labelled).labels)
    if not labelled.all():
        monitor.observe(features[~labelled])
    return monitor


def _note_learned(model: Any, features: Any) -> None:
    known = learned_from(model, features)
    if known is not None and known.any():
        rows = (np.flatnonzero(known) + 1).tolist()
        note(
            f"the model has learned from {many(len(rows), 'row')} of these ({shortened(rows, _NAMED)}), which says "
            "nothing of how it does on new ones."
        )


def _repeated(features: Any, data: LabelledTable) -> BoolArray:
    """Return which rows repeat an earlier one, in all values that the model reads and in the label, shape (n,)."""
    labels = [str(label) for label in data.labels.tolist()]
    return np.asarray(features.assign(**{_LABEL: labels}).duplicated())


def _note_repeated(repeated: BoolArray, once: bool) -> None:
    rows = (np.flatnonzero(repeated) + 1).tolist()
    what = "is counted once, with the row that it repeats" if once else "counts by itself; --once counts it once"
    note(f"{many(len(rows), 'row')} repeat an earlier one, label included ({shortened(rows, _NAMED)}): each {what}.")


def _monitor(clf: Any, path: str) -> FeedbackMonitor:
    try:
        return FeedbackMonitor(clf)
    except MissingRecordsError as error:
        raise InputError(
            f"{path} holds a model without its training records; expected them there, to compare with. "
            "Fit a model without --no-training-rows."
        ) from error


def _repartitioned(options: Namespace, monitor: FeedbackMonitor, model: Any) -> tuple[Any, Any]:
    """Return a model that has taken the labelled rows in, and what that changed; None where there is no need."""
    if options.output is None:
        return None, None
    found = monitor.report()
    if not found.n_wrong:
        say(f"no verdict was wrong: there is nothing to learn, and {options.output} is not written")
        return None, None
    new, changes = monitor.repartition()
    return (_with_classifier(model, new) if isinstance(model, TablePipeline) else new), changes


def _with_classifier(model: TablePipeline, clf: Any) -> TablePipeline:
    """Return a pipeline of the same encoder and another classifier."""
    return TablePipeline([("columns", model["columns"]), ("classifier", clf)])
