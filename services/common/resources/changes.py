"""Changes: judged, given a version, written, waited for, and told to the audit trail; one at a time."""

import asyncio
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from starlette.concurrency import run_in_threadpool

from coincide.wire.last_change import LastChange
from services.common.access.audit import AuditTrail
from services.common.access.caller import Caller
from services.common.clock import Clock
from services.common.http.preconditions import Precondition
from services.common.http.problem import try_again
from services.common.resources.resource import Edit, Resource

SHOWN_WITHIN_S, LOOK_EVERY_S = 5.0, 0.02
MOST_REMEMBERED = 10_000

T = TypeVar("T")


class Publisher(Protocol):
    """What writes a record and waits for it a bounded time."""

    log_name: str  #: who takes it, as a person calls it

    async def publish_record(self, topic: str, key: bytes, value: bytes | None) -> bool:
        """Return whether the log acknowledged it."""


@dataclass
class Changes(Generic[T]):
    """The one way in which a process changes what `of` declares, and goes by it `shown_within_s` later at most.

    Another process may change the same thing in the same moment: the later record stands, as its version says. No
    version is given twice: those are remembered, too, of changes that were not acknowledged and of what is removed.
    """

    of: Resource[T]
    publisher: Publisher
    audit: AuditTrail
    clock_us: Clock
    shown_within_s: float = SHOWN_WITHIN_S
    one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    _given: dict[str, int] = field(default_factory=dict)

    async def make(
        self, name: str, edit: Edit[T], precondition: Precondition, who: Caller, because: str | None = None
    ) -> bool:
        """Change a thing; return whether it was created. An edit that changes nothing makes no new version.

        The process goes by the change when this returns. The record names `because` as its reason, else the key of
        `who`. Raises `Problem`: 404, 409, 412, 422 or 428 and nothing was changed; 503 when the log did not acknowledge
        in time, and then the change may still take effect.
        """
        async with self.one_at_a_time:
            self.refuse_unless_ready()
            present = await self.of.present(name)
            wanted = await run_in_threadpool(edit, present)  # it may look at every sensor
            precondition.check(None if present is None else self.of.version(name, present), self.of.noun)
            if wanted == present:
                return False
            await run_in_threadpool(self.of.refuse, name, present, wanted)
            change = self.change(name, present, because or who.key)
            await self._publish(name, wanted, change)
            await asyncio.to_thread(self.audit.note, who, *self.of.audited(name, present, wanted))
            await self._until_shown(name, wanted, change)
            return present is None

    def refuse_unless_ready(self) -> None:
        """Raise a `Problem`, 503, as long as nothing can be changed."""
        if reasons := self.of.not_ready_because():
            raise try_again("nothing can be changed now: " + "; ".join(reasons))

    def change(self, name: str, present: T | None, by: str | None) -> LastChange:
        """Return the next change of a thing."""
        version = max(self.of.version(name, present), self._given.pop(name, 0)) + 1
        self._given[name] = version
        if len(self._given) > MOST_REMEMBERED:
            del self._given[next(iter(self._given))]
        return LastChange(version, self.clock_us(), by)

    async def write(self, name: str, wanted: T | None, change: LastChange) -> None:
        """Write a record and return once the process goes by it; a `Problem`, 503, if it does not."""
        await self._publish(name, wanted, change)
        await self._until_shown(name, wanted, change)

    async def _publish(self, name: str, wanted: T | None, change: LastChange) -> None:
        if not await self.publisher.publish_record(self.of.topic, *self.of.record(name, wanted, change)):
            raise try_again(f"{self.publisher.log_name} did not acknowledge the change; it may still take effect")

    async def _until_shown(self, name: str, wanted: T | None, change: LastChange) -> None:
        for _ in range(round(self.shown_within_s / LOOK_EVERY_S)):
            shown = await self.of.present(name)
            if shown == wanted and (shown is None or self.of.version(name, shown) >= change.version):
                return
            await asyncio.sleep(LOOK_EVERY_S)
        raise try_again("the change was written, but not read back yet")
