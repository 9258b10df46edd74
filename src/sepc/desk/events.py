"""Events of a desk: an append-only table in one SQLite file, each event chained to the one before by a digest.

Everything else in the file is a view of the events, see `sepc.desk.views`, but for the digests of tokens.
"""

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from sepc.common.errors import InputError
from sepc.desk.views import VIEWS, apply, differences

_APPLICATION, _VERSION = 0x73657063, 1  # "sepc"
_WAIT = 30.0  # seconds for another process to finish its writing
_SCHEMA = """
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, person TEXT NOT NULL, kind TEXT NOT NULL, record INTEGER,
    body TEXT NOT NULL, data BLOB, digest TEXT NOT NULL
);
CREATE INDEX events_of_record ON events (record, id) WHERE record IS NOT NULL;
CREATE INDEX events_of_kind ON events (kind, id);
CREATE TRIGGER events_stay BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
CREATE TRIGGER events_last BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TABLE tokens (person TEXT PRIMARY KEY, digest TEXT NOT NULL);
"""


class Event(NamedTuple):
    """One event: who did what and when, to which record; `data` are the bytes of rows."""

    id: int
    at: str
    person: str
    kind: str
    record: int | None
    body: dict[str, Any]
    data: bytes | None = None


class DiskFullError(InputError):
    """The disk is full: nothing of the change was written."""


class Events:
    """The events in a file, which is created if it does not exist.

    One connection writes, in whole transactions that are on the disk when `writing` ends; each thread has a connection
    of its own to read. Several processes can share a file.
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True) -> None:
        self.path = Path(path)
        if not create and not self.path.exists():
            raise InputError("desk-no-file", path=self.path)
        self._lock, self._local = threading.RLock(), threading.local()
        self._open: list[sqlite3.Connection] = []
        self._writer = self._connection()
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            raise InputError("desk-file-damaged", path=self.path, why=str(error)) from error

    def _connection(self) -> sqlite3.Connection:
        try:
            made = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
        except sqlite3.OperationalError as error:
            raise InputError("desk-file-damaged", path=self.path, why=str(error)) from error
        made.row_factory = sqlite3.Row
        made.create_function("casefold", 1, str.casefold, deterministic=True)  # SQLite's own knows ASCII alone
        self._open.append(made)
        return made

    def _prepare(self) -> None:
        writer = self._writer
        known = writer.execute("PRAGMA application_id").fetchone()[0]
        if known != _APPLICATION and writer.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise InputError("desk-file-damaged", path=self.path, why="it is another kind of database")
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA synchronous = FULL")
        writer.execute("PRAGMA foreign_keys = ON")
        with self._transaction():
            if not writer.execute("PRAGMA application_id").fetchone()[0]:
                for statement in _statements(_SCHEMA + VIEWS):
                    writer.execute(statement)
                writer.execute(f"PRAGMA user_version = {_VERSION}")
                writer.execute(f"PRAGMA application_id = {_APPLICATION}")
        version = writer.execute("PRAGMA user_version").fetchone()[0]
        if version != _VERSION:
            raise InputError("desk-file-version", path=self.path, version=version, expected=_VERSION)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException as error:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                if isinstance(error, sqlite3.OperationalError) and _is_full(error):
                    raise DiskFullError("desk-disk-full", path=self.path) from error
                raise

    @contextmanager
    def writing(self, person: str) -> Iterator["Writing"]:
        """Yield what appends events of a person; all of them are on the disk at the end, or none."""
        with self._transaction() as connection:
            yield Writing(connection, person)

    @property
    def reader(self) -> sqlite3.Connection:
        """The connection of this thread to read with."""
        if not hasattr(self._local, "connection"):
            self._local.connection = self._connection()
            self._local.connection.execute("PRAGMA query_only = ON")
        return self._local.connection  # type: ignore[no-any-return]

    def rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """Return the rows of a query."""
        return self._executed(sql, values).fetchall()

    def one(self, sql: str, *values: Any) -> Any:
        """Return the first value of a query; None without a row."""
        row = self._executed(sql, values).fetchone()
        return None if row is None else row[0]

    def _executed(self, sql: str, values: tuple[Any, ...]) -> sqlite3.Cursor:
        try:
            return self.reader.execute(sql, values)
        except OverflowError as error:
            raise InputError("desk-number-too-large") from error

    def of_kind(self, *kinds: str) -> list[Event]:
        """Return the events of some kinds, without their data, in their order."""
        marks = ", ".join("?" * len(kinds))
        sql = f"SELECT id, at, person, kind, record, body FROM events WHERE kind IN ({marks}) ORDER BY id"
        return [_event(row) for row in self.rows(sql, *kinds)]

    def data(self, number: int) -> bytes:
        """Return the data of an event."""
        return bytes(self.one("SELECT data FROM events WHERE id = ?", number))

    def token_digest(self, person: str, digest: str) -> None:
        """Keep the digest of a person's token, in place of an older one."""
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO tokens VALUES (?, ?)", (person, digest))

    def person_of_token(self, digest: str) -> str | None:
        """Return whose token has this digest; None for nobody's."""
        found = self.one("SELECT person FROM tokens WHERE digest = ?", digest)
        return None if found is None else str(found)

    def verify(self, head: str | None = None) -> tuple[int, str]:
        """Check all events and all views; return the number of events and the last digest.

        `head` is a digest that an earlier check has returned, and that must still be there.

        Raises
        ------
        InputError
            If an event was altered, moved, added or removed, if a view is not that of the events, or without `head`.
        """
        connection, last, n, heads = self.reader, "", 0, set()
        connection.execute("BEGIN")
        try:
            for row in connection.execute("SELECT * FROM events ORDER BY id"):
                n += 1
                if row["id"] != n:
                    raise self._altered(f"event {n} is missing")
                if row["digest"] != _digest(last, row):
                    raise self._altered(f"event {n} is not what was written, or the one before it was another")
                last = row["digest"]
                heads.add(last)
            written = connection.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'events'").fetchone()[0]
            if n != (written or 0):
                raise self._altered(f"it ends with event {n}, but {written} were written")
            if head is not None and head not in heads:
                raise self._altered(f"no event has the digest {head}")
            if different := differences(connection, self._replayed(connection)):
                raise self._altered(f"the table {different} does not follow from the events")
        except sqlite3.DatabaseError as error:
            raise InputError("desk-file-damaged", path=self.path, why=str(error)) from error
        finally:
            connection.execute("ROLLBACK")
        return n, last

    def _replayed(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        """Return a database in memory with the views as the events make them."""
        made = sqlite3.connect(":memory:", isolation_level=None)
        made.row_factory = sqlite3.Row
        for statement in _statements(_SCHEMA + VIEWS):
            made.execute(statement)
        made.execute("BEGIN")
        for row in connection.execute("SELECT * FROM events ORDER BY id"):
            _insert(made, tuple(row))
            apply(made, _event(row))
        return made

    def _altered(self, why: str) -> InputError:
        return InputError("desk-altered", path=self.path, why=why)

    def close(self) -> None:
        """Close all connections."""
        for connection in self._open:
            connection.close()


class Writing:
    """An open transaction, in which one person appends events."""

    def __init__(self, connection: sqlite3.Connection, person: str) -> None:
        self.connection, self.person = connection, person

    def append(
        self, kind: str, body: dict[str, Any] | None = None, *, record: int | None = None, data: bytes | None = None
    ) -> Event:
        """Append an event, and bring the views up to date."""
        last = self.connection.execute("SELECT id, digest FROM events ORDER BY id DESC LIMIT 1").fetchone()
        before, number = ("", 1) if last is None else (last["digest"], last["id"] + 1)
        text = json.dumps(body or {}, ensure_ascii=False, allow_nan=False)
        row = {"id": number, "at": now(), "person": self.person, "kind": kind, "record": record, "body": text}
        row |= {"data": data}
        _insert(self.connection, (*row.values(), _digest(before, row)))
        event = _event(row)
        apply(self.connection, event)
        return event

    def one(self, sql: str, *values: Any) -> sqlite3.Row | None:
        """Return the first row of a query inside of the transaction."""
        found: sqlite3.Row | None = self.connection.execute(sql, values).fetchone()
        return found


def now() -> str:
    """Return the time in UTC, to the millisecond, as in 2026-03-01T12:00:00.000Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _insert(connection: sqlite3.Connection, row: tuple[Any, ...]) -> None:
    connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


def _event(row: Any) -> Event:
    data = row["data"] if "data" in row.keys() else None  # noqa: SIM118
    return Event(row["id"], row["at"], row["person"], row["kind"], row["record"], json.loads(row["body"]), data)


def _digest(before: str, row: Any) -> str:
    fields = [row[name] for name in ("id", "at", "person", "kind", "record", "body")]
    found = hashlib.sha256(f"{before}\n{json.dumps(fields, ensure_ascii=False)}\n".encode("utf-8", "surrogatepass"))
    found.update(row["data"] or b"")
    return found.hexdigest()


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script; `executescript` would end the transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _is_full(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode == sqlite3.SQLITE_FULL
