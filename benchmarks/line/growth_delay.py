"""From a frame in Kafka to its match at the live stream's client, as areas and queries grow.

A detection of each area comes first. Then a frame with one pair comes every half second, each of another area, and each
query answers with a match. The system is up, and ingest is left out: it knows nothing of areas and queries. Wall time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import quantiles
from typing import NamedTuple

from kafka import KafkaProducer

from benchmarks.harness.declaration import Benchmark, Options, Table
from benchmarks.harness.frames import frame_json
from benchmarks.line.latency import Arrivals, arrivals_of, read_live
from benchmarks.line.throughput import Progress
from benchmarks.line.whole_line import QUERY, running
from coincide import Histogram
from deploy.host.machine import wait_until
from deploy.local.system import System
from services.common.kafka.clients import create_producer
from services.common.topics.topic_names import DEFAULT_NAMES

TEMPLATE = Histogram.uniform(-0.0001, 0.0001)
DETECTIONS = DEFAULT_NAMES.full("detections")
PAUSE_S = 0.5
ALL_CAME_S = 300


class Size(NamedTuple):
    areas: int
    queries: int


SIZES = [Size(64, 1), Size(64, 100), Size(100_000, 1), Size(100_000, 100)]


def frame(area: int, streams: tuple[str, ...]) -> bytes:
    """Return a frame of an area in which each stream has one detection, all of them now."""
    now_us = time.time_ns() // 1000
    stamps = [(f"{stream}-{area}", stream, TEMPLATE) for stream in streams]
    columns = {
        "stamp": [*range(len(streams))],
        "detected_at_us": [now_us] * len(streams),
        "id": [f"{stream}-{now_us}" for stream in streams],
        "attributes": [{"sent_us": now_us}] * len(streams),
    }
    return frame_json(f"area-{area}", now_us, stamps, columns)


def send(producer: KafkaProducer, area: int, *streams: str) -> None:
    producer.send(DETECTIONS, key=f"area-{area}".encode(), value=frame(area, streams))


def measured(system: System, size: Size, pairs: int) -> Arrivals:
    """Return how long the matches of so many pairs took."""
    for nth in range(1, size.queries):
        system.alerting.put(f"/v1/queries/pairs-{nth}", json=QUERY).raise_for_status()
    producer = create_producer(system.layout.kafka)
    for area in range(size.areas):
        send(producer, area, "seismic")
    producer.flush(60)
    if not wait_until(lambda: Progress.of(system).joined >= size.areas, ALL_CAME_S):
        raise SystemExit(f"fusion has not taken one detection of each of {size.areas} areas in {ALL_CAME_S} s")
    arrivals = arrivals_of(read_live, system)
    for nth in range(pairs):
        if nth == pairs // 4:  # those before warmed up
            arrivals.wait_for(nth * size.queries)
            arrivals.begin()
        send(producer, nth * 7_919 % size.areas, "seismic", "acoustic")
        time.sleep(PAUSE_S)
    arrivals.wait_for((pairs - pairs // 4) * size.queries)
    producer.close(timeout=5)
    return arrivals


def rows(sizes: list[Size], pairs: int) -> Iterator[list[object]]:
    for size in sizes:
        with running(max_delay_s=120) as system:
            cuts = quantiles(measured(system, size, pairs).seconds, n=100)
        yield [*size, f"{cuts[49]:.2f}", f"{cuts[98]:.2f}"]


def tables(options: Options) -> Iterator[Table]:
    sizes, pairs = ([Size(1_000, 10)], 12) if options.quick else (SIZES, 120)
    yield Table(["areas", "queries", "p50 s", "p99 s"], rows(sizes, pairs))


BENCHMARKS = [Benchmark("growth_delay", "how late a match is as areas and queries grow", [tables], is_service=True)]
