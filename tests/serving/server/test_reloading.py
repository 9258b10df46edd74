"""A model file that changes under a server: a whole one is taken over, any other changes nothing."""

import asyncio
import json
import os
import time

import pytest
from desks import classifier, records
from scorers import MODEL, Caller, assert_verdicts, records_of

from sepc import SEPClassifier, save
from sepc.serving.server import reloading

X, _ = records(20, 3)
ROWS = records_of(X)


def another(n=200):
    return SEPClassifier().fit(*records(n, 7))


@pytest.fixture
def caller(tmp_path, monkeypatch):
    monkeypatch.setattr(reloading, "_EVERY", 0.02)
    with Caller(tmp_path, classifier()) as made:
        made.model.start()
        yield made


def wait_for(condition):
    for _ in range(500):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError


def test_a_new_file_is_taken_over(caller):
    before, clf = caller.get("/model").json["version"], another()
    save(clf, caller.path)
    wait_for(lambda: caller.metrics.value("reloads") == 1)
    assert_verdicts(caller.predictions(ROWS), clf, clf.assess(X))
    about = caller.get("/model").json
    assert about["version"] != before
    assert about["reloads"]["changed"] == []
    assert caller.get(f"{MODEL}/versions/{before}").status == 404


@pytest.mark.parametrize("how", ["damaged", "cut", "empty", "gone", "no model"])
def test_any_other_file_changes_nothing_but_what_is_reported(caller, how):
    whole = caller.path.read_bytes()
    if how == "gone":
        caller.path.unlink()
    else:
        changed = {"damaged": whole[:500] + b"x" * 50 + whole[550:], "cut": whole[:-900], "empty": b""}
        caller.path.write_bytes(changed.get(how, b"no model at all"))
    wait_for(lambda: caller.metrics.value("reload_failures") >= 1)
    assert_verdicts(caller.predictions(ROWS), classifier(), classifier().assess(X))
    assert caller.get("/model").json["reloads"]["problem"]
    assert caller.get("/health/ready").status == 200
    assert "sepc_reload_failures_total 1" in caller.get("/metrics").text
    caller.path.write_bytes(whole)
    wait_for(lambda: caller.model.problem is None)
    assert caller.get("/model").json["reloads"]["problem"] is None


def test_no_mistake_of_ours_ends_the_watch(caller, monkeypatch):
    read = caller.model._load
    monkeypatch.setattr(caller.model, "_load", lambda path: path.colour)
    save(another(), caller.path)
    wait_for(lambda: caller.metrics.value("reload_failures") >= 1)
    assert "colour" in caller.get("/model").json["reloads"]["problem"]
    monkeypatch.setattr(caller.model, "_load", read)
    caller.model.want()
    wait_for(lambda: caller.metrics.value("reloads") == 1)
    assert caller.model.problem is None


def test_other_columns_and_labels_are_taken_over_and_reported(caller):
    data, y = records(200)
    save(SEPClassifier().fit(data.rename(columns={"dose": "amount"}), y == "ill"), caller.path)
    wait_for(lambda: caller.metrics.value("reloads") == 1)
    assert caller.get("/model").json["reloads"]["changed"] == [
        "Its columns differ: new are ['amount'], gone are ['dose'].",
        "Its labels differ: new are ['False', 'True'], gone are ['ill', 'well'].",
    ]
    assert caller.post("/predict", ROWS).status == 400
    assert caller.predictions([{"age": 1.0, "amount": 2.0}])[0]["label"] in (True, False)


def test_a_file_that_is_replaced_by_the_same_one_is_no_reload(caller):
    whole = caller.path.read_bytes()
    seen = caller.model._seen
    caller.path.write_bytes(whole)
    wait_for(lambda: caller.model._seen != seen)
    assert caller.model.reload()
    assert caller.metrics.value("reloads") == caller.metrics.value("reload_failures") == 0


def test_a_call_and_a_signal_reload_at_once(tmp_path):
    token = "Bearer 0123456789abcdef"
    with Caller(tmp_path, classifier(), token=token[7:]) as caller:
        save(another(), caller.path)
        answer = caller.post("/reload", authorization=token)
        assert (answer.status, answer.json["problem"]) == (200, None)
        caller.path.write_bytes(b"no model")
        answer = caller.post("/reload", authorization=token)
        assert (answer.status, "damaged" in answer.json["problem"]) == (409, True)
        save(classifier(), caller.path)
        caller.model.start()
        caller.model.want()
        wait_for(lambda: caller.metrics.value("reloads") == 2)


def test_no_request_is_dropped_while_files_come_and_go(caller, tmp_path):
    clf, other = classifier(), another()
    save(clf, tmp_path / "a")
    save(other, tmp_path / "b")
    whole = [(tmp_path / name).read_bytes() for name in "ab"]
    expected = [[caller_of.assess(X[:1]).trust[0]] for caller_of in (clf, other)]

    async def asking(until):
        seen = []
        while time.monotonic() < until:
            answer = await caller.ask("POST", "/predict", json.dumps(ROWS[:1]).encode(), {})
            assert answer.status == 200, answer.text
            seen.append([answer.json["predictions"][0]["trust"]])
        return seen

    async def swapping(until):
        k = 0
        while time.monotonic() < until:
            k += 1
            if k % 3 == 2:
                caller.path.write_bytes(whole[0][: 100 * k])  # half-written
            else:
                (tmp_path / "new").write_bytes(whole[k % 2])
                os.replace(tmp_path / "new", caller.path)
            await asyncio.sleep(0.05)

    async def everyone():
        until = time.monotonic() + 1.5
        return await asyncio.gather(*(asking(until) for _ in range(6)), swapping(until))

    seen = [one for part in asyncio.run(everyone())[:-1] for one in part]
    assert all(one in expected for one in seen)
    assert caller.metrics.value("reloads") > 1
    assert caller.metrics.value("reload_failures") > 0
