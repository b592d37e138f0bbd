"""The local projection of topics that are the truth: the rebuild of queries, the first ones, and how far it is."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlalchemy import Engine

from coincide.queries import AnyQuery
from coincide.wire.declarations.query_record import QueryRecord, put_record
from coincide.wire.declarations.stream_records import is_stream_key
from services.alerting.following.followed_topics import FollowedTopics, store_positions
from services.alerting.following.sorting import sort_records
from services.alerting.metrics import Metrics
from services.alerting.records.records import TOPICS
from services.alerting.store.query_rows import greatest_version, replace_queries
from services.common.access.audit import AuditTrail
from services.common.access.caller import NOBODY
from services.common.clock import system_clock_us
from services.common.log.reader import LogReader
from services.common.log.records import TopicPartition
from services.common.topics.record_publisher import RecordPublisher
from services.common.topics.topic_names import TopicNames


def rebuild_queries(
    reader: LogReader,
    topics: FollowedTopics,
    names: TopicNames,
    engine: Engine,
    metrics: Metrics,
    stopping: threading.Event,
) -> bool:
    """Read the whole topic and make it the database's state of the queries; return whether any record is of a query.

    It is read at every start: a compacted topic of some hundred queries takes milliseconds, and neither a database
    from another cluster nor one deleted by hand can then disagree with it.
    """
    partition = TopicPartition(names.full(TOPICS.queries), 0)
    changes: list[QueryRecord] = []
    had_records = False
    for records in reader.whole(partition.topic, stopping.is_set):
        had_records = had_records or any(not is_stream_key(record.key) for record in records)
        changes += sort_records(records, metrics, names).changes
    reached = topics.at({partition: reader.position(partition)})
    with engine.begin() as connection:
        replace_queries(connection, changes)
        store_positions(connection, reached)
    return had_records


_SEEDING = replace(NOBODY, why="the file of queries declares it, and there was none yet")


class Seed:
    """The configured queries, to be published when the queries topic holds no record of a query."""

    def __init__(
        self, queries: Sequence[AnyQuery], publisher: RecordPublisher, audit: AuditTrail, engine: Engine
    ) -> None:
        self._left = list(queries)
        self._publisher, self._audit = publisher, audit
        self._engine = engine
        self.is_unfinished = False  # true where publishing began and Kafka went away in between

    def publish(self) -> None:
        """Publish what is left, each under a version that it never had here; call again after a `LogError`."""
        self.is_unfinished = bool(self._left)
        while self._left:
            query = self._left[0]
            with self._engine.connect() as connection:
                version = greatest_version(connection, query.id) + 1
            now_us = system_clock_us()
            change = put_record(query.id, version, now_us, query.to_json())
            self._publisher.publish(TOPICS.queries, change.key, change.to_record())
            after = {"version": version, "paused": False} | query.to_json()
            self._audit.note(_SEEDING, "query.created", query.id, None, after)
            del self._left[0]
        self.is_unfinished = False


DATABASE_LOST = "the database was deleted or replaced: alerting ends, and fills a new one once it is started again"


def no_answer(log_name: str) -> str:
    """Say that a log is silent, to whoever asks whether alerting is ready."""
    return f"{log_name} cannot be used: it does not answer"


class Progress:
    """Whether the log answers, and how far topics of one partition were read into the database."""

    def __init__(
        self,
        silence_s: float,
        log_name: str = "Kafka",
        *,
        streams_are_known: Callable[[], bool] = lambda: True,
        database_is_lost: Callable[[], bool] = lambda: False,
    ) -> None:
        self._silence_s = silence_s
        self._streams_are_known = streams_are_known
        self._database_is_lost = database_is_lost
        self._heard_at_s: float | None = None
        self._fault = no_answer(log_name)
        self._lasting: str | None = None
        self._unread = f"the queries are still being read from {log_name}"
        self._offsets: dict[str, int] = {}
        self._caught_up = False
        self._waiting: set[tuple[str, int, asyncio.Future[None]]] = set()

    def heard(self) -> None:
        """Note that the log answered."""
        self._heard_at_s = time.monotonic()

    def failed(self, fault: str, *, lasts: bool = False) -> None:
        """Note what cannot be used, in one sentence: everybody may read it, so it says nothing of our insides.

        If it `lasts`, it counts though the log answers, until `goes_on`.
        """
        self._fault, self._lasting = fault, fault if lasts else None

    def goes_on(self) -> None:
        """Note that what the log has is read again."""
        self._lasting = None

    def caught_up(self) -> None:
        """Note that the database has every query that the topic had when alerting started."""
        self._caught_up = True

    def not_ready_because(self) -> list[str]:
        """Return why changes cannot be taken now; empty when they can."""
        if self._database_is_lost():
            return [DATABASE_LOST]
        if self._lasting is not None:
            return [self._lasting]
        if self._heard_at_s is None or time.monotonic() - self._heard_at_s > self._silence_s:
            return [self._fault]
        return [] if self._caught_up and self._streams_are_known() else [self._unread]

    def reached(self, topic: str, next_offset: int) -> None:
        """Wake everybody who waits for an offset below `next_offset`, the next to be read; on the event loop."""
        self._offsets[topic] = next_offset
        for of, offset, future in self._waiting:
            if of == topic and offset < next_offset and not future.done():
                future.set_result(None)

    async def wait_until_held(self, topic: str, offset: int, timeout_s: float) -> None:
        """Return once the database holds the record at `offset`; a `TimeoutError` after `timeout_s`.

        The topic has one partition.
        """
        if offset < self._offsets.get(topic, 0):
            return
        waiter = (topic, offset, asyncio.get_running_loop().create_future())
        self._waiting.add(waiter)
        try:
            async with asyncio.timeout(timeout_s):
                await waiter[2]
        finally:
            self._waiting.discard(waiter)
