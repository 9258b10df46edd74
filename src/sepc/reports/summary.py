"""Content of a report, as one dict: every section, from the summary to the model card."""

import platform
from importlib.metadata import version
from typing import Any

import numpy as np

import sepc
from sepc.common.text import TRUST_TEXTS, listed, many, percent, shortened
from sepc.common.typing import RowNumbers
from sepc.reports.around_model import around
from sepc.reports.columns import column_importance, column_profile
from sepc.reports.expected_results import expected_results
from sepc.reports.failing import failing_regions
from sepc.reports.how_to_serve import how_to_serve
from sepc.reports.performance import results
from sepc.reports.promised_parts import promise_results
from sepc.reports.record_verdicts import OnStep, choose, verdicts
from sepc.reports.regions import regions_table, views
from sepc.reports.report_tables import exact, table
from sepc.reports.sentences import claim_warning, policy_in_words, trust_in_words
from sepc.reports.subgroups import subgroup_results
from sepc.reports.subject import Subject, as_json
from sepc.reports.training_data import findings

_GUARANTEED = (
    "The same classifier, test records and versions give the same report.",
    "A verdict depends neither on the other records of its batch nor on the order of the training records.",
    "The counts of a region are counts: every one can be checked against the training records.",
)
_GUARANTEED_AROUND = (
    "The same classifier, test records and versions give the same report.",
    "What the regions say of a record depends neither on the other records of its batch nor on the order of the "
    "training records. Of the model that they are around nothing is known but its answers.",
    "The counts of a region are counts: every one can be checked against the training records.",
)
_NOT_GUARANTEED = (
    "Accuracy, ranking and calibration are measured on these test records, not promised for others.",
    "A trust threshold bounds no error by itself. sepc.select_min_trust finds one that does, from records that were "
    "neither trained nor tested on: at most a stated share of the accepted labels is wrong, with a stated confidence.",
    "Nothing holds for records from another source, or once the source has changed; sepc.feedback.FeedbackMonitor "
    "watches it.",
    "Nothing holds within a group of records, or for one given record, because it holds on average.",
    "A counterfactual is the smallest change found, not a cause: whether such a record can exist is for an expert.",
)


def summary(
    subject: Subject,
    *,
    title: str | None,
    date: str | None,
    min_trust: float,
    max_records: int,
    training_rows: bool,
    changes: bool,
    rows_from: RowNumbers,
    on_step: OnStep | None,
    groups: Any = None,
    dates: Any = None,
) -> dict[str, Any]:
    """Return the content of a report as plain numbers, texts, lists and dicts, ready for JSON."""
    result, about = results(subject, min_trust), model_card(subject, date)
    explained = verdicts(subject, choose(subject, max_records), training_rows, rows_from, on_step, changes)
    stated = [text for text in [policy_in_words(subject, min_trust)] if text]
    return {
        "format": 1,
        "title": f"{about['model']}: {_named(subject)}" if title is None else str(title),
        "summary": " ".join([_in_words(subject, result, about), *stated]),
        "reliability": trust_in_words(result["bands"]),
        "warnings": warnings_of(result),
        "training": _training_in_words(subject, explained, training_rows),
        "min_trust": min_trust,
        "labels": subject.labels,
        "n_classes": subject.n_classes,
        "columns": subject.columns,
        "landscape": findings(subject, training_rows, rows_from),
        "importance": column_importance(subject),
        "profile": column_profile(subject),
        "picture": views(subject, choose(subject, 400)),
        "regions": regions_table(subject),
        "results": result,
        "expected": expected_results(subject, dates),
        "around": around(subject),
        "subgroups": subgroup_results(subject, min_trust),
        "failing": failing_regions(subject),
        "promise": promise_results(subject, groups),
        "records": _records(subject),
        "training_rows": training_rows,
        **explained,
        "card": about,
    }


def _records(subject: Subject) -> dict[str, list[Any]]:
    """Return the test records by columns; labels are numbers of `labels`, a refusal is one at any trust."""
    assessment = subject.verdicts
    return {
        "id": subject.ids,
        "truth": subject.truth.tolist(),
        "label": subject.predicted.tolist(),
        "trust": subject.trust.tolist(),
        "reason": assessment.reason.tolist(),
        "region": assessment.region.tolist(),
        "typicality": [as_json(share) for share in assessment.typicality],
        "stability": [as_json(share) for share in assessment.stability],
        "refusal": subject.refusals(0.0).tolist(),
    }


def refused_in_words(refusals: dict[str, Any]) -> str:
    """Return the number of records refused for each reason, from a table of these."""
    return listed([f"{n:,} since {why}" for why, n, *_ in refusals["rows"]])


def warnings_of(result: dict[str, Any]) -> list[str]:
    """Return warnings: claims that do not hold, and what an accuracy hides of rare labels."""
    at = result["at"]
    claim = claim_warning(at["n_right"], at["n_accepted"], at["min_trust"])
    found = [*([] if claim is None else [claim]), *result["label_notes"]]
    return [f"{text[0].upper()}{text[1:]}" for text in found]


def _training_in_words(subject: Subject, explained: dict[str, Any], training_rows: bool) -> str:
    """Return a sentence on the training records that the report shows."""
    if not training_rows:
        return "No training record is shown in this report."
    if subject.model.records is None:
        return "The model was saved without its training records, and none is shown in this report."
    return (
        f"This report shows all values of {many(len(explained['neighbours']), 'training record')}, and names others by "
        "their row: pass it on only to those who may see them, or make it without training rows."
    )


def _named(subject: Subject) -> str:
    known = subject.labels[: subject.n_classes]
    return listed(known) if len(known) <= 5 else shortened(known, 5)


def _in_words(subject: Subject, result: dict[str, Any], about: dict[str, Any]) -> str:
    at = result["at"]
    n, left = result["n_records"], at["n_abstained"]
    accepted = (
        f"it accepts {at['n_accepted']:,} of them ({percent(at['coverage'])}) and is right on {at['n_right']:,} of "
        f"these ({percent(at['accuracy'])}); {'the other' if left == 1 else f'the other {left:,}'} "
        f"{'is' if left == 1 else 'are'} left to a person, {refused_in_words(result['refusals'])}."
        if at["n_accepted"]
        else f"it accepts none of them: {refused_in_words(result['refusals'])}."
    )
    if at["n_accepted"] == n:
        accepted = "it accepts all of them."
    with_ = f"With a trust of at least {exact(at['min_trust'])}"
    if subject.promised is not None:
        with_ = "By its promise"
    elif subject.has_costs and not at["min_trust"]:
        with_ = "Where that costs no more than asking a person" if subject.can_review else "By the least expected cost"
    return (
        f"{about['model']} was fitted to {about['n_training']:,} records with {many(about['n_features'], 'feature')} "
        f"in {subject.n_classes} classes ({_named(subject)}) and tested on {many(n, 'record')}. It is right on "
        f"{result['n_right']:,} of these ({percent(result['accuracy'])}){_beside(result['baselines'])}. "
        f"{with_} {accepted}"
    )


def _beside(baselines: list[dict[str, Any]]) -> str:
    """Return the accuracy of the baselines, as the end of a sentence."""
    named = [f"the {one['name']} {percent(one['accuracy'])}" for one in baselines]
    return f"; for comparison, {listed(named).replace('the logistic', 'a logistic')}" if named else ""


def model_card(subject: Subject, date: str | None) -> dict[str, Any]:
    """Return the model card, ready for JSON."""
    model, params = subject.model, subject.classifier.get_params(deep=False)
    return {
        "model": subject.name,
        "date": date,
        "n_training": int(model.class_count.sum()),
        "n_features": len(model.features),
        "features": list(subject.columns),
        "preparation": [] if subject.clf.table_encoder is None else subject.clf.table_encoder.notes,
        "classes": _class_sizes(subject),
        "parameters": {name: " ".join(repr(value).split()) for name, value in sorted(params.items())},
        "versions": {
            "sepc": sepc.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
        },
        "meaning": " ".join(TRUST_TEXTS[subject.classifier.model_.trust]),
        "guaranteed": list(_GUARANTEED_AROUND if subject.is_around else _GUARANTEED),
        "not_guaranteed": list(_NOT_GUARANTEED),
        "serving": how_to_serve(subject.clf),
    }


def _class_sizes(subject: Subject) -> dict[str, Any]:
    trained = [*subject.model.class_count.tolist(), *[0] * (len(subject.labels) - subject.n_classes)]
    tested = np.bincount(subject.truth, minlength=len(subject.labels)).tolist()
    columns = [
        ("label", "label", "label"),
        ("n_training", "training records", "count"),
        ("n_test", "test records", "count"),
    ]
    return table(columns, [list(row) for row in zip(subject.labels, trained, tested, strict=True)])
