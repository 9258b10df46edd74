"""Desks in tests: a model of two overlapping groups, new rows, and people who decide."""

import asyncio
import re
from functools import cache
from types import SimpleNamespace
from urllib.parse import unquote, urlencode

import numpy as np
import pandas as pd
import pyarrow as pa

from sepc import SEPClassifier, save
from sepc.desk.app import Served, application
from sepc.desk.batches import Batch
from sepc.desk.desk import Filters
from sepc.desk.intake import Terms
from sepc.desk.jobs import Jobs
from sepc.desk.opening import open_desk
from sepc.desk.security import new_token

LABELS = ("ill", "well")


def records(n, seed=0, moved=0.0):
    """Return n records of two groups that overlap, and their labels."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 2)) + 2.2 * codes[:, None] + moved
    return pd.DataFrame(X, columns=["age", "dose"]), np.array(LABELS)[codes]


@cache
def classifier():
    return SEPClassifier().fit(*records(300))


def batch(X, first=1):
    """Return rows as a batch, with a column that no model reads."""
    rows = pa.Table.from_pandas(X, preserve_index=False)
    shown = rows.add_column(0, "patient", pa.array([f"P-{first + i:05d}" for i in range(len(X))]))
    return Batch(shown, rows, None, np.zeros(len(X), dtype=bool), first)


def new_desk(folder, n=200, people=("ada", "ben"), seed=1, clf=None, **terms):
    """Return a desk with n new records; their true labels are `truth_of`."""
    model = folder / "model.sepc"
    if not model.exists():
        save(classifier() if clf is None else clf, model)
    desk = open_desk(folder / "model.desk.db", model)
    desk.agree("ada", Terms(**{"audit": 0.2, **terms}))
    for person in people:
        with desk.events.writing("ada") as write:
            write.append("person", {"name": person})
    if n:
        X, desk.truth = records(n, seed)
        desk.add("ada", "new.csv", f"digest-{seed}", [batch(X)])
    return desk


def decide_all(desk, person, answer, filters=Filters()):  # noqa: B008
    """Decide every record that a person gets, with ``answer(record)``; return their numbers."""
    decided = []
    while (number := desk.take(person, filters)) is not None:
        record = desk.record(number)
        desk.decide(person, number, "label", answer(record), version=desk.version(number))
        decided.append(number)
    return decided


def truth(desk):
    """Return what knows the true label of a record."""
    return lambda record: str(desk.truth[record.view["row"] - 1])


class Browser:
    """One person's browser without a network: requests go to the application of a desk."""

    HOST = "127.0.0.1:8642"

    def __init__(self, desk, person="ada", **guarded):
        guarded = {"upload_bytes": 1 << 20, **guarded}
        served = Served(desk, Jobs(desk), SimpleNamespace(after=lambda *_: None), guarded.pop("read", None))
        self.app = application(served, frozenset({"127.0.0.1", "localhost"}), "sepc-desk-test", **guarded)
        self.cookie, self.token = "", new_token(desk.events, person)
        self.cookie = self.get(f"/?token={self.token}").headers["set-cookie"].partition(";")[0]

    def get(self, path, **headers):
        return self.ask("GET", path, None, headers)

    def post(self, path, form=None, **headers):
        body = urlencode(form or {}).encode() if not isinstance(form, bytes) else form
        usual = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
        return self.ask("POST", path, body, usual | headers)

    def ask(self, method, path, body, headers):
        """Send a request; headers have _ in place of -, and None leaves one out."""
        given = {"host": self.HOST, "cookie": self.cookie} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        place, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(place),
            "raw_path": place.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in given.items() if value is not None],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8642),
        }
        answer = SimpleNamespace(status=None, headers={}, body=b"")

        async def receive():
            return {"type": "http.request", "body": body or b"", "more_body": False}

        async def send(message):
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            else:
                answer.body += message.get("body", b"")

        asyncio.run(self.app(scope, receive, send))
        answer.text = answer.body.decode("utf-8", "replace")
        return answer

    def decide(self, number, label, **form):
        page = self.get(f"/records/{number}").text
        version = re.search(r'name="version" value="(\d+)"', page)[1]
        return self.post(f"/records/{number}/decide", {"kind": "label", "label": label, "version": version, **form})
