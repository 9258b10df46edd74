"""``sepc fit``: a model of labelled data."""

import shlex
from argparse import Namespace
from collections import Counter
from typing import Any

import numpy as np

from sepc.around import GivenScores, TrustedClassifier
from sepc.cli.commands.explain import change_limits
from sepc.cli.commands.inspect import summarize, summary_text
from sepc.cli.commands.promise import (
    PARTS,
    group_column,
    make_promise,
    note_no_promise,
    note_other_meaning,
    promise_text,
)
from sepc.cli.compiling import say_if_compiling
from sepc.cli.console import (
    UsageError,
    aligned,
    counted,
    is_watched,
    note,
    note_text,
    say,
    show,
    show_json,
    step_progress,
)
from sepc.cli.given_answers import given_by
from sepc.cli.label_tables import label_lines
from sepc.cli.labelled_tables import LabelledTable, read_labelled_table, require_labels
from sepc.cli.messages import printed
from sepc.cli.model_inputs import columns_of, rows_for, state_origin
from sepc.cli.unchangeable import unchangeable
from sepc.cli.writing import require_writable
from sepc.common.errors import InputError
from sepc.common.intervals import exact_interval
from sepc.common.text import listed, many
from sepc.estimators.classifier import SEPClassifier
from sepc.estimators.ensemble.ensemble_classifier import SEPEnsembleClassifier
from sepc.estimators.n_imp_selection import NImpPath, select_n_imp
from sepc.explanations.change_limits import ChangeLimits
from sepc.landscapes.column_findings import trap_findings
from sepc.landscapes.findings import Finding, gravest_first
from sepc.landscapes.known_values import KnownValues
from sepc.model.acceptance import DEFAULT_TRUST
from sepc.persist import save
from sepc.promises.parts import ALL, GROUP, GROUPS
from sepc.reports.baselines import baseline_results, class_numbers, mean_log_loss
from sepc.reports.label_results import LabelResults
from sepc.reports.sentences import claim_warning
from sepc.tables import TableEncoder, make_table_pipeline
from sepc.tables.columns import date_columns, features_by_column


def run(options: Namespace) -> None:
    """Fit a pipeline, write it, and print its summary."""
    classifier = make_classifier(options)
    require_writable(options.output, options.data, *([options.test] if options.test else []))
    _require_promise(options)
    data = read_labelled_table(options, group_column=group_column(options.by))
    require_labels(data, options.target)
    note_other_meaning(options.by, data.table.column_names)
    train, test = _split(options, data)
    cal = None
    if options.max_error is not None:
        has_test = train is not test
        share = 0.3 if options.calibration is None else options.calibration
        train, cal = split_for_promise(train, share, options.random_state + 1)
        test = test if has_test else train
    limits = change_limits(options)
    ChangeLimits.of(train.table.column_names, **limits)  # what cannot be is refused before the fit
    say_if_compiling()
    path = set_n_imp(classifier, train, options.random_state) if options.n_imp == "auto" else None
    model = fit_pipeline(classifier, train)
    state_origin(model, name=options.name, tags=dict(options.tag))
    model.limit_changes(**limits)
    test = test.with_labels_of(model.classes_)
    is_new = test.table is not train.table
    traps = _traps(model, train)
    report = {
        "rows": len(train.labels),
        "unlabelled": data.n_unlabelled,
        **summarize(model),
        "findings": [finding.to_dict() for finding in traps],
        "n_imp_path": None if path is None else path.to_dict(),
        "test": evaluate(model, test, train if is_new else None),
    }
    if is_new:
        _calibrate_label_sets(model, test)
    _note_unknown_labels(test, model.classes_.tolist())
    promise = None if cal is None else _sign(model, cal, options)
    report["promise"] = None if promise is None else promise.to_dict()
    save(model, options.output, training_rows=not options.no_training_rows)
    say("model-written", path=options.output)
    if options.json:
        show_json({"model": options.output, "tested_with": _tested_with(options), **report})
        return
    for sentence in (*model.table_encoder.notes, *traps):
        note_text(str(sentence))
    _note_unchangeable(model, options)
    if path is not None:
        show(_path_text(path))
    show(summary_text(model, int(model.core.class_count_.sum())))
    show(evaluation_text(report["test"], _tested_with(options)))
    if promise is not None:
        kept = kept_text(model, test) if is_new else None
        show("\n".join([*([] if kept is None else [kept]), promise_text(promise)]))
    note_evaluation(report["test"])


def _require_promise(options: Namespace) -> None:
    """Raise a `UsageError` for options of a promise without a limit."""
    if options.max_error is None:
        for name in ("by", "confidence", "calibration"):
            if getattr(options, name) is not None:
                raise UsageError("option-without-max-error", name=name)
    elif options.by == options.target and options.by not in PARTS:
        raise UsageError("by-names-target", target=options.target)


def _sign(model: Any, cal: LabelledTable, options: Namespace) -> Any:
    """Make a promise from held-out rows, and sign the model with it, kept or not."""
    confidence = 0.95 if options.confidence is None else options.confidence
    made_from = printed("rows-kept-back", n=len(cal.labels), name=cal.name)
    by = None if options.by == ALL else options.by
    # New rows, too, can have a label of which no row was left to learn from.
    terms = {"max_error": options.max_error, "unknown_labels": "wrong"}
    try:
        promise = make_promise(model, cal, made_from, by, confidence, **terms)
    except InputError as error:
        if error.code != "calibration-rows-learned":
            raise
        # Equal in what the model reads of them: rows that differ elsewhere may have come apart.
        others = cal.rows(np.delete(np.arange(len(cal.labels)), error.fields["learned"]))
        note("learned-left-out", n=len(error.fields["learned"]))
        promise = make_promise(model, others, made_from, by, confidence, **terms)
    model.sign(promise)
    if not promise.is_kept:
        note_no_promise(model, promise, max_error=options.max_error)
    return promise


def _traps(model: Any, data: LabelledTable) -> list[Finding]:
    """Return findings on columns that a model should not learn from as they are."""
    encoder = model.table_encoder
    features = encoder.transform(data.table)
    names = features.columns.tolist()
    columns = features_by_column(encoder.columns_, names)
    X, codes = features.to_numpy(), np.unique(data.labels, return_inverse=True)[1]
    dates = date_columns(encoder.columns_)
    of_values = trap_findings(KnownValues.of(X, names, columns, dates).columns, codes)
    found = gravest_first([*encoder.findings_, *of_values])
    return [finding for finding in found if finding.severity != "note"]


def make_classifier(options: Namespace) -> Any:
    """Return the classifier of the options, not fitted."""
    answers = given_by(options)
    if answers is not None:
        return _around(answers, options)
    given = {} if options.n_imp in (None, "auto") else {"n_imp": options.n_imp}
    if not options.ensemble:
        return SEPClassifier(**given, **({"trust": options.trust} if options.trust else {}))
    if options.trust:
        raise UsageError("trust-with-ensemble")
    if options.n_imp == "auto":
        raise UsageError("n-imp-auto-with-ensemble")
    return SEPEnsembleClassifier(**given, random_state=options.random_state)


def _around(given: GivenScores, options: Namespace) -> TrustedClassifier:
    """Return a classifier around another model's answers; refuse options of other classifiers."""
    others = {"--ensemble": options.ensemble, "--n-imp": options.n_imp is not None, "--trust": options.trust}
    asked = [name for name, value in others.items() if value]
    if asked:
        raise UsageError("scores-with-option", option=asked[0])
    return TrustedClassifier(given)


def set_n_imp(classifier: Any, data: LabelledTable, seed: int) -> NImpPath:
    """Set `n_imp` by cross-validation of the training rows; return the values tried."""
    if data.weights is not None:
        raise UsageError("n-imp-auto-with-weights")
    features = TableEncoder().fit(data.table).transform(data.table)
    with step_progress(printed("choosing-n-imp")) as on_step:
        path = select_n_imp(features, data.labels, estimator=classifier, random_state=seed, on_step=on_step)
    classifier.set_params(n_imp=path.best)
    return path


def _path_text(path: NImpPath) -> str:
    """Return the values of `n_imp` that were tried, with their results."""
    shown = ("n_imp", "count", "aurc", "aurc_se", "accuracy", "n_ellipsoids", "chosen")
    tried = path.to_dict()["path"]
    rows = [row | {"n_imp": f"{row['n_imp']:g}", "chosen": "*" if row["chosen"] else ""} for row in tried]
    return f"{printed('n-imp-tried', best=path.best, n_folds=len(path.results[0]))}\n{aligned(rows, shown)}\n"


def _calibrate_label_sets(model: Any, test: LabelledTable) -> None:
    """Calibrate sets of labels with the test rows."""
    if set(test.labels.tolist()) <= set(model.classes_.tolist()):
        model.calibrate(rows_for(model, test.table), test.labels)
    else:
        note("no-label-sets")


def fit_pipeline(classifier: Any, data: LabelledTable) -> Any:
    """Return a model of raw tables that is fitted to labelled rows, with progress on a terminal."""
    classifier.set_params(verbose=is_watched())
    is_around = isinstance(classifier, TrustedClassifier)
    if is_around:
        note("rows-held-out", columns=listed(classifier.estimator.columns))
    model = classifier if is_around else make_table_pipeline(classifier)
    model.fit(rows_for(model, data.table), data.labels, sample_weight=data.weights)
    model.core.set_params(verbose=False)
    model.table_encoder.text_notation_ = data.notation
    model.table_encoder.findings_ += data.findings
    model.row_numbers_ = data.row_numbers
    return model


def _split(options: Namespace, data: LabelledTable) -> tuple[LabelledTable, LabelledTable]:
    """Return the training and the test rows."""
    if options.test:
        test = read_labelled_table(options, options.test, notation=data.notation)
        require_labels(test, options.target)
        return data, test
    if options.holdout is None:
        return data, data
    return hold_out(data, options.holdout, options.random_state)


def hold_out(data: LabelledTable, share: float, seed: int) -> tuple[LabelledTable, LabelledTable]:
    """Return training and held-out rows, the latter a random share of each class."""
    rng = np.random.default_rng(seed)
    held_out = np.zeros(len(data.labels), dtype=bool)
    for label in np.unique(data.labels):
        rows = np.flatnonzero(data.labels == label)
        held_out[rng.permutation(rows)[: min(round(share * len(rows)), len(rows) - 1)]] = True
    if not held_out.any():
        counts = np.unique(data.labels, return_counts=True)[1]
        raise InputError(
            "test-share-too-small", percent=100 * share, name=data.name, largest=many(int(counts.max()), "row")
        )
    return data.rows(~held_out), data.rows(held_out)


def split_for_promise(data: LabelledTable, share: float, seed: int) -> tuple[LabelledTable, LabelledTable]:
    """Return training rows, and rows to make a promise from: a sample stratified by label, with equal chances.

    Equal rows stay together: a row that was fitted is no evidence for new ones.
    """
    rng = np.random.default_rng(seed)
    frame = data.table.to_pandas().astype(object)
    different = frame.groupby(list(frame.columns), dropna=False, sort=False).ngroup().to_numpy()
    first = np.unique(different, return_index=True)[1]
    labels = [str(label) for label in data.labels[first].tolist()]
    # Systematic sampling from a random start, of rows sorted by label and in random order within each.
    order = np.lexsort((rng.random(len(first)), np.unique(labels, return_inverse=True)[1]))
    kept = np.zeros(len(first), dtype=bool)
    kept[order] = np.diff(np.floor(np.arange(len(first) + 1) * share + rng.random())) > 0
    rows = kept[different]
    if not rows.any() or len(set(data.labels[~rows].tolist())) < 2:
        raise InputError("calibration-too-few-rows", name=data.name, percent=100 * share)
    return data.rows(~rows), data.rows(rows)


def _note_unchangeable(model: Any, options: Namespace) -> None:
    """Note columns that people cannot change, unless it was said which ones are fixed."""
    found = unchangeable(columns_of(model))
    if found and options.fixed is None:
        note("unchangeable", columns=listed(found), switch=shlex.join(["--fixed", *found]))


def _note_unknown_labels(test: LabelledTable, classes: list[Any]) -> None:
    unknown = Counter(label for label in test.labels.tolist() if label not in classes)
    if unknown:
        note("unknown-labels", name=test.name, labels=counted(unknown))


def _tested_with(options: Namespace) -> str:
    if options.test:
        return str(options.test)
    return printed("training-rows") if options.holdout is None else printed("held-back", share=100 * options.holdout)


def kept_text(model: Any, data: LabelledTable) -> str | None:
    """Return the results of a model's promise on labelled rows; None without one, or with one by groups."""
    promise = model.promise
    if promise is None or promise.by in (GROUP, GROUPS):
        return None
    a = model.assess(rows_for(model, data.table))
    accepted = a.accepted(promise)
    n, n_accepted = len(accepted), int(np.count_nonzero(accepted))
    right = int(np.count_nonzero(a.label[accepted] == data.labels[accepted]))
    accepted_of, right_of = (n_accepted, n), (right, n_accepted)
    return printed("promise-tested" if n_accepted else "promise-accepts-none", accepted=accepted_of, right=right_of)


def evaluate(model: Any, data: LabelledTable, train: LabelledTable | None = None) -> dict[str, Any]:
    """Return the results of a model on labelled rows, ready for JSON, with baselines fitted to `train` if given."""
    a = model.assess(rows_for(model, data.table))
    right, accepted = a.label == data.labels, a.accepted(DEFAULT_TRUST)
    proba = model.predict_proba(rows_for(model, data.table))
    by_label = LabelResults.of(
        model.classes_.tolist(), data.labels.tolist(), a.label.tolist(), proba, a.trust, accepted
    )
    n, n_right = len(right), int(np.count_nonzero(right))
    n_accepted, n_accepted_right = int(np.count_nonzero(accepted)), int(np.count_nonzero(right & accepted))
    found = {
        "rows": n,
        "right": n_right,
        "accuracy_interval": list(exact_interval(n_right, n)),
        "min_trust": DEFAULT_TRUST,
        "accepted": n_accepted,
        "accepted_right": n_accepted_right,
        "warning": claim_warning(n_accepted_right, n_accepted, DEFAULT_TRUST),
        **by_label.to_dict(DEFAULT_TRUST, model),
    }
    if train is None:
        return found
    features = (model.table_encoder.transform(part.table) for part in (train, data))
    results = baseline_results(next(features), train.labels, next(features), data.labels)
    truth = class_numbers(data.labels, model.classes_)
    return {**found, "log_loss": mean_log_loss(proba, truth), "baselines": [result._asdict() for result in results]}


def evaluation_text(found: dict[str, Any], tested_with: str) -> str:
    """Return the results of a model as lines of text."""
    learned = tested_with == printed("training-rows")
    right, accepted = (found["right"], found["rows"]), (found["accepted"], found["rows"])
    lines = [printed("right-on-learned" if learned else "right-on", rows=tested_with, right=right)]
    if "baselines" in found:
        others = (printed("baseline", name=one["name"], right=(one["n_right"], one["n"])) for one in found["baselines"])
        lines.append(printed("baselines", baselines="; ".join(others)))
    accepted_right = found["accepted_right"], found["accepted"]
    lines.append(printed("rows-accepted", min_trust=found["min_trust"], accepted=accepted, right=accepted_right))
    lines.append(printed("by-label", accuracy=found["balanced_accuracy"]))
    return "\n".join([*lines, *label_lines({"": found["classes"]})])


def note_evaluation(found: dict[str, Any]) -> None:
    """Print notes on the results of `evaluate`."""
    low, high = found["accuracy_interval"]
    right = found["right"] / found["rows"]
    for text in found["label_notes"]:
        note_text(text)
    for one in found.get("baselines", []):
        name, accuracy = one["name"], one["accuracy"]
        if accuracy > high:
            note("worse-than-baseline", right=right, low=low, high=high, baseline=name, accuracy=accuracy)
    if found["warning"]:
        note_text(found["warning"])
