"""How many detections a second one ingest process takes, every POST acknowledged by Kafka: ``make bench``.

Load generator, ingest and broker share this machine's cores. Each POST is one gateway's: detections of one area.
Beside it, in the same run, the same frames are sent to the same broker by kafka-python without any HTTP,
with as many in flight; the ratio says what HTTP, validation and stamping cost.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import threading
import time
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from statistics import quantiles

import uvloop
from kafka import TopicPartition

from benchmarks.gateways import AREAS, Load, load_http
from benchmarks.ingest_alone import System, cpu_seconds, system
from services.common.kafka import create_consumer, create_producer
from services.ingest.kafka.publisher import DETECTIONS

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
