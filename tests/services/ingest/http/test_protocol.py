import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
import uvicorn

from services.ingest.http.protocol import BoundedHttpProtocol
from tests.services.ingest.building import Ingest

GET = b"GET /livez HTTP/1.1\r\nHost: x\r\n"
TIMEOUT_S = 0.5


class ImpatientProtocol(BoundedHttpProtocol):
    headers_timeout_s = TIMEOUT_S


@pytest.fixture
def port() -> Iterator[int]:
    config = uvicorn.Config(Ingest().app, port=0, http=ImpatientProtocol, log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    started = threading.Event()

    async def serve() -> None:
        serving = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.005)
        started.set()
        await serving

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert started.wait(10)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join(10)


async def answer(port: int, *pieces: bytes, pause_s: float = 0.0) -> bytes:
    """Send `pieces` and return all that comes until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    received = b""
    with suppress(ConnectionError):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause_s)
        async with asyncio.timeout(10):
            received = await reader.read()
    writer.close()
    return received


def test_a_request_in_pieces_is_answered(port: int) -> None:
    pieces = [GET[:10], GET[10:], b"Connection: close\r\n\r\n"]
    assert asyncio.run(answer(port, *pieces, pause_s=0.01)).startswith(b"HTTP/1.1 200")


def test_a_second_request_has_a_time_of_its_own(port: int) -> None:
    first = GET + b"\r\n"
    received = asyncio.run(answer(port, first, first, GET + b"Connection: close\r\n\r\n", pause_s=TIMEOUT_S * 1.5))
    assert received.count(b"HTTP/1.1 200") == 3


@pytest.mark.parametrize("pieces", [[], [GET], [GET + b"\r\n", GET]])
def test_headers_that_do_not_end_are_cut_off(port: int, pieces: list[bytes]) -> None:
    received = asyncio.run(answer(port, *pieces))
    assert received.count(b"HTTP/1.1 200") == max(0, len(pieces) - 1)


def test_headers_that_dribble_are_cut_off(port: int) -> None:
    assert asyncio.run(answer(port, GET, *[b"a: b\r\n"] * 100, b"\r\n", pause_s=0.05)) == b""


@pytest.mark.parametrize("endless", [b"a: b\r\n", b"a" * 6])
def test_endless_headers_are_cut_off(port: int, endless: bytes) -> None:
    assert asyncio.run(answer(port, GET, *[endless * 2000] * 20)) == b""


def test_a_long_body_is_no_header(port: int) -> None:
    body = b" " * 200_000
    head = b"POST /v1/detections HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 200000\r\n\r\n"
    assert asyncio.run(answer(port, head + body)).startswith(b"HTTP/1.1 400")
