"""When what was sent comes out: at the live stream's client, and at a topic's consumer."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import quantiles

import httpx
from kafka import KafkaConsumer

from deploy.local.system import System
from deploy.local.waiting import wait_until

ALL_CAME_S = 120.0


def now_us() -> int:
    return time.time_ns() // 1000


@dataclass
class Arrivals:
    """How long what was sent took to come out; what was sent before ``from_us`` was warming up."""

    from_us: int = 0
    seconds: list[float] = field(default_factory=list)

    def came(self, sent_us: int) -> None:
        if sent_us >= self.from_us:
            self.seconds.append((now_us() - sent_us) / 1e6)

    def begin(self) -> None:
        """Forget what has come so far."""
        self.from_us = now_us()
        self.seconds.clear()

    def wait_for(self, count: int) -> None:
        """Return when ``count`` have come; none may be left out, least of all the slowest."""
        if not wait_until(lambda: len(self.seconds) >= count, ALL_CAME_S):
            raise SystemExit(f"{len(self.seconds)} of {count} came out within {ALL_CAME_S:g} s")

    def percentile_s(self, percent: int) -> float:
        return quantiles(self.seconds, n=100)[percent - 1]


@contextmanager
def live_reader(system: System, arrivals: Arrivals) -> Iterator[None]:
    """Read the live stream as a person's browser would, until the block ends."""
    stopping = threading.Event()

    def read() -> None:
        url = f"{system.layout.url('alerting')}/v1/live"
        with httpx.Client(timeout=httpx.Timeout(30.0)) as client, client.stream("GET", url) as response:
            for line in response.iter_lines():
                if stopping.is_set():
                    return
                if line.startswith("data:"):
                    members = json.loads(line[5:])["members"]
                    if members[0]["detected_at_us"] == members[1]["detected_at_us"]:  # else a match by chance
                        arrivals.came(max(member["attributes"]["sent_us"] for member in members))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()


@contextmanager
def topic_reader(bootstrap: str, topic: str, arrivals: Arrivals) -> Iterator[None]:
    """Consume what the transport puts out, until the block ends."""
    consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=None, fetch_max_wait_ms=100)
    stopping = threading.Event()

    def read() -> None:
        while not stopping.is_set():
            for records in consumer.poll(timeout_ms=200).values():
                for record in records:
                    arrivals.came(json.loads(record.value)["detections"][-1]["attributes"]["sent_us"])

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(timeout=10)
        consumer.close()
