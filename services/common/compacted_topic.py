"""A compacted topic of one partition: read whole, from its beginning to its present end, and followed from there.

Where Kafka was away for a while, a follower goes on from where it stood: to read 100,000 sensors again keeps a process
busy for ten seconds, when all of them begin again.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError

from services.common.kafka.faults import in_words

POLL_MS = 500
ANSWER_TIMEOUT_MS = 3_000
PROBE_S = 2.0
RETRY_S = 1.0
LONGEST_ANSWER_S = (ANSWER_TIMEOUT_MS + POLL_MS) / 1000  # of a consumer that is polled, and then asked for an offset
PATIENCE_S = PROBE_S + LONGEST_ANSWER_S
#: A removal is compacted away a day after it was written, at the earliest: delete.retention.ms.
GOES_ON_WITHIN_S = 3600.0

log = logging.getLogger(__name__)


def end_offset(consumer: KafkaConsumer, partition: TopicPartition) -> int:
    """Return the offset of the next record to come; raises KafkaError when Kafka does not answer within 3 s."""
    end: int = consumer.end_offsets([partition], timeout_ms=ANSWER_TIMEOUT_MS)[partition]
    return end


def poll(consumer: KafkaConsumer, partition: TopicPartition) -> list[ConsumerRecord]:
    """Return the next records, or none after half a second."""
    records: list[ConsumerRecord] = consumer.poll(POLL_MS).get(partition, [])
    return records


def records_so_far(
    consumer: KafkaConsumer, partition: TopicPartition, is_stopping: Callable[[], bool] = lambda: False
) -> Iterator[list[ConsumerRecord]]:
    """Yield all records, some at a time, until there is no more or `is_stopping`; it may raise `KafkaError`."""
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    end = end_offset(consumer, partition)
    while consumer.position(partition, timeout_ms=ANSWER_TIMEOUT_MS) < end and not is_stopping():
        records = poll(consumer, partition)
        if not records:
            end = end_offset(consumer, partition)  # raises when Kafka has gone, of which poll() says nothing
        yield records


class TopicView(Protocol):
    """What somebody makes of a topic."""

    def replace(self, records: Iterable[list[ConsumerRecord]]) -> None:
        """Begin anew with all records that there are."""

    def apply(self, records: list[ConsumerRecord]) -> None:
        """Take what came since, or nothing; called about twice a second at least."""


class _Stand(NamedTuple):
    """How far a view has come, in which topic, and when, by two clocks: one stands still at times, the other jumps."""

    topic_id: uuid.UUID | None
    next_offset: int
    at_s: tuple[float, float]

    def has_all_ahead(self, topic_id: uuid.UUID | None, end: int) -> bool:
        """Whether all that has changed since stands in the topic with this id and end, from the next offset on."""
        away_s = max(now_s - then_s for now_s, then_s in zip(_clocks_s(), self.at_s, strict=True))
        is_same = topic_id is not None and topic_id == self.topic_id and self.next_offset <= end
        return is_same and away_s < GOES_ON_WITHIN_S


def _clocks_s() -> tuple[float, float]:
    return time.monotonic(), time.time()


class _StoppedError(Exception):
    """The follower was stopped before it had read the whole topic."""


class TopicFollower:
    """Keeps a view equal to a topic, in a thread, and knows whether Kafka answers.

    After a fault it goes on from where it stood; or reads the topic whole again, where this is another topic, or a
    removal may have been compacted away unseen. `connect` may block or raise KafkaError.
    """

    def __init__(self, topic: str, view: TopicView, connect: Callable[[], KafkaConsumer]) -> None:
        self._partition = TopicPartition(topic, 0)
        self._view, self._connect = view, connect
        self._answered_s: float | None = None
        self._stand: _Stand | None = None
        self._fault = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"{topic}-follower", daemon=True)

    def start(self) -> None:
        """Begin to follow, in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Stop following; blocks until the thread has ended, for a bounded time."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(PATIENCE_S)

    @property
    def kafka_answers(self) -> bool:
        """Whether Kafka has answered a question in the last few seconds."""
        answered_s = self._answered_s
        return answered_s is not None and time.monotonic() - answered_s < PATIENCE_S

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._follow()
            except _StoppedError:
                return
            except (KafkaError, OSError, RuntimeError, LookupError) as error:
                if str(error) != self._fault:  # not every second of an outage
                    log.warning("cannot follow %s: %s", self._partition.topic, in_words(error))
                self._fault, self._answered_s = str(error), None
                self._stop.wait(RETRY_S)

    def _whole(self, consumer: KafkaConsumer) -> Iterator[list[ConsumerRecord]]:
        """Yield all records; no view takes for the whole what was read when the follower was stopped."""
        yield from records_so_far(consumer, self._partition, self._stop.is_set)
        if self._stop.is_set():
            raise _StoppedError

    def _follow(self) -> None:
        consumer = self._connect()
        try:
            topic_id = self._begin(consumer)
            self._fault, self._answered_s = "", time.monotonic()
            while not self._stop.is_set():
                if time.monotonic() - self._answered_s >= PROBE_S:
                    end_offset(consumer, self._partition)
                    self._answered_s = time.monotonic()
                self._apply_next(consumer, topic_id)
        finally:
            consumer.close(timeout_ms=1000)

    def _begin(self, consumer: KafkaConsumer) -> uuid.UUID | None:
        """Go on from where it stood, or begin anew; return which topic this is."""
        consumer.assign([self._partition])
        end = end_offset(consumer, self._partition)
        topic_id: uuid.UUID | None = consumer._cluster.topic_id(self._partition.topic)  # no public way tells
        if self._stand is not None and self._stand.has_all_ahead(topic_id, end):
            consumer.seek(self._partition, self._stand.next_offset)
        else:
            self._stand = None
            self._view.replace(self._whole(consumer))
        return topic_id

    def _apply_next(self, consumer: KafkaConsumer, topic_id: uuid.UUID | None) -> None:
        records = poll(consumer, self._partition)
        self._stand = None  # of what a view has taken in part nobody can tell the rest
        self._view.apply(records)
        next_offset = consumer.position(self._partition, timeout_ms=ANSWER_TIMEOUT_MS)
        self._stand = _Stand(topic_id, next_offset, _clocks_s())
