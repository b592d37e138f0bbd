"""Sending: hands appends to Kafka's producer, and settles each once Kafka has said what became of all its records.

Whoever appends hands over, without waiting. A thread connects, and replaces a producer that broke its word: so nothing
is delivered minutes later, and nobody waits for ever. The producer sends together what comes together.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaError, KafkaTimeoutError

from services.common.kafka.clients import close_producer
from services.common.kafka.faults import in_words, refusal_of
from services.common.kafka.log_faults import fault_of, no_topic, refusal_of_record
from services.common.log.append_queue import Append, AppendQueue
from services.common.log.faults import LogError, PartlyAppendedError, UnusableRecordError
from services.common.log.placing import partition_of
from services.common.log.records import NewRecord, RecordPosition, size_of
from services.common.topics.topic_names import TopicNames

RETRY_S = 1.0  # how often it tries to connect, and looks after what is under way
GRACE_S = 2.0  # beyond the time in which the producer promises to settle a record
CLOSE_S = 5.0
NOT_CONNECTED = "the producer is not connected"
AWAY = "Kafka does not answer"

log = logging.getLogger(__name__)


class _Connection:
    """A producer, the partitions of topics that it knows, and how many records were acknowledged."""

    def __init__(self, producer: KafkaProducer) -> None:
        self.producer = producer
        self.partitions: dict[str, int] = {}
        self.acknowledged = 0

    def knows(self, records: Sequence[NewRecord]) -> bool:
        return {each.topic for each in records} <= self.partitions.keys()

    def learn(self, topic: str) -> None:
        """Ask for the partitions of a topic, which blocks."""
        self.partitions[topic] = len(self.producer.partitions_for(topic))

    def number_of(self, record: NewRecord) -> int:
        """Return a record's partition, which the producer would choose at random where there is no key."""
        count = self.partitions[record.topic]
        number = partition_of(record.key, count) if record.partition is None else record.partition
        if not 0 <= number < count:
            raise UnusableRecordError(f"partition {number} of {record.topic}: there are those from 0 to {count - 1}")
        return number

    def close(self) -> None:
        """Send what is buffered and end; what cannot be sent in time is given up."""
        close_producer(self.producer, CLOSE_S)


class _Sent:
    """An append that is under way by a connection: what is known of its records."""

    def __init__(self, append: Append, connection: _Connection, until_s: float) -> None:
        self.append, self.connection, self.until_s = append, connection, until_s
        self.acknowledged_before = connection.acknowledged
        self._positions: list[RecordPosition | None] = [None] * len(append.records)
        self._unsettled = len(append.records)
        self._lock = threading.Lock()
        self._fault: LogError | None = None
        self.is_settled = False

    def acknowledged(self, index: int, metadata: Any) -> None:
        self.connection.acknowledged += 1
        self._settle_one(index, RecordPosition(metadata.topic, metadata.partition, metadata.offset), None)

    def failed(self, index: int, error: Exception) -> None:
        record = self.append.records[index]
        self._settle_one(index, None, refusal_of_record(error, record.topic, size_of(record)))

    def give_up(self) -> None:
        """Wait no longer for what Kafka has not said."""
        with self._lock:
            self._fault = self._fault or LogError("Kafka did not acknowledge in time", is_retriable=True)
            self._settle()

    def _settle_one(self, index: int, position: RecordPosition | None, fault: LogError | None) -> None:
        with self._lock:
            self._positions[index], self._fault = position, self._fault or fault
            self._unsettled -= 1
            if not self._unsettled:
                self._settle()

    def _settle(self) -> None:
        if self.is_settled:
            return
        self.is_settled = True
        fault = self._fault
        if fault is not None and any(self._positions):
            fault = PartlyAppendedError(str(fault), list(self._positions), is_retriable=fault.is_retriable)
        self.append.settle(fault or [each for each in self._positions if each is not None])


class Sending:
    """Appends by a producer that its own thread connects, replaces and closes.

    A producer promises to settle every record within `timeout_s`; one that has not `grace_s` later is wedged, and is
    replaced. Kafka is known to be away from when `is_gone` says so, which is asked every `retry_s`, or from a record on
    that was not acknowledged in time, nor any other since it was sent. The producer is given up then, so that nobody
    waits for it, until there is another one. `lacks` says whether Kafka answers and does not have a topic.
    """

    def __init__(  # noqa: PLR0913 - what it works with, and its limits
        self,
        connect: Callable[[], KafkaProducer],
        queue: AppendQueue,
        names: TopicNames,
        timeout_s: float,
        *,
        topics: Sequence[str] = (),
        lacks: Callable[[str], bool] = lambda _topic: False,
        is_gone: Callable[[], bool] = lambda: False,
        on_connected: Callable[[], object] = lambda: None,
        grace_s: float = GRACE_S,
        retry_s: float = RETRY_S,
    ) -> None:
        self._connect, self._queue, self._names, self._topics = connect, queue, names, tuple(topics)
        self._lacks, self._is_gone, self._on_connected = lacks, is_gone, on_connected
        self._unsettled_s, self._retry_s = timeout_s + grace_s, retry_s
        self._connection: _Connection | None = None
        self._refusal: LogError | None = None  # of whoever appends while there is no connection
        self._waiting: deque[Append] = deque()  # until there is a connection that knows their topics
        self._under_way: deque[_Sent] = deque()
        self._discarded: list[_Connection] = []
        self._closers: list[threading.Thread] = []
        self._order, self._state = threading.RLock(), threading.Lock()
        self._stopping, self._needed = False, threading.Event()
        self._thread = threading.Thread(target=self._run, name="log-send", daemon=True)

    @property
    def problem(self) -> str | None:
        """Why nothing can be appended now; None: it can, as far as is known."""
        if self._connection is not None:
            return None
        return NOT_CONNECTED if self._refusal is None else str(self._refusal)

    def connect(self) -> None:
        """Begin to connect, in the background."""
        with self._order:
            self._wake()

    def append(self, records: Sequence[NewRecord]) -> Future[list[RecordPosition]]:
        """Hand records over; what comes before the first connection waits for it, and what comes later does not."""
        append = self._queue.admit(records)
        if append.settled.done():
            return append.settled
        with self._order:
            connection = self._connection
            if connection is not None and connection.knows(records) and not self._is_ahead(records):
                self._send(connection, append)
            elif connection is None and self._refusal is not None:
                append.settle(self._refusal)
            else:
                self._waiting.append(append)
                self._wake()
        return append.settled

    def close(self) -> None:
        """Send what waits, and end; blocks for a bounded time."""
        self._queue.close()
        self._stopping = True
        self._needed.set()
        if self._thread.is_alive():
            self._thread.join(self._unsettled_s + 2 * CLOSE_S)

    def _wake(self) -> None:
        if not self._thread.ident:
            self._thread.start()
        self._needed.set()

    def _is_ahead(self, records: Sequence[NewRecord]) -> bool:
        """Return whether something for the same topics waits, which has to be sent first."""
        if not self._waiting:
            return False
        topics = {each.topic for each in records}
        return any(each.topic in topics for append in self._waiting for each in append.records)

    def _send(self, connection: _Connection, append: Append) -> None:
        """Hand all records to the producer, in their order; what Kafka says of each comes on a thread of its own."""
        if not append.settled.set_running_or_notify_cancel():
            return
        try:
            numbers = [connection.number_of(record) for record in append.records]
        except LogError as refusal:
            append.settle(refusal)
            return
        if not append.records:
            append.settle([])
            return
        sent = _Sent(append, connection, time.monotonic() + self._unsettled_s)
        self._under_way.append(sent)
        for index, (record, number) in enumerate(zip(append.records, numbers, strict=True)):
            self._send_record(sent, index, record, number)

    def _send_record(self, sent: _Sent, index: int, record: NewRecord, number: int) -> None:
        try:
            future = sent.connection.producer.send(
                record.topic,
                record.value,
                record.key,
                headers=list(record.headers),
                partition=number,
                timestamp_ms=record.timestamp_ms,
            )
        except Exception as error:  # whatever it is, somebody waits for it, and others of the append are under way
            self._failed(sent, index, error)
            return
        future.add_callback(partial(sent.acknowledged, index))
        future.add_errback(partial(self._failed, sent, index))

    def _failed(self, sent: _Sent, index: int, error: Exception) -> None:
        sent.failed(index, error)
        if getattr(error, "retriable", False) and sent.connection.acknowledged == sent.acknowledged_before:
            self._discard(sent.connection, f"Kafka acknowledged nothing in time: {type(error).__name__}")

    def _discard(self, connection: _Connection, why: str) -> None:
        """Give a producer up, and refuse what comes until there is another one."""
        with self._state:
            if connection is not self._connection:
                return
            self._connection, self._refusal = None, LogError(AWAY, is_retriable=True)
            self._discarded.append(connection)
        log.warning("the Kafka producer is replaced: %s", why)
        self._needed.set()

    def _run(self) -> None:
        while not self._stopping:
            self._needed.clear()
            self._close_discarded()
            if self._connection is not None or self._try_to_connect():
                self._send_waiting()
            self._needed.wait(self._retry_s)
            self._look_after()
        if self._waiting and self._connection is None and self._refusal is None:
            self._try_to_connect()
        self._send_waiting()
        if (connection := self._connection) is not None:
            connection.close()
        self._close_discarded()
        for closer in self._closers:
            closer.join(CLOSE_S)
        with self._order:
            self._connection, self._refusal = None, LogError("the log is closed")
            self._refuse_waiting(self._refusal)
        while self._under_way:
            self._under_way.popleft().give_up()

    def _try_to_connect(self) -> bool:
        connection, asked = None, ""
        try:
            connection = _Connection(self._connect())
            for asked in self._topics:  # whoever appends must never have to ask
                connection.learn(asked)
        except Exception as error:  # whatever it is, somebody may wait
            refusal = self._refusal_of(error, asked if connection is not None else "")
            log.warning("Kafka cannot be used: %s (%s)", refusal, in_words(error))
            if connection is not None:
                self._discarded.append(connection)
            with self._order:
                self._refusal = refusal
                self._refuse_waiting(refusal)
            return False
        log.info("connected to Kafka")
        self._on_connected()
        self._connection = connection
        return True

    def _refusal_of(self, error: Exception, asked: str) -> LogError:
        """Return why there is no producer; one that asked for a topic has heard from Kafka just now."""
        if asked and refusal_of(error) is None and isinstance(error, KafkaError):
            creates = f"`python -m services.common.topics{self._names.option}` creates what is missing"
            return LogError(f"Kafka does not find the topic {asked}: {creates}", is_retriable=True)
        refusal = fault_of(error)
        return LogError(NOT_CONNECTED, is_retriable=True) if refusal.is_retriable else refusal

    def _send_waiting(self) -> None:
        """Send what came before there was a connection, or for topics that this one does not know yet."""
        while self._waiting and (connection := self._connection) is not None:
            append = self._waiting[0]
            fault: LogError | None = None
            try:
                for topic in {each.topic for each in append.records}:
                    self._learn(connection, topic)
            except Exception as error:  # whatever it is, somebody waits for it
                fault = fault_of(error)
            with self._order:
                self._waiting.popleft()
                if fault is None:
                    self._send(connection, append)
                elif append.settled.set_running_or_notify_cancel():
                    append.settle(fault)

    def _learn(self, connection: _Connection, topic: str) -> None:
        """Ask for a topic's partitions; the producer waits for one that is not there as for a Kafka that has gone."""
        until_s = time.monotonic() + self._unsettled_s
        while topic not in connection.partitions:
            try:
                connection.learn(topic)
            except KafkaTimeoutError as error:
                if self._lacks(topic):
                    raise no_topic(topic, self._names) from error
                if time.monotonic() > until_s:
                    raise

    def _refuse_waiting(self, refusal: LogError) -> None:
        while self._waiting:
            if (append := self._waiting.popleft()).settled.set_running_or_notify_cancel():
                append.settle(refusal)

    def _look_after(self) -> None:
        """Forget what is settled, and replace a producer that broke its word, or that talks to nobody any more."""
        while self._under_way and self._under_way[0].is_settled:
            self._under_way.popleft()
        while self._under_way and time.monotonic() > self._under_way[0].until_s:
            sent = self._under_way.popleft()
            sent.give_up()
            self._discard(sent.connection, "it left a record unsettled beyond its delivery timeout")
        if (connection := self._connection) is not None and self._is_gone():
            self._discard(connection, "nothing listens where Kafka was")

    def _close_discarded(self) -> None:
        """Close them on threads of their own: each takes up to `CLOSE_S`, and the next producer need not wait."""
        self._closers = [closer for closer in self._closers if closer.is_alive()]
        while self._discarded:
            closer = threading.Thread(target=self._discarded.pop().close, name="log-send-closer", daemon=True)
            closer.start()
            self._closers.append(closer)
