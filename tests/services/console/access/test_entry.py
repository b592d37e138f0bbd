"""Who is let in: by what alerting says of a key, and of nobody's; and where signing in leads to."""

from html.parser import HTMLParser
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from starlette.requests import Request
from starlette.responses import JSONResponse

from services.common.access.origins import Origins
from services.console.access.entry import Entry, entry_router, local_path
from services.console.access.gate import Gate, session_in
from services.console.access.sessions import COOKIE, PersonSessions
from services.console.metrics import ConsoleMetrics
from services.console.rest.services import Services
from services.console.settings import ConsoleSettings

GOOD, OTHER = f"ck_0123456789ab_{'g' * 43}", f"ck_0123456789ab_{'o' * 43}"


def console(alerting: Any, **settings: Any) -> TestClient:
    """Return a client of the entry alone; `alerting` answers GET /v1/caller, given the key."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        assert request.url.path == "/v1/caller"
        said: httpx2.Response = alerting(request.headers.get("authorization"))
        return said

    metrics = ConsoleMetrics(CollectorRegistry())
    services = Services(ConsoleSettings(**settings), metrics, httpx2.MockTransport(answer))
    sessions = PersonSessions(10, 60.0)
    entry = Entry(services, sessions, metrics)
    app = FastAPI()
    app.include_router(entry_router(entry))

    async def show(scope: Any, receive: Any, send: Any) -> None:
        session = await entry.admit(Request(scope, receive))
        body = None if session is None else {"name": session.caller.name, "scopes": session.caller.scopes}
        assert (session is None) or (session_in(scope) is session) or session.id == ""
        await JSONResponse(body)(scope, receive, send)

    app.mount("/who", show)
    gate = Gate(app, Origins("127.0.0.1", ("testserver",)), sessions, metrics, entry.lets_read)
    return TestClient(gate, follow_redirects=False)


def of_keys(authorization: str | None) -> httpx2.Response:
    if authorization == f"Bearer {GOOD}":
        return httpx2.Response(200, json={"key": "0", "name": "ann", "scopes": ["read"]})
    return httpx2.Response(401, json={"detail": "a key is needed"})


def of_nobody(_authorization: str | None) -> httpx2.Response:
    return httpx2.Response(200, json={"key": None, "name": "anybody", "scopes": ["admin"]})


def away(_authorization: str | None) -> httpx2.Response:
    raise httpx2.ConnectError("refused")


def test_where_no_key_is_needed_everybody_is_let_in() -> None:
    assert console(of_nobody).get("/who/").json() == {"name": "anybody", "scopes": ["admin"]}


def test_where_the_console_is_reached_from_elsewhere_nobody_is() -> None:
    assert console(of_nobody, host="0.0.0.0").get("/who/").json() is None
    assert console(of_nobody, require_keys=True).get("/who/").json() is None


def test_where_the_services_need_a_key_nobody_is() -> None:
    assert console(of_keys).get("/who/").json() is None


def test_while_alerting_is_away_a_page_opens_and_can_say_so() -> None:
    assert console(away).get("/who/").json() == {"name": "anybody", "scopes": ["read"]}


def test_a_key_lets_in_until_signing_out() -> None:
    client = console(of_keys)
    answer = client.post("/sign-in", data={"key": f" {GOOD} ", "to": "/?area=bay"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/?area=bay")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert GOOD not in cookie
    assert client.get("/who/").json() == {"name": "ann", "scopes": ["read"]}
    assert client.post("/sign-out").headers["location"] == "/sign-in"
    assert client.get("/who/").json() is None


@pytest.mark.parametrize(
    ("key", "alerting", "status", "sentence"),
    [
        ("", of_keys, 401, "this is no key"),
        (OTHER, of_keys, 401, "a key is needed"),
        (GOOD, away, 503, "alerting does not answer"),
    ],
)
def test_who_is_not_let_in_is_told_why(key: str, alerting: Any, status: int, sentence: str) -> None:
    answer = console(alerting).post("/sign-in", data={"key": key, "to": '/"><script>x'})
    assert answer.status_code == status
    assert sentence in answer.text
    assert "set-cookie" not in answer.headers
    assert "<script" not in answer.text


class Shown(HTMLParser):
    """The tags of a page, and what its form says of where signing in leads to, as a browser reads them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.leads_to: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if dict(attrs).get("name") == "to":
            self.leads_to = dict(attrs)["value"]


@pytest.mark.parametrize("target", ['/?area="><script>x</script>', "/?area=a&lt;b&amp;c", "/'onfocus='x", "/{{fault}}"])
def test_the_page_has_where_it_leads_to_as_a_value_and_as_nothing_else(target: str) -> None:
    client = console(of_keys)
    plain = Shown(client.get("/sign-in").text)
    asked = Shown(client.get("/sign-in", params={"to": target}).text)
    assert (asked.leads_to, asked.tags) == (target, plain.tags)
    refused = Shown(client.post("/sign-in", data={"key": OTHER, "to": target}).text)
    assert refused.leads_to == target
    assert "script" not in refused.tags


def test_metrics_are_for_those_who_may_read() -> None:
    client = console(of_keys, require_keys=True)
    for header, status in (({}, 401), ({"Authorization": "Bearer x"}, 401), ({"Authorization": f"Bearer {GOOD}"}, 404)):
        assert client.get("/metrics", headers=header).status_code == status  # 404: this application has none
    assert console(of_keys).get("/metrics").status_code == 404


@given(st.text(max_size=40))
def test_signing_in_never_leads_elsewhere(target: str) -> None:
    led = httpx2.URL("http://console:8000").join(httpx2.URL(local_path(target).split("?")[0].split("#")[0] or "/"))
    assert led.host == "console"


@pytest.mark.parametrize(
    "target", ["//evil.example", "/\\evil.example", "https://evil.example", "javascript:x", "", "/\n"]
)
def test_what_is_no_path_leads_to_the_front_page(target: str) -> None:
    assert local_path(target) == "/"
