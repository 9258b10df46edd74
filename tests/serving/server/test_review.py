"""Refused records on their way to a desk: all of them, and no answer waits for it."""

import sqlite3

import pytest
from desks import new_desk, records
from scorers import Caller, records_of

from sepc import SEPClassifier, load, save
from sepc.desk.desk import Desk
from sepc.serving.server import review
from sepc.serving.server.scoring import Acceptance

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

    def adding(person, name, digest, batches, why):
        if any("bad" in one.shown.column_names for one in batches):
            raise ValueError("no")
        return add(person, name, digest, batches, why)

    monkeypatch.setattr(desk, "add", adding)
    with Caller(tmp_path, desk=desk) as caller:
        found = caller.predictions(ROWS)
        bad = caller.predictions([{**row, "bad": 1} for row in ROWS[:40]])
    n, lost = (sum(not one["accepted"] for one in part) for part in (found, bad))
    assert (caller.metrics.value("desk_sent"), caller.metrics.value("desk_dropped")) == (n, lost)
    assert len(asked(desk)) == n


COSTS = {"ill": {"well": 50.0}, "well": {"ill": 1.0}, None: 0.01}


@pytest.mark.parametrize(
    "terms",
    [
        {"accepts": Acceptance(None, 0.5)},
        {"accepts": Acceptance(0.999)},
        {"load": lambda path: load(path).under(costs=COSTS)},
        {"load": lambda path: load(path).under(class_prior={"ill": 0.001, "well": 0.999}, costs=COSTS)},
    ],
)
def test_what_the_server_refuses_is_asked_whatever_the_desk_would_accept(tmp_path, desk, terms):
    with Caller(tmp_path, desk=desk, **terms) as caller:
        found = caller.predictions(ROWS)
    refused = [f"P-{k}" for k, one in enumerate(found) if not one["accepted"]]
    came = asked(desk)
    assert [one.batch.shown["patient"][0].as_py() for one in came] == refused
    assert {"by the server"} < {one.view["refusal"] for one in came}
    assert (caller.metrics.value("desk_sent"), caller.metrics.value("desk_dropped")) == (len(refused), 0)


def test_records_of_another_model_come_if_the_model_of_the_desk_can_read_them(tmp_path, desk, caplog):
    data, y = records(200, 7)
    more = [{**row, "amount": row["dose"]} for row in ROWS]
    with Caller(tmp_path, desk=desk) as caller:
        save(SEPClassifier().fit(data.rename(columns={"dose": "amount"})[["amount", "age"]], y), caller.path)
        assert caller.model.reload()
        found = caller.predictions(more)
        lost = caller.predictions([{"age": row["age"], "amount": row["dose"]} for row in ROWS])
    n = [sum(not one["accepted"] for one in part) for part in (found, lost)]
    assert len(asked(desk)) == n[0] == caller.metrics.value("desk_sent")
    assert caller.metrics.value("desk_dropped") == n[1] > 0
    assert "did not come to the desk" in caplog.text


def test_a_part_that_is_written_is_not_sent_again(tmp_path, desk, monkeypatch):
    monkeypatch.setattr(review, "_EVERY", 0.05)
    add, failing = desk.add, [sqlite3.OperationalError("locked")] * 2

    def adding(person, name, digest, batches, why):
        bad = [one for one in batches if "bad" in one.shown.column_names]
        if bad and len(bad) < len(batches):
            raise ValueError("only apart")
        if bad and failing:
            raise failing.pop()
        return add(person, name, digest, batches, why)

    monkeypatch.setattr(desk, "add", adding)
    with Caller(tmp_path, desk=desk) as caller:
        waiting = [("/predict", [{**row, **bad}]) for bad in ({}, {"bad": 1}) for row in ROWS]
        monkeypatch.setattr(caller.review, "_hand_over", lambda: len(caller.review) == 0)
        refused = [not one.json["predictions"][0]["accepted"] for one in caller.at_once(*waiting)]
        monkeypatch.undo()
        monkeypatch.setattr(desk, "add", adding)
    assert not failing
    assert len(asked(desk)) == sum(refused) == caller.metrics.value("desk_sent")
    assert caller.metrics.value("desk_dropped") == len(caller.review) == 0


@pytest.mark.parametrize("other", [[1], {}, "\ud800"])
def test_other_columns_that_no_table_holds_lose_no_record(tmp_path, desk, other):
    body = {"columns": {name: X[name].tolist() for name in X} | {"other": [other] * len(X)}}
    with Caller(tmp_path, desk=desk) as caller:
        found = caller.predictions(body)
        caller.predictions({"columns": {**body["columns"], "other": other}})
    n = sum(not one["accepted"] for one in found)
    assert (len(asked(desk)), caller.metrics.value("desk_sent")) == (2 * n, 2 * n)
