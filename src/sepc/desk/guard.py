"""Checks of every request to a server, host, origin and size, and the security headers of every answer."""

from abc import ABC, abstractmethod
from typing import Any
from urllib.parse import SplitResult, urlsplit

_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # With "no-referrer" browsers send forms with the origin "null".
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_ENCODED = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]


class Refused(Exception):  # noqa: N818
    """A request that is not let in: the status, and why in words."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class HostGuard(ABC):
    """ASGI middleware that lets in requests with a known host, origin and size; `check` is for what else is asked.

    `hosts` are the names that the server answers to, without ports. `on_refusal` makes the answer to a refused request.
    """

    what = "server"  # in words

    def __init__(self, app: Any, hosts: frozenset[str], on_refusal: Any) -> None:
        self.app, self.hosts, self.on_refusal = app, hosts, on_refusal

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            self.check_source(scope, headers)
            most = self.most_bytes(scope)
            length = headers.get("content-length", "")
            if length.isascii() and length.isdigit() and int(length[:20]) > most:
                raise too_large(most)
            self.check(scope, headers)
            app, receive = self.app, _limited(receive, most)
        except Refused as refused:
            app = self.on_refusal(refused)
        await app(scope, receive, self._with_headers(scope, send))

    def check_source(self, scope: Any, headers: dict[str, str]) -> None:
        """Raise a `Refused` for another host, and for what a page of another site sends."""
        host = headers.get("host", "")
        if _parts_of(f"//{host}").hostname not in self.hosts:
            raise Refused(421, f"This {self.what} has another name: open the address that it has printed.")
        if scope["method"] in ("GET", "HEAD"):
            return
        origin = headers.get("origin")
        is_own = headers.get("sec-fetch-site", "same-origin") == "same-origin"
        if not is_own or (origin is not None and _parts_of(origin).netloc != host):
            raise Refused(403, "This came from a page of another site; nothing was changed.")

    @abstractmethod
    def most_bytes(self, scope: Any) -> int:
        """Return the number of bytes that the body of a request may have."""

    @abstractmethod
    def check(self, scope: Any, headers: dict[str, str]) -> None:
        """Raise a `Refused` for a request that is not let in."""

    def more_headers(self, scope: Any) -> list[tuple[bytes, bytes]]:  # noqa: ARG002
        """Return further headers of an answer."""
        return []

    def _with_headers(self, scope: Any, send: Any) -> Any:
        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                added = [one for one in _ENCODED if one[0] not in own]
                message = {**message, "headers": [*message["headers"], *added, *self.more_headers(scope)]}
            await send(message)

        return sending


def _parts_of(address: str) -> SplitResult:
    """Return the parts of an address; empty ones for what is none."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def too_large(most: int) -> Refused:
    """Return the refusal of what has more bytes than it may."""
    return Refused(413, f"This is larger than the {most:,} bytes that are taken here; nothing was changed.")


def _limited(receive: Any, most: int) -> Any:
    """Return a channel that refuses a body with more bytes than `most`, whatever the headers say."""
    n_bytes = 0

    async def receiving() -> Any:
        nonlocal n_bytes
        message = await receive()
        n_bytes += len(message.get("body", b""))
        if n_bytes > most:
            raise too_large(most)
        return message

    return receiving
