"""The web application of a desk: what each address does."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from sepc.common.errors import InputError, SepcError
from sepc.common.templates import template_environment
from sepc.desk import pages
from sepc.desk.ahead import Ahead
from sepc.desk.batches import Batch
from sepc.desk.desk import ConflictError, Desk, Filters
from sepc.desk.events import DiskFullError
from sepc.desk.export import FORMS, exported
from sepc.desk.guard import Refused
from sepc.desk.jobs import Jobs
from sepc.desk.judge import file_digest
from sepc.desk.security import Guard

# What reads an uploaded file: its path, and the name that it came with.
ReadBatches = Callable[[Path, str], Iterable[Batch]]
_STATIC = {"style.css": "text/css", "script.js": "text/javascript", "icon.svg": "image/svg+xml"}


class Served(NamedTuple):
    """What the application serves; without `read` no files can be added on its pages."""

    desk: Desk
    jobs: Jobs
    ahead: Ahead
    read: ReadBatches | None = None
    most_rows: int = 200_000


class Asked(NamedTuple):
    """A request: who sends it, its fields, and the numbers in its path."""

    person: str
    query: dict[str, str]
    form: dict[str, Any]
    path: dict[str, Any]

    @property
    def filters(self) -> Filters:
        """The part of the queue that it is about."""
        return Filters(**{name: self.query[name] for name in Filters._fields if self.query.get(name)})

    @property
    def order(self) -> str:
        """The order of the queue."""
        return self.query.get("order") or "trust"

    def address(self, path: str) -> str:
        """Return an address with the same part of the queue."""
        kept = {name: self.query[name] for name in (*Filters._fields, "order") if self.query.get(name)}
        return f"{path}?{urlencode(kept)}" if kept else path


def application(served: Served, hosts: frozenset[str], cookie: str, **guarded: Any) -> Any:
    """Return the ASGI application of a desk, behind its guard."""
    routes = [
        Route(path, _endpoint(served, work), methods=[method])
        for method, path, work in (
            ("GET", "/", _queue),
            ("GET", "/next", _next),
            ("GET", "/back", _back),
            ("GET", "/records/{record:int}", _record),
            ("GET", "/records/{record:int}/details", _details),
            ("POST", "/records/{record:int}/decide", _decide),
            ("POST", "/records/{record:int}/show", _show),
            ("POST", "/records/{record:int}/assign", _assign),
            ("POST", "/undo", _undo),
            ("GET", "/learned", _learned),
            ("GET", "/job", _job),
            ("POST", "/learned/watch", partial(_start, "watch")),
            ("POST", "/refit", partial(_start, "refit")),
            ("POST", "/refit/cancel", _cancel),
            ("POST", "/refit/take-over", _take_over),
            ("POST", "/refit/discard", _discard),
            ("POST", "/files", _add_file),
            ("GET", "/export.{form}", _export),
        )
    ]
    routes.append(Route("/static/{name}", _static))
    handlers = {Refused: _refused, SepcError: _failed, 404: _not_found, 405: _not_found, 500: _broken}
    app = Starlette(routes=routes, exception_handlers=handlers)
    return Guard(app, served.desk.events, hosts, cookie, _page_of_refusal, **guarded)


def _endpoint(served: Served, work: Callable[[Served, Asked], Response]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        if "token" in request.scope:
            return _page("enter.html.j2")
        form: dict[str, Any] = {}
        if request.method == "POST":
            async with request.form(max_files=1, max_fields=20) as sent:
                form = dict(sent)
                return await run_in_threadpool(work, served, _asked(request, form))
        return await run_in_threadpool(work, served, _asked(request, form))

    return endpoint


def _asked(request: Request, form: dict[str, Any]) -> Asked:
    return Asked(request.scope["person"], dict(request.query_params), form, dict(request.path_params))


# pages


def _queue(served: Served, asked: Asked) -> Response:
    page = int(asked.query["page"]) if asked.query.get("page", "").isdigit() else 0
    found = pages.queue(served.desk, asked.person, asked.filters, asked.order, page)
    return _page("queue.html.j2", **found, can_add=served.read is not None)


def _next(served: Served, asked: Asked) -> Response:
    return _to_next(served, asked)


def _to_next(served: Served, asked: Asked) -> Response:
    record = served.desk.take(asked.person, asked.filters, asked.order)
    return _see(asked.address("/" if record is None else f"/records/{record}"))


def _back(served: Served, asked: Asked) -> Response:
    number = asked.query.get("from", "")
    record = served.desk.before(asked.person, int(number) if number.isdigit() else 0)
    return _see(asked.address("/" if record is None else f"/records/{record}"))


def _record(served: Served, asked: Asked) -> Response:
    number = asked.path["record"]
    served.desk.hold(asked.person, number)
    found = pages.record(served.desk, asked.person, number, asked.filters, asked.order)
    served.ahead.after(asked.person, asked.filters, asked.order)
    return _page("record.html.j2", **found)


def _details(served: Served, asked: Asked) -> Response:
    return _page("details.html.j2", **pages.details(served.desk, asked.person, asked.path["record"]))


def _learned(served: Served, asked: Asked) -> Response:
    return _page("learned.html.j2", **pages.learned(served.desk, asked.person, served.jobs.status()))


# decisions


def _decide(served: Served, asked: Asked) -> Response:
    form, version = asked.form, str(asked.form.get("version", ""))
    served.desk.decide(
        asked.person,
        asked.path["record"],
        str(form.get("kind", "")),
        str(form["label"]) if form.get("label") else None,
        reason=str(form.get("reason", "")),
        note=str(form.get("note", "")),
        version=int(version) if version.isdigit() else None,
    )
    return _to_next(served, asked)


def _show(served: Served, asked: Asked) -> Response:
    served.desk.show(asked.person, asked.path["record"])
    return _see(asked.address(f"/records/{asked.path['record']}"))


def _assign(served: Served, asked: Asked) -> Response:
    served.desk.assign(asked.person, asked.path["record"], str(asked.form.get("to", "")) or None)
    return _to_next(served, asked)


def _undo(served: Served, asked: Asked) -> Response:
    record = served.desk.undo(asked.person)
    return _see(asked.address("/" if record is None else f"/records/{record}"))


# learning


def _start(kind: str, served: Served, asked: Asked) -> Response:
    served.jobs.start(kind, asked.person)
    return _see("/learned")


def _job(served: Served, asked: Asked) -> Response:  # noqa: ARG001
    return JSONResponse(served.jobs.status())


def _cancel(served: Served, asked: Asked) -> Response:  # noqa: ARG001
    served.jobs.cancel()
    return _see("/learned")


def _take_over(served: Served, asked: Asked) -> Response:
    served.jobs.take_over(asked.person)
    return _see("/learned")


def _discard(served: Served, asked: Asked) -> Response:  # noqa: ARG001
    served.jobs.discard()
    return _see("/learned")


# files


def _add_file(served: Served, asked: Asked) -> Response:
    sent = asked.form.get("file")
    if served.read is None or not getattr(sent, "filename", ""):
        raise InputError("desk-no-upload")
    assert sent is not None
    name = Path(sent.filename).name  # a name to show; the file is never opened by it
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"sent{''.join(Path(name).suffixes[-2:])[:20]}"
        with path.open("wb") as file:
            shutil.copyfileobj(sent.file, file)
        batches = _not_more(served.read(path, name), served.most_rows)
        served.desk.add(asked.person, name, file_digest(path), batches)
    return _see("/")


def _not_more(batches: Iterable[Batch], most: int) -> Iterable[Batch]:
    n_rows = 0
    for batch in batches:
        n_rows += len(batch)
        if n_rows > most:
            raise InputError("desk-too-many-rows", most=most)
        yield batch


def _export(served: Served, asked: Asked) -> Response:
    form = asked.path["form"]
    if form not in FORMS:
        return _message(404, "There is nothing at this address.")
    headers = {"content-disposition": f'attachment; filename="decisions.{form}"'}
    return Response(exported(served.desk.events, form), media_type=FORMS[form], headers=headers)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        return _message(404, "There is nothing at this address.")
    headers = {"cache-control": "private, max-age=86400"}
    return Response(pages.static(name), media_type=_STATIC[name], headers=headers)


# answers


def _see(address: str) -> Response:
    return RedirectResponse(address, status_code=303)


@cache
def _templates() -> Any:
    found = template_environment("sepc.desk", pages.FILTERS, "the review desk")
    # The address of a file changes with its content, so that browsers can keep it.
    digest = hashlib.sha256(b"".join(pages.static(name) for name in _STATIC)).hexdigest()[:12]
    found.globals["static"] = lambda name: f"/static/{name}?{digest}"
    return found


def _page(template: str, status: int = 200, **content: Any) -> Response:
    return HTMLResponse(_templates().get_template(template).render(**content), status)


def _message(status: int, text: str, back: str = "/") -> Response:
    return _page("message.html.j2", status, text=text, back=back)


def _page_of_refusal(refused: Refused) -> Response:
    return _message(refused.status, refused.why)


def _refused(request: Request, error: Exception) -> Response:  # noqa: ARG001
    assert isinstance(error, Refused)
    return _page_of_refusal(error)


def _failed(request: Request, error: Exception) -> Response:
    """Return the page of an error that says itself what to do."""
    status = 507 if isinstance(error, DiskFullError) else 409 if isinstance(error, ConflictError) else 400
    text, back = str(error), "/"
    if getattr(error, "code", "") == "desk-no-record":
        status = 404
    elif "record" in request.path_params:
        back = f"/records/{request.path_params['record']}"
    return _message(status, text[:1].upper() + text[1:], back)


def _not_found(request: Request, error: Exception) -> Response:  # noqa: ARG001
    return _message(getattr(error, "status_code", 404), "There is nothing at this address.")


def _broken(request: Request, error: Exception) -> Response:  # noqa: ARG001
    return _message(500, "Something went wrong that should not have; nothing was changed. See where the desk runs.")
