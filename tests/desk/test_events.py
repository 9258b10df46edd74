import sqlite3
import subprocess
import sys

import pytest
from desks import Browser, decide_all, new_desk, truth

from sepc import SepcError
from sepc.desk.desk import Filters
from sepc.desk.events import DiskFullError, Events


@pytest.fixture
def decided(tmp_path):
    desk = new_desk(tmp_path, 60)
    decide_all(desk, "ada", truth(desk))
    return desk


def altered(desk, *statements):
    """Change the file of a desk behind its back."""
    desk.events.close()
    db = sqlite3.connect(desk.events.path)
    db.executescript("DROP TRIGGER events_stay; DROP TRIGGER events_last;" + ";".join(statements))
    db.commit()
    db.close()
    return Events(desk.events.path)


def test_what_was_written_passes_and_a_head_is_known_later(decided):
    n, head = decided.events.verify()
    assert n == decided.events.one("SELECT count(*) FROM events")
    decided.undo("ada")
    assert decided.events.verify(head)[0] == n + 1
    with pytest.raises(SepcError, match="no event has the digest"):
        decided.events.verify("0" * 64)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("at", "'2020-01-01T00:00:00.000Z'"),
        ("person", "'eve'"),
        ("kind", "'undone'"),
        ("record", "1"),
        ("body", "replace(body, 'ill', 'well')"),
        ("digest", "upper(digest)"),
    ],
)
def test_an_altered_event_is_found(decided, column, value):
    which = decided.events.one("SELECT max(id) - 3 FROM events")
    events = altered(decided, f"UPDATE events SET {column} = {value} WHERE id = {which}")
    with pytest.raises(SepcError, match=rf"event {which}\b") as caught:
        events.verify()
    assert caught.value.code == "desk-altered"


def test_altered_rows_are_found(decided):
    events = altered(decided, "UPDATE events SET data = CAST('none' AS BLOB) WHERE kind = 'rows'")
    with pytest.raises(SepcError, match="is not what was written"):
        events.verify()


@pytest.mark.parametrize("which", ["1", "5", "(SELECT max(id) FROM events)"])
def test_a_missing_event_is_found_the_last_one_too(decided, which):
    events = altered(decided, f"DELETE FROM events WHERE id = {which}")
    with pytest.raises(SepcError, match=r"missing|were written"):
        events.verify()


def test_an_event_that_was_put_in_is_found(decided):
    copied = "SELECT at, person, kind, record, body, data, digest FROM events WHERE kind = 'decided' LIMIT 1"
    events = altered(decided, f"INSERT INTO events (at, person, kind, record, body, data, digest) {copied}")
    with pytest.raises(SepcError, match="is not what was written"):
        events.verify()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE queue SET decided_label = 'ill' WHERE decided_label = 'well'",
        "UPDATE queue SET chance = 0.5",
        "DELETE FROM decisions",
        "INSERT INTO people VALUES ('eve')",
    ],
)
def test_a_view_that_does_not_follow_from_the_events_is_found(decided, statement):
    events = altered(decided, statement)
    with pytest.raises(SepcError, match="does not follow from the events"):
        events.verify()


def test_events_are_neither_changed_nor_deleted_by_accident(decided):
    for statement in ("DELETE FROM events", "UPDATE events SET person = 'eve'"):
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            decided.events._writer.execute(statement)


def fill(events):
    for i in range(100):
        with events.writing("ada") as write:
            write.append("shown", record=1)
            write.append("reason", {"reason": f"{i}" * 5000})


def test_a_full_disk_saves_nothing_and_says_so(decided):
    events = decided.events
    pages = events._writer.execute("PRAGMA page_count").fetchone()[0]
    events._writer.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DiskFullError, match="nothing was saved"):
        fill(events)
    n, _ = events.verify()
    assert n == events.one("SELECT max(id) FROM events")
    assert events.one("SELECT count(*) FROM events WHERE kind = 'shown'") == events.one("SELECT count(*) FROM reasons")
    events._writer.execute(f"PRAGMA max_page_count = {10 * pages}")
    decided.undo("ada")
    assert events.verify()[0] == n + 1


def test_the_page_says_that_the_disk_is_full(decided):
    events, browser = decided.events, Browser(decided)
    decided.undo("ada")
    number = decided.take("ada", Filters())
    n, _ = events.verify()
    pages = events._writer.execute("PRAGMA page_count").fetchone()[0]
    events._writer.execute(f"PRAGMA max_page_count = {pages}")
    answers = [browser.decide(number, "ill", note="x" * 3900) for _ in range(20)]
    assert 507 in {answer.status for answer in answers}
    refused = next(answer for answer in answers if answer.status == 507)
    assert "Nothing was saved: there is no room on the disk" in refused.text
    saved = sum(answer.status == 303 for answer in answers)
    assert events.verify()[0] == n + saved


def write_half(events):
    with events.writing("ada") as write:
        write.append("reason", {"reason": "new"})
        raise KeyError


def test_an_error_in_the_middle_leaves_nothing(decided):
    n, head = decided.events.verify()
    with pytest.raises(KeyError):
        write_half(decided.events)
    assert decided.events.verify() == (n, head)


def test_another_kind_of_file_is_refused(tmp_path):
    path = tmp_path / "other.db"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(SepcError, match="cannot be read as the file of a desk"):
        Events(path)
    other = tmp_path / "mine.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE mine (x)")
    with pytest.raises(SepcError, match="another kind of database"):
        Events(other)
    with pytest.raises(SepcError, match="there is no desk"):
        Events(tmp_path / "none.db", create=False)


def test_a_newer_file_is_refused(decided):
    decided.events._writer.execute("PRAGMA user_version = 9")
    with pytest.raises(SepcError, match="version 9"):
        Events(decided.events.path)


WRITER = """
import sys
from sepc.desk.events import Events
events = Events(sys.argv[1])
for i in range(40):
    with events.writing(sys.argv[2]) as write:
        write.append("reason", {"reason": f"{sys.argv[2]} {i}"})
"""


@pytest.mark.processes
def test_several_processes_write_one_chain(tmp_path):
    path = tmp_path / "shared.db"
    Events(path).close()
    started = [subprocess.Popen([sys.executable, "-c", WRITER, path, name]) for name in ("ada", "ben", "cy")]
    assert [process.wait() for process in started] == [0, 0, 0]
    events = Events(path)
    assert events.verify()[0] == 120
    assert events.one("SELECT count(*) FROM reasons") == 120
