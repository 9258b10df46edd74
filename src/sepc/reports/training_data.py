"""Findings on the training data: of their landscape before the fit, and of the regions after it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sepc.common.frames import FrameMaker, numbered
from sepc.common.text import many, plural, shortened
from sepc.common.typing import RowNumbers
from sepc.estimators.classifier import SEPClassifier
from sepc.explanations.notes import out_of_range_in_words
from sepc.landscapes.data_landscape import DataLandscape, landscape
from sepc.landscapes.findings import Finding, gravest_first
from sepc.landscapes.fitted_landscape import FittedLandscape
from sepc.reports.report_tables import table
from sepc.reports.subject import Subject, short

_NAMED = 8


def findings(subject: Subject, training_rows: bool, rows_from: RowNumbers = 0) -> dict[str, Any]:
    """Return findings on the training records, gravest first, with a note on these records.

    They name training records by row number, from `rows_from` on, only if `training_rows`.
    """
    model, records = subject.model, subject.model.records
    of_texts = [*of_new_values(subject), *of_values_out_of_range(subject), *subject.findings_on_texts]
    if records is None:
        return {
            "note": "The model holds no training records, so nothing can be said of them.",
            "findings": [finding.to_dict() for finding in of_texts],
            "pairs": None,
        }
    # In the original order: findings name rows.
    order = np.argsort(records.rows, kind="stable")
    values = model.original(records.as_they_came[order])
    # Standardising leaves rounding errors; indicators of categories must be exactly 0 or 1.
    values = np.where(np.isclose(values, np.rint(values), rtol=1e-12, atol=1e-12), np.rint(values), values)
    X = FrameMaker().frame(dict(zip(model.features, values.T, strict=True)))
    columns = {word.name: model.features[word.at] for word in subject.words}
    first = 1 if isinstance(rows_from, int) else rows_from
    numbers = np.array([numbered(row, first) for row in records.rows[order].tolist()])
    view = landscape(X, model.classes[records.codes[order]], columns=columns, rows_from=numbers, dates=subject.dates)
    found = [
        *of_known_records(subject),
        *of_texts,
        *(_redacted(finding, training_rows) for finding in view.findings),
    ]
    if isinstance(subject.classifier.by_regions, SEPClassifier):
        of_regions = list(of_fitted_landscape(subject.classifier.by_regions.landscape_, training_rows, rows_from))
        # Findings on regions replace those with the same code on whole classes.
        codes = {finding.code for finding in of_regions}
        found = [finding for finding in found if finding.code not in codes] + of_regions
    return {
        "note": f"{view.title}.",
        "findings": [finding.to_dict() for finding in gravest_first(found)],
        "pairs": _pairs(view),
    }


def _redacted(finding: Finding, training_rows: bool) -> Finding:
    """Return a finding without row numbers, where these must not be shown."""
    if training_rows or finding.code != "contradictory-duplicates":
        return finding
    return replace(finding, evidence=f"{finding.evidence.partition(', counted from 1 the rows')[0]}.")


def _pairs(view: DataLandscape) -> dict[str, Any]:
    columns = [
        ("class_a", "class", "label"),
        ("class_b", "and class", "label"),
        ("n_both", "records in the ellipsoids of both", "count"),
        ("ovl", "likeness (OVL)", "number"),
        ("separable", "a hyperplane separates them", "text"),
    ]
    rows = [
        [str(p.class_a), str(p.class_b), sum(p.n_inside), short(p.ovl), "yes" if p.separable else "no"]
        for p in view.overlaps
    ]
    return table(columns, rows)


def of_new_values(subject: Subject) -> Iterator[Finding]:
    """Yield a finding on values of categories that only the test records have."""
    if subject.clf.table_encoder is not None:
        for column, new in subject.clf.table_encoder.unseen(subject.X).items():
            named = shortened((f"{value} ({many(n, 'record')})" for value, n in new.items()), _NAMED, "value")
            yield Finding(
                "unseen-category",
                "warning",
                f"test records have values of {column} that training never had",
                f"{column}: {named}.",
                "Check the spelling; the labels of these records depend on their other columns.",
            )


def of_values_out_of_range(subject: Subject) -> Iterator[Finding]:
    """Yield a finding on values of the test records that are smaller or larger than all of training."""
    counts, beyond = subject.verdicts.out_of_range(), Counter(subject.verdicts.beyond.tolist())
    if not counts:
        return
    del beyond[None]
    refused = shortened((f"{name} ({n})" for name, n in beyond.most_common()), _NAMED, "column")
    yield Finding(
        "out-of-range",
        "warning" if beyond else "note",
        "test records have values beyond the range of training",
        f"{shortened(out_of_range_in_words(subject.model, counts, subject.vocabulary), _NAMED, 'column')}. "
        + (f"Refused, since training does not justify so large a step: {refused}." if beyond else "None is refused."),
        "Check units and the places of decimal points. If they are right, train with such records, too.",
    )


def of_known_records(subject: Subject) -> Iterator[Finding]:
    """Yield a finding if most of the test records are training records; with few values, some are equal by chance."""
    records, n = subject.model.records, len(subject.points)
    if records is None:
        return
    known = int(np.count_nonzero(records.recorded(subject.points)))
    if 2 * known > n:
        yield Finding(
            "known-test-records",
            "problem",
            f"{known} of {n} test records are training records",
            "They have the same values as records that the model has learned from, so test results are too favourable.",
            "Test with records that had no part in training.",
        )


def of_fitted_landscape(
    fitted: FittedLandscape, training_rows: bool = True, rows_from: RowNumbers = 0
) -> Iterator[Finding]:
    """Yield findings on the regions, and on outlying training records."""
    yield from fitted.findings
    content = fitted.to_dict()
    rows = {
        name: [numbered(row["row"], rows_from) for row in content[name]] for name in ("isolated", "outliers", "impure")
    }
    # Impure ones stay in their order, the most doubtful first.
    rows |= {name: sorted({*rows[name]}) for name in ("isolated", "outliers")}
    if content["disjuncts"]:
        n = len(content["disjuncts"])
        yield Finding(
            "small-disjuncts",
            "warning",
            f"{n} small {plural('group', n)} of records among other labels",
            " ".join(disjunct["text"] for disjunct in content["disjuncts"][:_NAMED]),
            "Mistakes are frequent there: check what these records have in common, or collect more.",
        )
    for name, code, severity, title, meaning, remedy in RECORD_FINDINGS:
        if rows[name]:
            of = "of the training set" if isinstance(rows_from, int) else "in the file"
            evidence = _some(rows[name], meaning, of) if training_rows else f"{meaning}."
            if name == "impure":
                evidence = f"{evidence} {_doubtful(content[name])}"
            yield Finding(code, severity, _counted(len(rows[name]), title), evidence, remedy)
    n = sum(not edge["same_label"] for edge in content["graph"])
    if n:
        yield Finding(
            "regions-overlap",
            "note",
            f"{n} {plural('pair', n)} of regions of different labels {'overlaps' if n == 1 else 'overlap'}",
            f"Of {len(content['regions'])} regions; where two overlap, the records that they share decide.",
            "Look at the verdicts with the reason overlap or contested first.",
        )


# Records, code, severity, title, meaning and remedy.
RECORD_FINDINGS = (
    (
        "outliers",
        "outliers",
        "warning",
        ("makes", "make", "a region much larger"),
        "Without one of them, the ellipsoid around its region or its class shrinks by more than chance explains",
        "Check these records; correct or drop mistakes.",
    ),
    (
        "impure",
        "impure-records",
        "note",
        ("lies", "lie", "in a region of another label"),
        "They lie in an ellipsoid that was built on another label, the most doubtful first",
        "Check the labels from the first on; stop when they are right.",
    ),
    (
        "isolated",
        "isolated-records",
        "note",
        ("lies", "lie", "in no region"),
        "No ellipsoid could be made around them; each counts as a single point",
        "Expect low trust near them; more records of their kind would help.",
    ),
)


def _doubtful(impure: list[dict[str, Any]]) -> str:
    """Return a sentence on the neighbours of the records in a region of another label."""
    alone, fewer = (sum(row["n_near_own"] < limit for row in impure) for limit in (1, 5))
    return (
        f"Of the 10 nearest training records, none shares the label for {alone} of these, and fewer than 5 for {fewer}."
    )


def _counted(n: int, does: tuple[str, str, str]) -> str:
    one, several, what = does
    return f"{n} training {plural('record', n)} {one if n == 1 else several} {what}"


def _some(rows: list[int], meaning: str, of: str) -> str:
    return f"{meaning}: {plural('row', len(rows))} {shortened(rows, _NAMED)} {of}."
