"""Views of a desk's events: tables that follow from the events alone, brought up to date with each of them."""

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sepc.desk.events import Event

WAITING, SECOND, DISAGREEMENT, DECIDED, SETTLED = "waiting", "second", "disagreement", "decided", "settled"
ACCEPT, OVERRIDE, CANNOT_TELL, POSTPONE = "accept", "override", "cannot tell", "postpone"
# What the order of the queue can go by; of blind records a key is that of some refused record, so that it says nothing.
ORDERS = ("trust", "stability", "typicality", "cost")
# Columns of an asked record that its event gives, one list for each.
GIVEN = (
    "place", "row", "label", "trust", "region", "refusal", "stability", "typicality", "cost", "grp", "chance",
    "is_audit", "sampled", "blind", "second", "key_trust", "key_stability", "key_typicality", "key_cost", "text",
)  # fmt: skip
# Of these a later model gives new ones.
JUDGED = ("label", "trust", "region", "refusal", "stability", "typicality", "cost")

VIEWS = """
CREATE TABLE queue (
    record INTEGER PRIMARY KEY, chunk INTEGER NOT NULL REFERENCES events (id), file TEXT NOT NULL,
    model INTEGER NOT NULL, place INTEGER NOT NULL, row INTEGER NOT NULL, label TEXT, trust REAL, region TEXT,
    refusal TEXT, stability REAL, typicality REAL, cost REAL, grp TEXT, chance REAL NOT NULL, is_audit INTEGER NOT NULL,
    sampled INTEGER NOT NULL, blind INTEGER NOT NULL, second INTEGER NOT NULL, key_trust REAL NOT NULL,
    key_stability REAL NOT NULL, key_typicality REAL NOT NULL, key_cost REAL NOT NULL, text TEXT NOT NULL,
    judged_by INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting', postponed INTEGER NOT NULL DEFAULT 0, assigned TEXT, first_person TEXT,
    decision TEXT, decided_label TEXT, measured TEXT, measured_label TEXT, counted INTEGER
);
CREATE INDEX queue_by_trust ON queue (postponed, key_trust, record) WHERE state IN ('waiting', 'second');
CREATE INDEX queue_by_stability ON queue (postponed, key_stability, record) WHERE state IN ('waiting', 'second');
CREATE INDEX queue_by_typicality ON queue (postponed, key_typicality, record) WHERE state IN ('waiting', 'second');
CREATE INDEX queue_by_cost ON queue (postponed, key_cost, record) WHERE state IN ('waiting', 'second');
CREATE INDEX queue_by_state ON queue (state, assigned, first_person);
CREATE TABLE decisions (
    event INTEGER PRIMARY KEY REFERENCES events (id), record INTEGER NOT NULL REFERENCES queue (record),
    at TEXT NOT NULL, person TEXT NOT NULL, kind TEXT NOT NULL, label TEXT, reason TEXT, note TEXT,
    blind INTEGER NOT NULL, resolves INTEGER NOT NULL, seconds REAL, model INTEGER NOT NULL, model_label TEXT,
    model_trust REAL, refusal TEXT, region TEXT, undone INTEGER REFERENCES events (id)
);
CREATE INDEX decisions_of_record ON decisions (record, event);
CREATE INDEX decisions_of_person ON decisions (person, event);
CREATE TABLE shown (
    record INTEGER NOT NULL REFERENCES queue (record), person TEXT NOT NULL,
    event INTEGER NOT NULL REFERENCES events (id),
    PRIMARY KEY (record, person)
);
CREATE TABLE files (name TEXT NOT NULL, digest TEXT PRIMARY KEY, n_rows INTEGER NOT NULL, event INTEGER NOT NULL);
CREATE TABLE models (number INTEGER PRIMARY KEY, file TEXT NOT NULL, digest TEXT NOT NULL, event INTEGER NOT NULL);
CREATE TABLE people (person TEXT PRIMARY KEY);
CREATE TABLE reasons (reason TEXT PRIMARY KEY);
"""
_TABLES = ("queue", "decisions", "shown", "files", "models", "people", "reasons")


def apply(db: sqlite3.Connection, event: "Event") -> None:
    """Bring the views up to date with an event that is already in the table."""
    if event.kind in _APPLY:
        _APPLY[event.kind](db, event)


def differences(one: sqlite3.Connection, other: sqlite3.Connection) -> str | None:
    """Return the first view in which two databases differ; None if all are the same."""
    for table in _TABLES:
        queries = [db.execute(f"SELECT * FROM {table} ORDER BY rowid") for db in (one, other)]
        for rows in zip(*queries, strict=False):
            if tuple(rows[0]) != tuple(rows[1]):
                return table
        if len({db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for db in (one, other)}) > 1:
            return table
    return None


def _add_rows(db: sqlite3.Connection, event: "Event") -> None:
    body = event.body
    first = db.execute("SELECT coalesce(max(record), 0) FROM queue").fetchone()[0] + 1
    fixed = event.id, body["file"], body["model"], body["model"]
    columns = [body["asked"][name] for name in GIVEN]
    names, marks = ", ".join(GIVEN), ", ".join("?" * (len(GIVEN) + 5))
    db.executemany(
        f"INSERT INTO queue (record, chunk, file, model, judged_by, {names}) VALUES ({marks})",
        [(record, *fixed, *values) for record, values in enumerate(zip(*columns, strict=True), first)],
    )


def _judge_again(db: sqlite3.Connection, event: "Event") -> None:
    body = event.body
    columns = [body["judged"][name] for name in (*JUDGED, "settled", "record")]
    assigned = ", ".join(f"{name} = ?" for name in JUDGED)
    db.executemany(
        f"UPDATE queue SET {assigned}, judged_by = {int(body['model'])}, "
        # Some may have been decided while the model judged them.
        f"state = CASE WHEN ? AND state = '{WAITING}' THEN '{SETTLED}' ELSE state END "
        f"WHERE record = ? AND state IN ('{WAITING}', '{SECOND}')",
        list(zip(*columns, strict=True)),
    )


def _decide(db: sqlite3.Connection, event: "Event") -> None:
    body, verdict = event.body, event.body["verdict"]
    db.execute(
        "INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
        (
            event.id, event.record, event.at, event.person, body["kind"], body["label"], body["reason"], body["note"],
            body["blind"], body["resolves"], body["seconds"], verdict["model"], verdict["label"], verdict["trust"],
            verdict["refusal"], verdict["region"],
        ),
    )  # fmt: skip
    _count(db, event)


def _undo(db: sqlite3.Connection, event: "Event") -> None:
    db.execute("UPDATE decisions SET undone = ? WHERE event = ?", (event.id, event.body["event"]))
    _count(db, event)


def _show(db: sqlite3.Connection, event: "Event") -> None:
    db.execute("INSERT OR IGNORE INTO shown VALUES (?, ?, ?)", (event.record, event.person, event.id))
    _count(db, event)


def _assign(db: sqlite3.Connection, event: "Event") -> None:
    db.execute("UPDATE queue SET assigned = ? WHERE record = ?", (event.body["to"], event.record))


def _add_file(db: sqlite3.Connection, event: "Event") -> None:
    values = event.body["name"], event.body["digest"], event.body["n_rows"], event.id
    db.execute("INSERT INTO files VALUES (?, ?, ?, ?)", values)


def _take_model(db: sqlite3.Connection, event: "Event") -> None:
    values = event.body["number"], event.body["file"], event.body["digest"], event.id
    db.execute("INSERT INTO models VALUES (?, ?, ?, ?)", values)


def _add_person(db: sqlite3.Connection, event: "Event") -> None:
    db.execute("INSERT OR IGNORE INTO people VALUES (?)", (event.body["name"],))


def _add_reason(db: sqlite3.Connection, event: "Event") -> None:
    db.execute("INSERT OR IGNORE INTO reasons VALUES (?)", (event.body["reason"],))


_APPLY: dict[str, Callable[[sqlite3.Connection, "Event"], None]] = {
    "rows": _add_rows,
    "judged": _judge_again,
    "decided": _decide,
    "undone": _undo,
    "shown": _show,
    "assigned": _assign,
    "file": _add_file,
    "model": _take_model,
    "person": _add_person,
    "reason": _add_reason,
}


def _count(db: sqlite3.Connection, event: "Event") -> None:
    """Derive what is decided of a record from all its decisions."""
    rows = db.execute("SELECT * FROM decisions WHERE record = ? ORDER BY event", (event.record,)).fetchall()
    known = db.execute("SELECT * FROM queue WHERE record = ?", (event.record,)).fetchone()
    found = _state(rows, bool(known["second"]))
    if known["state"] == SETTLED and found["state"] == WAITING:
        found["state"] = SETTLED
    shown = dict(db.execute("SELECT person, event FROM shown WHERE record = ?", (event.record,)).fetchall())
    measured = _measured(rows, shown) if known["blind"] and found["state"] == DECIDED else None
    if measured is None and found["state"] == DECIDED:
        measured = found["decision"], found["decided_label"]
    found["measured"], found["measured_label"] = measured or (None, None)
    # The event from which on the record counts.
    found["counted"] = None if measured is None else known["counted"] or event.id
    db.execute(
        f"UPDATE queue SET {', '.join(f'{name} = ?' for name in found)} WHERE record = ?",
        (*found.values(), event.record),
    )


def _state(rows: list[sqlite3.Row], needs_second: bool) -> dict[str, Any]:
    """Return the state of a record, by its decisions: the last one of each person, and perhaps who resolved."""
    active = [row for row in rows if row["undone"] is None]
    postponed = sum(row["kind"] == POSTPONE for row in active)
    opinions = {row["person"]: row for row in active if row["kind"] != POSTPONE}
    found: dict[str, Any] = {"postponed": postponed, "first_person": None, "decision": None, "decided_label": None}
    if not opinions:
        return {"state": WAITING, **found}
    first = next(iter(opinions.values()))
    found["first_person"] = first["person"]
    decisive = next((row for row in reversed(opinions.values()) if row["resolves"]), None)
    if decisive is None and len({(row["kind"] == CANNOT_TELL, row["label"]) for row in opinions.values()}) > 1:
        return {"state": DISAGREEMENT, **found}
    if decisive is None and needs_second and len(opinions) < 2:
        return {"state": SECOND, **found}
    decisive = decisive or first
    return {"state": DECIDED, **found, "decision": decisive["kind"], "decided_label": decisive["label"]}


def _measured(rows: list[sqlite3.Row], shown: dict[str, int]) -> tuple[str, str | None] | None:
    """Return the decision that measures a blind record: who has resolved, else the first person before the verdict.

    What a person undoes once the verdict was shown still measures.
    """
    opinions = [row for row in rows if row["kind"] != POSTPONE]
    resolved = [row for row in opinions if row["resolves"] and row["undone"] is None]
    blind = [
        row
        for row in opinions
        if row["blind"] and (row["undone"] is None or shown.get(row["person"], row["undone"]) < row["undone"])
    ]
    blind = [row for row in blind if row["person"] == blind[0]["person"]]
    chosen = resolved or blind
    return (chosen[-1]["kind"], chosen[-1]["label"]) if chosen else None
