"""What bounds a connection whatever it is to: how long its headers are, and how long its reader may leave an answer."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from services.alerting import server as alerting
from services.alerting.settings import AlertingSettings
from services.common.access.access_keys import KeyRing
from services.common.access.asgi import Guarded
from services.common.access.guard import Guard
from services.common.access.origins import Origins
from services.common.http.bounded_protocol import BoundedHttpProtocol, bounded_by
from services.common.http.header_limits import MOST_HEADER_BYTES
from services.console import server as console
from services.console.settings import ConsoleSettings
from services.ingest import server as ingest
from services.ingest.http.request_limits import IngestHttpProtocol
from services.ingest.settings import IngestSettings
from tests.services.http_connection import Connection
from tests.services.slow_bodies import serving

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
LIMIT_S = BoundedHttpProtocol.send_timeout_s
BLOCK = bytes(1 << 20)


async def answer(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def endless(_scope: Any, receive: Any, send: Any) -> None:
    """Send for as long as the reader is there."""

    async def send_on() -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": BLOCK, "more_body": True})

    sending = asyncio.create_task(send_on())
    while (await receive())["type"] != "http.disconnect":
        pass
    sending.cancel()


@pytest.mark.parametrize("kind", [BoundedHttpProtocol, IngestHttpProtocol])
@pytest.mark.anyio
async def test_a_reader_that_takes_nothing_is_cut_off_in_time(kind: type[BoundedHttpProtocol]) -> None:
    connection = Connection(answer, kind)
    connection.send(GET + b"\r\n")
    await connection.answers(1)
    for _ in range(5):  # one that takes it at last may be slow again
        connection.fill()
        connection.clock.go_on(LIMIT_S * 0.9)
        connection.empty()
        connection.clock.go_on(LIMIT_S)
    assert not connection.is_cut_off
    connection.fill()
    connection.clock.go_on(LIMIT_S)
    assert connection.is_cut_off


@pytest.mark.anyio
async def test_an_answer_that_is_whole_is_not_kept_for_ever_for_a_reader_that_leaves_it() -> None:
    connection = Connection(answer, BoundedHttpProtocol)
    connection.send(GET + b"\r\n")
    await connection.answers(1)
    connection.clock.go_on(3600)  # as long as it may be kept open
    assert not connection.is_cut_off
    connection.clock.go_on(LIMIT_S)
    assert connection.is_cut_off


@pytest.mark.parametrize("kind", [BoundedHttpProtocol, IngestHttpProtocol])
@pytest.mark.anyio
async def test_headers_that_come_at_once_are_bounded_as_those_that_dribble(kind: type[BoundedHttpProtocol]) -> None:
    for size, is_cut_off in ((MOST_HEADER_BYTES // 2, False), (MOST_HEADER_BYTES + 1, True), (1 << 20, True)):
        connection = Connection(answer, kind)
        connection.send(GET + b"X-Long: " + b"x" * size + b"\r\n\r\n")
        assert connection.is_cut_off is is_cut_off
    connection = Connection(answer, kind)
    connection.send(b"GET /" + b"x" * MOST_HEADER_BYTES + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert connection.is_cut_off


@pytest.mark.anyio
async def test_whoever_reads_nothing_holds_nothing_for_long_on_a_real_connection() -> None:
    ended = threading.Event()

    async def noted(scope: Any, receive: Any, send: Any) -> None:
        await endless(scope, receive, send)
        ended.set()

    guarded = Guarded(noted, Guard(Origins("127.0.0.1"), KeyRing(), needs_key=False))
    with serving(guarded, http=bounded_by(0.1)) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(GET + b"\r\n")
        assert await asyncio.to_thread(ended.wait, 30)
        writer.close()


def test_each_service_goes_by_its_setting(tmp_path: Path) -> None:
    """Whatever runs a server of uvicorn's gives it this protocol, with the time that its settings say."""
    database = f"sqlite:///{tmp_path / 'alerting.sqlite3'}"
    servers = [
        ingest.build_server(IngestSettings(send_timeout_s=7)),
        alerting.build_server(AlertingSettings(send_timeout_s=7, database_url=database)),
        console.build_server(ConsoleSettings(send_timeout_s=7)),
    ]
    protocols: list[Any] = [each.config.http for each in servers]
    assert [(issubclass(each, BoundedHttpProtocol), each.send_timeout_s) for each in protocols] == [(True, 7)] * 3
