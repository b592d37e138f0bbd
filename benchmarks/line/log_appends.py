"""How many appends a second a log takes, each of one record and safe before its writer goes on, and how fast it reads.

The log in a file and the one in Kafka stand side by side, on the same disk. Writers are coroutines of one process, as
the services' are. Wall time.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles

import uvloop

from benchmarks.harness.declaration import Benchmark, Options, Table
from deploy.host.machine import free_ports
from deploy.local.broker import Broker
from services.common.kafka.kafka_log import KafkaLog
from services.common.local_log.local_log import LocalLog
from services.common.log.declared_topic import Topic
from services.common.log.log import Log
from services.common.log.records import NewRecord, TopicPartition

WRITERS = 1, 16, 64
VALUE = bytes(range(250)) * 2  # as long as a frame of one detection
LONG = VALUE * 20  # and as one of fifty
TOPIC = "appended"


@contextmanager
def both_logs(folder: Path) -> Iterator[Mapping[str, Log]]:
    """Run a broker, and yield both logs with an empty topic."""
    broker = Broker(folder / "kafka", free_ports(1)[0])
    broker.start()
    logs: dict[str, Log] = {"file": LocalLog(folder / "log.sqlite"), "Kafka": KafkaLog(broker.connection)}
    try:
        for log in logs.values():
            log.create_topics({TOPIC: Topic(partitions=1), "long": Topic(partitions=1)})
        yield logs
    finally:
        for log in logs.values():
            log.close()
        broker.stop()


async def took_s(log: Log, writers: int, seconds: float) -> list[float]:
    """Let so many writers append for so long, and return how long each append took."""
    until_s, waits_s = time.perf_counter() + seconds, list[float]()

    async def write() -> None:
        while (began_s := time.perf_counter()) < until_s:
            await asyncio.wrap_future(log.append([NewRecord(TOPIC, b"area", VALUE)]))
            waits_s.append(time.perf_counter() - began_s)

    await asyncio.gather(*(write() for _ in range(writers)))
    return waits_s


def measured(logs: Mapping[str, Log], writers: int, seconds: float) -> list[object]:
    """Return a row: what each log does with so many writers."""
    cells: list[object] = [writers]
    for log in logs.values():
        uvloop.run(took_s(log, writers, seconds / 4))  # warm
        before = log.transactions if isinstance(log, LocalLog) else 0
        waits_s = uvloop.run(took_s(log, writers, seconds))
        p50_s, p99_s = (quantiles(waits_s, n=100)[each] for each in (49, 98))
        cells += [f"{len(waits_s) / seconds:,.0f}", f"{p50_s * 1e3:.1f}, {p99_s * 1e3:.1f}"]
        if isinstance(log, LocalLog):
            cells.append(f"{len(waits_s) / (log.transactions - before):.1f}")
    return cells


def reading(logs: Mapping[str, Log], value: bytes, megabytes: int) -> list[object]:
    """Return a row: how fast records of so many bytes are read, after they were appended."""
    cells: list[object] = [len(value)]
    count, place = megabytes * 10**6 // len(value), TopicPartition("long", 0)
    for log in logs.values():
        appended = [log.append([NewRecord("long", b"area", value)] * 100).result(60) for _ in range(count // 100)]
        first, end = appended[0][0].offset, appended[-1][-1].offset + 1
        with log.reader() as reader:
            reader.read_from({place: first})
            began_s = time.perf_counter()
            read = sum(len(each.value or b"") for some in reader.up_to({place: end}) for each in some)
            spent_s = time.perf_counter() - began_s
        assert read == (end - first) * len(value)
        cells += [f"{read / spent_s / 1e6:.0f}", f"{(end - first) / spent_s:,.0f}"]
    return cells


def tables(options: Options) -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as folder, both_logs(Path(folder)) as logs:
        headings = [
            "writers",
            *("file: appends/s", "p50, p99 ms", "appends a transaction"),
            *("Kafka: appends/s", "p50, p99 ms"),
        ]
        yield Table(headings, (measured(logs, each, 1.0 if options.quick else 10.0) for each in WRITERS))
        headings = ["bytes a record", "file: MB/s", "records/s", "Kafka: MB/s", "records/s"]
        yield Table(headings, (reading(logs, each, 5 if options.quick else 100) for each in (VALUE, LONG)))


BENCHMARKS = [Benchmark("log_appends", "a log in a file and one in Kafka", [tables], is_service=True)]
