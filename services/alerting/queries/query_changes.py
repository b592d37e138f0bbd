"""Changing queries: checked, published to Kafka, and answered once the local projection holds the change."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from coincide.wire.declarations.query_record import QueryRecord, put_record
from services.alerting.following.projection import Progress
from services.alerting.metrics import Metrics
from services.alerting.queries.edits import Edit, Target, changes_nothing
from services.alerting.records.records import TOPICS
from services.alerting.store import query_rows
from services.alerting.store.query_rows import QueryReport, QueryVersion, read_report
from services.common.access.audit import AuditTrail
from services.common.access.caller import NOBODY, Caller
from services.common.clock import system_clock_us
from services.common.http.preconditions import Precondition
from services.common.http.problem import Problem, try_again
from services.common.log.faults import LogError
from services.common.resources.resource import action
from services.common.topics.record_publisher import RecordPublisher


@dataclass
class QueryChanges:
    """The one way in which queries change, one change at a time in each process.

    Two processes may give the same version to different changes. Every reader of the topic takes the first, and so
    the second is refused once the local projection holds them.
    """

    engine: Engine
    publisher: RecordPublisher
    progress: Progress
    metrics: Metrics
    audit: AuditTrail
    timeout_s: float
    queries_max: int
    one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    # A send that was given up may still arrive: its version must not be given to another change.
    _tried: dict[str, int] = field(default_factory=dict)

    async def make(
        self, id_: str, edit: Edit, precondition: Precondition, who: Caller = NOBODY
    ) -> tuple[QueryVersion, bool]:
        """Apply `edit` to the query `id_` for `who`; return the query after it and whether it was created.

        An edit that changes nothing makes no new version, unless it lifts a suspension.

        Raises `Problem`: 404, 409, 412, 422 or 428 and nothing was changed; 503 when the log did not acknowledge in
        time, and then the change may still take effect.
        """
        async with self.one_at_a_time:
            if reasons := self.progress.not_ready_because():
                self.metrics.query_changes.labels("refused").inc()
                raise try_again("queries cannot be changed now: " + "; ".join(reasons))
            current, greatest, count, report = await run_in_threadpool(self._state, id_)
            target = await run_in_threadpool(edit, current)  # to judge a query may take a second
            precondition.check(None if current is None else current.version, "query")
            if current is None and count >= self.queries_max:
                raise Problem(409, f"there are {count} queries, the most allowed (queries_max); remove one first")
            lifts = current is not None and target.lifts_suspension and report.is_suspended_in(current.version)
            if current is not None and changes_nothing(current, target) and not lifts:
                return current, False
            version = max(greatest, self._tried.get(id_, 0)) + 1
            self._tried[id_] = version
            made = await self._publish(_record(id_, version, target))
            await run_in_threadpool(self.audit.note, who, *_audited(current, made))
            return made, current is None

    async def _publish(self, record: QueryRecord) -> QueryVersion:
        try:
            offset = await run_in_threadpool(self.publisher.publish, TOPICS.queries, record.key, record.to_record())
            await self.progress.wait_until_held(TOPICS.queries, offset, self.timeout_s)
        except (LogError, TimeoutError) as error:
            self.metrics.query_changes.labels("unacknowledged").inc()
            said = f"{self.publisher.log_name} did not acknowledge version {record.version}; it may still take effect"
            raise try_again(said) from error
        if await run_in_threadpool(self._was_overtaken, record):
            self.metrics.query_changes.labels("overtaken").inc()
            raise Problem(412, "the query was changed at the same time through another process; read it again")
        self.metrics.query_changes.labels("acknowledged").inc()
        return QueryVersion.of(record)

    def _was_overtaken(self, record: QueryRecord) -> bool:
        """Whether another change has the version of this one, and was first."""
        with self.engine.connect() as connection:
            versions = query_rows.read_versions(connection, record.id)
        changed_at_us = {each.version: each.changed_at_us for each in versions}
        return changed_at_us.get(record.version) != record.changed_at_us

    def _state(self, id_: str) -> tuple[QueryVersion | None, int, int, QueryReport]:
        with self.engine.connect() as connection:
            current, count = query_rows.read_query(connection, id_), len(query_rows.read_queries(connection))
            return current, query_rows.greatest_version(connection, id_), count, read_report(connection, id_)


def _record(id_: str, version: int, target: Target) -> QueryRecord:
    now_us = system_clock_us()
    if target.query is None:
        return QueryRecord(id=id_, version=version, changed_at_us=now_us, removed=True)
    return put_record(id_, version, now_us, target.query.to_json(), paused=target.paused)


def _audited(before: QueryVersion | None, after: QueryVersion) -> tuple[str, str, Any, Any]:
    """Return the action, its subject, and what the query was before and is after it."""
    was, now = (
        None if each is None or each.query is None else {"version": each.version, "paused": each.paused} | each.query
        for each in (before, after)
    )
    return f"query.{action(was, now)}", after.id, was, now
