"""People at a review desk, played by threads: each opens records and decides them over HTTP, as a browser does."""

import http.client
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

_VERSION = re.compile(rb'name="version" value="(\d+)"')
_RECORD = re.compile(r"/records/(\d+)")


class Server:
    """A desk in a process of its own; `urls` are the addresses of its people."""

    def __init__(self, model: Path, data: Path, db: Path, people: list[str], *options: str) -> None:
        named = [part for person in people for part in ("--person", person)]
        command = [
            "-m",
            "sepc",
            "desk",
            str(model),
            str(data),
            "--db",
            str(db),
            "--port",
            "0",
            "--no-browser",
            "--json",
        ]
        self.process = subprocess.Popen(
            [sys.executable, *command, *named, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        said = ""
        while not said.rstrip().endswith("}\n}"):
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"the desk did not open: {self.process.communicate()[1]}")
            said += line
        self.urls: dict[str, str] = json.loads(said)["people"]

    def kill(self) -> None:
        """End it at once, as a power cut does."""
        self.process.kill()
        self.process.communicate()

    def end(self) -> int:
        """End it as Ctrl+C does; return its exit code."""
        self.process.send_signal(2)
        self.process.communicate(timeout=30)
        return self.process.returncode


@dataclass
class Client:
    """One person with a browser; `saved` are records and labels whose decision was answered with "saved"."""

    url: str
    person: str
    answer: Callable[[int], str]
    saved: list[tuple[int, str]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        place = urlsplit(self.url)
        self.connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
        self.cookie = ""
        status, headers, _ = self.ask("GET", f"/?{place.query}")
        if status != 200:
            self.close()
            raise RuntimeError(f"the desk answers {status}")
        self.cookie = (headers["set-cookie"] or "").partition(";")[0]

    def ask(
        self, method: str, path: str, form: dict[str, str] | None = None
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Send a request; return the status, the headers and the body of the answer."""
        headers = {"cookie": self.cookie} if self.cookie else {}
        if form is not None:
            headers |= {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
        start = time.perf_counter()
        self.connection.request(method, path, urlencode(form) if form is not None else None, headers)
        answer = self.connection.getresponse()
        body = answer.read()
        self.seconds.append(time.perf_counter() - start)
        return answer.status, answer.headers, body

    def next(self) -> tuple[int, str] | None:
        """Open the next record; return its number, and the version of its page. None at the end of the queue."""
        status, headers, _ = self.ask("GET", "/next")
        return self.open(headers["location"]) if status == 303 else self._failed(status, "/next")

    def open(self, path: str) -> tuple[int, str] | None:
        """Open a record."""
        record = _RECORD.match(path)
        if record is None:
            return None
        status, _, body = self.ask("GET", path)
        version = _VERSION.search(body)
        if status != 200 or version is None:
            return self._failed(status, path)
        return int(record[1]), version[1].decode()

    def decide(self, record: int, version: str) -> tuple[int, str] | None:
        """Decide a record; return the next one."""
        label = self.answer(record)
        form = {"kind": "label", "label": label, "version": version, "reason": "", "note": ""}
        status, headers, _ = self.ask("POST", f"/records/{record}/decide", form)
        if status != 303:
            return self._failed(status, f"decide {record}")
        self.saved.append((record, label))
        return self.open(headers["location"])

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def _failed(self, status: int, what: str) -> None:
        self.errors.append(f"{status} {what}")


def work(client: Client, until: float, pause: float = 0.0) -> None:
    """Decide records until a time by the clock, one each `pause` seconds; end quietly when the desk is gone."""
    try:
        turn, found = time.monotonic(), client.next()
        while found is not None and time.monotonic() < until:
            found = client.decide(*found)
            turn += pause
            time.sleep(max(turn - time.monotonic(), 0.0))
    except (OSError, http.client.HTTPException) as error:
        client.errors.append(repr(error))
    finally:
        client.close()


def at_once(clients: list[Client], seconds: float, pause: float = 0.0) -> list[threading.Thread]:
    """Let all clients work for some seconds, each in a thread of its own; return the threads, which have started."""
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=work, args=(client, until, pause), daemon=True) for client in clients]
    for thread in threads:
        thread.start()
        time.sleep(pause / len(clients))  # people do not click all at the same moment
    return threads
