"""Changing queries: checked, published to Kafka, and answered once the local projection holds the change."""

import asyncio
import re
import time
from dataclasses import dataclass, field, fields
from typing import Self

from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from services.alerting.kafka.projection import Progress
from services.alerting.kafka.query_publisher import KafkaAwayError, QueryPublisher
from services.alerting.kafka.records import QueryChange
from services.alerting.metrics import Metrics
from services.alerting.queries.edits import Edit, Target, changes_nothing
from services.alerting.store import query_rows
from services.alerting.store.query_rows import QueryReport, QueryVersion, read_report
from services.common.problem import Problem

_TAG = re.compile(r'"(\d{1,19})"')


def entity_tag(version: int) -> str:
    """Return the ETag of a query's version."""
    return f'"{version}"'


@dataclass(frozen=True)
class Precondition:
    """What the caller believes of the query: `If-Match` versions (None: not given), `If-None-Match: *`."""

    versions: frozenset[int] | None = None
    any_version: bool = False
    must_be_new: bool = False

    @classmethod
    def parse(cls, if_match: str | None, if_none_match: str | None) -> Self:
        """Read the two headers. Raises `Problem`: 422 when one of them cannot be read."""
        if if_none_match not in (None, "*"):
            raise Problem(422, f"If-None-Match is {if_none_match!r}: only * is allowed")
        if if_match is None or if_match.strip() == "*":
            return cls(None, if_match is not None, if_none_match == "*")
        tags = [_TAG.fullmatch(tag.strip()) for tag in if_match.split(",")]
        if None in tags:
            raise Problem(422, f'If-Match is {if_match[:100]!r}: an ETag as GET returned it, such as "3", or *')
        return cls(frozenset(int(tag[1]) for tag in tags if tag), False, if_none_match == "*")

    def check(self, current: QueryVersion | None) -> None:
        """Raise the Problem, 412 or 428, that keeps the caller from overwriting what they have not seen."""
        if current is None:
            if self.versions is not None or self.any_version:
                raise Problem(412, "the query does not exist, but If-Match was given")
            return
        tag = {"ETag": entity_tag(current.version)}
        if self.must_be_new:
            raise Problem(412, f"the query exists, with version {current.version}", tag)
        if self.versions is None and not self.any_version:
            raise Problem(428, "changing a query needs If-Match with its ETag (or *)", tag)
        if self.versions is not None and current.version not in self.versions:
            raise Problem(412, f"the query has version {current.version}, which If-Match does not name", tag)


@dataclass
class QueryChanges:
    """The one way in which queries change, one change at a time.

    Only one alerting process may change queries: two would give the same version to different changes, of which
    every reader of the topic takes the first.
    """

    engine: Engine
    publisher: QueryPublisher
    progress: Progress
    metrics: Metrics
    timeout_s: float
    queries_max: int
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    # A send that was given up may still arrive: its version must not be given to another change.
    _tried: dict[str, int] = field(default_factory=dict)

    async def make(self, id_: str, edit: Edit, precondition: Precondition) -> tuple[QueryVersion, bool]:
        """Apply `edit` to the query `id_`; return the query after it and whether it was created.

        An edit that changes nothing makes no new version, unless it lifts a suspension.

        Raises `Problem`: 404, 409, 412, 422 or 428 and nothing was changed; 503 when Kafka did not acknowledge in
        time, and then the change may still take effect.
        """
        async with self._one_at_a_time:
            if reasons := self.progress.not_ready_because():
                self.metrics.query_changes.labels("refused").inc()
                raise _away("queries cannot be changed now: " + "; ".join(reasons))
            current, greatest, count, report = await run_in_threadpool(self._state, id_)
            target = await run_in_threadpool(edit, current)  # to judge a query may take a second
            precondition.check(current)
            if current is None and count >= self.queries_max:
                raise Problem(409, f"there are {count} queries, the most allowed (queries_max); remove one first")
            lifts = current is not None and target.lifts_suspension and report.is_suspended_in(current.version)
            if current is not None and changes_nothing(current, target) and not lifts:
                return current, False
            version = max(greatest, self._tried.get(id_, 0)) + 1
            self._tried[id_] = version
            return await self._publish(_record(id_, version, target)), current is None

    async def _publish(self, record: QueryChange) -> QueryVersion:
        try:
            offset = await run_in_threadpool(self.publisher.publish, record)
            await self.progress.wait_until_held(offset, self.timeout_s)
        except (KafkaAwayError, TimeoutError) as error:
            self.metrics.query_changes.labels("unacknowledged").inc()
            raise _away(f"Kafka did not acknowledge version {record.version}; it may still take effect") from error
        self.metrics.query_changes.labels("acknowledged").inc()
        return QueryVersion(**{each.name: getattr(record, each.name) for each in fields(QueryVersion)})

    def _state(self, id_: str) -> tuple[QueryVersion | None, int, int, QueryReport]:
        with self.engine.connect() as connection:
            current, count = query_rows.read_query(connection, id_), len(query_rows.read_queries(connection))
            return current, query_rows.greatest_version(connection, id_), count, read_report(connection, id_)


def _record(id_: str, version: int, target: Target) -> QueryChange:
    now_us = time.time_ns() // 1000
    if target.query is None:
        return QueryChange(1, id_, version, now_us, removed=True)
    return QueryChange(1, id_, version, now_us, paused=target.paused, query=target.query.to_json())


def _away(detail: str) -> Problem:
    return Problem(503, detail, {"Retry-After": "2"})
