"""Access to a desk: tokens of people, and the cookies that keep them."""

import hashlib
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from sepc.desk.events import Events
from sepc.desk.guard import HostGuard, Refused

FORM_BYTES = 64 << 10


def new_token(events: Events, person: str) -> str:
    """Return a new token of a person; the file keeps its digest alone, in place of that of an older token."""
    token = secrets.token_urlsafe(32)
    events.token_digest(person, _digest(token))
    return token


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class Guard(HostGuard):
    """ASGI middleware that lets in requests with a known host, origin, token and size.

    Uploads to `upload_path` may have `upload_bytes`. The person of the token is in the scope's ``person``.
    """

    what = "desk"

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
        super().__init__(app, hosts, on_refusal)
        self.events, self.cookie = events, cookie
        self.is_secure, self.upload_path, self.upload_bytes = is_secure, upload_path, upload_bytes

    def most_bytes(self, scope: Any) -> int:
        """Return the number of bytes that a form, or an upload, may have."""
        return self.upload_bytes if scope["path"] == self.upload_path else FORM_BYTES

    def check(self, scope: Any, headers: dict[str, str]) -> None:
        """Find out who sends a request; raise a `Refused` for nobody that the desk knows."""
        scope["person"] = self._person(scope, headers)

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

    def more_headers(self, scope: Any) -> list[tuple[bytes, bytes]]:
        """Return the cookie of a token in the address."""
        return [(b"set-cookie", self.cookie_of(scope["token"]).encode())] if "token" in scope else []

    def cookie_of(self, token: str) -> str:
        """Return the header that keeps a token in the browser."""
        return f"{self.cookie}={token}; Path=/; HttpOnly; SameSite=Strict{'; Secure' if self.is_secure else ''}"
