"""Alerting's way of a match, alone: CPU time from the bytes that Kafka's client holds to SQLite and the live stream.

The fusion core makes the records, those of `fusion_core` at 60,000 detections a second. They stand in record batches,
as Kafka sends them. Kafka's client unpacks them, alerting's storage writes them into a file, and the live hub hands
them to its readers. There is no socket and no broker.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec
from kafka import TopicPartition
from kafka.consumer.fetcher import Fetcher
from kafka.record import MemoryRecords, MemoryRecordsBuilder
from prometheus_client import CollectorRegistry

from benchmarks.harness.declaration import Benchmark, Costs
from benchmarks.harness.rounds import Stopwatch, Work
from benchmarks.line import fusion_core
from services.alerting.following.followed_topics import Position
from services.alerting.following.storing import Storage
from services.alerting.live.event_stream import LiveStream
from services.alerting.live.hub import LiveFilter, LiveHub
from services.alerting.metrics import Metrics
from services.alerting.store.dialect import migrate, open_engine
from services.common.topics.topic_names import DEFAULT_NAMES

MATCHES = TopicPartition(DEFAULT_NAMES.full("matches"), 0)
BATCH_BYTES = 256 * 1024  # as the fusion job's producer fills them
CORE = fusion_core.Size(frames_a_push=36, seconds=10.0)


class Size(NamedTuple):
    """How many matches come with one poll, and how many are stored."""

    matches_a_poll: int
    matches: int


@cache
def match_records() -> list[tuple[bytes, bytes]]:
    """Return key and value of every match of a run of the core."""
    core_type, limits, record = fusion_core.core_types()
    core, found = core_type(fusion_core.STREAMS, limits(), shard=0), list[tuple[bytes, bytes]]()
    change = {"v": 1, "id": "pairs", "version": 1, "changed_at_us": 0, "query": fusion_core.QUERY}
    core.push([record("queries", 0, 0, b"pairs", msgspec.json.encode(change))])
    for batch in fusion_core.batches(CORE, record):
        found += core.push(batch).matches
        core.journal()
    return found


def record_batches(matches: int) -> bytes:
    """Return Kafka's record batches with so many matches."""
    records, written, offset = match_records()[:matches], bytearray(), 0
    assert len(records) == matches, f"the core finds only {len(records)} matches"
    while offset < matches:
        builder = MemoryRecordsBuilder(2, 0, BATCH_BYTES, offset)
        while offset < matches and builder.append(time.time_ns() // 1_000_000, *records[offset]):
            offset += 1
        builder.close()
        written += builder.buffer()
    return bytes(written)


def polls(fetched: bytes, size: Size) -> Iterator[list[Any]]:
    """Yield the records of each poll, unpacked by Kafka's client."""
    partition = Fetcher.PartitionRecords(0, MATCHES, MemoryRecords(fetched))
    for _ in range(0, size.matches, size.matches_a_poll):
        yield partition.take(size.matches_a_poll)


def storing(size: Size, *, readers: int) -> tuple[int, Work]:
    """Return how many matches there are, and work that stores them; the answer is how many came to the database."""

    def work(watch: Stopwatch) -> int:
        fetched, metrics = record_batches(size.matches), Metrics(CollectorRegistry())
        with tempfile.TemporaryDirectory() as folder:
            engine = open_engine(f"sqlite:///{folder}/alerting.sqlite3")
            migrate(engine)
            storage, hub = Storage(engine, metrics, DEFAULT_NAMES), LiveHub(metrics, readers + 1, size.matches)
            seats = [hub.seat(LiveFilter()) for _ in range(readers)]
            for seat in seats:
                hub.join(seat, 0)
            stream = LiveStream(LiveFilter(), None, hub, engine, metrics, heartbeat_s=60.0, send_timeout_s=60.0)

            async def follow() -> None:
                for records in polls(fetched, size):
                    hub.publish(storage.store(records, [Position(MATCHES.topic, 0, "id", records[-1].offset + 1)]))
                    for seat in seats:
                        stream._encoded(await seat.next())

            with watch:
                asyncio.run(follow())
            engine.dispose()
        return int(metrics.registry.get_sample_value("coincide_alerting_matches_total", {"query": "pairs"}) or 0)

    return size.matches, work


COSTS = Costs(
    item="a match",
    ways=("nobody listens", "two readers"),
    sizes=[Size(100, 10_000), Size(2_000, 10_000)],
    quick=[Size(500, 500)],
    works=lambda size: [storing(size, readers=0), storing(size, readers=2)],
    shows="new",
)
BENCHMARKS = [Benchmark("stored_matches", "a match from Kafka's bytes to the database and the live stream", [COSTS])]
