"""Who gets in: hosts, origins, tokens, sizes, and what a browser is told about the pages."""

import hashlib
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sepc.desk.events import Events

FORM_BYTES = 64 << 10
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


class Refused(Exception):  # noqa: N818
    """A request that is not let in: the status, and why in words."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


def new_token(events: Events, person: str) -> str:
    """Return a new token of a person; the file keeps its digest alone, in place of that of an older token."""
    token = secrets.token_urlsafe(32)
    events.token_digest(person, _digest(token))
    return token


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class Guard:
    """ASGI middleware that lets in requests with a known host, origin, token and size.

    `hosts` are the names that the desk answers to, without ports; uploads to `upload_path` may have `upload_bytes`.
    The person of the token is in the scope's ``person``. `on_refusal` makes the page of a refused request.
    """

    def __init__(
        self,
        app: Any,
        events: Events,
        hosts: frozenset[str],
        cookie: str,
        on_refusal: Any,
        *,
        is_secure: bool = False,
        upload_path: str = "/files",
        upload_bytes: int = 0,
    ) -> None:
        self.app, self.events, self.hosts, self.cookie, self.on_refusal = app, events, hosts, cookie, on_refusal
        self.is_secure, self.upload_path, self.upload_bytes = is_secure, upload_path, upload_bytes

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            self._check_source(scope, headers)
            most = self._check_size(scope, headers)
            scope["person"] = self._person(scope, headers)
            app, receive = self.app, _limited(receive, most)
        except Refused as refused:
            app = self.on_refusal(refused)
        await app(scope, receive, self._with_headers(scope, send))

    def _check_source(self, scope: Any, headers: dict[str, str]) -> None:
        host = headers.get("host", "")
        if _name_of(host) not in self.hosts:
            raise Refused(421, "This desk has another name: open the address that it has printed.")
        if scope["method"] in ("GET", "HEAD"):
            return
        origin = headers.get("origin")
        is_own = headers.get("sec-fetch-site", "same-origin") == "same-origin"
        if not is_own or (origin is not None and urlsplit(origin).netloc != host):
            raise Refused(403, "This came from a page of another site; nothing was changed.")

    def _check_size(self, scope: Any, headers: dict[str, str]) -> int:
        most = self.upload_bytes if scope["path"] == self.upload_path else FORM_BYTES
        if int(headers["content-length"] if headers.get("content-length", "").isdigit() else 0) > most:
            raise too_large(most)
        return most

    def _person(self, scope: Any, headers: dict[str, str]) -> str | None:
        """Return who sends a request; None for what everybody may see."""
        if scope["path"].startswith("/static/"):
            return None
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if asked and scope["method"] == "GET" and self.events.person_of_token(_digest(asked[0])) is not None:
            scope["token"] = asked[0]
            return None
        found = None if asked else self.events.person_of_token(_digest(self._token(headers)))
        if found is None:
            raise Refused(401, "This desk asks who you are: open the address with your token.")
        return found

    def _token(self, headers: dict[str, str]) -> str:
        try:
            held = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            held = None
        return "" if held is None else held.value

    def cookie_of(self, token: str) -> str:
        """Return the header that keeps a token in the browser."""
        return f"{self.cookie}={token}; Path=/; HttpOnly; SameSite=Strict{'; Secure' if self.is_secure else ''}"

    def _with_headers(self, scope: Any, send: Any) -> Any:
        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                added = [
                    (name.encode(), value.encode()) for name, value in _HEADERS.items() if name.encode() not in own
                ]
                if "token" in scope:
                    added.append((b"set-cookie", self.cookie_of(scope["token"]).encode()))
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        return sending


def _name_of(host: str) -> str | None:
    """Return the name in a host header, without its port; None for what is none."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def too_large(most: int) -> Refused:
    """Return the refusal of what has more bytes than it may."""
    return Refused(413, f"This is larger than the {most:,} bytes that are taken here; nothing was changed.")


def _limited(receive: Any, most: int) -> Any:
    """Return a channel that ends with a refusal after so many bytes, whatever the headers say."""
    n_bytes = 0

    async def receiving() -> Any:
        nonlocal n_bytes
        message = await receive()
        n_bytes += len(message.get("body", b""))
        if n_bytes > most:
            raise too_large(most)
        return message

    return receiving
