"""Runs over history at alerting: what the history process says, and a sentence where it says nothing."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx2
import pytest
from fastapi.testclient import TestClient

from services.alerting.api.history_proxy import MOST_AT_ONCE
from services.alerting.settings import AlertingSettings
from tests.patience import until
from tests.services.alerting.clients import SETTINGS, running_api
from tests.services.alerting.sample_records import Database
from tests.services.history.runs import test_run_server
from tests.services.history.runs.test_run import archive as archive  # noqa: PLC0414 - a fixture
from tests.services.history.runs.test_run_server import client as client  # noqa: PLC0414
from tests.services.history.runs.test_run_server import proposed as proposed  # noqa: PLC0414
from tests.services.history.runs.test_run_server import records as records  # noqa: PLC0414
from tests.services.history.runs.test_run_server import settings as settings  # noqa: PLC0414
from tests.services.https_server import https_server

RUNS = "/v1/history-runs"


@contextmanager
def front(database: Database, url: str | None, timeout_s: float = 0.5, **more: Any) -> Iterator[httpx2.Client]:
    own = AlertingSettings(**{**SETTINGS.model_dump(), "history_url": url, "history_timeout_s": timeout_s, **more})
    with running_api(database, own) as api:
        yield api.client


def test_a_run_is_asked_for_read_and_deleted_at_the_front_door(database: Database, client: httpx2.Client) -> None:
    with front(database, str(client.base_url).rstrip("/"), timeout_s=60) as door:
        test_run_server.test_a_run_is_asked_for_read_and_deleted(door)
        for path in ("/x", f"/r-{'0' * 32}/colour", f"/r-{'0' * 32}"):
            assert door.get(RUNS + path).status_code in (404, 422)
        what_if = "/v1/queries/bang/what-if"
        refused = door.post(what_if, json={"from": "noon", "to": "\u2026", "colour": "red"})
        assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
        assert "colour: unknown" in refused.json()["detail"]
        assert door.post(what_if, json={"from": 1, "to": 2}).status_code == 503  # that process has no Kafka
        assert door.get(what_if, params={"from": 1, "to": 2}).status_code == 405  # a link could ask that
        large = door.post(RUNS, content=b"[" * 70_000, headers={"Content-Type": "application/json"})
        assert large.status_code == 413
        assert door.post(RUNS, content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 415


@pytest.mark.parametrize(
    ("url", "sentence"), [(None, "history_url names no"), ("http://127.0.0.1:1", "does not answer")]
)
def test_without_the_process_it_is_a_sentence(database: Database, url: str | None, sentence: str) -> None:
    with front(database, url) as door:
        for _ in range(20):  # each one frees its place
            answer = door.get(RUNS)
        assert (answer.status_code, sentence in answer.json()["detail"]) == (503, True)


class _Echo(BaseHTTPRequestHandler):
    """Refuses with a long answer; it never answers where the path has "never" in it."""

    seen: ClassVar[list[tuple[str, str | None, str | None]]] = []
    going_on = threading.Event()

    def do_GET(self) -> None:
        self.seen.append((self.path, self.headers["Authorization"], self.headers["Cookie"]))
        if "never" in self.path:
            self.going_on.wait(60)
            return
        self.send_response(401)
        self.send_header("WWW-Authenticate", "Bearer")
        self.send_header("Set-Cookie", "a=b")
        self.send_header("Content-Length", "2000000")
        self.end_headers()
        self.wfile.write(b"x" * 2_000_000)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def echo() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    thread = threading.Thread(target=server.serve_forever)
    _Echo.seen.clear()
    _Echo.going_on.clear()
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    _Echo.going_on.set()
    server.shutdown()
    server.server_close()
    thread.join()


def test_what_authorizes_is_passed_on_and_nothing_else(database: Database, echo: str) -> None:
    with front(database, echo, timeout_s=60) as door:
        path = f"{RUNS}/r-{'a' * 32}/compare?with=live&x=%2F"
        answer = door.get(path, headers={"Authorization": "Bearer s", "Cookie": "c=d"})
    assert (answer.status_code, len(answer.content)) == (401, 2_000_000)
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "set-cookie" not in answer.headers
    assert _Echo.seen == [(path, "Bearer s", None)]


def test_few_wait_for_a_process_that_hangs_and_the_others_go_on(database: Database, echo: str) -> None:
    """One peer has half of the places, two have all; whoever asks for a long answer takes none of those."""
    own = MOST_AT_ONCE // 2
    with front(database, echo, timeout_s=60) as door, ThreadPoolExecutor(2 * MOST_AT_ONCE) as asking:
        another, third = (TestClient(door.app, client=(f"192.0.2.{nth}", 5)) for nth in (1, 2))  # type: ignore[attr-defined]
        answers = [
            asking.submit(client.get, RUNS, params={"never": 1}) for client in (door, another) for _ in range(own + 2)
        ]
        until(lambda: sum(answer.done() for answer in answers) == 4)  # while the process answers nobody
        refused = {answer for answer in answers if answer.done()}
        assert {answer.result().status_code for answer in refused} <= {429, 503}
        assert third.get(RUNS).status_code == 503
        assert door.get("/v1/matches").status_code == 200
        assert door.get(f"{RUNS}/r-{'a' * 32}/matches").status_code == 401  # as the process says
        _Echo.going_on.set()
        rest = {answer for answer in answers if answer not in refused}
        assert {sentence(answer) for answer in rest} == {"the history process does not answer"}
        assert door.get(f"{RUNS}?again=1").status_code == 401  # every place is free again


def test_long_answers_that_nobody_reads_keep_nobody_from_asking(database: Database, echo: str) -> None:
    own, run = MOST_AT_ONCE // 2, f"{RUNS}/r-{'a' * 32}"
    with front(database, echo, timeout_s=60) as door, ThreadPoolExecutor(MOST_AT_ONCE) as asking:
        answers = [asking.submit(door.get, f"{run}/matches", params={"never": 1}) for _ in range(own + 1)]
        until(lambda: any(answer.done() for answer in answers))
        [refused] = [answer for answer in answers if answer.done()]
        assert (refused.result().status_code, "are yours" in refused.result().json()["detail"]) == (429, True)
        assert door.get(run).status_code == door.get(RUNS).status_code == 401
        _Echo.going_on.set()


def sentence(answer: Future[httpx2.Response]) -> str:
    """Return why the history process is said to be away."""
    assert answer.result().status_code == 503
    return str(answer.result().json()["detail"])


def test_who_waits_for_a_process_that_hangs_gives_up(database: Database, echo: str) -> None:
    with front(database, echo, timeout_s=0.1) as door:
        answer = door.get(RUNS, params={"never": 1})
        assert (answer.status_code, answer.json()["detail"]) == (503, "the history process does not answer")
        assert not _Echo.going_on.is_set()


def test_the_process_is_known_by_a_certificate_of_ones_own(database: Database, tmp_path: Path) -> None:
    with https_server(tmp_path) as (url, certificate):
        with front(database, url, timeout_s=60) as door:
            assert door.get(RUNS).status_code == 503
        with front(database, url, timeout_s=60, trusted_certificates=certificate) as door:
            assert (door.get(RUNS).status_code, door.get(RUNS).json()["items"]) == (200, [])
