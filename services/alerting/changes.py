"""Changing queries: checked, published to Kafka, and answered once the local projection holds the change."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, Engine
from starlette.concurrency import run_in_threadpool

from coincide.query import Query
from coincide.within import QueryError
from services.alerting.merge_patch import merge_patch
from services.alerting.metrics import Metrics
from services.alerting.preconditions import Precondition
from services.alerting.progress import Progress
from services.alerting.publisher import KafkaAwayError, Publisher
from services.alerting.query_documents import read_query as read_document
from services.alerting.records import QueryChange
from services.alerting.store import query_rows
from services.alerting.store.query_rows import QueryVersion
from services.common.problem import Problem
from services.common.streams import Streams


@dataclass(frozen=True)
class Wanted:
    """What a query shall become; `query` None removes it."""

    query: Query | None
    paused: bool = False


#: Makes of the query as it is (None when it is not) what it shall become.
Change = Callable[[QueryVersion | None], Wanted]


class QueryChanges:
    """The one way in which queries change, one change at a time."""

    def __init__(
        self,
        engine: Engine,
        publisher: Publisher,
        progress: Progress,
        streams: Streams,
        metrics: Metrics,
        timeout_s: float,
        queries_max: int,
    ) -> None:
        self._engine = engine
        self._publisher = publisher
        self._progress = progress
        self._streams = streams
        self._metrics = metrics
        self._timeout_s = timeout_s
        self._queries_max = queries_max
        self._one_at_a_time = asyncio.Lock()
        # A send that was given up may still arrive: its version must not be given to another change.
        self._tried: dict[str, int] = {}

    async def put(self, id_: str, document: object, precondition: Precondition) -> tuple[QueryVersion, bool]:
        """Create or replace the query; return it and whether it was created. A paused query stays paused."""
        query = self._read(_with_id(id_, document))
        created = False

        def change(current: QueryVersion | None) -> Wanted:
            nonlocal created
            created = current is None
            return Wanted(query, current.paused if current else False)

        return await self._change(id_, precondition, change), created

    async def patch(self, id_: str, patch: object, precondition: Precondition) -> QueryVersion:
        """Change parts of the query by a JSON merge patch."""

        def change(current: QueryVersion | None) -> Wanted:
            found = _found(id_, current)
            return Wanted(self._read(_with_id(id_, merge_patch(found.query, patch))), found.paused)

        return await self._change(id_, precondition, change)

    async def set_threshold(self, id_: str, threshold: float, precondition: Precondition) -> QueryVersion:
        """Change the threshold of the query's edge, and nothing else."""

        def change(current: QueryVersion | None) -> Wanted:
            found = _found(id_, current)
            document = found.query or {}
            edges = [{**edge, "threshold": threshold} for edge in document["within"]]
            return Wanted(self._read({**document, "within": edges}), found.paused)

        return await self._change(id_, precondition, change)

    async def set_paused(self, id_: str, paused: bool, precondition: Precondition) -> QueryVersion:
        """Pause or resume the query."""
        return await self._change(
            id_, precondition, lambda current: Wanted(self._read(_found(id_, current).query), paused)
        )

    async def remove(self, id_: str, precondition: Precondition) -> None:
        """Remove the query; its matches and its history stay."""

        def change(current: QueryVersion | None) -> Wanted:
            _found(id_, current)
            return Wanted(None)

        await self._change(id_, precondition, change)

    def _read(self, document: object) -> Query:
        try:
            return read_document(document, self._streams)
        except QueryError as error:
            raise Problem(422, f"{error.field}: {error.message}", field=error.field) from error

    async def _change(self, id_: str, precondition: Precondition, change: Change) -> QueryVersion:
        async with self._one_at_a_time:
            self._refuse_unless_ready()
            current, greatest, count = await run_in_threadpool(self._state, id_)
            if current is not None:
                precondition.check(current)
            wanted = change(current)
            if current is None:
                precondition.check(None)
                self._refuse_one_too_many(count)
            elif _is_same(current, wanted):
                return current
            version = max(greatest, self._tried.get(id_, 0)) + 1
            self._tried[id_] = version
            return await self._publish(_record(id_, version, wanted))

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
        def read(connection: Connection) -> tuple[QueryVersion | None, int, int]:
            current = query_rows.read_query(connection, id_)
            return current, query_rows.greatest_version(connection, id_), len(query_rows.read_queries(connection))

        with self._engine.connect() as connection:
            return read(connection)


def _record(id_: str, version: int, wanted: Wanted) -> QueryChange:
    now_us = time.time_ns() // 1000
    if wanted.query is None:
        return QueryChange(1, id_, version, now_us, removed=True)
    return QueryChange(1, id_, version, now_us, paused=wanted.paused, query=wanted.query.to_json())


def _is_same(current: QueryVersion, wanted: Wanted) -> bool:
    same_query = wanted.query is not None and Query.from_json(current.query) == wanted.query
    return same_query and current.paused == wanted.paused


def _with_id(id_: str, document: object) -> object:
    if not isinstance(document, dict):
        return document
    if document.setdefault("id", id_) != id_:
        raise Problem(422, f"id: is {document['id']!r}: the path names {id_!r}; leave it out or repeat it", field="id")
    return document


def _found(id_: str, current: QueryVersion | None) -> QueryVersion:
    if current is None:
        raise Problem(404, f"there is no query {id_!r}")
    return current


def _away(detail: str) -> Problem:
    return Problem(503, detail, {"Retry-After": "2"})
