"""Content of a report, as one dict."""

from typing import Any

from sepc.common.text import listed, many, percent, shortened
from sepc.reports.model_card import card
from sepc.reports.performance import results
from sepc.reports.projections import views
from sepc.reports.record_verdicts import OnStep, choose, verdicts
from sepc.reports.region_table import regions_table
from sepc.reports.report_tables import exact
from sepc.reports.subject import Subject, as_json
from sepc.reports.training_data import findings

FORMAT = 1
_N_DRAWN = 400
_NAMED = 5


def summary(
    subject: Subject,
    *,
    title: str | None,
    date: str | None,
    min_trust: float,
    max_records: int,
    training_rows: bool,
    on_step: OnStep | None,
) -> dict[str, Any]:
    """Return everything that a report tells, as plain numbers, texts, lists and dicts, ready for JSON.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    >>> asked = dict(title=None, date=None, min_trust=0.9, max_records=5, training_rows=True, on_step=None)
    >>> summary(Subject.of(clf, [[0.5]], ["low"]), **asked)["title"]
    'SEPClassifier: high and low'
    """
    result, about = results(subject, min_trust), card(subject, date)
    return {
        "format": FORMAT,
        "title": f"{about['model']}: {_named(subject)}" if title is None else str(title),
        "summary": _in_words(subject, result, about),
        "min_trust": min_trust,
        "labels": subject.labels,
        "n_classes": subject.n_classes,
        "columns": subject.columns,
        "landscape": findings(subject, training_rows),
        "picture": views(subject, choose(subject, _N_DRAWN)),
        "regions": regions_table(subject),
        "results": result,
        "records": _records(subject),
        "training_rows": training_rows,
        **verdicts(subject, choose(subject, max_records), training_rows, on_step),
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
    """Return how many records are refused for each reason, of a table of these.

    Examples
    --------
    >>> refused_in_words({"rows": [["the record is strange", 2, 0.5], ["the trust is too low", 1, 1.0]]})
    '2 since the record is strange and 1 since the trust is too low'
    """
    return listed([f"{n:,} since {why}" for why, n, *_ in refusals["rows"]])


def _named(subject: Subject) -> str:
    known = subject.labels[: subject.n_classes]
    return listed(known) if len(known) <= _NAMED else shortened(known, _NAMED)


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
    return (
        f"{about['model']} was fitted to {about['n_training']:,} records with {many(about['n_features'], 'feature')} "
        f"in {subject.n_classes} classes ({_named(subject)}) and tested on {many(n, 'record')}. It is right on "
        f"{result['n_right']:,} of these ({percent(result['accuracy'])}). With a trust of at least "
        f"{exact(at['min_trust'])} {accepted}"
    )
