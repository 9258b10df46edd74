"""Accuracy that the trust expects of the test records, and the observed one beside it."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sepc.feedback.data_watch import DataWatch
from sepc.feedback.expected_accuracy import ExpectedAccuracy, months_of
from sepc.feedback.held_out_models import Reference, representative_rows
from sepc.reports.report_tables import table
from sepc.reports.subject import Subject

_FALSE_ALARM_RATE = 0.01


def expected_results(subject: Subject, dates: Any) -> dict[str, Any]:
    """Return a row for all records; with dates also for each month, and before and since a column changed."""
    n = len(subject.trust)
    months = months_of(dates, n)
    days = np.zeros(n) if months is None else np.asarray(dates, dtype="datetime64[D]")
    order = np.lexsort([*subject.points.T, days])
    accuracy = ExpectedAccuracy()
    in_order = [""] * n if months is None else [months[k] for k in order.tolist()]
    accuracy.add(subject.points[order], in_order, subject.trust[order], subject.right[order], seen=False)
    columns = [
        ("part", "test records", "text"),
        ("n_records", "number", "count"),
        ("expected", "expected right", "share"),
        ("low", "at least", "share"),
        ("high", "at most", "share"),
        ("right", "right", "share"),
    ]
    found = accuracy.records([] if months is None else list(_changed(subject, days)))
    return table(columns, [[one.part, one.n, one.expected, one.low, one.high, one.observed] for one in found])


def _changed(subject: Subject, days: Any) -> Iterator[tuple[str, int]]:
    """Yield the columns that changed in the course of the days, and the number of records before."""
    model = subject.model
    if model.records is None:
        return
    reference = Reference(model.records.as_they_came[representative_rows(model)], None, [])
    watch = DataWatch(list(model.features), reference, _FALSE_ALARM_RATE)
    for day in np.unique(days):
        watch.add(subject.points[(days == day) | (np.isnat(days) & np.isnat(day))], [], None, [], seen=False)
    for _, part in watch.parts():
        yield part.name, part.since
