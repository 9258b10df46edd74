"""``sepc report``: a report on labelled data, as one file."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from sepc.cli.commands.fit import SEED, fit_pipeline, hold_out
from sepc.cli.console import note, say
from sepc.cli.labelled_tables import LabelledTable, read_labelled_table, require_columns, require_labels
from sepc.cli.model_inputs import categories_of, columns_of, read_model
from sepc.cli.usage import UsageError
from sepc.cli.writing import require_writable
from sepc.estimators.classifier import SEPClassifier
from sepc.reports import report

_HELD_BACK = 0.25
_SUFFIXES = (".html", ".htm", ".md", ".markdown", ".json")


def run(options: Namespace) -> None:
    """Write a report on labelled data that the model has not seen."""
    if Path(options.output).suffix not in _SUFFIXES:
        raise UsageError(f"{options.output}: expected a report that ends in {', '.join(_SUFFIXES)}.")
    require_writable(options.output, options.data, *([options.model] if options.model else []))
    model, test = _model_and_test(options)
    report(model, test.frame(), test.labels, title=options.title or test.name).write(options.output)
    say(
        f"report written to {options.output}; it names test records by their rows in the file, from 1, and training "
        "records by their place among those that the model has learned from, from 0"
    )


def _model_and_test(options: Namespace) -> tuple[Any, LabelledTable]:
    model = read_model(options.model) if options.model else None
    data = read_labelled_table(options, category=categories_of(model) if model else ())
    require_labels(data, options.target)
    if model is not None:
        require_columns(columns_of(model), data.table.column_names, data.name)
        return model, data.with_labels_of(model.classes_)
    train, test = hold_out(data, _HELD_BACK)
    model = fit_pipeline(SEPClassifier(), train)
    for text in model["columns"].notes:
        note(text)
    say(
        f"fitted to {len(train.labels)} of the rows, tested with the other {len(test.labels)}: "
        f"{100 * _HELD_BACK:g} % of each class, drawn with the seed {SEED}"
    )
    return model, test
