"""How many detections a second one ingest process takes, every POST acknowledged by Kafka.

Load generator, ingest and broker share this machine's cores. Each POST is one gateway's: detections of one of 64 areas.
Beside it, in the same run, kafka-python sends the same frames to the same broker without any HTTP, with as many in
flight; the ratio says what HTTP, validation and stamping cost. Wall time.

Then ingest starts anew with 100,000 sensors on the topic: when it is ready, and how much memory it has.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple

import psutil
import uvloop
from kafka import TopicPartition

from benchmarks.harness.declaration import Benchmark, Options, Table
from benchmarks.harness.rounds import cpu_seconds
from benchmarks.line.gateways import as_fast_as_answered, is_ready
from coincide import Histogram
from deploy.host.machine import ROOT, free_ports, wait_until
from deploy.local.broker import Broker
from services.common.kafka.clients import create_admin, create_consumer, create_producer
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.topic_creation import create_topics
from services.common.topics.topic_names import DEFAULT_NAMES
from services.common.topics.topics_file import load_topics
from services.ingest.registry.seed import seed
from services.ingest.registry.sensors import Sensor

AREAS, BODIES, CONNECTIONS = 64, 512, 32
START_S = 1_760_000_000
DETECTIONS = DEFAULT_NAMES.full("detections")
NAMES = ("ingest", "broker", "generator")


class IngestAlone(NamedTuple):
    """A running broker and ingest, and nothing else, ready after `ready_s`; this process is the "generator"."""

    bootstrap: str
    port: int
    processes: dict[str, psutil.Process]
    ready_s: float

    def used_s(self) -> list[float]:
        """CPU seconds so far, in the order of `NAMES`."""
        return [cpu_seconds(self.processes[name]) for name in NAMES]


def one_in_each_area() -> dict[str, Sensor]:
    streams, ids = {"seismic": Histogram.normal(sigma_s=0.5)}, [f"sensor-{n:03d}" for n in range(AREAS)]
    return {name: Sensor(name, f"area-{n:02d}", streams) for n, name in enumerate(ids)}


def many(count: int, templates: int) -> dict[str, Sensor]:
    """Return so many sensors in 10,000 areas, with so many templates in all."""
    streams = [{"seismic": Histogram.normal(sigma_s=0.1 + n / templates)} for n in range(templates)]
    ids = [f"sensor-{n:06d}" for n in range(count)]
    return {name: Sensor(name, f"area-{n % 10_000:05d}", streams[n % templates]) for n, name in enumerate(ids)}


@contextmanager
def ingest_alone(folder: Path, sensors: Mapping[str, Sensor]) -> Iterator[IngestAlone]:
    """Run a broker with topics and these sensors, and ingest."""
    kafka_port, port = free_ports(2)
    broker = Broker(folder / "kafka", kafka_port)
    broker.start()
    settings = {"PORT": str(port), "HEARTBEAT_S": "null"}  # it counts records
    environ = {**os.environ, **{f"COINCIDE_INGEST_{name}": value for name, value in settings.items()}}
    environ["COINCIDE_KAFKA_SERVERS"] = broker.bootstrap
    admin = create_admin(broker.connection)
    create_topics(admin, load_topics(ROOT / "config" / "topics.yaml"))
    admin.close()
    seed(broker.connection, sensors, prune=False, dry_run=False)
    started_s = time.monotonic()
    with (folder / "ingest.log").open("wb") as log:
        command = [sys.executable, "-m", "services.ingest"]
        ingest = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log)
    try:
        if not wait_until(lambda: is_ready(port), 120):
            raise SystemExit("ingest did not become ready")
        ready_s = time.monotonic() - started_s
        children = psutil.Process().children()
        processes = {"broker" if "kafka.Kafka" in each.cmdline() else "ingest": each for each in children}
        yield IngestAlone(broker.bootstrap, port, {**processes, "generator": psutil.Process()}, ready_s)
    finally:
        ingest.terminate()
        ingest.wait(30)
        broker.stop()


def body(number: int, detections: int) -> bytes:
    """Return one gateway's POST: RFC 3339 times, two attributes, no ids (the server makes them)."""
    second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(START_S + number))
    sensor, times = f"sensor-{number % AREAS:03d}", (f"{second}.{n:06d}Z" for n in range(detections))
    attributes = ({"amplitude": n / 8, "channel": "HHZ"} for n in range(detections))
    columns = zip(times, attributes, strict=True)
    return json.dumps([{"sensor": sensor, "detected_at": at, "attributes": of} for at, of in columns]).encode()


def frames_per_s(bootstrap: str, frames: list[bytes], seconds: float) -> float:
    """Send `frames` round and round with the settings that ingest uses; return how many a second Kafka took."""
    producer, slots, failures = (
        create_producer(KafkaConnection(servers=bootstrap)),
        threading.Semaphore(CONNECTIONS),
        list[BaseException](),
    )
    producer.partitions_for(DETECTIONS)
    started_s, sent = time.perf_counter(), 0
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
    return sent / took_s


def newest(bootstrap: str, count: int) -> tuple[int, list[bytes]]:
    """Return how many frames there are on the topic of detections, and the newest `count` of them."""
    consumer, frames = create_consumer(KafkaConnection(servers=bootstrap)), list[bytes]()
    partitions = [TopicPartition(DETECTIONS, each) for each in consumer.partitions_for_topic(DETECTIONS)]
    consumer.assign(partitions)
    ends: dict[TopicPartition, int] = consumer.end_offsets(partitions)
    for partition, end in ends.items():
        consumer.seek(partition, max(0, end - count // len(partitions) - 1))
    while len(frames) < count:
        frames += [record.value for records in consumer.poll(1000).values() for record in records]
    consumer.close()
    return sum(ends.values()), frames[:count]


def measured(running: IngestAlone, detections: int, seconds: float) -> list[object]:
    """Return a row: POSTs of so many detections through ingest, then their frames without it."""
    contents = [body(number, detections) for number in range(BODIES)]
    uvloop.run(as_fast_as_answered(running.port, contents, CONNECTIONS, seconds / 4))  # warm
    records, _ = newest(running.bootstrap, 0)
    used_s, started_s = running.used_s(), time.perf_counter()
    latencies_s = uvloop.run(as_fast_as_answered(running.port, contents, CONNECTIONS, seconds))
    posts_per_s, posts = len(latencies_s) / (time.perf_counter() - started_s), len(latencies_s)
    spent_s = [now - before for now, before in zip(running.used_s(), used_s, strict=True)]
    now, frames = newest(running.bootstrap, 64)
    assert now - records == posts, f"{posts} POSTs were acknowledged, Kafka has {now - records} frames"
    ratio = posts_per_s / frames_per_s(running.bootstrap, frames, seconds)
    cpu_us = [f"{each / posts / detections * 1e6:.1f}" for each in spent_s]
    p50_s, p99_s = (quantiles(latencies_s, n=100)[each] for each in (49, 98))
    rates = [f"{ratio:.2f}", f"{posts_per_s * detections:,.0f}"]
    return [detections, *rates, " / ".join(cpu_us), f"{p50_s * 1e3:.1f}, {p99_s * 1e3:.1f}"]


def tables(options: Options) -> Iterator[Table]:
    cpu = f"CPU µs a detection: {' / '.join(NAMES)}"
    headings = ("a POST", "against kafka-python sending the same frames", "detections/s", cpu, "p50, p99 ms")
    with tempfile.TemporaryDirectory() as folder, ingest_alone(Path(folder), one_in_each_area()) as running:
        yield Table(headings, [measured(running, each, 1.0 if options.quick else 10.0) for each in (20, 500)])
    count = 1_000 if options.quick else 100_000
    headings = ("sensors", "templates", "ready after s", "CPU s", "MB")
    yield Table(headings, [started(count, templates) for templates in (50, count)])


def started(count: int, templates: int) -> list[object]:
    """Return a row: ingest starts with so many sensors on the topic."""
    sensors = many(count, templates)
    with tempfile.TemporaryDirectory() as folder, ingest_alone(Path(folder), sensors) as running:
        ingest = running.processes["ingest"]
        megabytes = ingest.memory_info().rss / 1e6
        return [count, templates, f"{running.ready_s:.1f}", f"{cpu_seconds(ingest):.1f}", f"{megabytes:.0f}"]


BENCHMARKS = [Benchmark("ingest", "POSTs through one ingest process, beside kafka-python", [tables], is_service=True)]
