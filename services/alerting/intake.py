"""Storing what one poll brought: rows and positions in one transaction."""

import logging
import time
from collections import Counter
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, OperationalError, StatementError

from services.alerting.batch import Batch, KafkaRecord, Sorter
from services.alerting.metrics import Metrics
from services.alerting.store.dead_letter_rows import insert_dead_letters
from services.alerting.store.match_rows import StoredMatch, insert_matches
from services.alerting.store.position_rows import Position, store_positions
from services.alerting.store.query_rows import apply_changes, store_status
from services.alerting.topics import Topics

logger = logging.getLogger(__name__)


class Intake:
    """The one writer of matches, dead letters, queries and status."""

    def __init__(self, engine: Engine, topics: Topics, metrics: Metrics, sorter: Sorter) -> None:
        self._engine = engine
        self._topics = topics
        self._metrics = metrics
        self._sorter = sorter

    def store(self, records: Sequence[KafkaRecord], reached: Iterable[Position]) -> list[StoredMatch]:
        """Store `records` and that they were `reached`; return the matches that were new, in order of sequence.

        Storing the same records again changes nothing, so a crash before the offsets are committed is harmless.

        Raises
        ------
        sqlalchemy.exc.OperationalError
            The database cannot be written now (locked, full, away); nothing was stored.
        """
        with self._metrics.store_time.time():
            batch = self._sorter.sort(records)
            try:
                with self._engine.begin() as connection:
                    new = self._insert(connection, batch)
                    store_positions(connection, reached)
            except OperationalError:
                raise
            except (DBAPIError, StatementError):
                new = self._store_singly(records, reached)
        self._observe(records, new)
        return new

    def _insert(self, connection: Connection, batch: Batch) -> list[StoredMatch]:
        new = insert_matches(connection, batch.matches)
        self._count(self._topics.matches, len(new), len(batch.matches))
        letters = insert_dead_letters(connection, batch.dead_letters)
        self._count(self._topics.dead_letters, letters, len(batch.dead_letters))
        apply_changes(connection, batch.changes)
        store_status(connection, batch.statuses)
        return new

    def _store_singly(self, records: Sequence[KafkaRecord], reached: Iterable[Position]) -> list[StoredMatch]:
        # The database refuses some value that looked right: find the record, so that it does not stop the others.
        new: list[StoredMatch] = []
        for record in records:
            try:
                with self._engine.begin() as connection:
                    new += self._insert(connection, self._sorter.sort([record]))
            except OperationalError:
                raise
            except (DBAPIError, StatementError) as error:
                self._sorter.refuse(record)
                place = f"partition {record.partition} offset {record.offset}"
                logger.warning(
                    "the database refused a record", extra={"topic": record.topic, "at": f"{place}: {error}"}
                )
        with self._engine.begin() as connection:
            store_positions(connection, reached)
        return new

    def _count(self, topic: str, new: int, received: int) -> None:
        if received:
            self._metrics.inserted.labels(topic).inc(new)
            self._metrics.duplicates.labels(topic).inc(received - new)

    def _observe(self, records: Sequence[KafkaRecord], new: Sequence[StoredMatch]) -> None:
        now_s = time.time()
        for record in records:
            if record.timestamp > 0:
                self._metrics.record_delay.labels(record.topic).observe(max(0.0, now_s - record.timestamp / 1000))
        for match in new:
            self._metrics.match_delay.observe(max(0.0, now_s - match.received_at_us / 1e6))
        for query, matches in Counter(match.query for match in new).items():
            self._metrics.matches.labels(query).inc(matches)
        for match in new:
            if match.supersedes:
                self._metrics.superseded.labels(match.query).inc(len(match.supersedes))
