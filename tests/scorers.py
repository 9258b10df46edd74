"""Scorers in tests: the application is called without a network, all requests of a test in turn or at once."""

import asyncio
import json
from types import SimpleNamespace

import numpy as np

from sepc import load, save
from sepc.cli.commands.serve import rows_of
from sepc.serving.server.app import Scorer, application
from sepc.serving.server.metrics import Metrics
from sepc.serving.server.reloading import ModelFile
from sepc.serving.server.review import Review
from sepc.serving.server.scoring import Acceptance, Limits, Served

HOST = "127.0.0.1:8643"
MODEL = "/v2/models/model"


class Caller:
    """Requests to the application of a scorer; use it as a context, which ends its threads."""

    def __init__(self, folder, clf=None, *, token=None, accepts=Acceptance(), limits=Limits(), desk=None, load=load):  # noqa: B008
        self.path = folder / "model.sepc"
        if clf is not None:
            save(clf, self.path)
        self.metrics = Metrics()
        first = Served(None, self.path, "", "model", rows_of, accepts, limits)
        self.model = ModelFile(first, load, self.metrics)
        self.review = None if desk is None else Review(desk, self.metrics)
        self.scorer = Scorer(self.model, self.metrics, self.review)
        self.app = application(self.scorer, frozenset({"127.0.0.1", "localhost"}), token)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.scorer.end()

    def get(self, path, **headers):
        return asyncio.run(self.ask("GET", path, b"", headers))

    def post(self, path, body=b"", **headers):
        return asyncio.run(self.ask("POST", path, body, headers))

    def at_once(self, *requests):
        """Return the answers to requests of a path and a body each, sent at the same time."""

        async def everyone():
            return await asyncio.gather(*(self.ask("POST", path, body, {}) for path, body in requests))

        return asyncio.run(everyone())

    def predictions(self, body, path="/predict?outputs=all", **headers):
        answer = self.post(path, body, **headers)
        assert answer.status == 200, answer.text
        return answer.json["predictions"]

    async def ask(self, method, path, body, headers, chunks=None):
        """Send a request; headers have _ in place of -, None leaves one out, and values that are no bytes are JSON."""
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        usual = {"host": HOST, "content-type": "application/json", "content-length": str(len(body))}
        given = usual | {name.replace("_", "-"): value for name, value in headers.items()}
        place, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": place,
            "raw_path": place.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(n.encode(), v.encode("latin-1")) for n, v in given.items() if v is not None],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8643),
        }
        parts = iter([body] if chunks is None else chunks)
        answer = SimpleNamespace(status=None, headers={}, body=b"")

        async def receive():
            part = next(parts, None)
            if part is None and chunks is not None:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": part or b"", "more_body": chunks is not None}

        async def send(message):
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            else:
                answer.body += message.get("body", b"")

        await self.app(scope, receive, send)
        answer.text = answer.body.decode("utf-8", "replace")
        answer.json = json.loads(answer.body) if answer.headers.get("content-type") == "application/json" else None
        return answer


def records_of(X):
    """Return a frame as records ready for JSON: gaps are None."""
    return X.astype(object).where(X.notna(), None).to_dict("records")


def assert_verdicts(predictions, clf, a, accepts=Acceptance(), groups=None):  # noqa: B008
    """Check that predictions are exactly those of an assessment."""
    refusals = a.refusals(*accepts, groups=groups)
    assert len(predictions) == len(a)
    for k, one in enumerate(predictions):
        assert one["label"] == np.asarray(a.label)[k].item() if hasattr(a.label[k], "item") else a.label[k]
        assert one["trust"] == a.trust[k]
        assert one["typicality"] == (None if np.isnan(a.typicality[k]) else a.typicality[k])
        assert (one["accepted"], one["refusal"]) == (refusals[k] is None, refusals[k])
        if "region" in one:
            assert (one["reason"], one["region"]) == (a.reason[k], str(a.region[k]))
        assert list(one["probabilities"]) == [str(label) for label in clf.classes_]
        assert list(one["probabilities"].values()) == a.decision.proba[k].tolist()
        assert ("expected_cost" in one) == a.has_costs
