"""Refused records on their way to a desk: all of them, and no answer waits for it."""

import sqlite3

import pytest
from desks import new_desk, records
from scorers import Caller, records_of

from sepc.desk.desk import Desk
from sepc.serving.server import review

X, _ = records(80, 3)
ROWS = [{"patient": f"P-{k}", **one} for k, one in enumerate(records_of(X))]


@pytest.fixture
def desk(tmp_path):
    return new_desk(tmp_path, n=0, audit=0.0)


def asked(desk):
    desk = Desk(type(desk.events)(desk.events.path), desk.judge)
    rows = desk.events.rows("SELECT record FROM queue ORDER BY record")
    return [desk.record(row["record"]) for row in rows]


def test_refused_records_come_to_the_desk_as_they_came(tmp_path, desk):
    with Caller(tmp_path, desk=desk) as caller:
        found = caller.predictions(ROWS)
        caller.at_once(*(("/predict?outputs=label", [row]) for row in ROWS[:20]))
        caller.post("/predict", X.to_csv(index=False).encode(), content_type="text/csv")
    refused = [k for k, one in enumerate(found) if not one["accepted"]]
    came = asked(desk)
    expected = 2 * len(refused) + sum(k < 20 for k in refused)
    assert len(came) == expected == caller.metrics.value("desk_sent")
    patients = [one.batch.shown["patient"][0].as_py() for one in came if "patient" in one.batch.shown.column_names]
    assert sorted(patients) == sorted(f"P-{k}" for k in [*refused, *(k for k in refused if k < 20)])
    by_patient = {one.batch.shown["patient"][0].as_py(): one.view for one in came[: len(patients)]}
    for k in refused:
        view = by_patient[f"P-{k}"]
        assert (view["label"], view["refusal"]) == (found[k]["label"], found[k]["refusal"])
    assert len({(one.view["file"], one.view["row"]) for one in came}) == expected
    assert caller.metrics.value("desk_dropped") == 0


def test_a_desk_that_cannot_be_written_is_tried_again(tmp_path, desk, monkeypatch):
    monkeypatch.setattr(review, "_EVERY", 0.01)
    add, failing = desk.add, [sqlite3.OperationalError("locked")] * 3

    def adding(*arguments):
        if failing:
            raise failing.pop()
        return add(*arguments)

    monkeypatch.setattr(desk, "add", adding)
    with Caller(tmp_path, desk=desk) as caller:
        found = caller.predictions(ROWS)
    n = sum(not one["accepted"] for one in found)
    assert (caller.metrics.value("desk_sent"), caller.metrics.value("desk_dropped")) == (n, 0)
    assert caller.metrics.value("desk_failures") == 3


def test_what_is_lost_is_counted(tmp_path, desk, monkeypatch):
    monkeypatch.setattr(review, "_MOST_WAITING", 5)
    monkeypatch.setattr(desk, "add", lambda *_: (_ for _ in ()).throw(sqlite3.OperationalError("no room")))
    with Caller(tmp_path, desk=desk) as caller:
        found = caller.predictions(ROWS)
        assert caller.get("/metrics").text.count("sepc_desk_waiting 5") == 1
    n = sum(not one["accepted"] for one in found)
    assert (caller.metrics.value("desk_sent"), caller.metrics.value("desk_dropped")) == (0, n)


def test_records_that_the_desk_does_not_take_spoil_no_others(tmp_path, desk, monkeypatch):
    add = desk.add

    def adding(person, name, digest, batches):
        if any("bad" in one.shown.column_names for one in batches):
            raise ValueError("no")
        return add(person, name, digest, batches)

    monkeypatch.setattr(desk, "add", adding)
    with Caller(tmp_path, desk=desk) as caller:
        found = caller.predictions(ROWS)
        bad = caller.predictions([{**row, "bad": 1} for row in ROWS[:40]])
    n, lost = (sum(not one["accepted"] for one in part) for part in (found, bad))
    assert (caller.metrics.value("desk_sent"), caller.metrics.value("desk_dropped")) == (n, lost)
    assert len(asked(desk)) == n
