"""POST sent -> match at the live stream's client, beside the transport alone, in turns within one run.

`python -m benchmarks.latency`: 1,000 detections a second in POSTs of 20, round 64 areas; one match a POST.
The transport alone (`benchmarks/transport.py`) is Kafka -> stateful Spark -> Kafka with the fusion job's settings, no
join, no HTTP and no database, on the same broker: the same detections are produced to it as frames and timed at a
consumer. Both jobs run all the time, and the load goes to one and to the other in turns, so that both are measured
on the same machine in the same state.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from kafka import KafkaProducer

from benchmarks import whole_line
from benchmarks.arrivals import Arrivals, live_reader, now_us, topic_reader
from deploy.local.java import find_java
from deploy.local.paths import ROOT
from deploy.local.ports import free_ports
from deploy.local.system import System
from deploy.local.waiting import wait_until
from services.common.kafka import create_admin, create_producer
from services.common.topics import create_topics, load_topics

DETECTIONS_PER_POST = 20
TURN_S = 15.0
WARM_UP_S = 10.0
PREFIX = "transport."
ALLOWED = {50: 1.5, 99: 2.0}
AIM_S = {50: 0.5, 99: 1.2}


class Pace:
    """The open loop that both loads keep: POST i is due at start + i / rate, whatever became of those before it."""

    def __init__(self, rate: float) -> None:
        self._posts_per_s = rate / DETECTIONS_PER_POST
        self._spacing_us = round(1e6 * whole_line.AREAS / rate)
        self.posts = 0

    def turn(self, seconds: float) -> Iterator[tuple[float, int]]:
        """Yield (when it is due on the monotonic clock, area) for one turn."""
        start_s = time.monotonic()
        for i in range(int(seconds * self._posts_per_s)):
            yield start_s + i / self._posts_per_s, self.posts % whole_line.AREAS
            self.posts += 1

    def body(self, area: int) -> bytes:
        sent_us = now_us()
        return whole_line.body(area, DETECTIONS_PER_POST, sent_us, self._spacing_us, sent_us)


async def post_turn(client: httpx.AsyncClient, pace: Pace, seconds: float) -> None:
    posts: set[asyncio.Task[None]] = set()
    for due_s, area in pace.turn(seconds):
        await asyncio.sleep(max(0.0, due_s - time.monotonic()))
        posts.add(asyncio.create_task(_post(client, pace.body(area))))
    await asyncio.gather(*posts)


async def _post(client: httpx.AsyncClient, content: bytes) -> None:
    response = await client.post("/v1/detections", content=content, headers={"content-type": "application/json"})
    response.raise_for_status()


def produce_turn(producer: KafkaProducer, pace: Pace, seconds: float) -> None:
    for due_s, area in pace.turn(seconds):
        time.sleep(max(0.0, due_s - time.monotonic()))
        items = json.loads(pace.body(area))
        frame = json.dumps({"v": 1, "area": whole_line.area_name(area), "detections": items}).encode()
        producer.send(PREFIX + "detections", key=whole_line.area_name(area).encode(), value=frame)
    producer.flush(timeout=10)


@contextmanager
def transport(system: System) -> Iterator[None]:
    """Run the transport alone beside the system, on topics and a checkpoint of its own."""
    admin = create_admin(system.layout.bootstrap)
    topics = load_topics(ROOT / "config" / "topics.yaml")
    create_topics(admin, {name.replace("coincide.", PREFIX): topic for name, topic in topics.items()})
    admin.close()
    [port] = free_ports(1)
    environ = {
        **system.layout.environ(find_java().home),
        "COINCIDE_FUSION_TOPIC_PREFIX": json.dumps(PREFIX),
        "COINCIDE_FUSION_CHECKPOINT_PATH": json.dumps(str(system.layout.runtime / "transport")),
        "COINCIDE_FUSION_PORT": str(port),
    }
    with (system.layout.logs / "transport.log").open("wb") as log:
        command = [sys.executable, "-m", "benchmarks.transport"]
        process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=subprocess.STDOUT)
    try:
        ready = wait_until(lambda: _is_ready(port) or process.poll() is not None, 120)
        if not ready or process.poll() is not None:
            raise SystemExit((system.layout.logs / "transport.log").read_text(errors="replace")[-2000:])
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()


def _is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=2).status_code == 200
    except httpx.HTTPError:
        return False


def measure(rate: float, seconds: float) -> tuple[Arrivals, Arrivals]:
    """Return what came out of the whole line and of the transport alone, each under load for ``seconds``."""
    line, alone = Arrivals(), Arrivals()
    with (
        whole_line.running(max_delay_s=120) as system,
        transport(system),
        live_reader(system, line),
        topic_reader(system.layout.bootstrap, PREFIX + "matches", alone),
    ):
        asyncio.run(_in_turns(system, rate, seconds, line, alone))
    return line, alone


async def _in_turns(system: System, rate: float, seconds: float, line: Arrivals, alone: Arrivals) -> None:
    """Warm both up, then load one, wait until all has come out, load the other, and so on."""
    producer = create_producer(system.layout.bootstrap)
    paces = Pace(rate), Pace(rate)
    turns = max(1, round(seconds / TURN_S))
    async with httpx.AsyncClient(base_url=system.layout.url("ingest"), timeout=30.0) as client:
        await post_turn(client, paces[0], WARM_UP_S)
        await asyncio.to_thread(produce_turn, producer, paces[1], WARM_UP_S)
        for arrivals, pace in zip((line, alone), paces, strict=True):
            await asyncio.to_thread(arrivals.wait_for, pace.posts)
            arrivals.begin()
        warming_up = paces[0].posts
        for _ in range(turns):
            await post_turn(client, paces[0], seconds / turns)
            await asyncio.to_thread(line.wait_for, paces[0].posts - warming_up)
            await asyncio.to_thread(produce_turn, producer, paces[1], seconds / turns)
            await asyncio.to_thread(alone.wait_for, paces[1].posts - warming_up)
    producer.close(timeout=5)


def report(rate: float, seconds: float, line: Arrivals, alone: Arrivals) -> str:
    rows = [
        "| percentile | whole line / transport alone | allowed | whole line s | aim s | transport alone s |",
        "|---|---|---|---|---|---|",
    ]
    for percent in (50, 99):
        ours, theirs = line.percentile_s(percent), alone.percentile_s(percent)
        rows.append(
            f"| p{percent} | {ours / theirs:.2f} | {ALLOWED[percent]} | {ours:.3f} | {AIM_S[percent]} | {theirs:.3f} |"
        )
    title = (
        f"## Latency: POST sent -> match at the live stream; {rate:g} detections/s in POSTs of {DETECTIONS_PER_POST}, "
        f"{whole_line.AREAS} areas, {seconds:g} s\n"
    )
    counted = f"\n{len(line.seconds)} matches, {len(alone.seconds)} frames. {whole_line.machine()}"
    return "\n".join([title, *rows, counted])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--rate", type=float, default=1000.0, help="detections a second (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of load on each (default: %(default)s)")
    given = parser.parse_args()
    print(report(given.rate, given.seconds, *measure(given.rate, given.seconds)))


if __name__ == "__main__":
    main()
