"""LogPublisher: what ingest publishes by where the log is in this process."""

import asyncio
import time
from collections.abc import Sequence
from functools import partial

from services.common.log.faults import LogError
from services.common.log.log import Log
from services.common.log.records import NewRecord
from services.common.topic_names import TopicNames
from services.ingest.kafka.frame import Frame, heartbeat
from services.ingest.kafka.producer import Completions
from services.ingest.kafka.publisher import DEAD_LETTERS, DETECTIONS, KafkaPublisher, PublisherBusyError
from services.ingest.metrics import IngestMetrics

MOST_DEAD_LETTER_BYTES = 2**20


class LogPublisher(KafkaPublisher):
    """Appends frames, heartbeats and dead letters; what is acknowledged is on the disk."""

    connected = True

    def __init__(self, log: Log, metrics: IngestMetrics, timeout_s: float, most_bytes: int, names: TopicNames) -> None:
        self._log, self._metrics, self._timeout_s, self._most_bytes = log, metrics, timeout_s, most_bytes
        self._detections, self._letters, self._names = names.full(DETECTIONS), names.full(DEAD_LETTERS), names
        self._bytes = self._letter_bytes = 0
        metrics.in_flight_bytes.set_function(lambda: self._bytes)

    def start(self) -> None:
        """Learn how many partitions there are; call it on the event loop."""
        self._completions = Completions(asyncio.get_running_loop())
        with self._log.reader() as reader:
            self._partitions = len(reader.partitions_of(self._detections))

    def stop(self) -> None:
        """Nothing: whoever opened the log closes it."""

    async def publish(self, frames: Sequence[Frame], received_at_us: int) -> list[bool]:
        """Append all frames, and wait until they are on the disk; they are there together, or none is acknowledged.

        Raises `PublisherBusyError`: nothing was appended.
        """
        size = sum(len(frame.value) for frame in frames)
        if self._bytes and self._bytes + size > self._most_bytes:  # one POST alone always has room
            raise PublisherBusyError("too many bytes wait for the log")
        self._bytes += size
        started_s, at_ms = time.perf_counter(), received_at_us // 1000
        try:
            records = [NewRecord(self._detections, each.key, each.value, timestamp_ms=at_ms) for each in frames]
            return [await self._is_appended(records)] * len(frames)
        finally:
            self._bytes -= size
            self._metrics.kafka_send_seconds.observe(time.perf_counter() - started_s)

    async def publish_record(self, topic: str, key: bytes, value: bytes | None) -> bool:
        """Append one record to any topic; return whether it is on the disk."""
        return await self._is_appended([NewRecord(self._names.full(topic), key, value)])

    def send_dead_letter(self, key: bytes, value: bytes) -> bool:
        """Hand over one dead letter without waiting; False when it had to be dropped. Never raises."""
        if self._letter_bytes + len(value) > MOST_DEAD_LETTER_BYTES:
            return False
        self._letter_bytes += len(value)
        appended = self._log.append([NewRecord(self._letters, key, value)])
        appended.add_done_callback(lambda _appended: self._completions.put(partial(self._settle_letter, len(value))))
        return True

    async def send_heartbeat(self, now_us: int) -> None:
        """Append one to every partition."""
        value, at_ms = heartbeat(now_us), now_us // 1000
        numbers = range(self._partitions)
        beats = [NewRecord(self._detections, None, value, timestamp_ms=at_ms, partition=each) for each in numbers]
        landed = await self._is_appended(beats)
        (self._metrics.heartbeats if landed else self._metrics.heartbeats_failed).inc()

    async def _is_appended(self, records: Sequence[NewRecord]) -> bool:
        try:
            await asyncio.wait_for(asyncio.wrap_future(self._log.append(records)), self._timeout_s)
        except (LogError, TimeoutError):
            return False
        return True

    def _settle_letter(self, size: int) -> None:
        self._letter_bytes -= size
