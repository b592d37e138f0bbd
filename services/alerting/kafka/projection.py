"""The local projection of the queries topic, which is the truth; and the queries of the very first start."""

import logging
import threading
import time
from collections.abc import Sequence

from kafka import TopicPartition
from sqlalchemy import Engine

from coincide.queries import AnyQuery
from services.alerting.kafka.kafka_session import KafkaSession
from services.alerting.kafka.query_publisher import QueryPublisher
from services.alerting.kafka.records import QueryChange
from services.alerting.kafka.sorting import Sorter
from services.alerting.store.query_rows import apply_changes, greatest_version, replace_queries

POLL_S = 0.25


def rebuild_queries(
    session: KafkaSession, partition: TopicPartition, engine: Engine, sorter: Sorter, stopping: threading.Event
) -> bool:
    """Read the whole topic and make it the database's state of the queries; return whether it had any record.

    It is read at every start: a compacted topic of some hundred queries takes milliseconds, and neither a database
    from another cluster nor one deleted by hand can then disagree with it.
    """
    end = session.ends([partition])[partition]
    session.read_from({partition: None})
    changes: list[QueryChange] = []
    had_records = False
    while session.position(partition) < end and not stopping.is_set():
        records = session.poll(POLL_S)
        had_records = had_records or bool(records)
        changes += sorter.sort(records).changes
    if not stopping.is_set():
        _replace(engine, changes)
    return had_records


def _replace(engine: Engine, changes: list[QueryChange]) -> None:
    newest: dict[str, QueryChange] = {}
    for change in changes:
        if change.id not in newest or change.version > newest[change.id].version:
            newest[change.id] = change
    with engine.begin() as connection:
        replace_queries(connection, newest.values())
        apply_changes(connection, changes)  # all of them are history; none is newer than the state


logger = logging.getLogger(__name__)


class Seed:
    """The configured queries, to be published when the queries topic holds no record at all."""

    def __init__(self, queries: Sequence[AnyQuery], publisher: QueryPublisher, engine: Engine) -> None:
        self._left = list(queries)
        self._publisher = publisher
        self._engine = engine
        self._has_begun = False

    @property
    def is_unfinished(self) -> bool:
        """Whether publishing began and Kafka went away in between."""
        return self._has_begun and bool(self._left)

    def publish(self) -> None:
        """Publish what is left of the queries, each under a version that it never had here.

        Raises `KafkaAwayError`: Kafka did not acknowledge one of them; call again.
        """
        self._has_begun = True
        while self._left:
            query = self._left[0]
            with self._engine.connect() as connection:
                version = greatest_version(connection, query.id) + 1
            now_us = time.time_ns() // 1000
            self._publisher.publish(QueryChange(1, query.id, version, now_us, query=query.to_json()))
            logger.info("published a configured query", extra={"query": query.id})
            del self._left[0]
