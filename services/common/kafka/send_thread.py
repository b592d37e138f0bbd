"""SendThread: hands to Kafka's producer what waits, and settles each append once Kafka has acknowledged all of it.

The producer sends together what comes together. One that breaks its word is replaced, so that nothing is delivered
minutes later, and nobody waits for ever.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaTimeoutError

from services.common.kafka.clients import close_producer, create_producer, described_topics
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.log_faults import fault_of, refusal_of_record
from services.common.log.append_queue import Append, AppendQueue
from services.common.log.faults import LogError, NoSuchTopicError, UnusableRecordError
from services.common.log.placing import partition_of
from services.common.log.records import NewRecord, RecordPosition, size_of

LOOK_EVERY_S, CLOSING_S = 0.5, 0.01
GRACE_S = 2.0  # beyond the time in which the producer promises to settle a record

log = logging.getLogger(__name__)


class _Sent:
    """An append that is under way: what is known of its records."""

    def __init__(self, append: Append, until_s: float) -> None:
        self.append, self.until_s = append, until_s
        self._positions: list[RecordPosition | None] = [None] * len(append.records)
        self._unsettled = len(append.records)
        self._lock = threading.Lock()
        self._fault: LogError | None = None

    @property
    def is_settled(self) -> bool:
        return self.append.settled.done()

    def acknowledged(self, index: int, metadata: Any) -> None:
        position = RecordPosition(metadata.topic, metadata.partition, metadata.offset)
        self._settle_one(index, position, None)

    def failed(self, index: int, error: Exception) -> None:
        record = self.append.records[index]
        self._settle_one(index, None, refusal_of_record(error, record.topic, size_of(record)))

    def give_up(self, fault: LogError) -> None:
        """Wait no longer for what Kafka has not said."""
        with self._lock:
            if not self.is_settled:
                self.append.settle(fault)

    def _settle_one(self, index: int, position: RecordPosition | None, fault: LogError | None) -> None:
        with self._lock:
            self._positions[index], self._fault = position, self._fault or fault
            self._unsettled -= 1
            if not self._unsettled and not self.is_settled:
                self.append.settle(self._fault or [each for each in self._positions if each is not None])


class SendThread(threading.Thread):
    """The one thread that a log's producer belongs to; it connects at the first append, and anew after a failure."""

    def __init__(self, kafka: KafkaConnection, queue: AppendQueue, timeout_s: float, most_record_bytes: int) -> None:
        super().__init__(name="log-send", daemon=True)
        self._connect: Callable[[], KafkaProducer] = partial(
            create_producer,
            kafka,
            delivery_timeout_ms=round(timeout_s * 1_000),
            max_request_size=most_record_bytes,
            max_in_flight_requests_per_connection=1,  # one that is sent again must not come after its successor
        )
        self._kafka, self._queue, self._timeout_s = kafka, queue, timeout_s
        self._producer: KafkaProducer | None = None
        self._under_way: deque[_Sent] = deque()
        self.close_s = 2 * timeout_s + 2 * GRACE_S

    def run(self) -> None:
        """Send until the queue is closed and all is settled."""
        while not self._queue.is_over:
            appends = self._queue.take(LOOK_EVERY_S)
            self._look_after()
            self._send(appends)
        while self._under_way:
            time.sleep(CLOSING_S)
            self._look_after()
        self._disconnect()

    def _send(self, appends: list[Append]) -> None:
        fault: LogError | None = None
        for append in appends:
            if fault is not None:  # who waited meanwhile need not wait for the next attempt
                append.settle(fault)
                continue
            try:
                self._send_one(append)
            except Exception as error:  # whatever it is, somebody waits for it
                refusal = fault_of(error)
                append.settle(refusal)
                if refusal.is_retriable:
                    fault = refusal
                    self._disconnect()

    def _send_one(self, append: Append) -> None:
        self._producer = self._producer or self._connect()
        numbers = [self._partition_of(self._producer, record) for record in append.records]
        sent = _Sent(append, time.monotonic() + self._timeout_s + GRACE_S)
        if not append.records:
            append.settle([])
            return
        self._under_way.append(sent)
        for index, (record, number) in enumerate(zip(append.records, numbers, strict=True)):
            self._send_record(sent, index, record, number)

    def _send_record(self, sent: _Sent, index: int, record: NewRecord, number: int) -> None:
        assert self._producer is not None  # noqa: S101 - `_send_one` has connected
        try:
            future = self._producer.send(
                record.topic,
                record.value,
                record.key,
                headers=list(record.headers),
                partition=number,
                timestamp_ms=record.timestamp_ms,
            )
        except Exception as error:  # it is one record's fault, and others of the append are under way
            sent.failed(index, error)
            return
        future.add_callback(partial(sent.acknowledged, index))
        future.add_errback(partial(sent.failed, index))

    def _partition_of(self, producer: KafkaProducer, record: NewRecord) -> int:
        """Return a record's partition, which the producer would choose at random where there is no key."""
        try:
            count = len(producer.partitions_for(record.topic))
        except KafkaTimeoutError as error:  # it waits for a topic that is not there as for a Kafka that has gone
            if described_topics(self._kafka, [record.topic])[record.topic]["partitions"]:
                raise
            raise NoSuchTopicError([record.topic]) from error
        number = partition_of(record.key, count) if record.partition is None else record.partition
        if not 0 <= number < count:
            raise UnusableRecordError(f"partition {number} of {record.topic}: there are those from 0 to {count - 1}")
        return number

    def _look_after(self) -> None:
        """Forget what is settled, and replace a producer that broke its word."""
        while self._under_way and self._under_way[0].is_settled:
            sent = self._under_way.popleft()
            error = sent.append.settled.exception()
            if isinstance(error, LogError) and error.is_retriable:
                self._discard(str(error))
        if self._under_way and time.monotonic() > self._under_way[0].until_s:
            self._discard("Kafka's client has not said in time what became of a record")

    def _discard(self, why: str) -> None:
        """Give the producer up, and all that it has not settled."""
        if self._producer is not None:
            log.warning("the Kafka producer is replaced: %s", why)
        while self._under_way:
            self._under_way.popleft().give_up(LogError("Kafka did not acknowledge in time", is_retriable=True))
        self._disconnect()

    def _disconnect(self) -> None:
        if self._producer is not None:
            close_producer(self._producer, timeout_s=0)
            self._producer = None
