"""``sepc fit``: learn from labelled data, and write a model."""

import sys
from argparse import Namespace
from collections import Counter
from typing import Any

import numpy as np

from sepc.cli.console import counted, note, say, show, show_json
from sepc.cli.facts import facts, facts_in_words, results, results_in_words
from sepc.cli.samples import Sample, read_sample, require_labels
from sepc.cli.usage import UsageError
from sepc.cli.writing import require_place
from sepc.ensemble import SEPEnsembleClassifier
from sepc.estimator import SEPClassifier
from sepc.persist import save
from sepc.tables import TablePipeline, make_table_pipeline

SEED = 0


def run(options: Namespace) -> None:
    """Fit a pipeline, write it, and say what was done."""
    classifier = _classifier(options)
    require_place(options.output, options.data, *([options.test] if options.test else []))
    sample = read_sample(options)
    require_labels(sample, options.target)
    train, test = _split(options, sample)
    model = fitted(classifier, train)
    test = test.in_terms_of(model.classes_)
    report = {"rows": len(train.labels), **facts(model), "test": results(model, test)}
    _tell_unknown(test, model.classes_.tolist())
    save(model, options.output, training_rows=not options.no_training_rows)
    say(f"model written to {options.output}")
    if options.json:
        show_json({"model": options.output, "tested_with": _tested_with(options), **report})
        return
    for text in model["columns"].notes:
        note(text)
    show(facts_in_words(model, len(train.labels)))
    show(results_in_words(report["test"], _tested_with(options)))


def _classifier(options: Namespace) -> Any:
    given = {} if options.n_imp is None else {"n_imp": options.n_imp}
    if not options.ensemble:
        return SEPClassifier(**given, **({"trust": options.trust} if options.trust else {}))
    if options.trust:
        raise UsageError("--trust is for a single partition; expected either --trust or --ensemble.")
    return SEPEnsembleClassifier(**given)


def fitted(classifier: Any, sample: Sample) -> TablePipeline:
    """Return a pipeline that is fitted to a sample; if someone watches, it tells how far it is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"x": [0.0, 1.0, 2.0, 5.0, 6.0, 9.0]})
    >>> model = fitted(SEPClassifier(), Sample("a.csv", table, np.repeat([0, 1], 3)))
    >>> model.predict(table).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    classifier.set_params(verbose=sys.stderr.isatty())
    model = make_table_pipeline(classifier).fit(sample.table, sample.labels)
    model["classifier"].set_params(verbose=False)
    return model


def _split(options: Namespace, sample: Sample) -> tuple[Sample, Sample]:
    """Return what to learn from, and what to test with."""
    if options.test:
        test = read_sample(options, options.test)
        require_labels(test, options.target)
        return sample, test
    if options.holdout is None:
        return sample, sample
    return held_back(sample, options.holdout)


def held_back(sample: Sample, share: float) -> tuple[Sample, Sample]:
    """Return two parts of a sample: the second is a share of each class, drawn with a fixed seed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> sample = Sample("a.csv", pa.table({"x": range(8)}), np.repeat([0, 1], 4))
    >>> [part.labels.tolist() for part in held_back(sample, 0.25)]
    [[0, 0, 0, 1, 1, 1], [0, 1]]
    """
    rng = np.random.default_rng(SEED)
    back = np.zeros(len(sample.labels), dtype=bool)
    for label in np.unique(sample.labels):
        rows = np.flatnonzero(sample.labels == label)
        back[rng.permutation(rows)[: min(round(share * len(rows)), len(rows) - 1)]] = True
    return sample.rows(~back), sample.rows(back)


def _tell_unknown(test: Sample, classes: list[Any]) -> None:
    unknown = Counter(label for label in test.labels.tolist() if label not in classes)
    if unknown:
        note(f"{test.name} has labels that the model has not learned; they count as wrong: {counted(unknown)}.")


def _tested_with(options: Namespace) -> str:
    if options.test:
        return str(options.test)
    return "training rows" if options.holdout is None else f"{100 * options.holdout:g} % of the rows, held back"
