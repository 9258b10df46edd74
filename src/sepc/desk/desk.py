"""A desk: files that come in, records that go to people, and what they decide."""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sepc.common.errors import InputError
from sepc.desk.batches import ROWS_AT_ONCE, Batch, unpacked
from sepc.desk.events import Events, Writing
from sepc.desk.evidence import Evidence, evidence_for
from sepc.desk.intake import Terms, asked_of, terms_of
from sepc.desk.judge import Judge
from sepc.desk.views import (
    ACCEPT,
    CANNOT_TELL,
    DECIDED,
    DISAGREEMENT,
    JUDGED,
    ORDERS,
    OVERRIDE,
    POSTPONE,
    SECOND,
    WAITING,
)

LEASE = 900.0  # seconds for which nobody else gets a record that somebody looks at
REASONS = ("value looks wrong", "needs another look at the source", "unlike anything in training")
_CHUNKS_KEPT, _EVIDENCE_KEPT = 64, 2000
_MOST_NOTE, _MOST_REASON = 4000, 200


class ConflictError(InputError):
    """Somebody has decided of the record since the page was made."""


class Record(NamedTuple):
    """One record of the queue: its row in the view, and its values."""

    view: Any
    batch: Batch

    @property
    def number(self) -> int:
        """Its number on the desk."""
        return int(self.view["record"])


class Filters(NamedTuple):
    """What part of the queue a person works on; empty texts stand for all."""

    label: str = ""
    region: str = ""
    group: str = ""
    file: str = ""
    search: str = ""
    state: str = WAITING

    def where(self, person: str) -> tuple[str, list[Any]]:
        """Return a condition on the queue, and its values; hidden verdicts have no label or region to go by."""
        if self.state == WAITING:
            # The first term is that of the indices.
            terms = ["state IN ('waiting', 'second')", "(state = 'waiting' OR first_person <> ?)"]
            terms.append("(assigned IS NULL OR assigned = ?)")
            values: list[Any] = [person, person]
        else:
            terms, values = ["state = ?"], [self.state]
        seen = "(NOT blind OR record IN (SELECT record FROM shown WHERE person = ?))"
        for name, value in (("label", self.label), ("region", self.region)):
            if value:
                terms.append(f"{seen} AND {name} = ?")
                values += [person, value]
        for name, value in (("grp", self.group), ("file", self.file)):
            if value:
                terms.append(f"{name} = ?")
                values.append(value)
        if self.search:
            terms.append("instr(casefold(text), ?) > 0")
            values.append(self.search.casefold())
        return " AND ".join(terms), values


class Desk:
    """Records and decisions in a file, and the model that judges new ones."""

    def __init__(self, events: Events, judge: Judge) -> None:
        self.events, self.judge = events, judge
        self._leases: dict[int, tuple[str, float]] = {}
        self._lock = threading.Lock()
        self._chunk = lru_cache(_CHUNKS_KEPT)(self._unpacked)
        self._evidence: OrderedDict[tuple[int, int], Evidence] = OrderedDict()

    # files

    @property
    def terms(self) -> Terms:
        """The terms in force."""
        return terms_of(self.events)

    def agree(self, person: str, terms: Terms) -> None:
        """Take terms for rows to come."""
        terms.check()
        if not self.events.of_kind("terms") or terms != self.terms:
            with self.events.writing(person) as write:
                write.append("terms", terms._asdict())
        self.judge.min_trust = terms.min_trust

    def knows(self, digest: str) -> bool:
        """Return whether a file of this digest has come before."""
        return self.events.one("SELECT 1 FROM files WHERE digest = ?", digest) is not None

    def add(
        self, person: str, name: str, digest: str, batches: Iterable[Batch], refused: str | None = None
    ) -> tuple[int, int]:
        """Add the rows of a file, all or none; return the number of rows, and of those that are asked.

        With `refused` all are asked: they were refused elsewhere, for this reason where the model of the desk would
        accept them. No sample of these is one of all that comes, and the watch does not take them for that.
        """
        judge, terms, n_rows, n_asked = self.judge, self.terms, 0, 0
        if refused is not None:
            terms = terms._replace(audit=0.0)
        judged = []
        for batch in batches:
            for part in (batch.part(start) for start in range(0, len(batch), ROWS_AT_ONCE)):
                verdicts = judge.verdicts(part)
                verdicts = verdicts._replace(refusal=[why or refused for why in verdicts.refusal])
                asked = asked_of(part, verdicts, judge, terms)
                body = {"file": name, "first": part.first, "n": len(part), "model": judge.number, "asked": asked}
                body |= {} if refused is None else {"chosen": True}
                judged.append((body, part.packed()))
                n_rows, n_asked = n_rows + len(part), n_asked + len(asked["place"])
        with self.events.writing(person) as write:
            if write.one("SELECT 1 FROM files WHERE digest = ?", digest) is not None:
                raise InputError("desk-file-known", name=name)
            write.append("file", {"name": name, "digest": digest, "n_rows": n_rows})
            for body, data in judged:
                write.append("rows", body, data=data)
        return n_rows, n_asked

    # the queue

    def record(self, number: int) -> Record:
        """Return a record; raise an `InputError` for a number that there is not."""
        rows = self.events.rows("SELECT * FROM queue WHERE record = ?", number)
        if not rows:
            raise InputError("desk-no-record", record=number)
        whole = self._chunk(rows[0]["chunk"])
        place = rows[0]["place"]
        one = Batch(
            whole.shown.slice(place, 1),
            whole.rows.slice(place, 1),
            None if whole.groups is None else whole.groups[place : place + 1],
            whole.unanswered[place : place + 1],
            whole.first + place,
        )
        return Record(rows[0], one)

    def _unpacked(self, chunk: int) -> Batch:
        first = self.events.one("SELECT json_extract(body, '$.first') FROM events WHERE id = ?", chunk)
        return unpacked(self.events.data(chunk), int(first))

    def batch_of(self, chunk: int) -> Batch:
        """Return all rows of an event."""
        return self._chunk(chunk)

    def evidence(self, record: Record) -> Evidence:
        """Return what the model in force has to say of a record."""
        judge = self.judge
        found = self._evidence.get((judge.number, record.number))
        if found is None:
            found = evidence_for(judge, [record.batch])[0]
            self.keep_evidence(judge.number, [record.number], [found])
        return found

    def has_evidence(self, number: int) -> bool:
        """Return whether the evidence for a record is known."""
        return (self.judge.number, number) in self._evidence

    def keep_evidence(self, model: int, numbers: Sequence[int], found: Sequence[Evidence]) -> None:
        """Keep evidence by a model, of this number, for records."""
        with self._lock:
            for number, evidence in zip(numbers, found, strict=False):
                self._evidence[model, number] = evidence
            while len(self._evidence) > _EVIDENCE_KEPT:
                self._evidence.popitem(last=False)

    def listed(self, person: str, filters: Filters, order: str = "trust", most: int = 50, skip: int = 0) -> list[Any]:
        """Return rows of the queue in its order."""
        where, values = filters.where(person)
        by = f"INDEXED BY queue_by_{_known(order)} " if filters.state == WAITING else ""
        sql = f"SELECT * FROM queue {by}WHERE {where} ORDER BY postponed, key_{_known(order)}, record LIMIT ? OFFSET ?"
        return self.events.rows(sql, *values, most, skip)

    def count(self, person: str, filters: Filters) -> int:
        """Return the number of records that are left of a part of the queue."""
        where, values = filters.where(person)
        return int(self.events.one(f"SELECT count(*) FROM queue WHERE {where}", *values))

    def take(self, person: str, filters: Filters, order: str = "trust") -> int | None:
        """Return the next record for a person, which nobody else gets for a while; None where none is left."""
        skip = 0
        while rows := self.listed(person, filters, order, 50, skip):
            with self._lock:
                for row in rows:
                    if self._is_free(row["record"], person) and self._is_still(row):
                        self._lease(row["record"], person)
                        return int(row["record"])
            skip += len(rows)
        return None

    def hold(self, person: str, record: int) -> None:
        """Keep a record that a person has opened from others for a while."""
        with self._lock:
            if self._is_free(record, person):
                self._lease(record, person)

    def _is_free(self, record: int, person: str) -> bool:
        holder, since = self._leases.get(record, (person, 0.0))
        return holder == person or time.monotonic() - since > LEASE

    def _is_still(self, row: Any) -> bool:
        """Return whether nothing was decided of a record since it was listed: who has decided gives it back later."""
        state, postponed = self.events.rows("SELECT state, postponed FROM queue WHERE record = ?", row["record"])[0]
        return bool(state == row["state"] and postponed == row["postponed"])

    def _lease(self, record: int, person: str) -> None:
        if self._leases.get(record, ("", 0.0))[0] != person:
            self._leases[record] = person, time.monotonic()

    def _seconds(self, record: int, person: str) -> float | None:
        """Return for how long a person has had a record."""
        holder, since = self._leases.get(record, ("", 0.0))
        return round(time.monotonic() - since, 1) if holder == person else None

    def _give_back(self, record: int) -> None:
        with self._lock:
            self._leases.pop(record, None)

    # decisions

    def is_hidden(self, person: str, record: Record) -> bool:
        """Return whether the verdict is hidden from a person, who has not decided yet."""
        if not record.view["blind"]:
            return False
        sql = "SELECT 1 FROM shown WHERE record = ? AND person = ?"
        return self.events.one(sql, record.number, person) is None

    def version(self, record: int) -> int:
        """Return the last event of a record, 0 without one: pages name it, so that no change is overlooked."""
        return int(self.events.one("SELECT coalesce(max(id), 0) FROM events WHERE record = ?", record))

    def decide(
        self,
        person: str,
        number: int,
        kind: str,
        label: str | None = None,
        *,
        reason: str = "",
        note: str = "",
        version: int | None = None,
    ) -> int:
        """Keep a decision, on the disk when this returns; return the number of its event.

        `kind` is "accept", "override" with a `label`, "cannot tell" or "postpone"; "label" stands for one of the first
        two. Raise a `ConflictError` if the record has changed since `version`.
        """
        record, reason, note = self.record(number), reason.strip()[:_MOST_REASON], note.strip()[:_MOST_NOTE]
        kind, label = self._checked(record, kind, label)
        hidden, seconds = self.is_hidden(person, record), self._seconds(number, person)
        with self.events.writing(person) as write:
            self._require_version(write, number, version)
            row = write.one("SELECT * FROM queue WHERE record = ?", number)
            assert row is not None
            if reason and write.one("SELECT 1 FROM reasons WHERE reason = ?", reason) is None:
                write.append("reason", {"reason": reason})
            body = {
                "kind": kind,
                "label": label,
                "reason": reason or None,
                "note": note or None,
                "blind": int(hidden),
                "resolves": int(row["state"] == DISAGREEMENT and kind != POSTPONE),
                "seconds": seconds,
                "verdict": {name: row[name] for name in ("label", "trust", "refusal", "region")}
                | {"model": row["judged_by"]},
            }
            event = write.append("decided", body, record=number)
        self._give_back(number)  # once it is written, so that nobody gets it in between
        return event.id

    def _checked(self, record: Record, kind: str, label: str | None) -> tuple[str, str | None]:
        """Return a valid decision and its label."""
        if kind in (CANNOT_TELL, POSTPONE):
            return kind, None
        if kind == ACCEPT:
            label = record.view["label"]
        if kind not in (ACCEPT, OVERRIDE, "label") or label not in self.judge.labels:
            raise InputError("desk-decision", kind=kind, label=label, labels=", ".join(self.judge.labels))
        return (ACCEPT if label == record.view["label"] else OVERRIDE), label

    @staticmethod
    def _require_version(write: Writing, number: int, version: int | None) -> None:
        last = write.one("SELECT max(id) AS id, person FROM events WHERE record = ?", number)
        if version is not None and last is not None and (last["id"] or 0) != version:
            raise ConflictError("desk-conflict", record=number, person=last["person"])

    def undo(self, person: str) -> int | None:
        """Take back the person's last decision that is not taken back yet; return its record, None without one."""
        with self.events.writing(person) as write:
            sql = "SELECT event, record FROM decisions WHERE person = ? AND undone IS NULL ORDER BY event DESC LIMIT 1"
            last = write.one(sql, person)
            if last is None:
                return None
            write.append("undone", {"event": last["event"]}, record=last["record"])
        self.hold(person, last["record"])
        return int(last["record"])

    def before(self, person: str, record: int) -> int | None:
        """Return the record that a person has decided before this one; the last one for a record not decided yet."""
        sql = (
            "SELECT record FROM decisions WHERE person = ? AND record <> ? AND event < coalesce("
            "(SELECT max(event) FROM decisions WHERE person = ? AND record = ?), 1e18) ORDER BY event DESC LIMIT 1"
        )
        found = self.events.one(sql, person, record, person, record)
        return None if found is None else int(found)

    def show(self, person: str, number: int) -> None:
        """Show a person the verdict on a blind record that they have decided."""
        sql = "SELECT 1 FROM decisions WHERE record = ? AND person = ? AND undone IS NULL"
        if self.events.one(sql, number, person) is None:
            raise InputError("desk-still-blind", record=number)
        with self.events.writing(person) as write:
            write.append("shown", record=number)

    def assign(self, person: str, number: int, to: str | None) -> None:
        """Give a record to one person; to everybody with None."""
        self.record(number)
        if to is not None and to not in self.people:
            raise InputError("desk-no-person", person=to, people=", ".join(self.people))
        with self.events.writing(person) as write:
            write.append("assigned", {"to": to}, record=number)
        self._give_back(number)

    @property
    def people(self) -> list[str]:
        """Names of all people."""
        return [row[0] for row in self.events.rows("SELECT person FROM people ORDER BY person")]

    @property
    def reasons(self) -> list[str]:
        """Reasons to choose from: the usual ones, and those that people have written."""
        known = [row[0] for row in self.events.rows("SELECT reason FROM reasons ORDER BY rowid")]
        return list(dict.fromkeys([*REASONS, *known]))

    def choices(self, column: str) -> list[str]:
        """Return the values of a column of the queue to filter by: label, region, grp or file."""
        assert column in ("label", "region", "grp", "file")
        seen = "" if column in ("grp", "file") else " AND NOT blind"
        sql = f"SELECT DISTINCT {column} FROM queue WHERE {column} IS NOT NULL{seen} ORDER BY 1"
        return [str(row[0]) for row in self.events.rows(sql)]

    # another model

    def take_over(self, person: str, judge: Judge, about: dict[str, Any]) -> None:
        """Put another model in force: it judges what waits, and accepted records that no sample holds leave.

        `about` is what `opening.about_model` says of it.
        """
        waiting = self.events.rows("SELECT * FROM queue WHERE state IN (?, ?) ORDER BY chunk", WAITING, SECOND)
        found: dict[str, list[Any]] = {name: [] for name in (*JUDGED, "settled", "record")}
        by_chunk: dict[int, list[Any]] = {}
        for row in waiting:
            by_chunk.setdefault(row["chunk"], []).append(row)
        for chunk, rows in by_chunk.items():
            verdicts = judge.verdicts(self.batch_of(chunk))
            for row in rows:
                for name in JUDGED:
                    found[name].append(getattr(verdicts, name)[row["place"]])
                leaves = verdicts.refusal[row["place"]] is None and not row["sampled"] and row["state"] == WAITING
                found["settled"].append(int(leaves))
                found["record"].append(row["record"])
        with self.events.writing(person) as write:
            write.append("model", about)
            if waiting:
                write.append("judged", {"model": judge.number, "judged": found})
        self.judge = judge

    def progress(self) -> dict[str, int]:
        """Return the number of records in each state."""
        rows = self.events.rows("SELECT state, count(*) AS n FROM queue GROUP BY state")
        counts = {row["state"]: row["n"] for row in rows}
        return {state: counts.get(state, 0) for state in (WAITING, SECOND, DISAGREEMENT, DECIDED, "settled")}


def _known(order: str) -> str:
    if order not in ORDERS:
        raise InputError("desk-order", order=order, orders=", ".join(ORDERS))
    return order
