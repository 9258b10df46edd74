"""``sepc report``: one file to look at, and to pass on."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from sepc.cli.commands.fit import SEED, fitted, held_back
from sepc.cli.console import note, say
from sepc.cli.models import categories_of, columns_of, read_model
from sepc.cli.samples import Sample, read_sample, require_columns, require_labels
from sepc.cli.usage import UsageError
from sepc.cli.writing import require_place
from sepc.estimator import SEPClassifier
from sepc.reports import report

_HELD_BACK = 0.25
_SUFFIXES = (".html", ".htm", ".md", ".markdown", ".json")


def run(options: Namespace) -> None:
    """Write a report on labelled data that the model has not seen."""
    if Path(options.output).suffix not in _SUFFIXES:
        raise UsageError(f"{options.output}: expected a report that ends in {', '.join(_SUFFIXES)}.")
    require_place(options.output, options.data, *([options.model] if options.model else []))
    model, test = _model_and_test(options)
    report(model, test.frame(), test.labels, title=options.title or test.name).write(options.output)
    say(
        f"report written to {options.output}; it names test records by their rows in the file, from 1, and training "
        "records by their place among those that the model has learned from, from 0"
    )


def _model_and_test(options: Namespace) -> tuple[Any, Sample]:
    model = read_model(options.model) if options.model else None
    sample = read_sample(options, category=categories_of(model) if model else ())
    require_labels(sample, options.target)
    if model is not None:
        require_columns(columns_of(model), sample.table.column_names, sample.name)
        return model, sample.in_terms_of(model.classes_)
    train, test = held_back(sample, _HELD_BACK)
    model = fitted(SEPClassifier(), train)
    for text in model["columns"].notes:
        note(text)
    say(
        f"fitted to {len(train.labels)} of the rows, tested with the other {len(test.labels)}: "
        f"{100 * _HELD_BACK:g} % of each class, drawn with the seed {SEED}"
    )
    return model, test
