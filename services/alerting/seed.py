"""Publishing the configured queries at the very first start."""

import logging
import time
from collections.abc import Sequence

from sqlalchemy import Engine

from coincide.queries import AnyQuery
from services.alerting.publisher import Publisher
from services.alerting.records import QueryChange
from services.alerting.store.query_rows import greatest_version

logger = logging.getLogger(__name__)


class Seed:
    """The configured queries, to be published when the queries topic holds no record at all."""

    def __init__(self, queries: Sequence[AnyQuery], publisher: Publisher, engine: Engine) -> None:
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

        Raises
        ------
        KafkaAwayError
            Kafka did not acknowledge one of them; call again.
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
