"""Entry: who is let in, and signing in and out. The page is plain HTML, so that it works before anything else does."""

from __future__ import annotations

import html
import time
from pathlib import Path
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from services.common.access.access_keys import id_in
from services.console.access.gate import session_in
from services.console.access.sessions import COOKIE, PersonSession, PersonSessions
from services.console.metrics import ConsoleMetrics
from services.console.rest.documents import CallerAnswer
from services.console.rest.services import RestError, Services

PAGE = (Path(__file__).parent / "sign_in.html").read_text(encoding="utf-8")
#: For so long one answer says whether a key is needed.
ASKED_EVERY_S = 2.0
READER_ASKED_EVERY_S, MOST_READERS = 10.0, 16
UNKNOWN = CallerAnswer("anybody", ["read"])


class Entry:
    """Lets people in: with the session of a key, or without where neither the console nor the services need one."""

    def __init__(self, services: Services, sessions: PersonSessions, metrics: ConsoleMetrics) -> None:
        self._services, self.sessions, self._metrics = services, sessions, metrics
        self._needs_key = services.settings.needs_key
        self._readers: dict[str, tuple[float, bool]] = {}
        self._anybody: tuple[float, CallerAnswer | None] = (-ASKED_EVERY_S, UNKNOWN)

    async def admit(self, request: Request) -> PersonSession | None:
        """Return the session of a request; None where the person has to sign in first."""
        session = session_in(request.scope)
        if session is not None or self._needs_key:
            return session
        caller = await self._anybody_now()
        return PersonSession("", None, caller, time.monotonic()) if caller else None

    async def _anybody_now(self) -> CallerAnswer | None:
        """Return whom the services see in a request without a key; None where they want one."""
        asked_s, caller = self._anybody
        if time.monotonic() - asked_s > ASKED_EVERY_S:
            try:
                caller = await self._services.with_key(None).get(CallerAnswer, "alerting", "/v1/caller")
            except RestError as error:
                caller = UNKNOWN if error.is_away else None
            self._anybody = time.monotonic(), caller
        return caller

    async def lets_read(self, authorization: str | None) -> bool:
        """Whether a request for the metrics may be answered: its key may read, or no key is needed."""
        if not self._needs_key:
            return True
        kind, _, key = (authorization or "").partition(" ")
        if kind.lower() != "bearer" or id_in(key) is None:
            return False
        asked_s, may_read = self._readers.get(key, (-READER_ASKED_EVERY_S, False))
        if time.monotonic() - asked_s > READER_ASKED_EVERY_S:
            try:
                may_read = (await self._services.with_key(key).get(CallerAnswer, "alerting", "/v1/caller")).may("read")
            except RestError as error:
                may_read = may_read and error.is_away
            while len(self._readers) >= MOST_READERS:
                self._readers.pop(next(iter(self._readers)))
            self._readers[key] = time.monotonic(), may_read
        return may_read

    async def sign_in(self, key: str) -> PersonSession:
        """Begin the session of a key; a `RestError` says why it is not let in."""
        if id_in(key) is None:
            raise RestError("this is no key: a key begins with ck_ and is 59 characters long", 401)
        caller = await self._services.with_key(key).get(CallerAnswer, "alerting", "/v1/caller")
        return self.sessions.begin(key, caller)

    async def answer_sign_in(self, request: Request) -> Response:
        """Answer the form."""
        form = parse_qs((await request.body()).decode("utf-8", "replace"))
        target = local_path(form.get("to", ["/"])[0])
        try:
            session = await self.sign_in(form.get("key", [""])[0].strip())
        except RestError as error:
            self._metrics.sign_ins.labels("away" if error.is_away else "bad").inc()
            return sign_in_page(target, str(error), error.status or 503)
        self._metrics.sign_ins.labels("good").inc()
        answer = RedirectResponse(target, 303)
        answer.set_cookie(
            COOKIE,
            session.id,
            httponly=True,
            samesite="strict",
            secure=self._services.settings.tls_certificate is not None,
            path="/",
        )
        return answer


def local_path(target: str) -> str:
    """Return `target` if it is a path of this server; the front page otherwise."""
    is_local = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if is_local else "/"


def sign_in_page(target: str, fault: str | None = None, status: int = 200) -> Response:
    """Return the page that asks for a key, and then leads to `target`."""
    said = f'<p class="fault" role="alert">{html.escape(fault[:300])}</p>' if fault else ""
    # The target comes last: what a person wrote there is never filled in again.
    filled = PAGE.replace("{{fault}}", said).replace("{{target}}", html.escape(target, quote=True))
    return HTMLResponse(filled, status, {"Cache-Control": "no-store"})


def sign_in_path(request: Request) -> str:
    """Return the path of the sign-in page that leads back to where the person wanted to go."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return f"/sign-in?to={quote(wanted, safe='')}"


def entry_router(entry: Entry) -> APIRouter:
    """Return the routes that let people in and out."""
    router = APIRouter(include_in_schema=False)

    @router.get("/sign-in")
    async def show_sign_in(to: str = "/") -> Response:
        return sign_in_page(local_path(to))

    @router.post("/sign-in")
    async def sign_in(request: Request) -> Response:
        return await entry.answer_sign_in(request)

    @router.post("/sign-out")
    async def sign_out(request: Request) -> Response:
        session = session_in(request.scope)
        entry.sessions.end(session.id if session else None)
        answer = RedirectResponse("/sign-in", 303)
        answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
        return answer

    return router
