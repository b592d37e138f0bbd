"""The thread that follows the log: it reads and stores records, feeds the live stream and deletes old rows.

Of several processes on one database one does so. In the others this thread stands by.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from services.alerting.alerts.system_conditions import MINUTE_S
from services.alerting.following.expired_records import ExpiredRecords
from services.alerting.following.followed_topics import FollowedTopics, Position, read_positions, what_is_left
from services.alerting.following.projection import Progress, Seed, no_answer, rebuild_queries
from services.alerting.following.standby import Standby
from services.alerting.following.storing import Storage
from services.alerting.leadership.lease import Lease, LeaseLostError
from services.alerting.metrics import Metrics
from services.alerting.records.records import DETECTIONS, TOPICS
from services.alerting.store.expiry import Expiry
from services.common.log.faults import LogError, OffsetGoneError
from services.common.log.follower_thread import FollowerThread
from services.common.log.reader import LogReader
from services.common.log.records import Record, TopicPartition

POLL_S = 0.25
SWEEP_EVERY_S = 0.5
UNKNOWN_PAUSE_S = 0.05

logger = logging.getLogger(__name__)


def sentence_of(error: Exception, log_name: str) -> str:
    """Say what cannot be used, to whoever asks whether alerting is ready; the log alone has what the error says."""
    if isinstance(error, SQLAlchemyError):
        is_locked = "locked" in str(getattr(error, "orig", ""))
        return f"the database {'is locked by another process' if is_locked else 'cannot be used'}"
    if isinstance(error, LogError) and not error.is_retriable:
        return f"{log_name} cannot be used: {error}"
    if isinstance(error, LogError | OSError):
        return no_answer(log_name)
    return f"{log_name} cannot be followed: what alerting logs says why"


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


class Follower(FollowerThread[LogReader]):
    """The database's one writer while this process holds the lease: everything that is written passes through it."""

    expected = (*FollowerThread.expected, SQLAlchemyError)

    def __init__(  # noqa: PLR0913 - the parts of the thread
        self,
        connect: Callable[[], LogReader],
        lease: Lease,
        metrics: Metrics,
        progress: Progress,
        expiry: Expiry,
        standby: Standby,
        seed: Seed,
        storage: Storage,
        *,
        log_name: str,
        pace: Pace | None = None,
    ) -> None:
        super().__init__("log-follower")
        self._log_name, self._reader = log_name, connect
        self._lease, self._engine = lease, lease.writer
        self._metrics, self._names = metrics, storage.names
        for name in TOPICS.without_holes():
            metrics.records_expired.labels(self._names.full(name))  # it is 0 before it is more
        self._letters = self._names.full(TOPICS.dead_letters)
        self._progress = progress
        self._expiry = expiry
        self._standby = standby
        self._handing_over, self._listeners = standby.handing_over, standby.handing_over.listeners
        self._seed = seed
        self._storage = storage
        self._term: str | None = None
        self._pace = pace or Pace()
        self._sweep_at_s = 0.0
        self._unshown: dict[tuple[str, int], Position] = {}

    def _connect(self) -> LogReader | None:
        """Do what the lease says: connect, or stand by until it says something else."""
        term = self._lease.enter()
        if term is None:
            self._stand_by()
            return None
        if self._term not in (None, term):
            self._storage.begin_anew()
        self._term = term
        self._handing_over.catch_up()
        return self._reader()

    def _stand_by(self) -> None:
        self._metrics.forget_what_is_stored()
        self._listeners.term_ended()
        if self._lease.is_elsewhere:
            self._standby.watch(self.stopping, lambda: not self._lease.is_elsewhere)
        else:
            self._progress.failed("the database has not said yet whether this process writes it")
            self.stopping.wait(UNKNOWN_PAUSE_S)

    def _begin(self, reader: LogReader) -> None:
        self._topics = FollowedTopics(reader, map(self._names.full, TOPICS.names()), self._names.full(DETECTIONS))
        kept = self._starts(reader)
        what = reader, self._topics, self._names, self._engine, self._metrics, self.stopping
        had_records = rebuild_queries(*what)
        if not had_records or self._seed.is_unfinished:
            self._seed.publish()
            rebuild_queries(*what)
        queries = TopicPartition(self._names.full(TOPICS.queries), 0)
        next_offset = reader.position(queries)
        starts = {**kept, queries: next_offset}
        self._expired = ExpiredRecords(starts, self._names)
        left = what_is_left(reader, starts)
        reader.read_from(left | self._remember(reader, left))
        self._unshown.clear()
        self._listeners.reached(TOPICS.queries, next_offset)
        assert self._term is not None  # noqa: S101 - `_connect` has entered one
        self._listeners.memory_read(self._term)
        self._progress.caught_up()
        self._note_contact()

    def _is_over(self) -> bool:
        return self._lease.term != self._term

    def _remember(self, reader: LogReader, starts: Mapping[TopicPartition, int | None]) -> dict[TopicPartition, int]:
        """Store what people said of alerts, and who has heard of them, before what they are about is read (again).

        So a database that was deleted tells nobody again of what they have heard.
        """
        of_memory = set(map(self._names.full, TOPICS.of_memory()))
        memory = {partition: offset for partition, offset in starts.items() if partition.topic in of_memory}
        reader.read_from(memory)
        for records in reader.up_to(reader.ends(memory), self.stopping.is_set):
            self._storage.store(records, self._topics.reached(records))
        self._storage.read_again()
        return {partition: reader.position(partition) for partition in memory}

    def _starts(self, reader: LogReader) -> dict[TopicPartition, int | None]:
        with self._engine.connect() as connection:
            kept = read_positions(connection)
        if not kept and reader.was_shown(self._topics.partitions):
            self._metrics.database_lost_at.set_to_current_time()
            logger.warning("the database is empty, though the log was read before: it is filled from there again")
        starts = self._topics.starts(kept)
        letters = {p: start for p, start in starts.items() if p.topic == self._letters and start is not None}
        minute_ago_ms = round((time.time() - MINUTE_S) * 1e3)
        recent = reader.written_since(letters, minute_ago_ms)  # which tell whether there is a flood
        return starts | {p: min(start, recent.get(p, start)) for p, start in letters.items()}

    def _wait_s(self) -> float:
        return 0.0 if self._expiry.is_due() else POLL_S

    def _poll(self, reader: LogReader) -> list[Record]:
        """Go on at the beginning where the next record was deleted: `ExpiredRecords` counts what is missed."""
        try:
            return super()._poll(reader)
        except OffsetGoneError as gone:
            others = [each for each in self._topics.partitions if each != gone.partition]
            reader.read_from({each: reader.position(each) for each in others} | {gone.partition: gone.beginning})
            return []

    def _take(self, _reader: LogReader, records: list[Record]) -> None:
        self._note_expired(self._expired.before(records))
        reached = self._topics.reached(records)
        if records:
            self._handing_over.hand_over(self._storage.store(records, reached))
            for position in reached:
                if (name := self._names.short(position.topic)) in TOPICS.awaited():
                    self._listeners.reached(name, position.next_offset)
        self._unshown.update({(position.topic, position.partition): position for position in reached})
        self._sweep_if_due()
        self._expiry.run_if_due()
        if records:
            self.stopping.wait(self._pace.rest_s())

    def _note_expired(self, expired: Mapping[str, int]) -> None:
        for topic, records in expired.items():
            self._metrics.records_expired.labels(topic).inc(records)
            logger.error("the log deleted %d records before they were stored", records, extra={"topic": topic})

    def _sweep_if_due(self) -> None:
        if time.monotonic() < self._sweep_at_s:
            return
        self._sweep_at_s = time.monotonic() + SWEEP_EVERY_S
        self._handing_over.hand_over(self._storage.sweep())

    def _look(self, reader: LogReader) -> None:
        """Show how far the log was read, and measure how much is left."""
        reader.show({TopicPartition(each.topic, each.partition): each.next_offset for each in self._unshown.values()})
        self._unshown.clear()
        lag = dict.fromkeys(map(self._names.full, TOPICS.names()), 0)
        ends = reader.ends(self._topics.partitions)
        positions = {partition: reader.position(partition) for partition in ends}
        self._note_expired(self._expired.up_to(positions))
        for partition, end in ends.items():
            lag[partition.topic] += max(0, end - positions[partition])
        for topic, records in lag.items():
            self._metrics.lag.labels(topic).set(records)
        self._storage.conditions.note_unread_letters(lag[self._letters])
        self._storage.conditions.note_end(sum(reader.ends(self._topics.watched).values()))
        self._progress.goes_on()
        self._note_contact()

    def _note_contact(self) -> None:
        self._progress.heard()
        self._metrics.kafka_up.set(1)

    def _lose(self, error: Exception) -> None:
        if isinstance(error, LeaseLostError):
            logger.warning("nothing more is written: %s", error)
            return
        super()._lose(error)
        lasts = isinstance(error, LogError) and not error.is_retriable  # a damaged log answers, too
        self._progress.failed(sentence_of(error, self._log_name), lasts=lasts)
        if not isinstance(error, SQLAlchemyError):
            self._metrics.kafka_up.set(0)
        self._metrics.lag.clear()  # nobody knows the ends, and the last lag would look like a healthy one
        self._metrics.failures.inc()
