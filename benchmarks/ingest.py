"""How many detections a second one ingest process takes, every POST acknowledged by Kafka: ``make bench``.

Load generator, ingest and broker share this machine's cores. Each POST is one gateway's: detections of one area.
Beside it, in the same run, the same frames are sent to the same broker by kafka-python without any HTTP,
with as many in flight; the ratio says what HTTP, validation and stamping cost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from statistics import quantiles
from typing import cast

import psutil
import uvloop
from kafka import TopicPartition

from coincide import Histogram
from deploy.local.broker import Broker
from deploy.local.ports import free_ports
from services.common.create_topics import create_topics
from services.common.kafka import create_admin, create_consumer, create_producer
from services.common.topics import load_topics
from services.ingest.kafka_publisher import DETECTIONS
from services.ingest.seed_sensors import seed
from services.ingest.sensors import Sensor

ROOT = Path(__file__).resolve().parent.parent
AREAS = 64
BODIES = 512
START_US = 1_760_000_000_000_000
BARS = {20: 50_000, 500: 120_000}
HEADINGS = (
    "a POST",
    "detections/s",
    "bar",
    "POSTs/s",
    "p50 ms",
    "p99 ms",
    "CPU us/detection: ingest / broker / generator",
    "kafka-python alone, detections/s",
    "ratio",
)


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


def sensors() -> dict[str, Sensor]:
    template = Histogram.normal(sigma_s=0.5)
    return {f"sensor-{n:03d}": Sensor(f"sensor-{n:03d}", f"area-{n:02d}", {"seismic": template}) for n in range(AREAS)}


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


def load_transport(bootstrap: str, frames: list[bytes], detections: int, in_flight: int, seconds: float) -> Load:
    """Send `frames` round and round, `in_flight` at a time, with the settings that ingest uses."""
    producer = create_producer(bootstrap)
    slots = threading.Semaphore(in_flight)
    failures: list[BaseException] = []
    producer.partitions_for(DETECTIONS)
    started_s = time.perf_counter()
    sent = 0
    while time.perf_counter() - started_s < seconds:
        slots.acquire()
        future = producer.send(DETECTIONS, frames[sent % len(frames)], f"area-{sent % AREAS:02d}".encode())
        future.add_callback(lambda _metadata: slots.release())
        future.add_errback(failures.append)
        sent += 1
    producer.flush(30)
    took_s = time.perf_counter() - started_s
    producer.close(timeout=5)
    assert not failures, failures[0]
    return Load(sent * detections, sent, took_s, [])


def frames_of(bootstrap: str, count: int) -> list[bytes]:
    """Return the newest `count` frames on coincide.detections."""
    consumer = create_consumer(bootstrap)
    partitions = [TopicPartition(DETECTIONS, each) for each in consumer.partitions_for_topic(DETECTIONS)]
    consumer.assign(partitions)
    for partition, end in consumer.end_offsets(partitions).items():
        consumer.seek(partition, max(0, end - count // len(partitions) - 1))
    frames: list[bytes] = []
    while len(frames) < count:
        frames += [record.value for records in consumer.poll(1000).values() for record in records]
    consumer.close()
    return frames[:count]


def records_on(bootstrap: str) -> int:
    consumer = create_consumer(bootstrap)
    partitions = [TopicPartition(DETECTIONS, each) for each in consumer.partitions_for_topic(DETECTIONS)]
    total: int = sum(consumer.end_offsets(partitions).values())
    consumer.close()
    return total


def cpu_seconds(processes: dict[str, psutil.Process]) -> dict[str, float]:
    return {name: sum(process.cpu_times()[:2]) for name, process in processes.items()}


@dataclass(frozen=True)
class System:
    """A running broker and ingest."""

    bootstrap: str
    port: int
    processes: dict[str, psutil.Process]


@contextmanager
def system(folder: Path) -> Iterator[System]:
    """Run a broker with topics and sensors, and ingest."""
    kafka_port, port = free_ports(2)
    broker = Broker(folder / "kafka", kafka_port)
    broker.start()
    environment = {**os.environ, "COINCIDE_INGEST_KAFKA_BOOTSTRAP": broker.bootstrap, "COINCIDE_INGEST_PORT": str(port)}
    admin = create_admin(broker.bootstrap)
    create_topics(admin, load_topics(ROOT / "config" / "topics.yaml"))
    admin.close()
    seed(broker.bootstrap, sensors(), prune=False, dry_run=False)
    ingest = subprocess.Popen([sys.executable, "-m", "services.ingest"], cwd=ROOT, env=environment)
    try:
        wait_ready(port)
        children = {
            "broker" if "kafka.Kafka" in each.cmdline() else "ingest": each for each in psutil.Process().children()
        }
        yield System(broker.bootstrap, port, {**children, "generator": psutil.Process()})
    finally:
        ingest.terminate()
        ingest.wait(30)
        broker.stop()


def wait_ready(port: int, timeout_s: float = 30.0) -> None:
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("ingest did not become ready")


def measure(running: System, detections: int, connections: int, seconds: float) -> str:
    uvloop.run(load_http(running.port, detections, connections, seconds / 4))  # warm
    records, cpu_s = records_on(running.bootstrap), cpu_seconds(running.processes)
    http = uvloop.run(load_http(running.port, detections, connections, seconds))
    spent_s = {name: after - cpu_s[name] for name, after in cpu_seconds(running.processes).items()}
    arrived = records_on(running.bootstrap) - records
    assert arrived == http.posts, f"{http.posts} POSTs were acknowledged, Kafka has {arrived} frames"
    frames = frames_of(running.bootstrap, 64)
    transport = load_transport(running.bootstrap, frames, detections, connections, seconds)
    return row(detections, replace(http, cpu_s=spent_s), transport)


def row(detections: int, http: Load, transport: Load) -> str:
    p50_s, p99_s = (quantiles(http.latencies_s, n=100)[each] for each in (49, 98))
    met = "met" if http.per_s >= BARS[detections] else "MISSED"
    cpu_us = " / ".join(f"{http.cpu_s[name] / http.detections * 1e6:.1f}" for name in ("ingest", "broker", "generator"))
    return (
        f"| {detections} | {http.per_s:,.0f} | {BARS[detections]:,} {met} | {http.posts / http.seconds:,.0f} "
        f"| {p50_s * 1e3:.1f} | {p99_s * 1e3:.1f} | {cpu_us} | {transport.per_s:,.0f} "
        f"| {http.per_s / transport.per_s:.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement (default: %(default)s)")
    parser.add_argument("--connections", type=int, default=32, help="keep-alive connections (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, system(Path(folder)) as running:
        rows = [measure(running, each, options.connections, options.seconds) for each in BARS]
    print("## Ingest: one process; load generator and broker on the same cores; every POST acknowledged by Kafka\n")
    print(f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|", *rows, sep="\n")
    packages = ("kafka-python", "fastapi", "uvicorn", "uvloop", "httptools", "msgspec")
    print(f"\n{', '.join(f'{name} {version(name)}' for name in packages)}; Python {platform.python_version()}; ")
    print(f"{platform.machine()}, {os.cpu_count()} cores, load average before printing {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
