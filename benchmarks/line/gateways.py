"""Gateways: keep-alive connections that POST detections, as fast as they are answered or at a rate."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count

import httpx2

CONNECTIONS = 8
HEAD = (
    b"POST /v1/detections HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
)

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def post(connection: Connection, content: bytes) -> float:
    """Send a POST and read the answer whole; return how many seconds that took."""
    reader, writer = connection
    sent_s = time.perf_counter()
    writer.write(HEAD % len(content) + content)
    head = await reader.readuntil(b"\r\n\r\n")
    at = head.find(b"content-length: ") + 16
    answer = await reader.readexactly(int(head[at : head.find(b"\r\n", at)]))
    if not head.startswith(b"HTTP/1.1 202"):
        raise RuntimeError((head + answer)[:500].decode())
    return time.perf_counter() - sent_s


async def as_fast_as_answered(port: int, contents: Sequence[bytes], connections: int, seconds: float) -> list[float]:
    """POST the contents round and round over some connections; return the latency of each POST, in seconds."""
    deadline_s = time.perf_counter() + seconds

    async def gateway(first: int) -> list[float]:
        connection, latencies_s = await asyncio.open_connection("127.0.0.1", port), list[float]()
        for number in count(first):
            if time.perf_counter() >= deadline_s:
                break
            latencies_s.append(await post(connection, contents[number % len(contents)]))
        connection[1].close()
        return latencies_s

    of_each = await asyncio.gather(*(gateway(nth * len(contents) // connections) for nth in range(connections)))
    return [latency_s for latencies_s in of_each for latency_s in latencies_s]


def due_times(rate: float, detections: int, seconds: float) -> Iterator[float]:
    """Yield how many seconds from now each POST of so many detections falls due."""
    start_s = time.monotonic()
    for nth in range(int(seconds * rate / detections)):
        yield max(0.0, start_s + nth * detections / rate - time.monotonic())


class OpenLoop:
    """POSTs that fall due at a rate, whatever became of those before: `posts` so far, `offered` detections in them.

    `body` takes the number of a POST, the rate and how many detections, and makes the POST as it is sent. `taken_s` are
    the seconds until each was answered.
    """

    def __init__(self, port: int, detections: int, body: Callable[[int, float, int], bytes]) -> None:
        self.posts = 0
        self.taken_s: list[float] = []
        self._port, self._detections, self._body = port, detections, body

    @property
    def offered(self) -> int:
        return self.posts * self._detections

    def offer(self, rate: float, seconds: float) -> None:
        """Offer so many detections a second; return when every POST is answered."""
        asyncio.run(self.offer_here(rate, seconds))

    async def offer_here(self, rate: float, seconds: float) -> None:
        """Do the same on the event loop that runs."""
        due: asyncio.Queue[int | None] = asyncio.Queue()
        async with asyncio.TaskGroup() as gateways:
            for _ in range(CONNECTIONS):
                gateways.create_task(self._post_all(due, rate))
            for wait_s in due_times(rate, self._detections, seconds):
                await asyncio.sleep(wait_s)
                due.put_nowait(self.posts)
                self.posts += 1
            for _ in range(CONNECTIONS):
                due.put_nowait(None)

    async def _post_all(self, due: asyncio.Queue[int | None], rate: float) -> None:
        connection = await asyncio.open_connection("127.0.0.1", self._port)
        while (number := await due.get()) is not None:
            self.taken_s.append(await post(connection, self._body(number, rate, self._detections)))
        connection[1].close()


def is_ready(port: int) -> bool:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/readyz", timeout=2).status_code == 200
    except httpx2.HTTPError:
        return False
