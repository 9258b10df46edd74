"""What was decided on a desk, in numbers: overrides, errors among audits, the promise, time, and agreement."""

from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np
from sklearn.metrics import cohen_kappa_score

from sepc.common.intervals import exact_interval
from sepc.desk.desk import Desk
from sepc.desk.views import ACCEPT, CANNOT_TELL, DECIDED, OVERRIDE, POSTPONE
from sepc.promises.parts import EVERYTHING, GROUP, LABEL

_TOLD = f"('{ACCEPT}', '{OVERRIDE}')"
# Accepted records of the random sample that the model in force has judged, with a label that was measured.
_AUDITED = f"is_audit AND measured IN {_TOLD} AND measured_label IS NOT NULL AND model = ? AND judged_by = model"


def summary(desk: Desk) -> dict[str, Any]:
    """Return what was decided so far, as plain numbers, texts, lists and dicts.

    Shares have exact 95 % intervals. `decided` counts records; `models` has the decisions on the verdicts of each
    model; `regions` and `labels` those of the model in force, the most overrides first. Refused records are no random
    ones: these shares say how often people agree with a verdict that went to them, not how often the model is wrong.
    That is what `audits` and `promise` say, by the random sample among the records that came to the model in force.
    """
    number = desk.judge.number
    return {
        "decided": _decided(desk),
        "models": _overrides_by(desk, "judged_by"),
        "regions": _overrides_by(desk, "region", f"AND judged_by = {number:d}"),
        "labels": _overrides_by(desk, "label", f"AND judged_by = {number:d}"),
        "audits": _audits(desk),
        "promise": _promise(desk),
        "people": _people(desk),
        "agreement": _agreement(desk),
    }


def _decided(desk: Desk) -> dict[str, int]:
    rows = desk.events.rows("SELECT decision, count(*) AS n FROM queue WHERE state = ? GROUP BY decision", DECIDED)
    counts = {row["decision"]: row["n"] for row in rows}
    return {"records": sum(counts.values())} | {kind: counts.get(kind, 0) for kind in (ACCEPT, OVERRIDE, CANNOT_TELL)}


def _overrides_by(desk: Desk, column: str, more: str = "") -> list[dict[str, Any]]:
    rows = desk.events.rows(
        f"SELECT {column} AS name, count(*) AS n, sum(decision = '{OVERRIDE}') AS hits FROM queue "
        f"WHERE state = '{DECIDED}' AND decision IN {_TOLD} AND label IS NOT NULL {more} "
        f"GROUP BY {column} ORDER BY hits DESC, n DESC, name"
    )
    return [{"name": row["name"], **share_of(row["hits"], row["n"])} for row in rows]


def share_of(hits: int, n: int) -> dict[str, Any]:
    """Return a count of n, its share, None of nothing, and the exact 95 % interval of the share."""
    low, high = exact_interval(hits, n)
    return {"n": n, "hits": hits, "share": hits / n if n else None, "low": low, "high": high}


def _audits(desk: Desk) -> dict[str, Any]:
    """Return the wrong labels among audited accepted records, in all and by label."""
    sql = f"SELECT label, count(*), sum(measured_label <> label) FROM queue WHERE {_AUDITED} GROUP BY label"
    counts = {label: (wrong, n) for label, n, wrong in desk.events.rows(sql, desk.judge.number)}
    wrong, n = (sum(one[k] for one in counts.values()) for k in (0, 1))
    waiting = "SELECT count(*) FROM queue WHERE is_audit AND counted IS NULL AND model = ?"
    return {
        **share_of(wrong, n),
        "by_label": [{"name": label, **share_of(*counts[label])} for label in sorted(counts)],
        "waiting": desk.events.one(waiting, desk.judge.number),
    }


def _promise(desk: Desk) -> dict[str, Any] | None:
    """Return whether the promise of the model in force holds as far as audits show; None without one.

    A part `holds` unless its interval is beyond the limit, None without an audit. Costs have no interval, and hold
    while their mean does. Promises by region and by overlapping groups are judged as a whole, by the largest limit.
    """
    promise = desk.judge.clf.promise
    if promise is None:
        return None
    column = {LABEL: "label", GROUP: "grp"}.get(promise.by)
    sql = f"SELECT {column or 'NULL'} AS part, label, measured_label FROM queue WHERE {_AUDITED}"
    rows = desk.events.rows(sql, desk.judge.number)
    limits = {part.part: part.limit for part in promise.thresholds if part.is_kept}
    if column is None and limits:
        limits = {EVERYTHING: max(limits.values())}
    costs = None if promise.costs is None else np.array(promise.costs)
    parts = [
        _part(name, limit, [row for row in rows if column is None or row["part"] == name], desk.judge.labels, costs)
        for name, limit in limits.items()
    ]
    found = [part["holds"] for part in parts if part["holds"] is not None]
    return {"message": promise.message, "parts": parts, "holds": all(found) if found else None}


def _part(name: str, limit: float, rows: Sequence[Any], labels: list[str], costs: Any) -> dict[str, Any]:
    if costs is None:
        part = share_of(sum(row["label"] != row["measured_label"] for row in rows), len(rows))
        return {"name": name, "limit": limit, **part, "holds": part["low"] <= limit if rows else None}
    lost = [costs[labels.index(row["measured_label"]), labels.index(row["label"])] for row in rows]
    mean = float(np.mean(lost)) if lost else None
    return {
        "name": name,
        "limit": limit,
        "n": len(rows),
        "cost": mean,
        "holds": None if mean is None else mean <= limit,
    }


def _people(desk: Desk) -> list[dict[str, Any]]:
    """Return the numbers of each person's decisions, and the median of the seconds that one took."""
    found: dict[str, dict[str, Any]] = {}
    for row in desk.events.rows("SELECT person, kind, seconds, undone FROM decisions ORDER BY person"):
        one = found.setdefault(row["person"], dict.fromkeys(_KINDS, 0) | {"undone": 0, "seconds": []})
        one["undone" if row["undone"] is not None else row["kind"]] += 1
        if row["undone"] is None and row["seconds"] is not None:
            one["seconds"].append(row["seconds"])
    return [
        {"person": person, **one, "seconds": median(one["seconds"]) if one["seconds"] else None}
        for person, one in found.items()
    ]


_KINDS = (ACCEPT, OVERRIDE, CANNOT_TELL, POSTPONE)


def _agreement(desk: Desk) -> dict[str, Any]:
    """Return how far two people agree who have each decided a record, by the first opinion of each.

    What was undone later counts, too: a second thought may come from the other opinion. Cohen's kappa is None where all
    opinions are one label.
    """
    rows = desk.events.rows(
        "SELECT record, person, kind, label FROM decisions WHERE kind <> ? AND NOT resolves AND record IN ("
        "SELECT record FROM decisions WHERE kind <> ? GROUP BY record HAVING min(person) <> max(person)) "
        "ORDER BY event",
        POSTPONE,
        POSTPONE,
    )
    first: dict[int, dict[str, str]] = {}
    for row in rows:
        opinions = first.setdefault(row["record"], {})
        opinions.setdefault(row["person"], row["kind"] if row["kind"] == CANNOT_TELL else f"label {row['label']}")
    pairs = [list(opinions.values())[:2] for opinions in first.values() if len(opinions) > 1]
    return {**share_of(sum(one == other for one, other in pairs), len(pairs)), "kappa": _kappa(pairs)}


def _kappa(pairs: Sequence[Sequence[str]]) -> float | None:
    if len({opinion for pair in pairs for opinion in pair}) < 2:
        return None
    return float(cohen_kappa_score(*zip(*pairs, strict=True)))
