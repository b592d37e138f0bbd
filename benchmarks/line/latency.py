"""POST sent -> match at the live stream's client, beside the transport alone, in turns within one run.

1,000 detections a second in POSTs of 20, round 64 areas; one match a POST. The transport alone (`transport`) is Kafka
-> stateful Spark -> Kafka with the fusion job's settings, no join, no HTTP and no database, on the same broker: the
same detections are produced to it as frames and timed at a consumer. Both jobs run all the time, and the load goes to
one and to the other in turns, so that both are measured on the same machine in the same state. Wall time.

A second table says what a micro-batch of each spent its time on, as Spark tells it (docs/background/latency.md).
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Any

import httpx2
from kafka import KafkaConsumer
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.harness.declaration import Benchmark, Options, Table
from benchmarks.line.gateways import OpenLoop, due_times, is_ready
from benchmarks.line.whole_line import AREAS, area_name, body_now, running
from deploy.host.machine import ROOT, free_ports, wait_until
from deploy.jvm.java import find_java
from deploy.local.system import System
from services.common.kafka.clients import create_admin, create_producer
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.topic_creation import create_topics
from services.common.topics.topics_file import load_topics

DETECTIONS_PER_POST = 20
PREFIX = "transport."
ALL_CAME_S = 120.0
PARTS = {
    "triggerExecution": "whole batch",
    "latestOffset": "latest offsets",
    "queryPlanning": "planning",
    "walCommit": "offset log",
    "addBatch": "the batch itself",
    "stateUpdates": "state updates, a part of it",
    "commitOffsets": "commit log",
}


@dataclass
class Arrivals:
    """How many seconds each POST took to come out; those sent before ``from_us`` were warming up."""

    from_us: int = 0
    seconds: list[float] = field(default_factory=list)

    def came(self, sent_us: int) -> None:
        if sent_us >= self.from_us:
            self.seconds.append((time.time_ns() // 1000 - sent_us) / 1e6)

    def begin(self) -> None:
        self.from_us = time.time_ns() // 1000
        self.seconds.clear()

    def wait_for(self, count: int) -> None:
        """Return when ``count`` have come; none may be left out, least of all the slowest."""
        if not wait_until(lambda: len(self.seconds) >= count, ALL_CAME_S):
            raise SystemExit(f"{len(self.seconds)} of {count} came out within {ALL_CAME_S:g} s")


def read_live(system: System, arrivals: Arrivals) -> None:
    """Read the live stream as a person's browser would."""
    url, timeout = f"{system.layout.url('alerting')}/v1/live", httpx2.Timeout(30.0)
    with httpx2.Client(timeout=timeout) as client, client.stream("GET", url) as response:
        for line in response.iter_lines():
            members = json.loads(line[5:])["members"] if line.startswith("data:") else []
            if len({member["detected_at_us"] for member in members}) == 1:  # else a match by chance
                arrivals.came(max(member["attributes"]["sent_us"] for member in members))


def read_topic(system: System, arrivals: Arrivals) -> None:
    servers = system.layout.bootstrap
    for record in KafkaConsumer(PREFIX + "matches", bootstrap_servers=servers, group_id=None, fetch_max_wait_ms=100):
        arrivals.came(json.loads(record.value)["detections"]["attributes"][-1]["sent_us"])


def arrivals_of(read: Callable[[System, Arrivals], None], system: System) -> Arrivals:
    """Read in the background until the process ends."""
    arrivals = Arrivals()
    threading.Thread(target=read, args=(system, arrivals), daemon=True).start()
    return arrivals


def frame_of(area: str, items: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the items of a POST in columns, as ingest writes them, but without templates and ids."""
    sensors = [*dict.fromkeys(item["sensor"] for item in items)]
    columns = {
        "stamp": [sensors.index(item["sensor"]) for item in items],
        "detected_at_us": [item["detected_at"] for item in items],
        "attributes": [item["attributes"] for item in items],
    }
    return json.dumps({"v": 2, "area": area, "stamps": sensors, "detections": columns}).encode()


class Frames:
    """The same detections as frames on the transport's topic, at the same rate; `posts` so far."""

    def __init__(self, bootstrap: str) -> None:
        self.posts = 0
        self._producer = create_producer(KafkaConnection(servers=bootstrap))

    def offer(self, rate: float, seconds: float) -> None:
        """Produce for so long; return when Kafka has all of it."""
        for wait_s in due_times(rate, DETECTIONS_PER_POST, seconds):
            time.sleep(wait_s)
            area = area_name(self.posts % AREAS)
            items = json.loads(body_now(self.posts, rate, DETECTIONS_PER_POST))
            self._producer.send(PREFIX + "detections", key=area.encode(), value=frame_of(area, items))
            self.posts += 1
        self._producer.flush(timeout=10)


@contextmanager
def transport(system: System) -> Iterator[str]:
    """Run the transport alone beside the system, on topics and a checkpoint of its own; yield its URL."""
    admin = create_admin(system.layout.kafka)
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
        command = [sys.executable, "-m", "benchmarks.line.transport"]
        process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=subprocess.STDOUT)
    try:
        ready = wait_until(lambda: is_ready(port) or process.poll() is not None, 120)
        if not ready or process.poll() is not None:
            raise SystemExit((system.layout.logs / "transport.log").read_text(errors="replace")[-2000:])
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=60)


def batch_parts(url: str) -> Counter[str]:
    """Return how many micro-batches a job has finished so far, as "batches", and the seconds of each part of them."""
    families = text_string_to_metric_families(httpx2.get(f"{url}/metrics").text)
    samples = [sample for family in families for sample in family.samples]
    parts = {each.labels["part"]: each.value for each in samples if each.name.endswith("batch_part_seconds_total")}
    [batches] = [each.value for each in samples if each.name == "coincide_fusion_batches_total"]
    return Counter({**parts, "batches": batches})


def measured(rate: float, seconds: float, warm_up_s: float) -> tuple[list[Arrivals], list[Counter[str]]]:
    """Return what came out of the whole line and of the transport alone, each under load for ``seconds``.

    Beside it are the parts of the micro-batches that brought it, as `batch_parts` has them.
    """
    with running(max_delay_s=120) as system, transport(system) as transport_url:
        posts = OpenLoop(system.layout.ports.ingest, DETECTIONS_PER_POST, body_now)
        frames = Frames(system.layout.bootstrap)
        urls = [system.layout.url("fusion"), transport_url]
        arrivals = [arrivals_of(read, system) for read in (read_live, read_topic)]
        both: list[tuple[Arrivals, OpenLoop | Frames]] = [(arrivals[0], posts), (arrivals[1], frames)]
        for came, load in both:
            load.offer(rate, warm_up_s)
            came.wait_for(load.posts)
            came.begin()
        warming_up, before = posts.posts, [batch_parts(url) for url in urls]
        for _ in range(4):
            for came, load in both:
                load.offer(rate, seconds / 4)
                came.wait_for(load.posts - warming_up)
        return arrivals, [batch_parts(url) - earlier for url, earlier in zip(urls, before, strict=True)]


def tables(options: Options) -> Iterator[Table]:
    both, parts = measured(1_000, *((8, 4) if options.quick else (60, 10)))
    rows = []
    for percent in (50, 99):
        ours_s, transport_s = (quantiles(came.seconds, n=100)[percent - 1] for came in both)
        rows.append([f"p{percent}", f"{ours_s / transport_s:.2f}", f"{ours_s:.3f}", f"{transport_s:.3f}"])
    yield Table(("percentile", "whole line / transport alone", "whole line s", "transport alone s"), rows)
    means = [[f"{1_000 * each[part] / each['batches']:.0f}" for each in parts] for part in PARTS]
    rows = [[name, *mean] for name, mean in zip(PARTS.values(), means, strict=True)]
    yield Table(("part of a micro-batch, mean", "fusion ms", "transport alone ms"), rows)


BENCHMARKS = [Benchmark("latency", "from a POST to its match, beside Kafka and Spark alone", [tables], is_service=True)]
