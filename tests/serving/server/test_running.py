"""A server in a process of its own: requests that are broken in many ways, a taken port, and its end."""

import json
import signal
import socket
import time
from urllib.request import urlopen

import pytest
from desks import classifier, records
from serving_clients import Fuzz, Server, broken, load, request

from sepc import SEPClassifier, save
from sepc.desk.events import Events

GOOD = request("/predict", b'[{"age": 1, "dose": 2}]')


@pytest.fixture
def model(tmp_path):
    save(classifier(), tmp_path / "model.sepc")
    return tmp_path / "model.sepc"


@pytest.fixture
def server(model):
    made = Server(model, "--timeout", "5")
    yield made
    assert made.end() == 0


@pytest.mark.processes
def test_no_broken_request_breaks_the_server(server):
    record = {"age": 1.0, "dose": 2.0}
    counts, bad = broken(server.port, iter(Fuzz(list(record), record)), 300)
    assert not bad, bad[0][:500]
    assert counts["400"] > 100
    assert len(load(server.port, [GOOD], 2, 0.2)) > 2


@pytest.mark.processes
def test_a_signal_reloads_and_another_hands_over_and_ends(model, tmp_path):
    desk = tmp_path / "reviews.db"
    server = Server(model, "--desk", str(desk), "--min-trust", "1")
    assert len(load(server.port, [GOOD], 2, 0.2)) > 2
    before = about(server)["version"]
    save(SEPClassifier().fit(*records(200, 7)), model)
    server.process.send_signal(signal.SIGHUP)
    for _ in range(100):
        if about(server)["version"] != before:
            break
        time.sleep(0.05)
    assert about(server)["reloads"] == {"taken_over": 1, "failed": 0, "problem": None, "changed": []}
    n = len(load(server.port, [GOOD], 2, 0.2))
    assert server.end() == 0
    events = Events(desk)
    assert events.one("SELECT count(*) FROM queue") > n
    events.close()


def about(server):
    with urlopen(f"http://127.0.0.1:{server.port}/model") as answer:
        return json.loads(answer.read())


@pytest.mark.processes
def test_a_taken_port_is_an_error(model):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(RuntimeError, match="did not start"):
            Server(model, "--port", str(taken.getsockname()[1]))
