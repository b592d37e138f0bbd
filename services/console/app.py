"""The console's application: pages and routes around the parts that it receives; it starts nothing by itself."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path

import httpx2
from fastapi import FastAPI, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse
from nicegui import context, core, ui
from starlette.staticfiles import StaticFiles

from services.common.access.origins import Origins
from services.common.http.query_contract import query_schema
from services.common.http.shares import NoPlaceError
from services.common.operations import install_operations
from services.console.access.entry import Entry, entry_router, sign_in_path
from services.console.access.gate import Gate
from services.console.access.sessions import PersonSession, PersonSessions
from services.console.metrics import ConsoleMetrics
from services.console.pages.health.health_page import HEALTH
from services.console.pages.history.history_page import HISTORY
from services.console.pages.now.now_page import NOW
from services.console.pages.open_pages import OpenPages
from services.console.pages.queries.queries_page import QUERIES
from services.console.pages.sensors.sensors_page import SENSORS
from services.console.pages.shell import ConsolePage, Words, shell, show_fault
from services.console.pages.told.told_page import ALERTS
from services.console.pages.viewer import Viewer, view_of
from services.console.rest.line_watch import LineWatches
from services.console.rest.live_feed import LiveFeeds
from services.console.rest.services import RestError, Services
from services.console.rest.templates import KnownTemplates
from services.console.settings import ConsoleSettings

STATIC = Path(__file__).parent / "static"
CLEAN_EVERY_S = 10.0

#: In the order of the navigation; a new page adds its line here.
PAGES: tuple[ConsolePage, ...] = (NOW, QUERIES, SENSORS, ALERTS, HISTORY, HEALTH)


class ConsoleParts:
    """What the pages work with; there is one for each process, as there is one NiceGUI."""

    def __init__(self, settings: ConsoleSettings, services: Services, metrics: ConsoleMetrics) -> None:
        self.settings, self.services, self.metrics = settings, services, metrics
        self.sessions = PersonSessions(settings.sessions_max, settings.session_s)
        self.entry = Entry(services, self.sessions, metrics)
        self.feeds = LiveFeeds(services, metrics)
        self.lines = LineWatches(services)
        self.templates = KnownTemplates()
        self.pages = OpenPages(settings.viewers_max)

    def viewer(self, request: Request, session: PersonSession) -> Viewer:
        """Return what a page that is opened works with."""
        theme, clock, zone = view_of(request)
        rest, feed = self.services.with_key(session.key), self.feeds.of_key(session.key)
        parts = session, rest, feed, self.lines.of_key(session.key), self.settings, self.templates
        return Viewer(*parts, self.sessions.is_open, request, theme, clock, zone)

    @contextlib.asynccontextmanager
    async def lifespan(self, _app: FastAPI) -> AsyncIterator[None]:
        """Keep the live streams in order as long as the application runs."""
        cleaning = asyncio.create_task(self._clean(), name="unused live streams")
        yield
        cleaning.cancel()
        await self.feeds.close()
        await self.lines.close()
        await self.services.close()

    async def _clean(self) -> None:
        while True:
            await asyncio.sleep(CLEAN_EVERY_S)
            await self.feeds.close_unused()


def create_app(settings: ConsoleSettings, services: Services, metrics: ConsoleMetrics) -> Gate:
    """Return the application. NiceGUI keeps its pages in one place, so that a process has one console at most."""
    parts = ConsoleParts(settings, services, metrics)
    app = FastAPI(title="Coincide console", lifespan=parts.lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    install_operations(app, metrics.registry, list)
    app.get("/healthz", include_in_schema=False)(_healthz)
    app.include_router(entry_router(parts.entry))
    app.get("/static/query-schema.js", include_in_schema=False)(_query_schema)
    app.mount("/static", StaticFiles(directory=STATIC))
    for page in PAGES:
        _add_page(parts, page)
    core.app.config.socket_io_js_transports = ["websocket"]  # long polling would post forms
    core.app.config.quasar_config["loadingBar"] = {"skipHijack": True}  # it has no name that could be read aloud
    ui.run_with(
        app,
        title="Coincide",
        favicon=STATIC / "mark.svg",
        dark=None,
        language="en-US",
        tailwind=False,
        gzip_middleware_factory=None,  # the gate has to see the pages as they are
        show_welcome_message=False,
        reconnect_timeout=10.0,
    )
    origins = Origins(settings.host, settings.allowed_hosts, settings.allowed_origins)
    return Gate(app, origins, parts.sessions, metrics, parts.entry.lets_read)


async def _query_schema() -> Response:
    """Return the contract of a query as a module: the words that the editor offers are its."""
    return Response(_schema_module(), media_type="text/javascript")


@cache
def _schema_module() -> str:
    return f"export const schema = {json.dumps(query_schema())};\n"


async def _healthz() -> dict[str, str]:
    return {"status": "alive"}


def _add_page(parts: ConsoleParts, page: ConsolePage) -> None:
    async def answer(request: Request) -> Response | None:
        session = await parts.entry.admit(request)
        client = context.client
        if session is None:
            client.delete()  # nobody will connect to it
            return RedirectResponse(sign_in_path(request), 303)
        try:
            parts.pages.add(client, session.key or client.ip or None)
        except NoPlaceError as why:
            client.delete()
            return PlainTextResponse(f"{why}: close some.\n", why.status, why.headers)
        viewer = parts.viewer(request, session)
        with shell(viewer, page, PAGES):
            loading = Words("p", "Loading …").classes("soft").props("role=status")
            try:
                await page.show(viewer)
            except RestError as error:
                if error.status == httpx2.codes.UNAUTHORIZED:
                    parts.sessions.end(session.id)
                    ui.navigate.to(sign_in_path(request))  # the page may have been sent already
                else:
                    show_fault(viewer, error)
            finally:
                loading.delete()
                parts.pages.await_browser(client)
        return None

    ui.page(page.path, title=page.name, response_timeout=parts.settings.answer_timeout_s * 2)(answer)
