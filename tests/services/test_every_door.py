"""Every route of every component, with every scope, by paths that somebody has mangled: no way leads around a scope.

What is reached is noted where the component itself hands over to a route's code; what it needs is written out here.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any
from unittest.mock import Mock
from urllib.parse import unquote

import pytest
from fastapi.routing import APIRoute
from prometheus_client import CollectorRegistry
from starlette.responses import Response
from starlette.routing import Route

from services.common.access.access_keys import KeyRing
from services.common.access.asgi import Guarded
from services.common.access.audit import AuditTrail
from services.common.access.guard import Guard
from services.common.access.origins import Origins
from services.console.access.gate import Gate
from services.console.access.sessions import PersonSessions
from services.console.metrics import ConsoleMetrics
from services.history.runs.run_queue import Kept, RunQueue
from services.history.runs.run_server import RunService
from services.history.runs.run_server import create_app as create_runs_app
from services.ingest.http.detections_endpoint import DetectionsEndpoint
from spark_jobs.job.job_server import job_app
from tests.services.alerting.clients import running_api
from tests.services.alerting.databases import SqliteDatabases, migrated
from tests.services.alerting.sample_records import Database
from tests.services.ingest.building import Ingest
from tests.services.kept_records import KeptRecords

Reached = list[tuple[str, str]]

OPEN = "GET /livez /readyz /docs /docs/start.js /docs/swagger-ui-bundle.js /docs/swagger-ui.css /docs/favicon.png"
NEEDS = {
    "ingest": {
        "": OPEN,
        "read": "GET /openapi.json /metrics /v1/detections /v1/streams /v1/streams/{name} /v1/sensors "
        "/v1/sensors/{sensor_id} /v1/templates /v1/templates/{name} /v1/template-proposals /v1/clocks "
        "/v1/clocks/{clock_id} HEAD /openapi.json",
        "ingest": "POST /v1/detections",
        "admin": "PUT /v1/streams/{name} /v1/sensors/{sensor_id} /v1/templates/{name} PATCH /v1/streams/{name} "
        "/v1/sensors/{sensor_id} /v1/templates/{name} DELETE /v1/streams/{name} /v1/sensors/{sensor_id} "
        "/v1/templates/{name} POST /v1/sensors /v1/template-proposals/{proposal_id}/accept "
        "/v1/template-proposals/{proposal_id}/reject "
        "PUT /v1/clocks/{clock_id} PATCH /v1/clocks/{clock_id} DELETE /v1/clocks/{clock_id}",
    },
    "alerting": {
        "": OPEN,
        "read": "HEAD /openapi.json GET / /openapi.json /metrics /v1/matches /v1/matches/{id} /v1/episodes "
        "/v1/episodes/{id} /v1/episodes/{id}/revisions /v1/alerts /v1/alerts/{id} /v1/alerts/{id}/history /v1/silences "
        "/v1/silences/{id} /v1/receivers /v1/receivers/{id} /v1/receivers/{id}/deliveries /v1/rebuilds "
        "/v1/rebuilds/{id} /v1/dead-letters /v1/queries /v1/queries/{id} /v1/queries/{id}/versions "
        "/v1/queries/{id}/explain /v1/live /v1/history-runs /v1/history-runs/{id} /v1/history-runs/{id}/{part} "
        "/v1/learning-runs /v1/learning-runs/{id} /v1/learning-runs/{id}/templates /v1/caller "
        "POST /v1/queries/{id}/explain /v1/queries/{id}/what-if",
        "queries": "PUT /v1/queries/{id} PATCH /v1/queries/{id} /v1/queries/{id}/threshold DELETE /v1/queries/{id} "
        "/v1/history-runs/{id} /v1/learning-runs/{id} POST /v1/queries/{id}/pause /v1/queries/{id}/resume "
        "/v1/history-runs /v1/learning-runs",
        "alerts": "POST /v1/alerts/{id}/acknowledge /v1/silences PUT /v1/silences/{id} PATCH /v1/silences/{id} "
        "DELETE /v1/silences/{id}",
        "admin": "PUT /v1/receivers/{id} PATCH /v1/receivers/{id} DELETE /v1/receivers/{id} /v1/keys/{key_id} "
        "POST /v1/receivers/{id}/test /v1/receivers/{id}/deliveries/{key}/resend /v1/rebuilds /v1/keys "
        "GET /v1/keys /v1/keys/{key_id} /v1/audit",
    },
    "fusion": {"": "GET /livez /readyz", "read": "GET /metrics"},
    "history": {
        "": "GET /livez /readyz",
        "read": "GET /metrics /v1/history-runs /v1/history-runs/{id} /v1/history-runs/{id}/{part} /v1/learning-runs "
        "/v1/learning-runs/{id} /v1/learning-runs/{id}/{part} POST /v1/queries/{id}/what-if",
        "queries": "POST /v1/history-runs /v1/learning-runs DELETE /v1/history-runs/{id} /v1/learning-runs/{id}",
    },
}
SCOPES = ("", "read", "ingest", "queries", "alerts", "admin")  # of keys; the first has none
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "INVENTED")
CONTROL = ["%0A", "%0a%0a", "%0D", "%0D%0A", "%09", "%00", "%0B", "%0C", "%1F", "%7F", "%C2%85", "%C2%9B"]


def needs_of(component: str) -> dict[tuple[str, str], str]:
    """Return the scope that each route of a component needs, by its method and template."""
    needs, method = {}, ""
    for scope, words in NEEDS[component].items():
        for word in words.split():
            if word.startswith("/"):
                needs[method, word] = scope
            else:
                method = word
    return needs


def _first_letter_encoded(path: str) -> str:
    return f"{path[:-1]}%{ord(path[-1]):02x}" if path != "/" else path


def _put_in(text: str, place: int | None) -> Callable[[str], str]:
    """Return what puts `text` into a path: at a place, or at the end."""
    return lambda path: path[:place] + text + ("" if place is None else path[place:])


MANGLED: dict[str, Callable[[str], str]] = {
    **{f"{each} at the end": _put_in(each, None) for each in CONTROL},
    **{f"{each} at the start": _put_in(each, 1) for each in ("%0A", "%00")},
    **{f"{each} within": _put_in(each, 5) for each in ("%0A", "%09", "%00")},
    "unchanged": lambda path: path,
    "slash at the end": lambda path: path + "/",
    "slashes at the end": lambda path: path + "//",
    "slash at the start": lambda path: "/" + path,
    "double slashes": lambda path: path.replace("/", "//"),
    "capitals": str.upper,
    "a capital": str.title,
    "dot": lambda path: path.replace("/v1/", "/v1/./"),
    "dots": lambda path: f"/livez/..{path}",
    "dots at the end": lambda path: f"{path}/../livez",
    "encoded dots": lambda path: f"/livez/%2e%2e{path}",
    "open path first": lambda path: f"/docs{path}",
    "letter encoded": _first_letter_encoded,
    "slash encoded": lambda path: path[:4].replace("/", "%2F") + path[4:],
    "slashes encoded": lambda path: "/" + path[1:].replace("/", "%2f"),
    "encoded twice": lambda path: path + "%250A",
    "semicolon": lambda path: path + ";a=b",
    "semicolon encoded": lambda path: path + "%3B",
    "question mark encoded": lambda path: path + "%3F",
    "hash encoded": lambda path: path + "%23",
    "blank": lambda path: path + "%20",
    "blank first": lambda path: "/%20" + path[1:],
    "backslash": lambda path: path.replace("/v1/", "/v1%5C"),
    "line separator": lambda path: path + "%E2%80%A8",
    "wide slash": lambda path: path.replace("/v1/", "/v1%EF%BC%8F"),
    "no UTF-8": lambda path: path + "%FF",
    "overlong slash": lambda path: path.replace("/v1/", "/v1%C0%AF"),
    "suffix": lambda path: path + ".json",
    "wildcard": lambda path: path + "*",
}


def filled(template: str) -> str:
    """Return a path of the route."""
    path = template
    while "{" in path:
        path = f"{path[: path.index('{')]}x-1{path[path.index('}') + 1 :]}"
    return path


@pytest.fixture(scope="module")
def keys() -> KeptRecords:
    return KeptRecords()


@pytest.fixture(scope="module")
def texts(keys: KeptRecords) -> dict[str, str]:
    """A key with each scope."""
    return {scope: keys.make(scope, [scope], requests_per_s=1e5) for scope in SCOPES if scope}


@pytest.fixture(scope="module")
def applications(tmp_path_factory: pytest.TempPathFactory, keys: KeptRecords) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("doors")
    empty_file = folder / "empty.sqlite3"
    migrated(f"sqlite:///{empty_file}")
    databases = SqliteDatabases(empty_file, folder)
    with running_api(Database(databases.engine())) as api:
        fusion = job_app(CollectorRegistry(), lambda: None)
        runs = RunService(RunQueue(folder, Mock(), Kept(1)), CollectorRegistry(), Mock(), Mock())
        history = create_runs_app(runs, AuditTrail("history", keys))
        yield {"ingest": Ingest().app, "alerting": api.client.app, "fusion": fusion, "history": history}
    databases.close()


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> Reached:
    """Which routes were reached; none of them does anything."""
    reached: Reached = []

    async def note(self: Any, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] in self.methods:
            reached.append((scope["method"], self.path_format))
        await Response()(scope, receive, send)

    async def take(_self: Any, scope: Any, receive: Any, send: Any) -> None:
        reached.append(("POST", "/v1/detections"))
        await Response()(scope, receive, send)

    monkeypatch.setattr(APIRoute, "handle", note)
    monkeypatch.setattr(Route, "handle", note)
    monkeypatch.setattr(DetectionsEndpoint, "__call__", take)
    return reached


async def status_of(application: Any, method: str, path: str, *headers: tuple[bytes, bytes]) -> int:
    """Ask as uvicorn does for a path that is percent-encoded."""
    statuses: list[int] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    scope = {"type": "http", "method": method, "path": unquote(path), "raw_path": path.encode(), "root_path": ""}
    more = {"headers": [(b"host", b"localhost"), *headers], "query_string": b"", "client": ("192.0.2.1", 1)}
    asked: Awaitable[None] = application({**scope, **more}, receive, send)
    await asked
    return statuses[0]


def may(scope: str, needed: str) -> bool:
    return needed in ("", scope) or scope == "admin"


@pytest.mark.parametrize("component", NEEDS)
@pytest.mark.parametrize("mangled", MANGLED)
def test_no_mangled_path_reaches_what_its_key_may_not(
    component: str, mangled: str, keys: KeptRecords, texts: dict[str, str], applications: Any, reached: Reached
) -> None:
    guard = Guard(Origins("127.0.0.1"), keys.ring, needs_key=True)
    guarded, needs = Guarded(applications[component], guard), needs_of(component)

    async def ask(method: str, template: str, scope: str) -> None:
        reached.clear()
        path = MANGLED[mangled](filled(template))
        shown = [(b"authorization", f"Bearer {texts[scope]}".encode())] if scope else []
        status = await status_of(guarded, method, path, *shown)
        told = f"{method} {path} with {scope or 'no key'}: {status}, reached {reached}"
        assert all(may(scope, needs[each]) for each in reached), told
        if mangled == "unchanged":
            assert bool(reached) == may(scope, needs[method, template]), told
        if mangled[:3] in {each[:3] for each in CONTROL} or "C2" in mangled:
            assert (status, reached) == (400, []), told

    async def ask_all() -> None:
        for method, template in needs:
            for scope in SCOPES:
                await ask(method, template, scope)

    asyncio.run(ask_all())


@pytest.mark.parametrize("component", NEEDS)
def test_another_method_reaches_nothing(
    component: str, keys: KeptRecords, texts: dict[str, str], applications: Any, reached: Reached
) -> None:
    guarded = Guarded(applications[component], Guard(Origins("127.0.0.1"), keys.ring, needs_key=True))
    shown, needs = (b"authorization", f"Bearer {texts['admin']}".encode()), needs_of(component)

    async def ask_all() -> None:
        for template in {template for _, template in needs}:
            for method in METHODS:
                reached.clear()
                await status_of(guarded, method, filled(template), shown)
                assert set(reached) <= {(method, template)} & set(needs), (method, template, reached)

    asyncio.run(ask_all())


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("control", CONTROL)
def test_the_console_hears_nothing_of_a_control_character(kind: str, control: str) -> None:
    async def no_application(_scope: Any, _receive: Any, _send: Any) -> None:
        pytest.fail("the application was asked")

    async def never(_authorization: str | None) -> bool:
        return pytest.fail("alerting was asked")

    metrics = ConsoleMetrics(CollectorRegistry())
    gate = Gate(no_application, Origins("127.0.0.1"), PersonSessions(1, 60.0), metrics, never)
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    scope = {"type": kind, "method": "GET", "path": unquote(f"/metrics{control}"), "headers": [(b"host", b"localhost")]}
    asyncio.run(gate(scope, receive, send))
    assert (sent[0].get("status") == 400) if kind == "http" else (sent[0]["type"] == "websocket.close")


@pytest.mark.parametrize("component", NEEDS)
def test_every_route_is_in_this_file(component: str, applications: Any) -> None:
    table = Guarded(applications[component], Guard(Origins("127.0.0.1"), KeyRing(), needs_key=True)).routes
    assert {(method, each.template) for each in table._routes for method in each.methods} == set(needs_of(component))
