"""The thread that follows Kafka: it reads and stores records, feeds the live stream and deletes old rows."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kafka import TopicPartition
from kafka.errors import KafkaError
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from services.alerting.kafka.kafka_session import KafkaSession, Position, TopicMissingError, read_positions
from services.alerting.kafka.projection import Progress, Seed, rebuild_queries
from services.alerting.kafka.records import TOPICS
from services.alerting.kafka.storing import Storage
from services.alerting.metrics import Metrics
from services.alerting.store.expiry import Expiry
from services.alerting.store.live_rows import StoredRow
from services.common.record_publisher import KafkaAwayError

POLL_S = 0.25
PROBE_EVERY_S = 1.0
SWEEP_EVERY_S = 0.5
BACKOFF_S = (0.2, 5.0)

logger = logging.getLogger(__name__)


@dataclass
class Pace:
    """So many transactions a second, and a few at once: under load each has what came meanwhile.

    A transaction costs as much as 50 matches. A match that comes alone does not wait.
    """

    a_second: float = 25.0
    at_once: int = 10
    clock_s: Callable[[], float] = time.monotonic
    _next_at_s: float = float("-inf")

    def rest_s(self) -> float:
        """Count one transaction, and return how long to wait before the next."""
        now_s = self.clock_s()
        apart_s = 1 / self.a_second
        self._next_at_s = max(self._next_at_s, now_s - (self.at_once - 1) * apart_s) + apart_s
        return max(0.0, self._next_at_s - now_s)


@dataclass(frozen=True)
class Listeners:
    """Called on the follower's thread: with rows that were stored, and with how far a topic of one partition was read.

    `memory_read` is called once all that people said of alerts, and who has heard of them, stands in the database.
    """

    stored_rows: Callable[[Sequence[StoredRow]], object]
    reached: Callable[[str, int], object]
    memory_read: Callable[[], object] = lambda: None


class Follower(threading.Thread):
    """The database's one writer: everything that is written passes through this thread."""

    def __init__(
        self,
        connect: Callable[[], KafkaSession],
        engine: Engine,
        metrics: Metrics,
        progress: Progress,
        expiry: Expiry,
        listeners: Listeners,
        seed: Seed,
        storage: Storage,
    ) -> None:
        super().__init__(name="kafka-follower", daemon=True)
        self._connect = connect
        self._engine = engine
        self._metrics = metrics
        self._progress = progress
        self._expiry = expiry
        self._listeners = listeners
        self._seed = seed
        self._storage = storage
        self._pace = Pace()
        self._sweep_at_s = 0.0
        self._stopping = threading.Event()

    def stop(self, timeout_s: float = 10.0) -> None:
        """Finish the batch in hand and end."""
        self._stopping.set()
        if self.is_alive():
            self.join(timeout_s)

    def run(self) -> None:
        """Follow until stopped; whatever fails, begin again from the database's positions after a pause."""
        pause_s = BACKOFF_S[0]
        while not self._stopping.is_set():
            started_s = time.monotonic()
            try:
                with self._connect() as session:
                    self._follow(session)
            except Exception as error:  # whatever it is, alerting stays up and tries again
                self._note_failure(error)
                pause_s = BACKOFF_S[0] if time.monotonic() - started_s > 30 else min(2 * pause_s, BACKOFF_S[1])
                self._stopping.wait(pause_s)

    def _follow(self, session: KafkaSession) -> None:
        queries = TopicPartition(TOPICS.queries, 0)
        had_records = rebuild_queries(session, queries, self._engine, self._metrics, self._stopping)
        if (not had_records or self._seed.is_unfinished) and not self._stopping.is_set():
            self._seed.publish()
            rebuild_queries(session, queries, self._engine, self._metrics, self._stopping)
        next_offset = session.position(queries)
        starts = {**self._starts(session), queries: next_offset}
        session.read_from(starts | self._remember(session, starts))
        self._listeners.reached(TOPICS.queries, next_offset)
        self._listeners.memory_read()
        self._progress.caught_up()
        self._note_contact()
        probe_at_s = 0.0
        unshown: dict[tuple[str, int], Position] = {}
        while not self._stopping.is_set():
            reached = self._store_next(session)
            unshown.update({(position.topic, position.partition): position for position in reached})
            if time.monotonic() >= probe_at_s:
                session.commit(unshown.values())
                unshown.clear()
                self._observe_lag(session)
                probe_at_s = time.monotonic() + PROBE_EVERY_S

    def _remember(
        self, session: KafkaSession, starts: Mapping[TopicPartition, int | None]
    ) -> dict[TopicPartition, int]:
        """Store what people said of alerts, and who has heard of them, before what they are about is read (again).

        So a database that was deleted tells nobody again of what they have heard.
        """
        memory = {partition: offset for partition, offset in starts.items() if partition.topic in TOPICS.of_memory()}
        session.read_from(memory)
        ends = session.ends(memory)
        while any(session.position(each) < end for each, end in ends.items()) and not self._stopping.is_set():
            records = session.poll(POLL_S)
            self._storage.store(records, session.reached(records))
        self._storage.read_again()
        return {partition: session.position(partition) for partition in memory}

    def _starts(self, session: KafkaSession) -> dict[TopicPartition, int | None]:
        with self._engine.connect() as connection:
            kept = {(p.topic, p.partition, p.topic_id): p.next_offset for p in read_positions(connection)}
        return {p: kept.get((p.topic, p.partition, session.topic_ids[p.topic])) for p in session.partitions}

    def _store_next(self, session: KafkaSession) -> list[Position]:
        records = session.poll(0.0 if self._expiry.is_due() else POLL_S)
        reached = session.reached(records)
        if records:
            rows = self._storage.store(records, reached)
            if rows:
                self._listeners.stored_rows(rows)
            for position in reached:
                if position.topic in (TOPICS.queries, *TOPICS.of_memory()):
                    self._listeners.reached(position.topic, position.next_offset)
        self._sweep_if_due()
        self._expiry.run_if_due()
        if records:
            self._stopping.wait(self._pace.rest_s())
        return reached

    def _sweep_if_due(self) -> None:
        if time.monotonic() < self._sweep_at_s:
            return
        self._sweep_at_s = time.monotonic() + SWEEP_EVERY_S
        if rows := self._storage.sweep():
            self._listeners.stored_rows(rows)

    def _observe_lag(self, session: KafkaSession) -> None:
        lag = dict.fromkeys(TOPICS.names(), 0)
        for partition, end in session.ends(session.partitions).items():
            lag[partition.topic] += max(0, end - session.position(partition))
        for topic, records in lag.items():
            self._metrics.lag.labels(topic).set(records)
        self._storage.conditions.note_end(sum(session.ends(session.watched).values()))
        self._note_contact()

    def _note_contact(self) -> None:
        self._progress.heard()
        self._metrics.kafka_up.set(1)

    def _note_failure(self, error: Exception) -> None:
        fault = str(error) or type(error).__name__
        self._progress.failed(fault)
        self._metrics.kafka_up.set(0)
        self._metrics.failures.inc()
        expected = isinstance(error, KafkaError | OSError | SQLAlchemyError | TopicMissingError | KafkaAwayError)
        extra = {"fault": f"{type(error).__name__}: {fault}"}
        logger.warning("following Kafka failed, beginning again", extra=extra, exc_info=None if expected else error)
