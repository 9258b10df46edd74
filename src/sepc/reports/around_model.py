"""The model that a classifier is around, and the regions: how often each is right, and where they disagree."""

from typing import Any

import numpy as np

from sepc.common.intervals import exact_interval
from sepc.common.text import many, percent
from sepc.common.typing import BoolArray
from sepc.reports.report_tables import table
from sepc.reports.subject import Subject


def around(subject: Subject) -> dict[str, Any] | None:
    """Return how often the model, the regions and both together are right, ready for JSON; None around no model.

    ``text``, a few sentences; and ``table``, with the shares of right labels of all test records, and of those to
    which the model and the regions give the same label or different ones.
    """
    if not subject.is_around:
        return None
    a, truth, name = subject.verdicts, np.array(subject.labels, dtype=object)[subject.truth], subject.clf.model_name
    own, regions = (np.asarray(labels).astype(str) == truth for labels in (a.given_label, a.region_label))
    both = subject.proba.argmax(axis=1) == subject.truth
    agree = np.asarray(a.given_label == a.region_label)
    rows = [
        [which, int(np.count_nonzero(here)), *(_right(right, here) for right in (own, regions, both))]
        for which, here in (("all", agree | True), ("the same label", agree), ("different labels", ~agree))
    ]
    columns = [
        ("which", "model and regions", "text"),
        ("n_records", "test records", "count"),
        ("model", f"{name} right", "share"),
        ("regions", "regions right", "share"),
        ("both", "both together right", "share"),
    ]
    return {"text": _in_words(subject, name, own, regions, agree), "table": table(columns, rows)}


def _right(right: BoolArray, here: BoolArray) -> float | None:
    return float(right[here].mean()) if here.any() else None


def _in_words(subject: Subject, name: str, own: BoolArray, regions: BoolArray, agree: BoolArray) -> str:
    weights, n, apart = subject.clf.model_.stack.weights.tolist(), len(agree), ~agree
    n_apart = int(np.count_nonzero(apart))
    low, high = exact_interval(n_apart, n)
    whose = "those of the model" if subject.clf.model_.keeps_labels else "the likeliest by both together"
    there = ""
    if n_apart:
        there = f" There the model is right on {own[apart].sum():,} and the regions on {regions[apart].sum():,}."
    return (
        f"The labels are {whose}. In the trust the log odds of {name} have a weight of {weights[0]:.2f}, those of the "
        f"regions {weights[1]:.2f}. Alone they give different labels to {many(n_apart, 'test record')} of {n:,} "
        f"({percent(n_apart / n)}; 95 % interval {percent(low)} to {percent(high)}).{there}"
    )
