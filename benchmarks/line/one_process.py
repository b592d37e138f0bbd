"""The line in one process: what the services and the job do with a load, without sockets, Kafka, Spark and threads.

POSTs go through ingest's application to a log that keeps the frames. Batches of frames go through the job's
stateful operator, for which Spark's own tester keeps the state. Its records go through alerting's storage into a
SQLite file, and what was stored goes to a reader of the live stream. All of it is the code of the line itself.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec
import pandas as pd
from prometheus_client import CollectorRegistry
from pyspark.sql.streaming.tws_tester import TwsTester
from starlette.types import Message

from benchmarks.line.whole_line import AREAS, HALF_TEMPLATE_S, QUERY, area_name, body_at
from coincide import Histogram, Stream
from coincide.fusion.batches.cores import FusionCores
from coincide.fusion.batches.live_shard import OUTPUT_TOPICS as TOPICS_OF_SHARD
from coincide.fusion.control.limits import Limits
from services.alerting.following.storing import Storage
from services.alerting.live.event_stream import LiveStream
from services.alerting.live.hub import LiveFilter, LiveHub
from services.alerting.metrics import Metrics
from services.alerting.records.records import TOPICS
from services.alerting.settings import AlertingSettings
from services.alerting.store.dialect import migrate, open_engine
from services.common.access.audit import AuditTrail
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.kafka_log import KafkaLog
from services.common.log.records import NewRecord, Record, RecordPosition
from services.common.topics.record_publisher import RecordPublisher
from services.common.topics.topic_names import DEFAULT_NAMES
from services.ingest.app import create_app
from services.ingest.metrics import IngestMetrics
from services.ingest.publishing.publisher import DETECTIONS, Publisher
from services.ingest.registry.sensors import Sensor
from services.ingest.registry.snapshot import Registry
from services.ingest.settings import IngestSettings
from spark_jobs.job.processor import INPUT_COLUMNS, OUTPUT_COLUMNS, FusionProcessor

START_US = 1_760_000_000_000_000
OUTPUT_TOPICS = {name: DEFAULT_NAMES.full(name) for name in TOPICS_OF_SHARD}
PARTITIONS = 8


class Load(NamedTuple):
    """Detections a second, how many a POST has, and how many POSTs fall into a micro-batch."""

    rate: int
    detections_a_post: int
    posts_a_batch: int

    def batches(self, detections: int) -> Iterator[list[tuple[int, bytes]]]:
        """Yield when each POST of a batch is sent, in microseconds, and its body."""
        posts, post_us = detections // self.detections_a_post, 1e6 * self.detections_a_post / self.rate
        for first in range(0, posts, self.posts_a_batch):
            numbers = range(first, min(posts, first + self.posts_a_batch))
            sent = [(nth, START_US + int(nth * post_us)) for nth in numbers]
            yield [(at_us, body_at(at_us, nth, self.rate, self.detections_a_post)) for nth, at_us in sent]


class KeepingLog(KafkaLog):
    """Keeps the frames that it is given, and says at once that they are safe."""

    problem = None

    def __init__(self) -> None:
        super().__init__(KafkaConnection(servers="nowhere:1"))
        self.frames: list[tuple[bytes, bytes]] = []

    def append(self, records: Sequence[NewRecord]) -> Future[list[RecordPosition]]:
        appended: Future[list[RecordPosition]] = Future()
        for each in records:
            assert each.topic == DEFAULT_NAMES.full(DETECTIONS), each.value  # the load has nothing that is refused
            self.frames.append((each.key or b"", each.value or b""))
        appended.set_result([])
        return appended


class Gateway:
    """Ingest's application and the frames that it published."""

    def __init__(self, streams: dict[str, Stream]) -> None:
        registry, metrics = Registry(streams), IngestMetrics(CollectorRegistry())
        registry.replace([dict(_sensors(streams))])
        self.log, self._sent_us = KeepingLog(), START_US
        self._publisher = Publisher(self.log, metrics, 10.0, 64 * 1024 * 1024, names=DEFAULT_NAMES)
        audit = AuditTrail("ingest", RecordPublisher(self.log, 1.0, DEFAULT_NAMES))  # nothing is changed
        self._app = create_app(
            IngestSettings(), registry, self._publisher, metrics, audit=audit, clock_us=lambda: self._sent_us
        )

    async def start(self) -> None:
        self._publisher.start()

    async def post(self, sent_us: int, body: bytes) -> None:
        """POST as a gateway does at that time, without a network in between."""
        self._sent_us, answers = sent_us, list[Message]()
        said = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        scope = {"type": "http", "method": "POST", "path": "/v1/detections", "headers": said, "query_string": b""}

        async def receive() -> Message:
            return {"type": "http.request", "body": body}

        async def send(message: Message) -> None:
            answers.append(message)

        await self._app(scope, receive, send)
        assert answers[0]["status"] == 202, answers


class Fusion:
    """The stateful operator of one shard, with the query in force."""

    def __init__(self, streams: dict[str, Stream]) -> None:
        cores = FusionCores(streams, Limits())
        self._processor = FusionProcessor(cores, f"one-process-{uuid.uuid4()}", [0], OUTPUT_TOPICS)
        TwsTester(self._processor).handle.setGroupingKey(0)
        self._offset = 0
        change = {"v": 1, "id": "pairs", "version": 1, "changed_at_us": 0, "query": {"id": "pairs", **QUERY}}
        self._push("queries", [(b"pairs", msgspec.json.encode(change))])

    def batch(self, frames: Sequence[tuple[bytes, bytes]]) -> Iterator[tuple[str, bytes, bytes]]:
        """Yield the records of one micro-batch: topic, key, value."""
        for answers in self._push("detections", frames):
            yield from zip(*(answers[name].tolist() for name in OUTPUT_COLUMNS), strict=True)

    def _push(self, role: str, records: Sequence[tuple[bytes, bytes]]) -> list[pd.DataFrame]:
        rows = [
            (0, role, crc32(key) % PARTITIONS, offset, key, value)
            for offset, (key, value) in enumerate(records, self._offset)
        ]
        self._offset += len(rows)
        return list(self._processor.handleInputRows((0,), iter([pd.DataFrame(rows, columns=INPUT_COLUMNS)]), None))


class Readers:
    """Alerting's storage on a fresh database, and one reader of the live stream; `matches` came to it so far."""

    def __init__(self, folder: Path) -> None:
        settings, self._engine = AlertingSettings(), open_engine(f"sqlite:///{folder / 'alerting.sqlite3'}")
        migrate(self._engine)
        metrics = Metrics(CollectorRegistry())
        self._storage, self._offset = Storage(self._engine, metrics, DEFAULT_NAMES), 0
        self.matches = self._stored = 0
        self._hub = LiveHub(metrics, settings.live_readers_max, settings.live_queue_matches)
        waits_s = {"heartbeat_s": settings.live_heartbeat_s, "send_timeout_s": settings.live_send_timeout_s}
        self._stream = LiveStream(LiveFilter(), None, self._hub, self._engine, metrics, **waits_s)
        self._opened, self._came = asyncio.Event(), asyncio.Event()

    async def start(self) -> None:
        self._reading = asyncio.create_task(self._stream({"type": "http", "method": "GET"}, self._receive, self._send))
        await self._opened.wait()

    async def stop(self) -> None:
        self._hub.close()
        await self._reading
        self._engine.dispose()

    async def store(self, answers: Iterator[tuple[str, bytes, bytes]], at_us: int) -> None:
        """Store what a batch brought as the follower does; return when the reader has it."""
        read = [each for each in answers if DEFAULT_NAMES.short(each[0]) in TOPICS.names()]
        records = [Record(topic, 0, self._offset, at_us // 1000, key, value) for topic, key, value in read]
        self._offset += 1
        self._stored += sum(record.topic == OUTPUT_TOPICS["matches"] for record in records)
        if rows := self._storage.store(records, []):
            self._came.clear()
            self._hub.publish(rows)
            await self._came.wait()

    async def _receive(self) -> Message:
        await asyncio.Event().wait()
        raise AssertionError("the reader stays")

    async def _send(self, message: Message) -> None:
        text = bytes(message.get("body", b""))
        if b": open" in text:
            self._opened.set()
        self.matches += text.count(b"event: match\n")
        if self.matches == self._stored:
            self._came.set()


class OneProcess(NamedTuple):
    """The parts of the line, one after the other."""

    gateway: Gateway
    fusion: Fusion
    readers: Readers

    async def carry(self, batch: Sequence[tuple[int, bytes]]) -> None:
        """Carry the POSTs of one micro-batch to the live stream."""
        for sent_us, body in batch:
            await self.gateway.post(sent_us, body)
        frames, self.gateway.log.frames = self.gateway.log.frames, []
        await self.readers.store(self.fusion.batch(frames), batch[-1][0])


@asynccontextmanager
async def one_process(folder: Path, max_delay_s: float) -> AsyncIterator[OneProcess]:
    """Start the parts on the running event loop; the database lies in `folder`."""
    streams = {name: Stream(name, max_delay_s=max_delay_s, longest_template_s=1) for name in ("seismic", "acoustic")}
    line = OneProcess(Gateway(streams), Fusion(streams), Readers(folder))
    await line.gateway.start()
    await line.readers.start()
    try:
        yield line
    finally:
        await line.readers.stop()


def _sensors(streams: dict[str, Stream]) -> Iterator[tuple[str, Sensor]]:
    clock = Histogram.uniform(-HALF_TEMPLATE_S, HALF_TEMPLATE_S)
    for area in range(AREAS):
        for stream in streams:
            name = f"{stream}-{area:02d}"
            yield name, Sensor(name, area_name(area), {stream: clock})
