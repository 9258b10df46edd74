"""Running a scorer, from a model file until it is interrupted."""

import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sepc.common.errors import InputError, SepcError, SepcWarning
from sepc.desk.desk import Desk
from sepc.desk.listening import Address, bound, run_server
from sepc.serving.server.inputs import ReadTable
from sepc.serving.server.metrics import Metrics
from sepc.serving.server.reloading import ModelFile
from sepc.serving.server.review import Review
from sepc.serving.server.scoring import Acceptance, Limits, Served

_LEAST_TOKEN = 16  # characters


def serve(
    path: Path,
    load: Callable[[Path], Any],
    read: ReadTable,
    address: Address,
    *,
    name: str | None = None,
    token: str | None = None,
    accepts: Acceptance = Acceptance(),  # noqa: B008
    limits: Limits = Limits(),  # noqa: B008
    desk: Desk | None = None,
    on_start: Callable[[Served, str], None] = lambda *_: None,
) -> None:
    """Serve the model in a file until a signal ends it; requests that run are answered first.

    `load` returns the model of a path, `read` makes rows of tables. Refused records go to
    `desk`. `on_start` is called with the model and the address of the server.
    """
    try:
        import uvicorn  # noqa: F401

        from sepc.serving.server.app import Scorer, application
    except ModuleNotFoundError as error:
        raise SepcError("serving-not-installed", needed_for="sepc serve", module=error.name, extra="serve") from error
    _require_token(address.check(), token)
    if "/" in (name or ""):
        raise InputError("serve-name", name=name)
    metrics = Metrics()
    first = Served(None, path, "", name or path.stem, read, accepts, limits)
    model = ModelFile(first, load, metrics)
    with bound(address) as listening:
        review = None if desk is None else Review(desk, metrics)
        scorer = Scorer(model, metrics, review)
        app = application(scorer, address.hosts, token)
        url = address.url(listening.getsockname()[1])
        warnings.simplefilter("ignore", SepcWarning)  # of a row: metrics count what is to know
        warnings.simplefilter("ignore", UserWarning)
        try:
            model.start()
            with _reloaded_by_signal(model):
                patience = int(limits.seconds) + 1
                more = {"timeout_graceful_shutdown": patience, "limit_concurrency": 2000, "backlog": 2048, "ws": "none"}
                run_server(app, address, listening, lambda: on_start(model.served, url), **more)
        finally:
            scorer.end()


def _require_token(address: Address, token: str | None) -> None:
    """Raise an `InputError` for a server that others reach without a token, or with one that is easily found."""
    if token is None and not address.is_local:
        raise InputError("serve-needs-token", host=address.host)
    if token is not None and (
        len(token) < _LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token
    ):
        raise InputError("serve-token", least=_LEAST_TOKEN)


@contextmanager
def _reloaded_by_signal(model: ModelFile) -> Iterator[None]:
    if not hasattr(signal, "SIGHUP"):  # Windows
        yield
        return
    before = signal.signal(signal.SIGHUP, model.want)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
