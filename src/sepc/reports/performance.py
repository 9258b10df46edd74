"""Scores, tables and curves of test records."""

from typing import Any

import numpy as np

from sepc import metrics
from sepc.common.intervals import exact_interval
from sepc.common.typing import FloatArray
from sepc.model.acceptance import REFUSALS
from sepc.model.assessment import REASONS, SELDOM
from sepc.plot.label_curves import MOST_CURVES, Outcome, precision_recall, roc
from sepc.reports.baselines import baseline_results, mean_log_loss
from sepc.reports.label_results import LabelResults
from sepc.reports.report_tables import table
from sepc.reports.sentences import trust_bands
from sepc.reports.subject import Subject

# The default of `expected_calibration_error`.
N_BINS = 15
_MOST_POINTS = 500
THRESHOLDS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0)


def results(subject: Subject, min_trust: float) -> dict[str, Any]:
    """Return scores, tables and curves of the test records, ready for JSON."""
    outcome = (subject.truth, subject.predicted, subject.trust)
    n, n_right = len(subject.right), int(np.count_nonzero(subject.right))
    by_label = label_results(subject, min_trust)
    return {
        "n_records": n,
        "n_right": n_right,
        "accuracy": n_right / n,
        "accuracy_interval": list(exact_interval(n_right, n)),
        "balanced_accuracy": by_label.balanced_accuracy,
        "aurc": metrics.aurc(*outcome),
        "e_aurc": metrics.e_aurc(*outcome),
        "augrc": metrics.augrc(*outcome),
        "ece": metrics.expected_calibration_error(*outcome, n_bins=N_BINS),
        "brier": _brier(subject),
        "log_loss": mean_log_loss(subject.proba, subject.known_truth),
        "baselines": baselines(subject),
        "at": at(subject, min_trust),
        "thresholds": _thresholds(subject, min_trust),
        "label_notes": by_label.notes(min_trust, subject.classifier),
        "classes": _classes(subject, by_label),
        "reasons": _reasons(subject, min_trust),
        "refusals": refusals(subject, min_trust),
        "confusion": confusion(subject, min_trust),
        "reliability": _reliability(subject),
        "bands": trust_bands(subject),
        "curve": _curve(subject),
        "label_curves": _label_curves(subject, by_label),
    }


def at(subject: Subject, min_trust: float) -> dict[str, Any]:
    """Return coverage and accuracy of a trust threshold."""
    accepted = subject.accepted(min_trust)
    n, n_accepted = len(accepted), int(np.count_nonzero(accepted))
    n_right = int(np.count_nonzero(accepted & subject.right))
    return {
        "min_trust": min_trust,
        "n_accepted": n_accepted,
        "n_abstained": n - n_accepted,
        "coverage": n_accepted / n,
        "n_right": n_right,
        "n_errors": n_accepted - n_right,
        "accuracy": n_right / n_accepted if n_accepted else None,
    }


def baselines(subject: Subject) -> list[dict[str, Any]]:
    """Return the results of two baselines on the same test records; none for a model without training records."""
    points, codes = subject.training
    if not len(points):
        return []
    return [one._asdict() for one in baseline_results(points, codes, subject.points, subject.known_truth)]


def refusals(subject: Subject, min_trust: float) -> dict[str, Any]:
    """Return the number of records refused for each reason, and the accuracy of their labels."""
    why = subject.refusals(min_trust)
    columns = [
        ("refusal", "why not accepted", "text"),
        ("n_records", "records", "count"),
        ("accuracy", "would have been right", "share"),
    ]
    found = [(words, why == kind) for kind, words in REFUSALS.items() if (why == kind).any()]
    return table(columns, [[words, int(np.count_nonzero(here)), _share(subject.right, here)] for words, here in found])


def confusion(subject: Subject, min_trust: float) -> dict[str, Any]:
    """Return the confusion matrix, with a last column for records that were not accepted."""
    given = np.where(subject.accepted(min_trust), subject.predicted, subject.n_classes)
    counts = np.zeros((len(subject.labels), subject.n_classes + 1), dtype=np.int64)
    np.add.at(counts, (subject.truth, given), 1)
    return {"true": subject.labels, "given": [*subject.labels[: subject.n_classes], None], "counts": counts.tolist()}


def _thresholds(subject: Subject, min_trust: float) -> dict[str, Any]:
    rows = [at(subject, t) for t in sorted({*THRESHOLDS, min_trust})]
    columns = [
        ("min_trust", "trust from", "exact"),
        ("n_accepted", "accepted", "count"),
        ("coverage", "coverage", "share"),
        ("accuracy", "right among accepted", "share"),
        ("n_errors", "errors accepted", "count"),
        ("n_abstained", "abstained", "count"),
    ]
    return table(columns, [[row[key] for key, *_ in columns] for row in rows])


def label_results(subject: Subject, min_trust: float) -> LabelResults:
    """Return the results of each label."""
    accepted = subject.accepted(min_trust)
    return LabelResults(subject.labels, subject.truth, subject.predicted, subject.proba, subject.trust, accepted)


def _classes(subject: Subject, by_label: LabelResults) -> dict[str, Any]:
    rows = []
    for code, one in enumerate(by_label.classes):
        true = subject.truth == code
        rows.append(
            [
                *(one.label, one.n_records, one.recall, one.precision, one.auc),
                _share(by_label.accepted, true),
                _share(subject.right, true & by_label.accepted),
                _mean(subject.trust, true),
                *(one.n_given, one.n_accepted, one.n_accepted_right),
            ]
        )
    columns = [
        ("label", "label", "label"),
        ("n_records", "records", "count"),
        ("recall", "recall", "share"),
        ("precision", "precision", "share"),
        ("auc", "AUC", "number"),
        ("coverage", "accepted", "share"),
        ("accuracy", "right among accepted", "share"),
        ("trust", "mean trust", "share"),
        ("n_given", "labels given", "count"),
        ("n_accepted", "labels accepted", "count"),
        ("n_accepted_right", "of these right", "count"),
    ]
    return table(columns, rows)


def _reasons(subject: Subject, min_trust: float) -> dict[str, Any]:
    accepted = subject.accepted(min_trust)
    rows = []
    for reason in REASONS:
        here = subject.verdicts.reason == reason
        n = int(np.count_nonzero(here))
        if reason in SELDOM and not n:
            continue
        rows.append([reason, n, _share(subject.right, here), _share(accepted, here), _mean(subject.trust, here)])
    columns = [
        ("reason", "where it lies", "text"),
        ("n_records", "records", "count"),
        ("accuracy", "right", "share"),
        ("coverage", "accepted", "share"),
        ("trust", "mean trust", "share"),
    ]
    return table(columns, rows)


def _reliability(subject: Subject) -> list[dict[str, Any]]:
    """Return the bins of equal width that are not empty; each includes its upper edge."""
    trust, accuracy, count = metrics.reliability_curve(subject.truth, subject.predicted, subject.trust, n_bins=N_BINS)
    return [
        {
            "low": k / N_BINS,
            "high": (k + 1) / N_BINS,
            "n_records": int(count[k]),
            "trust": float(trust[k]),
            "accuracy": float(accuracy[k]),
            "interval": list(exact_interval(round(accuracy[k] * count[k]), int(count[k]))),
        }
        for k in np.flatnonzero(count).tolist()
    ]


def _curve(subject: Subject) -> dict[str, list[float]]:
    """Return the coverage of each threshold, as a share of all records, and the share of errors among these."""
    can_be = subject.accepted(0.0)
    if not can_be.any():
        return {"coverage": [], "risk": [], "threshold": []}
    outcome = (values[can_be] for values in (subject.truth, subject.predicted, subject.trust))
    coverage, risk, threshold = metrics.risk_coverage_curve(*outcome)
    coverage = coverage * (np.count_nonzero(can_be) / len(can_be))
    return _thinned(coverage=coverage, risk=risk, threshold=threshold)


def _label_curves(subject: Subject, by_label: LabelResults) -> list[dict[str, Any]]:
    """Return the ROC and the precision-recall curve of some labels, and where their accepted labels are."""
    outcome = Outcome(subject.truth, subject.predicted, subject.proba, by_label.accepted)
    found = []
    for k in outcome.shown(MOST_CURVES):
        of_roc, of_recall = roc("", subject.labels[k], k, outcome), precision_recall("", subject.labels[k], k, outcome)
        accepted = None if of_roc.accepted is None else of_roc.accepted.to_dict()
        found.append(
            {
                "label": subject.labels[k],
                "number": k,
                "share": of_roc.share,
                "auc": of_roc.area,
                "average_precision": of_recall.area,
                "accepted": accepted,
                "roc": _thinned(false_positive_rate=of_roc.x, recall=of_roc.y),
                "precision_recall": _thinned(recall=of_recall.x, precision=of_recall.y),
            }
        )
    return found


def _thinned(**columns: FloatArray) -> dict[str, list[float]]:
    """Return columns of a curve with few enough points for a picture."""
    n = len(next(iter(columns.values())))
    some = np.unique(np.linspace(0, n - 1, min(n, _MOST_POINTS)).round().astype(int))
    return {name: values[some].tolist() for name, values in columns.items()}


def _brier(subject: Subject) -> float:
    """Return the mean over records of the sum over labels of squared errors of the probabilities, from 0 to 2."""
    errors = np.zeros((len(subject.truth), len(subject.labels)))
    errors[:, : subject.n_classes] = subject.proba
    errors[np.arange(len(errors)), subject.truth] -= 1.0
    return float(np.square(errors).sum(axis=1).mean())


def _share(flags: np.ndarray, among: np.ndarray) -> float | None:
    n = np.count_nonzero(among)
    return int(np.count_nonzero(flags & among)) / int(n) if n else None


def _mean(values: np.ndarray, among: np.ndarray) -> float | None:
    return float(values[among].mean()) if among.any() else None
