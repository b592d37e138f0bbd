"""Publishing to Kafka: every wait bounded, bytes in flight capped, a producer that broke its word replaced."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from kafka import KafkaProducer
from kafka.errors import KafkaError

from services.common.clock import Clock, system_clock_us
from services.common.kafka.faults import in_words, refusal_of
from services.common.topic_names import TopicNames
from services.ingest.kafka.frame import Frame, heartbeat
from services.ingest.kafka.producer import CLOSE_S, Completions, Connection, Pending
from services.ingest.metrics import IngestMetrics


class PublisherBusyError(Exception):
    """Nothing was sent: Kafka is away, or too many bytes already wait for it. The message is for the caller."""


DETECTIONS = "detections"
DEAD_LETTERS = "dead-letters"
NOT_CONNECTED = "the producer is not connected"

log = logging.getLogger(__name__)


class KafkaPublisher:
    """Publishes frames, heartbeats and dead letters through a producer that its own thread builds, replaces and closes.

    `connect` may block and may raise KafkaError. A producer promises to settle every record within `timeout_s`; one
    that has not `grace_s` later is wedged, and is replaced. Bytes in flight are capped, as the producer has no cap of
    its own. `retry_s` is the pause before the next attempt to connect.

    Kafka is known to be away from when `is_gone` says so, which is asked every `retry_s`, or from a record on that was
    not acknowledged in time, nor any other since it was sent. The producer is given up then, so that nobody waits for
    it, until there is another one.
    """

    problem = NOT_CONNECTED  #: why there is no producer, while there is none

    def __init__(  # noqa: PLR0913 - what it works with, and its limits
        self,
        connect: Callable[[], KafkaProducer],
        metrics: IngestMetrics,
        timeout_s: float,
        most_bytes: int,
        *,
        names: TopicNames,
        is_gone: Callable[[], bool] = lambda: False,
        most_dead_letter_bytes: int = 1024 * 1024,
        grace_s: float = 2.0,
        retry_s: float = 1.0,
    ) -> None:
        self._connect, self._names = connect, names
        self._is_gone = is_gone
        self._metrics = metrics
        self._timeout_s = timeout_s
        self._most_bytes = most_bytes
        self._most_dead_letter_bytes = most_dead_letter_bytes
        self._grace_s = grace_s
        self._retry_s = retry_s
        self._bytes = 0
        metrics.in_flight_bytes.set_function(lambda: self._bytes)
        self._connection: Connection | None = None
        self._discarded: list[Connection] = []
        self._closers: list[threading.Thread] = []
        self._stopping = False
        self._needed = threading.Event()
        self._keeper = threading.Thread(target=self._keep_connected, name="kafka-producer-keeper", daemon=True)

    def start(self) -> None:
        """Begin to connect, in the background; call it on the event loop."""
        self._loop = asyncio.get_running_loop()
        self._completions = Completions(self._loop)
        self._keeper.start()

    def stop(self) -> None:
        """Send what is buffered and close; blocks for a bounded time, so call it off the event loop."""
        self._stopping = True
        self._needed.set()
        self._keeper.join(CLOSE_S * 2)

    @property
    def connected(self) -> bool:
        """Whether there is a producer that knows the topics."""
        return self._connection is not None

    async def publish(self, frames: Sequence[Frame], received_at_us: int) -> list[bool]:
        """Send every frame and wait, for a bounded time, until each is settled; return which all replicas acknowledged.

        One that was not acknowledged may still arrive. Raises `PublisherBusyError`: nothing was sent.
        """
        if (connection := self._connection) is None:
            raise PublisherBusyError("Kafka is away")
        size = sum(len(frame.value) for frame in frames)
        if self._bytes and self._bytes + size > self._most_bytes:  # one POST alone always has room
            raise PublisherBusyError("too many bytes wait for Kafka")
        self._bytes += size
        started_s = time.perf_counter()
        try:
            pending = Pending(len(frames), self._loop)
            for index, frame in enumerate(frames):
                settle, timestamp_ms = partial(pending.settle, index), received_at_us // 1000
                self._send(connection, DETECTIONS, frame.key, frame.value, settle, timestamp_ms=timestamp_ms)
            return await self._settled(connection, pending)
        finally:
            self._bytes -= size
            self._metrics.kafka_send_seconds.observe(time.perf_counter() - started_s)

    async def publish_record(self, topic: str, key: bytes, value: bytes | None) -> bool:
        """Send one record to any topic and wait, for a bounded time; return whether all replicas acknowledged it."""
        if (connection := self._connection) is None:
            return False
        pending = Pending(1, self._loop)
        self._send(connection, topic, key, value, partial(pending.settle, 0))
        return all(await self._settled(connection, pending))

    def send_dead_letter(self, key: bytes, value: bytes) -> bool:
        """Hand over one dead letter without waiting; False when it had to be dropped. Never raises."""
        connection = self._connection
        if connection is None or connection.dead_letter_bytes + len(value) > self._most_dead_letter_bytes:
            return False
        connection.dead_letter_bytes += len(value)
        return self._send(connection, DEAD_LETTERS, key, value, partial(connection.settle, len(value)))

    async def send_heartbeats(self, interval_s: float, clock_us: Clock = system_clock_us) -> None:
        """Send a heartbeat every `interval_s` seconds until cancelled; never a second before the first is settled."""
        while True:
            await asyncio.sleep(interval_s)
            await self.send_heartbeat(clock_us())

    async def send_heartbeat(self, now_us: int) -> None:
        """Send one to every partition, not counted as in flight; one that did not land is counted, not repeated."""
        connection, landed = self._connection, False
        if connection is not None:
            value, pending = heartbeat(now_us), Pending(len(connection.partitions), self._loop)
            for index, partition in enumerate(connection.partitions):
                where = {"partition": partition, "timestamp_ms": now_us // 1000}
                self._send(connection, DETECTIONS, None, value, partial(pending.settle, index), **where)
            landed = all(await self._settled(connection, pending))
        (self._metrics.heartbeats if landed else self._metrics.heartbeats_failed).inc()

    async def _settled(self, connection: Connection, pending: Pending) -> list[bool]:
        """Wait, for a bounded time, until every record is settled; return which were acknowledged."""
        # Not asyncio.timeout, which costs ten times as much.
        deadline = self._loop.call_later(self._timeout_s + self._grace_s, pending.give_up)
        try:
            await pending.settled
        finally:
            deadline.cancel()
        if pending.unsettled:
            self._discard(connection, "it left a frame unsettled beyond its delivery timeout")
        return pending.acknowledged

    def _send(
        self,
        connection: Connection,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        settle: Callable[[bool], None],
        **where_and_when: int,
    ) -> bool:
        """Hand one record to the producer; `settle` is called once, on the event loop. False: it was not taken."""
        try:
            future = connection.producer.send(self._names.full(topic), value, key, **where_and_when)
        except (KafkaError, ValueError, RuntimeError) as error:
            self._discard(connection, f"it refused a record: {type(error).__name__}")
            settle(False)
            return False
        before = connection.acknowledged
        future.add_callback(lambda _metadata: self._completions.put(partial(self._landed, connection, settle)))
        future.add_errback(lambda why: self._completions.put(partial(self._failed, connection, before, settle, why)))
        return True

    def _landed(self, connection: Connection, settle: Callable[[bool], None]) -> None:
        connection.acknowledged += 1
        settle(True)

    def _failed(
        self, connection: Connection, acknowledged_before: int, settle: Callable[[bool], None], why: Exception
    ) -> None:
        settle(False)
        if getattr(why, "retriable", False) and connection.acknowledged == acknowledged_before:
            self._discard(connection, f"Kafka acknowledged nothing in time: {type(why).__name__}")

    def _discard(self, connection: Connection, why: str) -> None:
        if connection is self._connection:
            log.warning("the Kafka producer is replaced: %s", why)
            self._connection = None
            self._discarded.append(connection)
            self._needed.set()

    def _keep_connected(self) -> None:
        while not self._stopping:
            self._needed.clear()
            self._close_discarded()
            if self._connection is not None or not self._try_to_connect():
                self._needed.wait(self._retry_s)
            if (connection := self._connection) is not None and self._is_gone():
                self._completions.put(partial(self._discard, connection, "nothing listens where Kafka was"))
        self._close_discarded()
        if self._connection is not None:
            self._connection.close()
        for closer in self._closers:
            closer.join(CLOSE_S)

    def _try_to_connect(self) -> bool:
        producer, asked = None, ""
        try:
            producer = self._connect()
            for asked in map(self._names.full, (DEAD_LETTERS, DETECTIONS)):  # the event loop must never have to ask
                partitions = producer.partitions_for(asked)
        except (KafkaError, OSError, RuntimeError) as error:
            finds_no_topic = producer is not None  # who has one has heard from Kafka just now
            self.problem = refusal_of(error) or (self._lacks(asked) if finds_no_topic else NOT_CONNECTED)
            log.warning("Kafka cannot be used: %s (%s)", self.problem, in_words(error))
            if producer is not None:
                Connection(producer).close()
            return False
        self.problem = NOT_CONNECTED
        log.info("connected to Kafka")
        self._metrics.producer_starts.inc()
        self._connection = Connection(producer, partitions)
        return True

    def _lacks(self, topic: str) -> str:
        creates = f"`python -m services.common.topics{self._names.option}` creates what is missing"
        return f"Kafka does not find the topic {topic}: {creates}"

    def _close_discarded(self) -> None:
        """Close them on threads of their own: each takes up to `CLOSE_S`, and the next producer need not wait."""
        self._closers = [closer for closer in self._closers if closer.is_alive()]
        while self._discarded:
            closer = threading.Thread(target=self._discarded.pop().close, name="kafka-producer-closer", daemon=True)
            closer.start()
            self._closers.append(closer)
