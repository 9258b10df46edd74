"""Listening: the address of a server, its socket, and its end by a signal."""

import errno
import ipaddress
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from sepc.common.errors import InputError

PORT = 8642
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_TURN = 0.0005  # seconds


class Address(NamedTuple):
    """Where a server listens, and by which names it is reached.

    Any other `host` than this machine needs the files of `tls`, a certificate and its key, or `behind_proxy`.

    Examples
    --------
    >>> from sepc.desk import Address
    >>> sorted(Address("0.0.0.0", names=["desk.example.org"], behind_proxy=True).check().hosts)
    ['desk.example.org']
    """

    host: str = "127.0.0.1"
    port: int = PORT
    names: Sequence[str] = ()
    tls: tuple[str, str] | None = None
    behind_proxy: bool = False

    def check(self) -> "Address":
        """Return itself; raise an `InputError` for what would be open to others without protection."""
        if self.is_local:
            return self
        if self.tls is None and not self.behind_proxy:
            raise InputError("desk-open-host", host=self.host)
        if _is_any(self.host) and not self.names:
            raise InputError("desk-needs-names", host=self.host)
        return self

    @property
    def is_local(self) -> bool:
        """Whether no other machine reaches it."""
        return self.host in _LOOPBACK

    @property
    def is_secure(self) -> bool:
        """Whether its answers are encrypted."""
        return self.tls is not None or self.behind_proxy

    @property
    def hosts(self) -> frozenset[str]:
        """Names that requests may ask for."""
        own = _LOOPBACK if self.is_local else frozenset() if _is_any(self.host) else frozenset({self.host})
        return own | frozenset(self.names)

    def url(self, port: int, token: str = "") -> str:
        """Return the address that lets a person in, or without a token that of the server."""
        host = self.names[0] if self.names else self.host
        host = f"[{host}]" if ":" in host else host
        place = host if self.behind_proxy and self.names else f"{host}:{port}"
        return f"http{'s' if self.is_secure else ''}://{place}{f'/?token={token}' if token else ''}"


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


@contextmanager
def bound(address: Address) -> Iterator[socket.socket]:
    """Yield a socket that listens on an address; raise an `InputError` for a port that is taken."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # Only where the protocol is named does asyncio send answers at once, not after the acknowledgement of their heads.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        if os.name != "nt":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((address.host, address.port))
            listening.listen(128)  # before the address is printed: who has it can connect
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise InputError("desk-cannot-listen", host=address.host, port=address.port, why=str(error)) from error
            raise InputError("desk-port-taken", port=address.port) from error
        yield listening


def run_server(app: Any, address: Address, listening: socket.socket, on_start: Callable[[], None], **more: Any) -> None:
    """Serve an ASGI application until a signal ends it, after `on_start`; `more` is for `uvicorn.Config`."""
    import uvicorn

    certificate, key = address.tls or (None, None)
    fixed: dict[str, Any] = {
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
    }
    config = uvicorn.Config(app, lifespan="off", ssl_certfile=certificate, ssl_keyfile=key, **fixed, **more)
    server = uvicorn.Server(config)
    with _ended_by_signals(server), _short_turns():
        on_start()
        server.run(sockets=[listening])


@contextmanager
def _ended_by_signals(server: Any) -> Iterator[None]:
    """Let a signal end the server once it has answered; a second one ends it at once."""

    def end(*_: Any) -> None:
        server.force_exit, server.should_exit = server.should_exit, True

    server.capture_signals = _as_it_is  # uvicorn's own would raise once more at the end
    if threading.current_thread() is not threading.main_thread():  # which alone handles signals
        yield
        return
    before = {kind: signal.signal(kind, end) for kind in (signal.SIGINT, signal.SIGTERM)}
    wakes = signal.set_wakeup_fd(-1)  # nor does anybody else end what is ending
    try:
        yield
    finally:
        signal.set_wakeup_fd(wakes)
        for kind, handler in before.items():
            signal.signal(kind, handler)


@contextmanager
def _short_turns() -> Iterator[None]:
    """Let threads take shorter turns: each query gives up its turn, and would wait for whole ones of all others."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield
