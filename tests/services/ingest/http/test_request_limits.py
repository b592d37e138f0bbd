import asyncio
import gzip
import socket
import threading
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from unittest.mock import Mock

import pytest
import uvicorn
from starlette.requests import Request

from services.common.http.problem import Problem
from services.ingest.http.request_limits import IngestHttpProtocol, OneWriteTransport, inflate, items_of, read_body
from services.ingest.settings import IngestSettings
from services.ingest.stamping import parsing
from services.ingest.stamping.parsing import Form
from tests.services.http_connection import Connection
from tests.services.ingest.building import Ingest

SETTINGS = IngestSettings(max_body_bytes=2048, body_timeout_s=0.2)
GZIP = {"content_encoding": "gzip"}


def read(
    chunks: list[bytes], *, pause_s: float = 0.0, endless: bool = False, kind: str = "http.request", **headers: str
) -> bytes:
    """Read a body that arrives in `chunks`; with `endless` the last one comes again and again."""
    waiting = list(chunks)

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(pause_s)
        chunk = waiting[0] if endless and len(waiting) == 1 else waiting.pop(0) if waiting else b""
        return {"type": kind, "body": chunk, "more_body": endless or bool(waiting)}

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    request = Request({"type": "http", "method": "POST", "path": "/", "headers": raw}, receive)
    return asyncio.run(read_body(request, SETTINGS))


def test_a_body_is_joined_and_inflated_up_to_the_limit() -> None:
    assert read([b"a", b"", b"bc"]) == b"abc"
    assert read([b"x" * 2048]) == b"x" * 2048
    assert read([gzip.compress(b"abc")], content_encoding="GZIP") == b"abc"


@pytest.mark.parametrize(
    ("chunks", "more", "status"),
    [  # gzip writes the time: ids made from the bytes would differ between the processes of a parallel run
        pytest.param([], {"content_length": "2049"}, 413, id="declared too long, nothing read"),
        pytest.param([], {"content_length": "9" * 5000}, 413, id="declared absurdly long"),
        pytest.param([b"x" * 1000], {"endless": True}, 413, id="endless"),
        pytest.param([b"x" * 2049], {}, 413, id="a byte too long"),
        pytest.param([b"x"], {"pause_s": 0.05, "endless": True}, 408, id="drips"),
        pytest.param([b"x"], {"pause_s": 5.0}, 408, id="does not come"),
        pytest.param([], {"kind": "http.disconnect"}, 400, id="given up"),
        pytest.param([b"plain"], GZIP, 400, id="plain"),
        pytest.param([], GZIP, 400, id="empty"),
        pytest.param([gzip.compress(b"abc")[:-1]], GZIP, 400, id="cut off"),
        pytest.param([gzip.compress(b"abc")[:-8] + b"\0" * 8], GZIP, 400, id="wrong checksum"),
        pytest.param([gzip.compress(b"abc") + b"more"], GZIP, 400, id="trailing bytes"),
        pytest.param([gzip.compress(b"abc") + gzip.compress(b"def")], GZIP, 400, id="two members"),
        pytest.param([zlib.compress(b"abc")], GZIP, 400, id="zlib"),
    ],
)
def test_a_body_beyond_a_limit_or_broken_is_refused(chunks: list[bytes], more: dict[str, Any], status: int) -> None:
    with pytest.raises(Problem) as caught:
        read(chunks, **more)
    assert caught.value.status == status


def test_a_gzip_bomb_is_413_and_never_inflated_whole() -> None:
    bomb = gzip.compress(b"\0" * 50_000_000, compresslevel=9)
    tracemalloc.start()
    with pytest.raises(Problem) as caught:
        inflate(bomb, 100_000)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.status == 413
    assert peak_bytes < 2_000_000
    assert inflate(gzip.compress(b"\0" * 100_000), 100_000) == b"\0" * 100_000  # exactly at the limit


GET = b"GET /livez HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /v1/detections HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CLOSE = b"Connection: close\r\n\r\n"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    config = uvicorn.Config(Ingest().app, http=IngestHttpProtocol, log_config=None, lifespan="off")
    server, listener = uvicorn.Server(config), socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join(10)


async def answer(port: int, *pieces: bytes, pause_s: float = 0.0) -> bytes:
    """Send `pieces` and return all that comes until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    received = b""
    with suppress(ConnectionError):
        for place, piece in enumerate(pieces):
            await asyncio.sleep(pause_s if place else 0)
            writer.write(piece)
            await writer.drain()
        async with asyncio.timeout(10):
            received = await reader.read()
    writer.close()
    return received


def test_a_request_in_pieces_is_answered(port: int) -> None:
    assert asyncio.run(answer(port, GET[:10], GET[10:], CLOSE, pause_s=0.01)).startswith(b"HTTP/1.1 200")


def connection_to_ingest() -> Connection:
    return Connection(Ingest().app, IngestHttpProtocol)


LIMIT_S = IngestHttpProtocol.headers_timeout_s


@pytest.mark.anyio
async def test_a_second_request_has_a_time_of_its_own() -> None:
    connection = connection_to_ingest()
    for nth in range(1, 4):
        connection.send(GET)
        connection.clock.go_on(LIMIT_S * 0.9)
        connection.send(b"\r\n")
        await connection.answers(nth)
        connection.clock.go_on(LIMIT_S * 1.5)  # it says nothing: whether it may is uvicorn's to judge
        assert not connection.is_cut_off


@pytest.mark.parametrize("pieces", [[], [GET], [GET + b"\r\n", GET]])
@pytest.mark.anyio
async def test_headers_that_do_not_end_are_cut_off(pieces: list[bytes]) -> None:
    connection = connection_to_ingest()
    for nth, piece in enumerate(pieces):
        await connection.answers(nth)
        connection.send(piece)
    connection.clock.go_on(LIMIT_S * 0.99)
    assert not connection.is_cut_off
    connection.clock.go_on(LIMIT_S * 0.01)
    assert connection.is_cut_off


@pytest.mark.anyio
async def test_headers_that_dribble_are_cut_off() -> None:
    connection = connection_to_ingest()
    connection.send(GET)
    for nth in range(100):
        assert connection.is_cut_off == (nth >= 20)
        connection.clock.go_on(LIMIT_S / 20)
        connection.send(b"a: b\r\n")


@pytest.mark.parametrize("endless", [b"a: b\r\n", b"a" * 6])
def test_endless_headers_are_cut_off(port: int, endless: bytes) -> None:
    assert asyncio.run(answer(port, GET, *[endless * 2000] * 20)) == b""


def test_a_long_body_is_no_header(port: int) -> None:
    head = POST + b"Content-Length: 200000\r\n" + CLOSE
    assert asyncio.run(answer(port, head + b" " * 200_000)).startswith(b"HTTP/1.1 400")


def written(*parts: bytes, closed: bool = False) -> list[bytes]:
    """Return what a connection is given to write."""
    connection = Mock()
    transport = OneWriteTransport(connection)
    for part in parts:
        transport.write(part)
    if closed:
        transport.close()
        connection.close.assert_called_once_with()
    return [call.args[0] for call in connection.write.call_args_list]


def test_the_head_of_an_answer_goes_out_with_its_body() -> None:
    head, again = b"HTTP/1.1 202 Accepted\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"
    assert written(head, b"{}", head, b"") == [head + b"{}", head]
    assert written(head) == []
    assert written(head, closed=True) == [head]
    assert written(again) == [again]  # the body would never come
    assert written(head, head) == [head + head]  # a body that looks like a head


def test_a_gateway_that_asks_whether_to_go_on_is_told_at_once(port: int) -> None:
    head = POST + b"Content-Length: 1\r\nExpect: 100-continue\r\n" + CLOSE
    received = asyncio.run(answer(port, head, b"x", pause_s=0.1))
    assert received.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 400")
    assert received.endswith(b"}")


@pytest.mark.parametrize(("form", "one", "between"), [(Form.JSON, b"1", b","), (Form.NDJSON, b"1", b"\n")])
def test_items_beyond_the_limit_are_not_read(
    monkeypatch: pytest.MonkeyPatch, form: Form, one: bytes, between: bytes
) -> None:
    read: list[object] = []
    monkeypatch.setattr(parsing, "read_item", read.append)
    items = between.join([one] * 10_000)
    with pytest.raises(Problem) as problem:
        items_of(b"[" + items + b"]" if form is Form.JSON else items, form, 5)
    assert problem.value.status == 413
    assert problem.value.detail == "the body holds more than 5 detections; at most 5 are allowed in a POST"
    assert len(read) == 6
