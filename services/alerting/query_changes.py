"""Changing queries: checked, published to Kafka, and answered once the local projection holds the change."""

import asyncio
import time

from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from services.alerting.metrics import Metrics
from services.alerting.preconditions import Precondition
from services.alerting.progress import Progress
from services.alerting.publisher import KafkaAwayError, Publisher
from services.alerting.query_edits import Edit, Wanted, changes_nothing
from services.alerting.records import QueryChange
from services.alerting.store import query_rows
from services.alerting.store.query_rows import QueryVersion
from services.common.problem import Problem


class QueryChanges:
    """The one way in which queries change, one change at a time.

    Only one alerting process may change queries: two would give the same version to different changes, of which
    every reader of the topic takes the first.
    """

    def __init__(
        self,
        engine: Engine,
        publisher: Publisher,
        progress: Progress,
        metrics: Metrics,
        *,
        timeout_s: float,
        queries_max: int,
    ) -> None:
        self._engine = engine
        self._publisher = publisher
        self._progress = progress
        self._metrics = metrics
        self._timeout_s = timeout_s
        self._queries_max = queries_max
        self._one_at_a_time = asyncio.Lock()
        # A send that was given up may still arrive: its version must not be given to another change.
        self._tried: dict[str, int] = {}

    async def make(self, id_: str, edit: Edit, precondition: Precondition) -> tuple[QueryVersion, bool]:
        """Apply `edit` to the query `id_`; return the query after it and whether it was created.

        An edit that changes nothing makes no new version.

        Raises
        ------
        Problem
            404, 409, 412, 422 or 428 and nothing was changed; 503 when Kafka did not acknowledge in time, and then
            the change may still take effect.
        """
        async with self._one_at_a_time:
            self._refuse_unless_ready()
            current, greatest, count = await run_in_threadpool(self._state, id_)
            wanted = edit(current)
            precondition.check(current)
            if current is None:
                self._refuse_one_too_many(count)
            elif changes_nothing(current, wanted):
                return current, False
            version = max(greatest, self._tried.get(id_, 0)) + 1
            self._tried[id_] = version
            return await self._publish(_record(id_, version, wanted)), current is None

    async def _publish(self, record: QueryChange) -> QueryVersion:
        try:
            offset = await run_in_threadpool(self._publisher.publish, record)
            await self._progress.wait_until_held(offset, self._timeout_s)
        except (KafkaAwayError, TimeoutError) as error:
            self._metrics.query_changes.labels("unacknowledged").inc()
            raise _away(f"Kafka did not acknowledge version {record.version}; it may still take effect") from error
        self._metrics.query_changes.labels("acknowledged").inc()
        return QueryVersion(
            record.id, record.version, record.paused, record.removed, record.changed_at_us, record.query
        )

    def _refuse_unless_ready(self) -> None:
        reasons = self._progress.not_ready_because()
        if reasons:
            self._metrics.query_changes.labels("refused").inc()
            raise _away("queries cannot be changed now: " + "; ".join(reasons))

    def _refuse_one_too_many(self, count: int) -> None:
        if count >= self._queries_max:
            raise Problem(409, f"there are {count} queries, the most allowed (queries_max); remove one first")

    def _state(self, id_: str) -> tuple[QueryVersion | None, int, int]:
        with self._engine.connect() as connection:
            current = query_rows.read_query(connection, id_)
            return current, query_rows.greatest_version(connection, id_), len(query_rows.read_queries(connection))


def _record(id_: str, version: int, wanted: Wanted) -> QueryChange:
    now_us = time.time_ns() // 1000
    if wanted.query is None:
        return QueryChange(1, id_, version, now_us, removed=True)
    return QueryChange(1, id_, version, now_us, paused=wanted.paused, query=wanted.query.to_json())


def _away(detail: str) -> Problem:
    return Problem(503, detail, {"Retry-After": "2"})
