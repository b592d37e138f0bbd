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
from services.alerting.kafka.sorting import sort_records
from services.alerting.metrics import Metrics
from services.alerting.store.query_rows import greatest_version, replace_queries

POLL_S = 0.25


def rebuild_queries(
    session: KafkaSession, partition: TopicPartition, engine: Engine, metrics: Metrics, stopping: threading.Event
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
        changes += sort_records(records, metrics).changes
    if not stopping.is_set():
        with engine.begin() as connection:
            replace_queries(connection, changes)
    return had_records


logger = logging.getLogger(__name__)


class Seed:
    """The configured queries, to be published when the queries topic holds no record at all."""

    def __init__(self, queries: Sequence[AnyQuery], publisher: QueryPublisher, engine: Engine) -> None:
        self._left = list(queries)
        self._publisher = publisher
        self._engine = engine
        self.is_unfinished = False  # true where publishing began and Kafka went away in between

    def publish(self) -> None:
        """Publish what is left, each under a version that it never had here; call again after a `KafkaAwayError`."""
        self.is_unfinished = bool(self._left)
        while self._left:
            query = self._left[0]
            with self._engine.connect() as connection:
                version = greatest_version(connection, query.id) + 1
            now_us = time.time_ns() // 1000
            self._publisher.publish(QueryChange(1, query.id, version, now_us, query=query.to_json()))
            logger.info("published a configured query", extra={"query": query.id})
            del self._left[0]
        self.is_unfinished = False
