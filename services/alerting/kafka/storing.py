"""Storing what one poll brought: rows and positions in one transaction."""

import logging
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter

from kafka.consumer.fetcher import ConsumerRecord
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, OperationalError, StatementError

from services.alerting.kafka.kafka_session import Position, store_positions
from services.alerting.kafka.records import TOPICS
from services.alerting.kafka.sorting import Batch, sort_records
from services.alerting.metrics import Metrics
from services.alerting.store.dead_letter_rows import insert_dead_letters
from services.alerting.store.episode_rows import NewRevision, StoredEpisode, StoredRow, insert_episodes
from services.alerting.store.match_rows import StoredMatch, insert_matches
from services.alerting.store.query_rows import apply_changes, store_status

logger = logging.getLogger(__name__)


@dataclass
class NewRows:
    """The rows that were new: matches, and revisions of episodes, each in order of sequence."""

    matches: list[StoredMatch] = field(default_factory=list)
    revisions: list[NewRevision] = field(default_factory=list)

    def for_readers(self) -> list[StoredRow]:
        """Return what live readers hear of, in order of sequence: matches, and of each episode what counts now."""
        current: dict[str, StoredEpisode] = {}
        for each in map(NewRevision.stored, self.revisions):
            current.pop(each.id, None)
            current[each.id] = each
        return [*self.matches, *current.values()]


@dataclass
class Storage:
    """The one writer of matches, episodes, dead letters, queries and status."""

    engine: Engine
    metrics: Metrics

    def store(self, records: Sequence[ConsumerRecord], reached: Iterable[Position]) -> list[StoredRow]:
        """Store `records` and that they were `reached`; return what readers of the live stream hear of.

        Storing the same records again changes nothing, so a crash before the offsets are committed is harmless.

        Raises `OperationalError`: the database cannot be written now (locked, full, away); nothing was stored.
        """
        with self.metrics.store_time.time():
            batch = sort_records(records, self.metrics)
            try:
                with self.engine.begin() as connection:
                    new = self._insert(connection, batch)
                    store_positions(connection, reached)
            except OperationalError:
                raise
            except (DBAPIError, StatementError):
                new = self._store_singly(records, reached)
        self._observe(records, new)
        return new.for_readers()

    def _insert(self, connection: Connection, batch: Batch) -> NewRows:
        matches = insert_matches(connection, batch.matches)
        self._count(TOPICS.matches, len(matches), len(batch.matches))
        revisions = insert_episodes(connection, batch.episodes, time.time_ns() // 1000)
        self._count(TOPICS.episodes, len(revisions), len(batch.episodes))
        letters = insert_dead_letters(connection, batch.dead_letters)
        self._count(TOPICS.dead_letters, letters, len(batch.dead_letters))
        apply_changes(connection, batch.changes)
        store_status(connection, batch.statuses)
        return NewRows(matches, revisions)

    def _store_singly(self, records: Sequence[ConsumerRecord], reached: Iterable[Position]) -> NewRows:
        # The database refuses some value that looked right: find the record, so that it does not stop the others.
        new = NewRows()
        for record in records:
            try:
                with self.engine.begin() as connection:
                    one = self._insert(connection, sort_records([record], self.metrics))
            except OperationalError:
                raise
            except (DBAPIError, StatementError) as error:
                self.metrics.malformed.labels(record.topic).inc()
                place = f"partition {record.partition} offset {record.offset}"
                logger.warning(
                    "the database refused a record", extra={"topic": record.topic, "at": f"{place}: {error}"}
                )
            else:
                new.matches += one.matches
                new.revisions += one.revisions
        with self.engine.begin() as connection:
            store_positions(connection, reached)
        return new

    def _count(self, topic: str, new: int, received: int) -> None:
        if received:
            self.metrics.inserted.labels(topic).inc(new)
            self.metrics.duplicates.labels(topic).inc(received - new)

    def _observe(self, records: Sequence[ConsumerRecord], new: NewRows) -> None:
        now_s = time.time()
        for topic, of_topic in groupby(records, attrgetter("topic")):
            delays_s = [now_s - record.timestamp / 1000 for record in of_topic if record.timestamp > 0]
            self.metrics.record_delay.labels(topic).observe_all(delays_s)
        self._observe_matches(new.matches, now_s)
        self._observe_episodes(new.revisions, now_s)

    def _observe_matches(self, new: Sequence[StoredMatch], now_s: float) -> None:
        self.metrics.match_delay.observe_all([now_s - match.received_at_us / 1e6 for match in new])
        for query, matches in Counter(match.query for match in new).items():
            self.metrics.matches.labels(query).inc(matches)
        for match in new:
            if match.supersedes:
                self.metrics.superseded.labels(match.query).inc(len(match.supersedes))

    def _observe_episodes(self, new: Sequence[NewRevision], now_s: float) -> None:
        came = [each.received.record.received_at_us for each in new if each.came_with_detection]
        self.metrics.episode_delay.observe_all([now_s - at_us / 1e6 for at_us in came if at_us is not None])
        for each in new:
            record = each.received.record
            if each.is_first:
                self.metrics.episodes.labels(record.query).inc()
            if record.retracted:
                self.metrics.retracted.labels(record.query).inc()
