"""A desk in a process of its own: ended by Ctrl+C, killed under load, and started again."""

import time

import pytest
from desk_clients import Client, Server, at_once
from desks import classifier, records

from sepc import save
from sepc.desk.events import Events

pytestmark = pytest.mark.processes


@pytest.fixture
def files(tmp_path):
    save(classifier(), tmp_path / "model.sepc")
    records(3000, 3)[0].to_csv(tmp_path / "new.csv", index=False)
    return tmp_path


def opened(files, *options):
    return Server(files / "model.sepc", files / "new.csv", files / "new.db", ["ada", "ben", "cy"], *options)


def clients_of(server):
    return [Client(url, person, lambda record: "ill" if record % 2 else "well") for person, url in server.urls.items()]


def test_what_was_answered_with_saved_is_there_after_each_kill(files):
    n_saved = 0
    for k in range(5):
        server = opened(files, "--min-trust", "1")
        clients = clients_of(server)
        threads = at_once(clients, 60.0)
        time.sleep(0.2 + 0.3 * k)
        server.kill()
        for thread in threads:
            thread.join()
        events = Events(files / "new.db")
        kept = [(row["record"], row["label"]) for row in events.rows("SELECT record, label FROM decisions")]
        saved = [one for client in clients for one in client.saved]
        assert set(saved) <= set(kept)
        assert len({record for record, _ in kept}) == len(kept)
        events.verify()
        events.close()
        n_saved += len(saved)
    assert n_saved > 0
    assert opened(files).end() == 0


def test_a_second_desk_on_the_same_file_or_port_is_an_error_that_says_so(files):
    server = opened(files)
    with pytest.raises(RuntimeError, match="is open already"):
        opened(files)
    port = next(iter(server.urls.values())).split(":")[2].split("/")[0]
    with pytest.raises(RuntimeError, match=f"port {port} is taken"):
        Server(files / "model.sepc", files / "new.csv", files / "other.db", ["ada"], "--port", port)
    assert server.end() == 0


def test_people_keep_their_address_until_they_get_a_new_one(files):
    first = opened(files)
    ada, ben = (first.urls[name] for name in ("ada", "ben"))
    assert first.end() == 0
    again = Server(files / "model.sepc", files / "new.csv", files / "new.db", ["ada"])
    port = again.urls["ada"].split(":")[2].split("/")[0]
    old, kept = (url.replace(url.split(":")[2].split("/")[0], port) for url in (ada, ben))
    Client(kept, "ben", str).close()
    with pytest.raises(RuntimeError, match="answers 401"):
        Client(old, "ada", str)
    assert again.end() == 0
