"""``sepc feedback``: true labels for a model's predictions, and a model that has learned from them."""

from argparse import Namespace
from typing import Any

from sepc.cli.console import say, show, show_json
from sepc.cli.labelled_tables import LabelledTable, read_labelled_table, require_columns
from sepc.cli.model_inputs import categories_of, classifier_of, columns_of, read_model
from sepc.cli.writing import require_writable
from sepc.common.errors import InputError, MissingRecordsError
from sepc.feedback import FeedbackMonitor
from sepc.persist import save
from sepc.tables import TablePipeline


def run(options: Namespace) -> None:
    """Print the report of a monitor; partition afresh where predictions were wrong."""
    require_writable(options.output, options.model, options.data)
    model = read_model(options.model)
    data = read_labelled_table(options, category=categories_of(model)).with_labels_of(model.classes_)
    monitor = _observed(model, data, options.model)
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
    show(repr(found))
    if changes is not None:
        show(repr(changes))


def _observed(model: Any, data: LabelledTable, path: str) -> FeedbackMonitor:
    """Return a monitor that has observed rows, some of which may have no label."""
    clf = classifier_of(model)
    if not hasattr(clf, "partitions_"):
        raise InputError(
            f"{path} holds a {type(clf).__name__}; expected a single partition, which is what feedback watches. "
            "Fit a model without --ensemble."
        )
    require_columns(columns_of(model), data.table.column_names, data.name)
    features = model["columns"].transform(data.table) if isinstance(model, TablePipeline) else data.table.to_pandas()
    monitor = _monitor(clf, path)
    labelled = data.has_label()
    if labelled.any():
        monitor.observe(features[labelled], data.rows(labelled).labels)
    if not labelled.all():
        monitor.observe(features[~labelled])
    return monitor


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
