"""The audit trail: who changed what, from where, and what it was before and after; one record on coincide.audit each.

The owner of a change calls `AuditTrail.note` once the change was acknowledged. The record is also a line of the log,
so that a change is told of even where the topics' log goes away in between.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta, Struct

from coincide.wire.fields import FormatVersion, Microseconds
from services.common.access.caller import Caller
from services.common.clock import Clock, system_clock_us
from services.common.log.faults import LogError

AUDIT = "audit"

log = logging.getLogger(__name__)


class RecordWriter(Protocol):
    """What writes one record; `RecordPublisher` does, and waits for it a bounded time."""

    def publish(self, topic: str, key: bytes | None, value: bytes | None) -> object:
        """Write it, or raise `LogError`."""


def _said(description: str, **more: Any) -> Meta:
    return Meta(description=description, extra_json_schema=more)


class AuditedChange(Struct, frozen=True, kw_only=True):
    """A change that somebody made. Key: what was changed."""

    v: FormatVersion = 1
    at_us: Microseconds
    component: Annotated[str, _said("Who took the change: ingest, alerting, history, or command.")]
    key: Annotated[str | None, _said("Id of the caller's key; null where it showed none.")]
    name: Annotated[str, _said("Name of that key; anybody where none was shown, nobody where no request asked.")]
    address: Annotated[str | None, _said("Where the connection came from; behind a proxy, the proxy's.")]
    action: Annotated[str, _said("What was done, such as query.changed.", pattern=r"^[a-z_]+\.[a-z_]+$")]
    subject: Annotated[str, _said("Id of what was changed.")]
    before: Annotated[Any, _said("What it was; null where it was made.")]
    after: Annotated[Any, _said("What it is now; null where it was removed.")]
    why: Annotated[str | None, _said("Why, as the caller said; null where nothing was said.")] = None


class AuditTrail:
    """Writes the changes of one component; `on_lost` is called for each that Kafka did not take."""

    def __init__(
        self,
        component: str,
        publisher: RecordWriter,
        on_lost: Callable[[], object] = lambda: None,
        clock_us: Clock = system_clock_us,
    ) -> None:
        self._component, self._publisher, self._on_lost, self._clock_us = component, publisher, on_lost, clock_us

    def note(self, who: Caller, action: str, subject: str, before: Any, after: Any) -> None:
        """Write that `who` did `action` (such as ``query.replaced``) to `subject` (its id); give no secrets.

        `before` and `after` are what JSON can hold, None where there was nothing. It blocks until Kafka acknowledges,
        for a few seconds at most, so call it off the event loop: ``await asyncio.to_thread(audit.note, ...)``. The
        change stands whether or not the record could be written: one that could not is counted, and logged whole.
        """
        change = AuditedChange(
            at_us=self._clock_us(),
            component=self._component,
            key=who.key,
            name=who.name,
            address=who.address,
            action=action,
            subject=subject,
            before=before,
            after=after,
            why=who.why,
        )
        try:
            self._publisher.publish(AUDIT, subject.encode(), msgspec.json.encode(change))
        except LogError as error:
            self._on_lost()
            extra = {"audited": msgspec.to_builtins(change), "fault": str(error)}
            log.error("a change is not on the audit topic", extra=extra)  # noqa: TRY400 - no traceback
        else:
            log.info("%s changed %s: %s", who.name, subject, action, extra={"key": who.key, "address": who.address})
