"""The web application of a scorer: what each address does, and who gets in."""

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from pyarrow import csv as arrow_csv
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from sepc import __version__
from sepc.common.errors import InputError
from sepc.desk.guard import HostGuard, Refused
from sepc.desk.judge import NO_ANSWER
from sepc.serving.server import tensors
from sepc.serving.server.inputs import Rows, rows_of_csv, rows_of_json
from sepc.serving.server.lanes import Job, Lane
from sepc.serving.server.metrics import Metrics
from sepc.serving.server.openapi import openapi_of
from sepc.serving.server.reloading import ModelFile
from sepc.serving.server.review import Review
from sepc.serving.server.scoring import USUAL, Served, Verdicts, require_outputs, verdicts_on_all

log = logging.getLogger("sepc.serving")
# Open to all who reach the port: who asks whether a service lives has no token, may call it by a number, and learns
# nothing else. Metrics have labels and counts of verdicts, and need the token where there is one.
_HEALTH = frozenset({"/health/live", "/health/ready", "/v2/health/live", "/v2/health/ready"})
_LARGE = 64 << 10  # bytes from which a request is judged apart from small ones
_CSV, _JSON, _BYTES = "text/csv", "application/json", "application/octet-stream"
_READ = {_JSON: rows_of_json, _CSV: rows_of_csv}


class Scorer:
    """What the application serves: a model, its metrics, and the lanes that answer."""

    def __init__(self, model: ModelFile, metrics: Metrics, review: Review | None = None) -> None:
        self.model, self.metrics, self.review, self.limits = model, metrics, review, model.served.limits
        # Small requests do not wait for large ones, nor any for explanations, which take longest. A second thread
        # makes large ones quicker, but batches of small ones smaller.
        self.small, self.large = Lane(self._judge), Lane(self._judge, n_threads=2, most=64)
        self.explaining = Lane(self._explain, most=16)

    def _judge(self, jobs: Sequence[Job]) -> None:
        """Judge the rows of requests together."""
        served, counted = self.model.served, list[Verdicts]()
        alike: dict[Any, list[tuple[Job, Rows]]] = {}
        for job in jobs:
            with _into(job):
                rows = job.read(job.data, served.columns)
                kind = str(rows.values.schema) if isinstance(rows.values, pa.Table) else None
                alike.setdefault((kind, job.outputs), []).append((job, rows))
        for (_, outputs), same in alike.items():
            found = verdicts_on_all(served, [rows for _, rows in same], outputs)
            for (job, rows), verdicts in zip(same, found, strict=True):
                with _into(job):
                    if isinstance(verdicts, Exception):
                        raise verdicts
                    job.found = job.write(served, verdicts)
                    counted.append(verdicts)
                    if self.review is not None:
                        self.review.add(served, rows, verdicts)
        self.metrics.judged(counted)

    def _explain(self, jobs: Sequence[Job]) -> None:
        served = self.model.served
        for job in jobs:
            with _into(job):
                job.found = job.write(served, job.read(job.data, served.columns))

    def end(self) -> None:
        """Answer what waits, and end."""
        for lane in (self.small, self.large, self.explaining):
            lane.end()
        self.model.end()
        if self.review is not None:
            self.review.end()


@contextmanager
def _into(job: Job) -> Iterator[None]:
    """Make an error the answer to a job alone."""
    try:
        yield
    except Exception as error:
        job.found = error


def application(scorer: Scorer, hosts: frozenset[str], token: str | None = None) -> Any:
    """Return the ASGI application of a scorer, behind its guard; without a token nothing asks for one."""
    models = "/v2/models/{name}"
    addresses: list[tuple[str, str, Any]] = [
        ("POST", "/predict", _predict),
        ("POST", "/explain", _explain),
        ("GET", "/model", _model),
        ("GET", "/openapi.json", _openapi),
        ("GET", "/metrics", _metrics),
        ("GET", "/v2", _server),
        *(("GET", path, _live) for path in sorted(_HEALTH)),
    ]
    for model in (models, f"{models}/versions/{{version}}"):
        addresses += [("GET", model, _metadata), ("GET", f"{model}/ready", _ready), ("POST", f"{model}/infer", _infer)]
    if token is not None:
        addresses.append(("POST", "/reload", _reload))
    routes = [Route(path, _endpoint(scorer, work), methods=[method]) for method, path, work in addresses]
    handlers: dict[Any, Any] = {404: _no_address, 405: _no_address, 500: _broken}
    return _Guard(Starlette(routes=routes, exception_handlers=handlers), hosts, scorer, token)


def _endpoint(scorer: Scorer, work: Callable[[Scorer, Request], Awaitable[Response]]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        try:
            async with asyncio.timeout(scorer.limits.seconds):
                return await work(scorer, request)
        except Refused as refused:
            return _refusal(refused)
        except TimeoutError:
            return _refusal(Refused(504, f"this took longer than {scorer.limits.seconds:g} seconds."))
        except InputError as error:
            return _error(413 if error.code == "serve-too-many-rows" else 400, str(error), error.code)
        except ClientDisconnect:
            return _error(400, "the request ended before its body.")

    return endpoint


class _Guard(HostGuard):
    """Checks hosts, origins, sizes and the token, and counts all requests."""

    def __init__(self, app: Any, hosts: frozenset[str], scorer: Scorer, token: str | None) -> None:
        super().__init__(app, hosts, _refusal)
        self.scorer, self.expected = scorer, None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        start, status = time.perf_counter(), 499  # without an answer: who has asked is gone

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await super().__call__(scope, receive, sending)
        finally:
            endpoint = getattr(scope.get("route"), "path", "other")
            self.scorer.metrics.request(endpoint, status, time.perf_counter() - start)

    def check_source(self, scope: Any, headers: dict[str, str]) -> None:
        if scope["path"] not in _HEALTH:
            super().check_source(scope, headers)

    def most_bytes(self, scope: Any) -> int:  # noqa: ARG002
        return self.scorer.limits.body

    def check(self, scope: Any, headers: dict[str, str]) -> None:
        given = headers.get("authorization", "").encode("latin-1")
        if self.expected is None or scope["path"] in _HEALTH or secrets.compare_digest(given, self.expected):
            return
        raise Refused(
            401, "this needs the header Authorization: Bearer, and the token that the server was started with."
        )


# predictions


async def _predict(scorer: Scorer, request: Request) -> Response:
    sent, wanted = _kind_of(request), request.headers.get("accept", "")
    as_csv = _CSV in wanted if _CSV in wanted or _JSON in wanted else sent == _CSV
    asked = request.query_params.getlist("outputs")
    outputs = require_outputs(",".join(asked).split(",")) if asked else USUAL
    job = Job(await request.body(), _READ[sent], _as_csv if as_csv else _as_json, outputs)
    body, version = await _lane(scorer, job).answer(job)
    return Response(body, media_type=_CSV if as_csv else _JSON, headers={"sepc-model-version": version})


def _lane(scorer: Scorer, job: Job) -> Lane:
    return scorer.large if len(job.data) > _LARGE else scorer.small


def _kind_of(request: Request) -> str:
    """Return the type of a body; JSON where none is named."""
    sent = request.headers.get("content-type", _JSON).partition(";")[0].strip().lower()
    if sent not in _READ:
        raise Refused(415, f"this takes {' and '.join(_READ)}.")
    return sent


def _as_json(served: Served, verdicts: Verdicts) -> tuple[bytes, str]:
    found = {**_of(served), "predictions": verdicts.records()}
    return json.dumps(found, allow_nan=False, default=str).encode(), served.version


def _as_csv(served: Served, verdicts: Verdicts) -> tuple[bytes, str]:
    out = pa.BufferOutputStream()
    arrow_csv.write_csv(verdicts.table(), out)
    return out.getvalue().to_pybytes(), served.version


def _of(served: Served) -> dict[str, Any]:
    return {"model": {"name": served.name, "version": served.version}}


async def _explain(scorer: Scorer, request: Request) -> Response:
    changes = request.query_params.get("changes", "") in ("1", "true")
    write = partial(_explanations, scorer.limits.explained, changes)
    job = Job(await request.body(), _READ[_kind_of(request)], write)
    return _json(await scorer.explaining.answer(job))


def _explanations(most: int, changes: bool, served: Served, rows: Rows) -> dict[str, Any]:
    if len(rows) > most:
        raise InputError("serve-too-many-rows", n_rows=len(rows), most=most)
    unanswered = [False] * len(rows) if rows.unanswered is None else rows.unanswered.tolist()
    found = [
        {"text": NO_ANSWER, "details": None} if lacks else {"text": why.text, "details": why.to_dict()}
        for why, lacks in zip(served.explain(rows, changes), unanswered, strict=True)
    ]
    return {**_of(served), "explanations": found}


# the protocol of KServe, version 2


async def _infer(scorer: Scorer, request: Request) -> Response:
    _named(scorer, request)
    header = request.headers.get("inference-header-content-length")
    asked: dict[str, Any] = {}

    def read(data: bytes, columns: Any) -> Rows:
        found, behind = tensors.request_of(data, header)
        asked.update(found)
        job.outputs = tensors.outputs_of(found)
        return tensors.rows_of_tensors(found, behind, columns)

    def write(served: Served, verdicts: Verdicts) -> tuple[bytes, int | None]:
        return tensors.answer_of(verdicts, asked, served.name, served.version)

    job = Job(await request.body(), read, write)
    body, size = await _lane(scorer, job).answer(job)
    headers = {} if size is None else {"inference-header-content-length": str(size)}
    return Response(body, media_type=_JSON if size is None else _BYTES, headers=headers)


def _named(scorer: Scorer, request: Request) -> Served:
    """Return the model; raise a `Refused` for a request to another one."""
    served, asked = scorer.model.served, request.path_params
    if asked["name"] != served.name or asked.get("version", served.version) != served.version:
        raise Refused(404, f"there is one model here: {quote(served.name)}, version {served.version}.")
    return served


async def _metadata(scorer: Scorer, request: Request) -> Response:
    return _json(tensors.metadata_of(_named(scorer, request)))


async def _ready(scorer: Scorer, request: Request) -> Response:
    return _json({"name": _named(scorer, request).name, "ready": True})


async def _server(scorer: Scorer, request: Request) -> Response:  # noqa: ARG001
    return _json({"name": "sepc", "version": __version__, "extensions": ["binary_tensor_data"]})


# the server


async def _model(scorer: Scorer, request: Request) -> Response:  # noqa: ARG001
    model = scorer.model
    reloads = {"taken_over": scorer.metrics.value("reloads"), "failed": scorer.metrics.value("reload_failures")}
    return _json({**model.served.about, "reloads": {**reloads, "problem": model.problem, "changed": model.changed}})


async def _openapi(scorer: Scorer, request: Request) -> Response:  # noqa: ARG001
    return _json(openapi_of(scorer.model.served))


async def _metrics(scorer: Scorer, request: Request) -> Response:  # noqa: ARG001
    served, waiting = scorer.model.served, len(scorer.small) + len(scorer.large) + len(scorer.explaining)
    gauges = {"waiting_requests": waiting, "model_loaded_seconds": served.loaded}
    if scorer.review is not None:
        gauges["desk_waiting"] = len(scorer.review)
    about = {"name": served.name, "version": served.version, "key": served.about["key"]}
    return Response(scorer.metrics.text(about, gauges), media_type="text/plain; version=0.0.4")


async def _live(scorer: Scorer, request: Request) -> Response:  # noqa: ARG001
    return _json({"live": True, "ready": True})  # a server without a model does not start


async def _reload(scorer: Scorer, request: Request) -> Response:  # noqa: ARG001
    is_new = await asyncio.to_thread(scorer.model.reload)
    found = {"version": scorer.model.served.version, "problem": scorer.model.problem}
    return _json(found, 200 if is_new else 409)


# answers


def _json(found: Any, status: int = 200) -> Response:
    return Response(json.dumps(_finite(found), allow_nan=False, default=str), status, media_type=_JSON)


def _finite(value: Any) -> Any:
    """Return a value as JSON has it: numbers that are not finite become null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not abs(value) < float("inf") else value


def _error(status: int, text: str, code: str | None = None) -> Response:
    # Who waits a little finds another time.
    headers = {"retry-after": "1"} if status in (503, 504) else {"www-authenticate": "Bearer"} if status == 401 else {}
    error = text[:1].upper() + text[1:2000]
    return Response(json.dumps({"error": error, "code": code}), status, headers, _JSON)


def _refusal(refused: Refused) -> Response:
    return _error(refused.status, refused.why)


async def _no_address(request: Request, error: Exception) -> Response:  # noqa: ARG001
    return _error(getattr(error, "status_code", 404), "there is nothing at this address, or not by this method.")


async def _broken(request: Request, error: Exception) -> Response:  # noqa: ARG001
    return _error(500, "something went wrong that should not have. See where the server runs.")
