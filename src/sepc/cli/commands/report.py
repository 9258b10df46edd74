"""``sepc report``: a report on labelled data, as one file."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from sepc.cli.commands.fit import fit_pipeline, hold_out, make_classifier, set_n_imp
from sepc.cli.commands.promise import note_unkept
from sepc.cli.compiling import say_if_compiling
from sepc.cli.console import UsageError, note_text, say, step_progress
from sepc.cli.labelled_tables import LabelledTable, dates_of, read_labelled_table, require_columns, require_labels
from sepc.cli.messages import printed
from sepc.cli.model_inputs import group_column_of, read_labelled_for, read_model, training_row_numbers, with_policy
from sepc.cli.writing import require_writable
from sepc.reports import report

_HELD_BACK = 0.25
_SUFFIXES = (".html", ".htm", ".md", ".markdown", ".json")


def run(options: Namespace) -> None:
    """Write a report on labelled data that the model has not seen."""
    if Path(options.output).suffix not in _SUFFIXES:
        raise UsageError("report-suffix", path=options.output, suffixes=", ".join(_SUFFIXES))
    require_writable(options.output, options.data, *(path for path in (options.model, options.test) if path))
    model, test = _model_and_test(options)
    model = with_policy(model, options)
    note_unkept(model.promise)
    with step_progress(printed("explaining")) as on_step:
        made = report(
            model,
            test.frame(),
            test.labels,
            title=options.title or _title(options),
            max_records=options.max_records,
            training_rows=not options.no_training_rows,
            changes=options.changes,
            rows_from=training_row_numbers(model),
            on_step=on_step,
            groups=test.groups,
            dates=dates_of(test.table, options.dates),
        )
    for text in made.to_dict()["warnings"]:
        note_text(text)
    made.write(options.output)
    training = printed("no-training-record" if options.no_training_rows else "training-records")
    say("report-written", path=options.output, training=training)


def _title(options: Namespace) -> str:
    """Return a title of the tested file's name and the label column."""
    path = options.test or options.data
    return f"{'Standard input' if path == '-' else Path(path).name}: {options.target}"


def _model_and_test(options: Namespace) -> tuple[Any, LabelledTable]:
    classifier = None if options.model else make_classifier(options)
    _require_one_model(options)
    if options.model:
        model = read_model(options.model, options)
        data = read_labelled_for(model, options, group_column_of(model))
        require_labels(data, options.target)
        return model, data
    data = read_labelled_table(options)
    require_labels(data, options.target)
    train, test = _split(options, data)
    say_if_compiling()
    if options.n_imp == "auto":
        best = set_n_imp(classifier, train, options.random_state).best
        say("n-imp-chosen", best=best)
    model = fit_pipeline(classifier, train)
    for text in model.table_encoder.notes:
        note_text(text)
    say("fitted-and-tested", n=len(train.labels), tested_with=_tested_with(options, test))
    return model, test.with_labels_of(model.classes_)


def _require_one_model(options: Namespace) -> None:
    """Raise a `UsageError` for a model beside options of a fit."""
    fit_options = {
        "--ensemble": options.ensemble,
        "--n-imp": options.n_imp is not None,
        "--trust": options.trust,
        "--sample-weight": options.sample_weight,
    }
    given = [name for name, value in fit_options.items() if value]
    if options.model and given:
        raise UsageError("option-needs-fit", option=given[0])


def _split(options: Namespace, data: LabelledTable) -> tuple[LabelledTable, LabelledTable]:
    if not options.test:
        return hold_out(data, _HELD_BACK, options.random_state)
    test = read_labelled_table(options, options.test)
    require_labels(test, options.target)
    require_columns(data.table.column_names, test.table.column_names, test.name)
    return data, test


def _tested_with(options: Namespace, test: LabelledTable) -> str:
    if options.test:
        return printed("rows-of-file", n=len(test.labels), path=options.test)
    return printed("rows-drawn", n=len(test.labels), share=100 * _HELD_BACK, seed=options.random_state)
