"""Backlogs and latencies of all engines, one after another on one broker and the same two cores.

A backlog lies in Kafka before the engine starts. The rate is that from the first tenth of the results to the last one,
so that no start is in it; CPU time and memory are of all processes of the engine, from their start on. Under load, the
latency is from sending the later detection of a pair to its result at a consumer. Wall time.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from subprocess import Popen
from typing import NamedTuple

import msgspec
from kafka import KafkaProducer

from benchmarks.harness.declaration import Benchmark, Options, Table
from benchmarks.peers_line.contestants import CONTESTANTS, OUR_OUTPUTS, QUERY, Contestant, Job
from benchmarks.peers_line.load import Detections, chunks, detections, pairs
from benchmarks.peers_line.watching import Answer, Arrivals, Meter, Steady, Used, judged, numbers
from deploy.host.machine import free_ports
from deploy.local.broker import Broker
from services.common.kafka.clients import create_admin, create_producer
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.topic_creation import create_topics
from services.common.log.declared_topic import Topic

BACKLOG_RATE = 6_400.0  # detections a second of event time: 100 in each area
LIVE_RATE = 1_000.0
QUIET_S = 60.0  # nothing new for so long: nothing more will come
LONGEST_S = 1_800.0
CORES = 2


class Sizes(NamedTuple):
    """How many detections wait, for how long there is load, and for how long before that."""

    backlog: int
    load_s: float
    warm_up_s: float


FULL, QUICK = Sizes(2_000_000, 60.0, 20.0), Sizes(60_000, 6.0, 3.0)


class Drained(NamedTuple):
    """A backlog that an engine has worked off; the first two without its start, the others with it."""

    per_s: float
    cpu_us: float  # a detection
    took_s: float
    used: Used
    answer: Answer


class Line:
    """A broker, and what has been put on it."""

    def __init__(self, broker: Broker, folder: Path, sizes: Sizes) -> None:
        self.sizes = sizes
        self._bootstrap, self._folder = broker.bootstrap, folder
        self._admin = create_admin(KafkaConnection(servers=self._bootstrap))
        self._filled: set[str] = set()
        self._jobs = 0

    def job(self, contestant: Contestant, prefix: str, size: int) -> Job:
        """Make the topics that are not there yet, and a folder."""
        self._jobs += 1
        folder = self._folder / f"{self._jobs}-{contestant.name}"
        folder.mkdir()
        names = [prefix + each for each in (*contestant.topics, *(OUR_OUTPUTS if contestant.is_ours else ()))]
        results, forever = contestant.results(prefix), {"retention.ms": "-1", "max.message.bytes": "1048576"}
        create_topics(self._admin, {name: Topic(partitions=8, configs=forever) for name in {*names, results}})
        return Job(self._bootstrap, prefix, results, folder, size)

    def producer(self, linger_ms: int = 0) -> KafkaProducer:
        return create_producer(
            KafkaConnection(servers=self._bootstrap),
            delivery_timeout_ms=60_000,
            max_block_ms=60_000,
            linger_ms=linger_ms,
        )

    def fill(self, contestant: Contestant, job: Job, of: Detections) -> None:
        """Put the backlog there, unless a run before has done so."""
        if job.prefix not in self._filled:
            self._filled.add(job.prefix)
            producer = self.producer(linger_ms=50)
            if contestant.is_ours:
                ask(producer, job)
            for chunk in chunks(of, job.size):
                put(producer, contestant, job, chunk)
            producer.close()


def put(producer: KafkaProducer, contestant: Contestant, job: Job, chunk: Detections) -> None:
    """Produce detections of one area; a record's own time is that of its newest detection, which Quix goes by."""
    for record in contestant.records(chunk, time.time_ns() // 1000, is_batched=job.size > 1):
        topic, key = job.prefix + record.topic, record.area.encode()
        producer.send(topic, record.value, key, timestamp_ms=record.newest_ms)


def offered(producer: KafkaProducer, contestant: Contestant, job: Job, seconds: float, first_id: int) -> Detections:
    """Produce detections when they are made, or when the last one of their record is; return them."""
    count = round(LIVE_RATE * seconds)
    load = detections(count, LIVE_RATE, first_id, start_ms=time.time_ns() // 1_000_000 + 500)
    for chunk in chunks(load, job.size):
        time.sleep(max(0.0, chunk.times_ms[-1] / 1e3 - time.time()))
        put(producer, contestant, job, chunk)
    producer.flush(30)
    return load


def ask(producer: KafkaProducer, job: Job) -> None:
    """Put our query there."""
    document = {"v": 1, "id": "pairs", "version": 1, "changed_at_us": 0, "query": {"id": "pairs", **QUERY}}
    producer.send(job.prefix + "queries", msgspec.json.encode(document), b"pairs").get(30)


@contextmanager
def line(sizes: Sizes) -> Iterator[Line]:
    """Run a broker, and everything here, on two cores."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(cores)[:CORES])
    folder = Path(tempfile.mkdtemp(prefix="coincide-peers-"))
    broker = Broker(folder / "kafka", free_ports(1)[0])
    broker.start()
    try:
        yield Line(broker, folder, sizes)
    finally:
        broker.stop()
        shutil.rmtree(folder, ignore_errors=True)
        os.sched_setaffinity(0, cores)


def all_came(arrivals: Arrivals, count: int, processes: Sequence[Popen[bytes]], quiet_s: float = QUIET_S) -> None:
    """Return when so many results have come, when no more do, or when an engine's process has ended."""
    ends_s = time.time() + LONGEST_S
    while len(arrivals.values) < count and all(each.poll() is None for each in processes) and time.time() < ends_s:
        if arrivals.at_s and time.time() - arrivals.at_s[-1] > quiet_s:
            return
        time.sleep(0.05)


def drained(of: Line, contestant: Contestant, size: int) -> Drained:
    """Let an engine work a backlog off."""
    backlog = detections(of.sizes.backlog, BACKLOG_RATE)
    expected = pairs(backlog)
    job = of.job(contestant, f"{'frames' if contestant.is_ours else 'records'}-{size}.", size)
    of.fill(contestant, job, backlog)
    arrivals, started_s = Arrivals(job.bootstrap, job.results).start(), time.time()
    with contestant.running(job) as processes:
        meter = Meter([each.pid for each in processes])
        all_came(arrivals, len(expected), processes)
        used = meter.stop()
    arrivals.stop()
    answer = judged(numbers([contestant.pair(value) for value in arrivals.values]), expected)
    took_s = (arrivals.at_s[-1] if arrivals.at_s else time.time()) - started_s
    steady = Steady.of(arrivals.at_s, of.sizes.backlog)
    return Drained(steady.per_s, steady.cpu_us(meter), took_s, used, answer)


def latencies(of: Line, contestant: Contestant, size: int) -> tuple[list[float], Answer]:
    """Return how many seconds each pair took under load, and whether all came; the warm-up is not counted."""
    job = of.job(contestant, f"live-{contestant.name}-{size}.", size)
    arrivals, producer = Arrivals(job.bootstrap, job.results).start(), of.producer()
    if contestant.is_ours:
        ask(producer, job)
    with contestant.running(job) as processes:
        warm_up = offered(producer, contestant, job, of.sizes.warm_up_s, 0)
        all_came(arrivals, len(pairs(warm_up)), processes)
        warm = len(arrivals.values)
        load = offered(producer, contestant, job, of.sizes.load_s, len(warm_up.ids))
        all_came(arrivals, warm + len(pairs(load)), processes)
    producer.close()
    arrivals.stop()
    came = [(at_s, contestant.pair(value)) for at_s, value in zip(arrivals.at_s, arrivals.values, strict=True)]
    counted = [(at_s, pair) for at_s, pair in came if pair[0] >= load.ids[0]]
    taken_s = [at_s - sent_us / 1e6 for at_s, (_, _, sent_us) in counted]
    return taken_s, judged(numbers(pair for _, pair in counted), pairs(load))


def tables(options: Options) -> Iterator[Table]:
    sizes = QUICK if options.quick else FULL
    given = [(each.name, each.why_not() or each.given) for each in CONTESTANTS]
    here = [each for each in CONTESTANTS if each.why_not() is None]
    runs = [(each, size) for each in here for size in (each.sizes[:1] if options.quick else each.sizes)]
    yield Table(("engine", "what it is given"), given)
    with line(sizes) as of:
        yield Table(("engine", "detections a record", *BACKLOG), backlog_rows(of, runs))
        yield Table(("engine", "detections a record", *LATENCY), latency_rows(of, runs))


BACKLOG = (
    "ours is so many times as fast",
    "CPU / ours",
    "detections/s",
    "CPU µs a detection",
    "s with start",
    "CPU s with start",
    "peak MB",
    "pairs",
)
LATENCY = ("p50 / ours", "p99 / ours", "p50 s", "p99 s", "pairs")
Run = tuple[Contestant, tuple[int, int]]


def backlog_rows(of: Line, runs: Iterable[Run]) -> Iterator[list[object]]:
    """Yield a row for each engine; the first one, ours, is what the ratios compare with."""
    ours = None
    for contestant, (size, _) in runs:
        found = drained(of, contestant, size)
        ours = ours or found
        ratios = [ratio(ours.per_s, found.per_s), ratio(found.cpu_us, ours.cpu_us)]
        costs = [round(found.took_s), round(found.used.cpu_s), round(found.used.peak_bytes / 1e6)]
        yield [contestant.name, size, *ratios, round(found.per_s), f"{found.cpu_us:.1f}", *costs, found.answer.words]


def ratio(one: float, other: float) -> str:
    return f"{one / other:.2f}" if other else "-"


def latency_rows(of: Line, runs: Iterable[Run]) -> Iterator[list[object]]:
    ours_s = None
    for contestant, (_, size) in runs:
        taken_s, answer = latencies(of, contestant, size)
        cuts = quantiles(taken_s, n=100) if len(taken_s) > 1 else [float("nan")] * 99
        both_s = (cuts[49], cuts[98])
        ours_s = ours_s or both_s
        ratios = [ratio(each, own) for each, own in zip(both_s, ours_s, strict=True)]
        yield [contestant.name, size, *ratios, *(f"{each:.3f}" for each in both_s), answer.words]


BENCHMARKS = [
    Benchmark("peers_line", "a backlog and latency beside Flink, Spark SQL and Quix", [tables], is_service=True)
]
