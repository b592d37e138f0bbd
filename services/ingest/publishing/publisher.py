"""Publishing to a log: every wait bounded, bytes in flight capped."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial

from services.common.clock import Clock, system_clock_us
from services.common.log.faults import LogError, PartlyAppendedError
from services.common.log.log import Log
from services.common.log.records import NewRecord, RecordPosition
from services.common.topics.topic_names import TopicNames
from services.ingest.metrics import IngestMetrics
from services.ingest.publishing.completions import Completions
from services.ingest.publishing.frame import Frame, heartbeat


class PublisherBusyError(Exception):
    """Nothing was sent: the log is away, or too many bytes already wait for it. The message is for the caller."""


DETECTIONS = "detections"
DEAD_LETTERS = "dead-letters"


class Publisher:
    """Publishes frames, heartbeats and dead letters.

    The log promises to settle every append within about `timeout_s`; nobody waits for longer than `grace_s` beyond it.
    Bytes of frames and of dead letters in flight are capped, each for themselves.
    """

    def __init__(
        self,
        log: Log,
        metrics: IngestMetrics,
        timeout_s: float,
        most_bytes: int,
        *,
        names: TopicNames,
        most_dead_letter_bytes: int = 1024 * 1024,
        grace_s: float = 2.0,
    ) -> None:
        self._log, self._names, self._metrics = log, names, metrics
        self._detections, self._letters = names.full(DETECTIONS), names.full(DEAD_LETTERS)
        self._unsettled_s = timeout_s + grace_s
        self._most_bytes, self._most_dead_letter_bytes = most_bytes, most_dead_letter_bytes
        self._bytes = self._dead_letter_bytes = 0
        self._partitions = range(0)
        metrics.in_flight_bytes.set_function(lambda: self._bytes)
        self.log_name = log.name  #: as a person calls it

    def start(self) -> None:
        """Begin; call it on the event loop."""
        self._loop = asyncio.get_running_loop()
        self._completions = Completions(self._loop)

    @property
    def problem(self) -> str | None:
        """Why nothing can be published now, in one sentence; None: it can, as far as is known."""
        return self._log.problem

    async def publish(self, frames: Sequence[Frame], received_at_us: int) -> list[bool]:
        """Append every frame and wait, for a bounded time, until each is settled; return which are safe.

        One that is not may still arrive. Raises `PublisherBusyError`: nothing was appended.
        """
        if self.problem is not None:
            raise PublisherBusyError(f"{self.log_name} is away")
        size = sum(len(frame.value) for frame in frames)
        if self._bytes and self._bytes + size > self._most_bytes:  # one POST alone always has room
            raise PublisherBusyError(f"too many bytes wait for {self.log_name}")
        self._bytes += size
        started_s, at_ms = time.perf_counter(), received_at_us // 1000
        try:
            return await self._landed(
                [NewRecord(self._detections, each.key, each.value, timestamp_ms=at_ms) for each in frames]
            )
        finally:
            self._bytes -= size
            self._metrics.kafka_send_seconds.observe(time.perf_counter() - started_s)

    async def publish_record(self, topic: str, key: bytes, value: bytes | None) -> bool:
        """Append one record to any topic and wait, for a bounded time; return whether it is safe."""
        return all(await self._landed([NewRecord(self._names.full(topic), key, value)]))

    def send_dead_letter(self, key: bytes, value: bytes) -> bool:
        """Hand over one dead letter without waiting; False when it had to be dropped. Never raises."""
        size = len(value)
        if self.problem is not None or self._dead_letter_bytes + size > self._most_dead_letter_bytes:
            return False
        self._dead_letter_bytes += size
        appended = self._log.append([NewRecord(self._letters, key, value)])
        appended.add_done_callback(lambda _appended: self._completions.put(partial(self._settle_letter, size)))
        return True

    async def send_heartbeats(self, interval_s: float, clock_us: Clock = system_clock_us) -> None:
        """Send a heartbeat every `interval_s` seconds until cancelled; never a second before the first is settled."""
        while True:
            await asyncio.sleep(interval_s)
            await self.send_heartbeat(clock_us())

    async def send_heartbeat(self, now_us: int) -> None:
        """Send one to every partition, not counted as in flight; one that did not land is counted, not repeated."""
        landed = False
        if self.problem is None and await self._knows_partitions():
            value, at_ms = heartbeat(now_us), now_us // 1000
            landed = all(
                await self._landed(
                    [
                        NewRecord(self._detections, None, value, timestamp_ms=at_ms, partition=each)
                        for each in self._partitions
                    ]
                )
            )
        (self._metrics.heartbeats if landed else self._metrics.heartbeats_failed).inc()

    async def _knows_partitions(self) -> bool:
        """Ask once how many partitions there are, which a topic keeps for life."""
        if not self._partitions:
            try:
                self._partitions = range(await asyncio.to_thread(self._count_partitions))
            except (LogError, OSError):
                return False
        return True

    def _count_partitions(self) -> int:
        with self._log.reader() as reader:
            return len(reader.partitions_of(self._detections))

    async def _landed(self, records: Sequence[NewRecord]) -> list[bool]:
        """Append records and wait, for a bounded time, until all are settled; return which are safe."""
        settled = self._loop.create_future()
        appended = self._log.append(records)
        appended.add_done_callback(lambda _appended: self._completions.put(partial(_wake, settled)))
        # Not asyncio.timeout, which costs ten times as much.
        deadline = self._loop.call_later(self._unsettled_s, _wake, settled)
        try:
            await settled
        finally:
            deadline.cancel()
        return _safe(appended, len(records))

    def _settle_letter(self, size: int) -> None:
        self._dead_letter_bytes -= size


def _wake(settled: asyncio.Future[None]) -> None:
    if not settled.done():
        settled.set_result(None)


def _safe(appended: Future[list[RecordPosition]], records: int) -> list[bool]:
    """Return which records of an append are safe; where it is not settled, or nobody knows, none is."""
    if not appended.done():
        appended.cancel()  # what still waits is not to be written later
        return [False] * records
    error = appended.exception()
    if isinstance(error, PartlyAppendedError):
        return [each is not None for each in error.positions]
    return [error is None] * records
