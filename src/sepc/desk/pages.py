"""Pages of a desk: what each shows to a person, made from the desk alone; nothing here knows of requests.

What gives a hidden verdict away reaches no template: see `_verdict`, `_chips` and `_opinions`.
"""

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from sepc.common.text import in_words, many, percent
from sepc.desk.desk import Desk, Filters, Record
from sepc.desk.intake import in_words_or_text
from sepc.desk.judge import NO_ANSWER
from sepc.desk.knowledge import summary
from sepc.desk.views import CANNOT_TELL, DECIDED, DISAGREEMENT, ORDERS, POSTPONE, SECOND, SETTLED, WAITING
from sepc.model.acceptance import REFUSALS
from sepc.reports.forms import looks
from sepc.reports.report_tables import cell

AT_ONCE = 50  # records on one page of the queue
_LAST, _PREVIEW = 8, 100  # last decisions that are listed; characters of a record in the queue
_EVERYTHING = Filters()
_ORDERS = dict(zip(ORDERS, ("least trust", "least stable", "strangest", "costliest"), strict=True))
_STATES = {
    WAITING: "waiting",
    DISAGREEMENT: "disagreements",
    DECIDED: "decided",
    SETTLED: "settled by a later model",
}
_REFUSALS = {**REFUSALS, NO_ANSWER: "the other model has no answer for it"}

# Of the templates.
FILTERS: dict[str, Callable[..., str]] = {"cell": cell, "percent": percent, "many": many, "words": in_words}


@cache
def static(name: str) -> bytes:
    """Return a file that pages load: style.css (the report's and the desk's own after it), script.js or icon.svg."""
    packages = {"style.css": ("reports", "desk"), "script.js": ("desk",), "icon.svg": ("reports",)}[name]
    return b"\n".join(files(f"sepc.{package}").joinpath("templates", name).read_bytes() for package in packages)


def query(filters: Filters, order: str = "trust", **others: Any) -> str:
    """Return the end of an address that leads to a part of the queue, with `others` in place of some of its fields."""
    usual = {**Filters()._asdict(), "order": "trust", "page": 0}
    stated = {**filters._asdict(), "order": order, **others}
    kept = {name: value for name, value in stated.items() if value != usual[name]}
    return f"?{urlencode(kept)}" if kept else ""


def queue(desk: Desk, person: str, filters: Filters, order: str = "trust", page: int = 0) -> dict[str, Any]:
    """Return the content of the page of the queue: filters, progress, and the records that come next."""
    rows, n = desk.listed(person, filters, order, AT_ONCE, AT_ONCE * page), desk.count(person, filters)
    hidden = _hidden(desk, person, rows)
    columns = {"label": "label", "region": "region", "group": "grp", "file": "file"}
    common = _common(desk, person, filters, order)
    return {
        **common,
        "filters": filters,
        "chosen": filters._asdict(),
        "order": order,
        "rows": [_listed(row, row["record"] in hidden, person) for row in rows],
        "n": n,
        "first": AT_ONCE * page + 1,
        "earlier": query(filters, order, page=page - 1) if page else None,
        "later": query(filters, order, page=page + 1) if AT_ONCE * (page + 1) < n else None,
        "choices": {name: known for name, column in columns.items() if (known := desk.choices(column))},
        "orders": {name: words for name, words in _ORDERS.items() if name != "cost" or _has_costs(desk)},
        "states": {
            state: (words, query(Filters(state=state)))
            for state, words in _STATES.items()
            if state in (filters.state, WAITING) or common["progress"][state]
        },
        "by_person": _by_person(desk),
        "last": _last_decisions(desk, person, _LAST),
    }


def record(
    desk: Desk, person: str, number: int, filters: Filters = _EVERYTHING, order: str = "trust"
) -> dict[str, Any]:
    """Return the content of the page of a record; a verdict that is hidden from the person is nowhere in it."""
    found = desk.record(number)
    hidden = desk.is_hidden(person, found)
    opinions = _opinions(desk, person, found, hidden)
    return {
        **_common(desk, person, filters, order),
        **_identity(found, hidden),
        "chips": _chips(found.view, hidden, person),
        "values": _values(desk, found),
        "verdict": None if hidden else _verdict(desk, found),
        "opinions": opinions,
        "own": next((one for one in opinions if one["person"] == person), None),
        "draft": _draft(desk, person, number),
        "assigned": found.view["assigned"],
        "version": desk.version(number),
        "n": desk.count(person, filters),
        "reasons": desk.reasons,
        "people": desk.people,
    }


def details(desk: Desk, person: str, number: int) -> dict[str, Any]:
    """Return what takes longer: the details of the verdict, a change to another label, and neighbours' values."""
    found = desk.record(number)
    hidden = desk.is_hidden(person, found)
    why = None if found.view["label"] is None else desk.judge.explain(found.batch, changes=not hidden)[0]
    return {
        **_common(desk, person, _EVERYTHING, "trust"),
        **_identity(found, hidden),
        "text": None if hidden or why is None else why.details,
        "table": None if why is None else _beside(_values(desk, found), why, hidden),
    }


def learned(desk: Desk, person: str, job: dict[str, Any]) -> dict[str, Any]:
    """Return the content of the page of what is learned; `job` is what `Jobs.status` returns."""
    refit = job["last"].get("refit")
    return {
        **_common(desk, person, _EVERYTHING, "trust"),
        "summary": summary(desk),
        "job": job,
        "watch": job["last"].get("watch"),
        "refit": refit,
        "compared": None if refit is None else _compared(desk, person, refit["decided"]),
    }


# what all pages have


def _common(desk: Desk, person: str, filters: Filters, order: str) -> dict[str, Any]:
    file = desk.events.one("SELECT file FROM models ORDER BY number DESC LIMIT 1")
    labels = desk.judge.labels
    return {
        "person": person,
        "query": query(filters, order),
        "labels": labels,
        "look_of": looks(labels),
        "progress": desk.progress(),
        "saved": next(iter(_last_decisions(desk, person, 1, alone=True)), None),
        "model": file and f"model {desk.judge.number}, {Path(file).name}",
    }


def _last_decisions(desk: Desk, person: str, most: int, alone: bool = False) -> list[dict[str, Any]]:
    """Return the last decisions of a person, or of all but on records that wait for a second opinion."""
    others = "0" if alone else "record NOT IN (SELECT record FROM queue WHERE state = 'second')"
    sql = f"SELECT * FROM decisions WHERE undone IS NULL AND (person = ? OR {others}) ORDER BY event DESC LIMIT ?"
    rows = desk.events.rows(sql, person, most)
    hidden = _hidden(desk, person, rows)
    return [_opinion(row, row["record"] in hidden) for row in rows]


def _hidden(desk: Desk, person: str, rows: list[Any]) -> set[int]:
    """Return the records among rows of the queue, or of decisions, whose verdict is hidden from a person."""
    numbers = [row["record"] for row in rows]
    marks = ", ".join("?" * len(numbers))
    sql = f"SELECT record FROM queue WHERE blind AND record IN ({marks})"
    shown = f"SELECT record FROM shown WHERE person = ? AND record IN ({marks})"
    return {row[0] for row in desk.events.rows(f"{sql} EXCEPT {shown}", *numbers, person, *numbers)}


def _by_person(desk: Desk) -> list[Any]:
    sql = "SELECT person, count(*) AS n, max(at) AS at FROM decisions WHERE undone IS NULL GROUP BY person"
    return desk.events.rows(sql)


def _has_costs(desk: Desk) -> bool:
    policy = desk.judge.clf.core.model_.policy
    return policy is not None and policy.costs is not None


def _compared(desk: Desk, person: str, decided: dict[str, list[Any]]) -> list[tuple[str, list[Any]]]:
    """Return decided records that a new model is wrong on, or newly right, but none whose verdict is still hidden."""
    rows = [dict(zip(decided, values, strict=True)) for values in zip(*decided.values(), strict=True)]
    hidden = _hidden(desk, person, rows)
    known = [row for row in rows if row["record"] not in hidden]
    wrong = [row for row in known if not row["right"]]
    mended = [row for row in known if row["right"] and row["before"] != row["label"]]
    return [("The new model is wrong", wrong), ("The new model is right, the old one was wrong", mended)]


# one record


def _identity(found: Record, hidden: bool) -> dict[str, Any]:
    """Return what is known of a record before its verdict."""
    return {"number": found.number, "hidden": hidden, **{name: found.view[name] for name in ("file", "row", "state")}}


def _listed(row: Any, hidden: bool, person: str) -> dict[str, Any]:
    """Return a row of the queue."""
    known = {name: None if hidden else row[name] for name in ("label", "trust")}
    known |= {"number": row["record"], "text": row["text"][:_PREVIEW], "chips": _chips(row, hidden, person)}
    return {**known, "decided": row["decided_label"] or row["decision"]}


def _chips(view: Any, hidden: bool, person: str) -> list[tuple[str, str]]:
    """Return why a record is here, as kinds and texts."""
    chips = [("blind", "blind")] if hidden else []
    if not hidden and view["is_audit"]:
        chips.append(("audit", "random audit"))
    if not hidden and view["refusal"] is not None:
        chips.append(("refused", f"refused: {_REFUSALS.get(view['refusal'], view['refusal'])}"))
    if view["state"] == SECOND:
        chips.append(("second", "second opinion"))
    if view["state"] == DISAGREEMENT:
        chips.append(("disagreement", "disagreement"))
    if view["postponed"]:
        chips.append(("postponed", "postponed"))
    if view["assigned"]:
        chips.append(("assigned", "for you" if view["assigned"] == person else f"for {view['assigned']}"))
    return chips


def _values(desk: Desk, found: Record) -> list[dict[str, Any]]:
    """Return all columns of a record with their values, and of those that the model reads what is usual by label."""
    read = desk.evidence(found)["columns"]
    shown = {name: in_words_or_text(found.batch.shown[name][0].as_py()) for name in found.batch.shown.column_names}
    values = {**shown, **{name: column["value"] for name, column in read.items() if name not in shown}}
    nothing = {"usual": None, "strip": None}
    return [{**read.get(name, nothing), "name": name, "value": value} for name, value in values.items()]


def _verdict(desk: Desk, found: Record) -> dict[str, Any] | None:
    """Return the verdict on a record and its evidence; None without an answer of the other model."""
    verdict = desk.evidence(found)["verdict"]
    if verdict is None:
        return None
    given, judged_by = found.view["label"], found.view["judged_by"]
    return {**verdict, "model": desk.judge.number, "given": given, "judged_by": judged_by}


def _beside(values: list[dict[str, Any]], why: Any, hidden: bool) -> dict[str, Any]:
    """Return the values of a record beside those after a change, and of its nearest training records."""
    change = None if hidden else why.counterfactual
    others = [] if change is None else [(f"to be {change.label}", change.point)]
    others += [(f"row {near.row}" + ("" if hidden else f", {near.label}"), near.values) for near in why.neighbours]
    rows = [
        [one["name"], one["value"], *(in_words(of[one["name"]]) if one["name"] in of else "" for _, of in others)]
        for one in values
    ]
    moves = {} if change is None else {one.feature: abs(one.in_units) for one in change.changes}
    moved = {name for name, length in moves.items() if length >= 0.5 * max(moves.values())}
    return {"titles": ["column", "this record", *(title for title, _ in others)], "rows": rows, "moved": moved}


# decisions


def _opinions(desk: Desk, person: str, found: Record, hidden: bool) -> list[dict[str, Any]]:
    """Return the decision of each person that holds; for who is to give a second opinion, none of others."""
    sql = "SELECT * FROM decisions WHERE record = ? AND undone IS NULL AND kind <> ? ORDER BY event"
    by_person = {row["person"]: row for row in desk.events.rows(sql, found.number, POSTPONE)}
    if found.view["state"] == SECOND and person not in by_person:
        return []
    return [_opinion(row, hidden) for row in by_person.values()]


def _opinion(row: Any, hidden: bool) -> dict[str, Any]:
    """Return a decision in words; of a hidden verdict whether it is the model's stays open."""
    words = {CANNOT_TELL: "cannot tell", POSTPONE: "postponed"}.get(row["kind"])
    beside = ""
    if words is None and not hidden and row["model_label"] is not None:
        beside = "as the model" if row["label"] == row["model_label"] else f"the model: {row['model_label']}"
    kept = {name: row[name] for name in ("record", "person", "at", "label", "reason", "note")}
    return {**kept, "words": words, "beside": beside, "is_hidden": hidden}


def _draft(desk: Desk, person: str, number: int) -> dict[str, str]:
    """Return reason and note of the person's last decision on a record, even if it was taken back."""
    sql = "SELECT reason, note FROM decisions WHERE record = ? AND person = ? ORDER BY event DESC LIMIT 1"
    for row in desk.events.rows(sql, number, person):
        return {"reason": row["reason"] or "", "note": row["note"] or ""}
    return {"reason": "", "note": ""}
