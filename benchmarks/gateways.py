"""Gateways: keep-alive connections that POST detections to ingest, each as fast as it is answered."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import cast

AREAS = 64
BODIES = 512
START_US = 1_760_000_000_000_000


@dataclass(frozen=True)
class Load:
    """What was done in `seconds`; latencies of single POSTs in seconds."""

    detections: int
    posts: int
    seconds: float
    latencies_s: list[float]
    cpu_s: dict[str, float] = field(default_factory=dict)

    @property
    def per_s(self) -> float:
        return self.detections / self.seconds


def body(number: int, detections: int) -> bytes:
    """Return one gateway's POST: RFC 3339 times, two attributes, no ids (the server makes them)."""
    items = [
        {
            "sensor": f"sensor-{number % AREAS:03d}",
            "detected_at": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime((START_US // 10**6) + number)) + f".{n:06d}Z",
            "attributes": {"amplitude": n / 8, "channel": "HHZ"},
        }
        for n in range(detections)
    ]
    return json.dumps(items).encode()


def request(host: str, content: bytes) -> bytes:
    head = f"POST /v1/detections HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    return head.encode() + f"Content-Length: {len(content)}\r\n\r\n".encode() + content


class Gateway(asyncio.Protocol):
    """One keep-alive connection: sends a POST, reads the answer whole, sends the next."""

    def __init__(self, requests: list[bytes], first: int, deadline_s: float, done: asyncio.Future[None]) -> None:
        self.latencies_s: list[float] = []
        self._requests = requests
        self._next = first
        self._deadline_s = deadline_s
        self._done = done
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one without saying so
        self._post()

    def _post(self) -> None:
        self._sent_s = time.perf_counter()
        if self._sent_s >= self._deadline_s:
            self._transport.close()
            self._done.set_result(None)
            return
        self._transport.write(self._requests[self._next % len(self._requests)])
        self._next += 1

    def data_received(self, data: bytes) -> None:
        self._received += data
        head = self._received.find(b"\r\n\r\n")
        if head < 0:
            return
        at = self._received.find(b"content-length: ") + 16
        length = int(self._received[at : self._received.find(b"\r\n", at)])
        if len(self._received) < head + 4 + length:
            return
        if not self._received.startswith(b"HTTP/1.1 202"):
            self._done.set_exception(RuntimeError(self._received[:500].decode()))
            self._transport.close()
            return
        self._received.clear()
        self.latencies_s.append(time.perf_counter() - self._sent_s)
        self._post()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(exc or ConnectionError("ingest closed the connection"))


async def load_http(port: int, detections: int, connections: int, seconds: float) -> Load:
    requests = [request("127.0.0.1", body(number, detections)) for number in range(BODIES)]
    loop = asyncio.get_running_loop()
    started_s = time.perf_counter()
    gateways = []
    for number in range(connections):
        done: asyncio.Future[None] = loop.create_future()
        first = number * BODIES // connections
        gateway = Gateway(requests, first, started_s + seconds, done)
        await loop.create_connection(lambda gateway=gateway: gateway, "127.0.0.1", port)  # type: ignore[misc]
        gateways.append((gateway, done))
    await asyncio.gather(*(done for _, done in gateways))
    took_s = time.perf_counter() - started_s
    latencies_s = [latency for gateway, _ in gateways for latency in gateway.latencies_s]
    return Load(len(latencies_s) * detections, len(latencies_s), took_s, latencies_s)
