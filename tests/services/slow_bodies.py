"""One peer that holds many requests open, with bodies that never end, against a real server; and another peer."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import uvicorn

from services.common.access.asgi import Guarded

SLOW_BODIES = 1_000
DEADLINE_S = 30.0


@contextmanager
def serving(application: Guarded, **options: Any) -> Iterator[int]:
    """Serve on a port of 127.0.0.1, and yield it."""
    server = uvicorn.Server(uvicorn.Config(application, log_config=None, lifespan="off", **options))
    listener = socket.create_server(("127.0.0.1", 0), backlog=2 * SLOW_BODIES)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        thread.join(DEADLINE_S)


@dataclass
class Held:
    """Requests of one peer: those that were refused, and the connections of those that wait for their body's end."""

    answers: list[bytes]
    waiting: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]


@asynccontextmanager
async def holding(port: int, path: str, body: bytes, admitted: int) -> AsyncIterator[Held]:
    """Send `SLOW_BODIES` POSTs of all but the last byte of `body`; go on once all but `admitted` were refused."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    )
    opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(SLOW_BODIES)]
    for _, writer in opened:
        writer.write(head.encode() + b"\r\n" + body[:-1])
    reading = {asyncio.create_task(reader.read()): (reader, writer) for reader, writer in opened}
    try:
        async with asyncio.timeout(DEADLINE_S):
            while sum(task.done() for task in reading) < SLOW_BODIES - admitted:
                await asyncio.wait([task for task in reading if not task.done()], return_when=asyncio.FIRST_COMPLETED)
        refused = [task.result() for task in reading if task.done()]
        yield Held(refused, [pair for task, pair in reading.items() if not task.done()])
    finally:
        for task, (_, writer) in reading.items():
            task.cancel()
            writer.close()


async def post_of_another(port: int, path: str, body: bytes) -> httpx2.Response:
    """POST as another peer does."""
    transport = httpx2.AsyncHTTPTransport(local_address="127.0.0.2")
    headers = {"Content-Type": "application/json"}
    async with httpx2.AsyncClient(transport=transport, timeout=DEADLINE_S) as client:
        return await client.post(f"http://127.0.0.1:{port}{path}", content=body, headers=headers)
