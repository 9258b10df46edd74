"""Results of a signed promise on test records: coverage and errors of each part."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sepc.common.intervals import exact_interval
from sepc.common.text import many, percent
from sepc.common.typing import BoolArray
from sepc.promises import TrustThreshold
from sepc.promises.parts import EVERYTHING, GROUP, GROUPS, LABEL, REGION, texts_of
from sepc.reports.report_tables import table
from sepc.reports.subject import Subject


class Part(NamedTuple):
    """Test records of one label, region or group, with the promised limit, None without a promise, and its status."""

    name: str
    kind: str
    members: BoolArray
    limit: float | None
    why: str


def promise_results(subject: Subject, groups: Any = None) -> dict[str, Any] | None:
    """Return the results of a model's promise on the test records, ready for JSON; None without a promise.

    ``text``, the promise; ``bounds``, error or cost; ``table``, one row for each part of the promise, and for labels
    and regions besides; ``bars``, the same for a picture. A promise by groups needs those of the test records.
    """
    promise = subject.clf.promise
    if promise is None:
        return None
    text = _in_words(promise)
    bounds = promise.bounds
    if groups is None and promise.by in (GROUP, GROUPS):
        return {
            "text": f"{text} It goes by groups, and the report was not told those of the test records.",
            "bounds": bounds,
            "table": table([], []),
            "bars": [],
        }
    accepted = subject.verdicts.accepted(promise, groups=groups)
    bars = [_bar(subject, part, accepted, promise) for part in _parts(subject, promise, groups)]
    lost = "share of these" if bounds == "error" else "mean cost of these"
    columns = [
        ("kind", "part", "text"),
        ("name", "name", "text"),
        ("n_records", "records", "count"),
        ("accepted", "accepted", "meter"),
        ("n_wrong", "accepted and wrong", "count"),
        ("loss", lost, "share" if bounds == "error" else "number"),
        ("interval", "95 % interval", "text"),
        ("promised", "promised", "text"),
    ]
    rows = [[bar[key] for key, _, _ in columns] for bar in bars]
    return {"text": text, "bounds": bounds, "table": table(columns, rows), "bars": bars}


def _in_words(promise: TrustThreshold) -> str:
    made = f"Made on {promise.made_on}" + (f" from {promise.made_from}" if promise.made_from else "")
    if not promise.parts:
        return f"{made}: {promise.message}"
    by = {LABEL: "one for each label", REGION: "one for each region"}
    what = "the share of wrong ones among accepted labels" if promise.bounds == "error" else "what each label costs"
    return (
        f"{made}; {by.get(promise.by, 'one for each group')}. Bounded is {what}, in all parts together with a "
        f"confidence of {percent(promise.confidence)}, by {many(promise.n_calibration, 'calibration record')}."
    )


def _parts(subject: Subject, promise: TrustThreshold, groups: Any) -> Iterator[Part]:
    """Yield the parts of the promise, then labels and up to 12 regions of 10 records or more if these are not parts."""
    by, which = promise.by, promise.part_of(subject.verdicts, groups)
    kind = "group" if by in (GROUP, GROUPS) else by
    for k, part in enumerate(promise.thresholds):
        limit = part.limit if part.is_kept else None
        yield Part(part.part or EVERYTHING, kind, np.asarray(which == k), limit, part.status)
    if by != LABEL:
        given = texts_of(subject.verdicts.label)
        yield from (
            Part(name, LABEL, np.asarray(given == name), None, "") for name in subject.labels[: subject.n_classes]
        )
    regions = subject.verdicts.main_region
    if by != REGION and len(regions) and regions[0] is not None:
        names, counts = np.unique(regions.astype(str), return_counts=True)
        for k in np.lexsort((names, -counts))[:12].tolist():
            if counts[k] < 10:
                break
            yield Part(str(names[k]), REGION, np.asarray(regions == names[k]), None, "")


def _bar(subject: Subject, part: Part, accepted: BoolArray, promise: Any) -> dict[str, Any]:
    taken = part.members & accepted
    n, n_taken = int(np.count_nonzero(part.members)), int(np.count_nonzero(taken))
    n_wrong = int(np.count_nonzero(taken & ~subject.right))
    costs = getattr(promise, "costs", None)
    loss: float | None = None
    interval: tuple[float, float] | None = None
    if n_taken and costs is None:
        loss, interval = n_wrong / n_taken, exact_interval(n_wrong, n_taken)
    elif n_taken:
        known = taken & (subject.known_truth >= 0)
        paid = np.array(costs)[subject.known_truth[known], subject.predicted[known]]
        loss = float(paid.mean()) if len(paid) else None
    limit = None if part.limit is None else (percent(part.limit) if costs is None else f"{part.limit:g}")
    return {
        "kind": part.kind,
        "name": part.name,
        "n_records": n,
        "accepted": n_taken / n if n else None,
        "n_accepted": n_taken,
        "n_wrong": n_wrong,
        "loss": loss,
        "interval": None if interval is None else " to ".join(percent(end) for end in interval),
        "low": None if interval is None else interval[0],
        "high": None if interval is None else interval[1],
        "limit": part.limit,
        "promised": f"at most {limit}" if limit is not None else part.why or None,
    }
