"""``sepc fit``: a model of labelled data."""

import sys
from argparse import Namespace
from collections import Counter
from typing import Any

import numpy as np

from sepc.cli.console import counted, note, say, show, show_json
from sepc.cli.labelled_tables import LabelledTable, read_labelled_table, require_labels
from sepc.cli.model_summary import evaluate, evaluation_text, summarize, summary_text
from sepc.cli.usage import UsageError
from sepc.cli.writing import require_writable
from sepc.estimators.classifier import SEPClassifier
from sepc.estimators.ensemble.ensemble_classifier import SEPEnsembleClassifier
from sepc.persist import save
from sepc.tables import TablePipeline, make_table_pipeline

SEED = 0


def run(options: Namespace) -> None:
    """Fit a pipeline, write it, and say what was done."""
    classifier = _classifier(options)
    require_writable(options.output, options.data, *([options.test] if options.test else []))
    data = read_labelled_table(options)
    require_labels(data, options.target)
    train, test = _split(options, data)
    model = fit_pipeline(classifier, train)
    test = test.with_labels_of(model.classes_)
    report = {"rows": len(train.labels), **summarize(model), "test": evaluate(model, test)}
    _note_unknown_labels(test, model.classes_.tolist())
    save(model, options.output, training_rows=not options.no_training_rows)
    say(f"model written to {options.output}")
    if options.json:
        show_json({"model": options.output, "tested_with": _tested_with(options), **report})
        return
    for text in model["columns"].notes:
        note(text)
    show(summary_text(model, len(train.labels)))
    show(evaluation_text(report["test"], _tested_with(options)))


def _classifier(options: Namespace) -> Any:
    given = {} if options.n_imp is None else {"n_imp": options.n_imp}
    if not options.ensemble:
        return SEPClassifier(**given, **({"trust": options.trust} if options.trust else {}))
    if options.trust:
        raise UsageError("--trust is for a single partition; expected either --trust or --ensemble.")
    return SEPEnsembleClassifier(**given)


def fit_pipeline(classifier: Any, data: LabelledTable) -> TablePipeline:
    """Return a pipeline that is fitted to labelled rows; on a terminal it shows how far it is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"x": [0.0, 1.0, 2.0, 5.0, 6.0, 9.0]})
    >>> model = fit_pipeline(SEPClassifier(), LabelledTable("a.csv", table, np.repeat([0, 1], 3)))
    >>> model.predict(table).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    classifier.set_params(verbose=sys.stderr.isatty())
    model = make_table_pipeline(classifier).fit(data.table, data.labels)
    model["classifier"].set_params(verbose=False)
    return model


def _split(options: Namespace, data: LabelledTable) -> tuple[LabelledTable, LabelledTable]:
    """Return the rows to learn from, and those to test with."""
    if options.test:
        test = read_labelled_table(options, options.test)
        require_labels(test, options.target)
        return data, test
    if options.holdout is None:
        return data, data
    return hold_out(data, options.holdout)


def hold_out(data: LabelledTable, share: float) -> tuple[LabelledTable, LabelledTable]:
    """Return two parts of labelled rows: the second is a share of each class, drawn with a fixed seed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> data = LabelledTable("a.csv", pa.table({"x": range(8)}), np.repeat([0, 1], 4))
    >>> [part.labels.tolist() for part in hold_out(data, 0.25)]
    [[0, 0, 0, 1, 1, 1], [0, 1]]
    """
    rng = np.random.default_rng(SEED)
    held_out = np.zeros(len(data.labels), dtype=bool)
    for label in np.unique(data.labels):
        rows = np.flatnonzero(data.labels == label)
        held_out[rng.permutation(rows)[: min(round(share * len(rows)), len(rows) - 1)]] = True
    return data.rows(~held_out), data.rows(held_out)


def _note_unknown_labels(test: LabelledTable, classes: list[Any]) -> None:
    unknown = Counter(label for label in test.labels.tolist() if label not in classes)
    if unknown:
        note(f"{test.name} has labels that the model has not learned; they count as wrong: {counted(unknown)}.")


def _tested_with(options: Namespace) -> str:
    if options.test:
        return str(options.test)
    return "training rows" if options.holdout is None else f"{100 * options.holdout:g} % of the rows, held back"
