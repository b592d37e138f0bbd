"""The gate before every request of the console: Host, Origin, session, and the headers that bind the browser.

NiceGUI answers pages with small scripts inside them. Each gets the nonce of its answer here, so that the browser runs
these and no others. `unsafe-eval` stays: NiceGUI compiles Vue templates and evaluates its own messages. Text of sensors
reaches neither: it travels as JSON, and is written as text.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable
from http.cookies import CookieError, SimpleCookie

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.common.access.origins import Origins
from services.common.http.header_limits import body_length
from services.common.http.problem_document import MEDIA_TYPE, problem_document
from services.common.http.route_table import why_not_path
from services.console.access.sessions import COOKIE, PersonSession, PersonSessions
from services.console.metrics import ConsoleMetrics

SESSION_MEMBER = "coincide.session"
NONCE_MARK = b"<script"
METRICS = "/metrics"
LONGEST_BODY_BYTES = 64 * 1024
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)


def content_security_policy(nonce: str) -> str:
    """Return what the browser may load and run: nothing from elsewhere, and no script without `nonce` in a page."""
    return (
        "default-src 'none'; "
        f"script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
        "manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


def session_in(scope: Scope) -> PersonSession | None:
    """Return the session that the gate found in a request."""
    session = scope.get(SESSION_MEMBER)
    return session if isinstance(session, PersonSession) else None


class Gate:
    """`application` behind the checks; it also serves websockets, which the guard of the other services refuses."""

    def __init__(
        self,
        application: ASGIApp,
        origins: Origins,
        sessions: PersonSessions,
        metrics: ConsoleMetrics,
        lets_read: Callable[[str | None], Awaitable[bool]],
    ) -> None:
        self.application, self._origins, self._sessions, self._metrics = application, origins, sessions, metrics
        self._lets_read = lets_read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or one websocket, as an ASGI application."""
        if scope["type"] == "lifespan":
            await self.application(scope, receive, send)
            return
        headers = _headers_of(scope)
        refusal = self._why_not(scope, headers)
        if refusal is not None:
            self._metrics.refused.labels(refusal[1]).inc()
            await _refuse(scope, receive, send, refusal[0], refusal[2])
            return
        session = scope[SESSION_MEMBER] = self._sessions.find(_cookie(headers))
        if scope["path"] == METRICS and session is None and not await self._lets_read(headers.get("authorization")):
            self._metrics.refused.labels("key").inc()
            await _refuse(
                scope, receive, send, 401, "the metrics need a key that may read: Authorization: Bearer ck_..."
            )
            return
        if scope["type"] == "websocket":
            await self.application(scope, receive, send)
        else:
            await self.application(scope, receive, _Bound(send).send)

    def _why_not(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str, str] | None:
        """Return status, reason and sentence of a refusal; None where the request may go on."""
        if why := why_not_path(scope["path"]):
            return 400, "path", why
        if why := self._origins.why_not_host(headers):
            return 421, "host", why
        # A websocket begins as a GET, but a page from elsewhere may begin one too: it needs an origin of ours.
        method = "POST" if scope["type"] == "websocket" else scope["method"]
        if why := self._origins.why_not_origin(method, headers):
            return 403, "origin", why
        if method not in {"GET", "HEAD"} and "origin" not in headers and "sec-fetch-site" in headers:
            return 403, "origin", "a browser says where a change comes from, and this one does not"
        length = body_length(headers.get("content-length", "0"))
        if "transfer-encoding" in headers or length is None or length > LONGEST_BODY_BYTES:
            return 413, "body", f"the body may have at most {LONGEST_BODY_BYTES} bytes, told in Content-Length"
        return None


class _Bound:
    """Sends an answer with the headers that bind the browser; the scripts of a page get the nonce."""

    def __init__(self, send: Send) -> None:
        self._send, self._nonce = send, secrets.token_urlsafe(16)
        self._start: Message | None = None
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        """Pass `message` on; a page is held back until it is whole."""
        if message["type"] == "http.response.start":
            policy = (b"content-security-policy", content_security_policy(self._nonce).encode())
            message = {**message, "headers": [*message.get("headers", ()), *HEADERS, policy]}
            if _is_page(message):
                self._start = message
                return
        elif self._start is not None:
            self._body += message.get("body", b"")
            if message.get("more_body"):
                return
            message = await self._begin_page()
        await self._send(message)

    async def _begin_page(self) -> Message:
        assert self._start is not None  # noqa: S101 - the caller looked
        body = bytes(self._body).replace(NONCE_MARK, NONCE_MARK + f' nonce="{self._nonce}"'.encode())
        kept = [(name, value) for name, value in self._start["headers"] if name != b"content-length"]
        await self._send({**self._start, "headers": [*kept, (b"content-length", str(len(body)).encode())]})
        self._start = None
        return {"type": "http.response.body", "body": body}


def _is_page(start: Message) -> bool:
    return any(name == b"content-type" and value.startswith(b"text/html") for name, value in start["headers"])


def _headers_of(scope: Scope) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name, text = raw.decode("latin-1").lower(), value.decode("latin-1")
        found[name] = f"{found[name]}, {text}" if name in found else text
    return found


def _cookie(headers: dict[str, str]) -> str | None:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return morsel.value if morsel else None


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, why: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": why[:100]})
        return
    body = json.dumps(problem_document(status, why)).encode()
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode()), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
