"""Model card: what the model was made of, what its numbers mean, and what nobody promises."""

import platform
from importlib.metadata import version
from typing import Any

import numpy as np

import sepc
from sepc.common.text import TRUST_READINGS
from sepc.reports.report_tables import table
from sepc.reports.subject import Subject

_PACKAGES = ("numpy", "scipy", "scikit-learn")

_GUARANTEED = (
    "The same classifier, test records and versions give the same report.",
    "A verdict depends neither on the other records of its batch nor on the order of the training records.",
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


def card(subject: Subject, date: str | None) -> dict[str, Any]:
    """Return the model card, ready for JSON."""
    model, params = subject.model, subject.classifier.get_params(deep=False)
    return {
        "model": type(subject.classifier).__name__,
        "date": date,
        "n_training": int(model.class_count.sum()),
        "n_features": len(model.features),
        "features": list(subject.columns),
        "preparation": [note for _, step in getattr(subject.clf, "steps", ())[:-1] for note in step.notes],
        "classes": _classes(subject),
        "parameters": {name: repr(value) for name, value in sorted(params.items())},
        "versions": {
            "sepc": sepc.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in _PACKAGES},
        },
        "meaning": " ".join(TRUST_READINGS[model.trust]),
        "guaranteed": list(_GUARANTEED),
        "not_guaranteed": list(_NOT_GUARANTEED),
    }


def _classes(subject: Subject) -> dict[str, Any]:
    trained = [*subject.model.class_count.tolist(), *[0] * (len(subject.labels) - subject.n_classes)]
    tested = np.bincount(subject.truth, minlength=len(subject.labels)).tolist()
    columns = [
        ("label", "label", "label"),
        ("n_training", "training records", "count"),
        ("n_test", "test records", "count"),
    ]
    return table(columns, [list(row) for row in zip(subject.labels, trained, tested, strict=True)])
