"""Changing what sensors follow by its name: checked, written, and then given to every sensor that names it."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from starlette.concurrency import run_in_threadpool

from coincide.errors import HistogramError
from services.common.access.caller import NOBODY, Caller
from services.common.http.preconditions import Precondition
from services.common.http.problem import Problem
from services.common.resources.changes import Changes
from services.common.resources.resource import Edit, Resource, action, at_hand, version_of
from services.ingest.registry.named_templates import NamedTemplate
from services.ingest.registry.registered_clocks import RegisteredClock
from services.ingest.registry.sensor_changes import SensorChanges
from services.ingest.registry.snapshot import Use
from services.ingest.registry.template_renewal import record_of
from services.ingest.verdicts import Refused

MOST_OF_A_KIND = 10_000
TRY_AGAIN_S = 1.0

log = logging.getLogger(__name__)

T = TypeVar("T", NamedTemplate, RegisteredClock)


@dataclass(frozen=True)
class Followed(Generic[T]):
    """A kind of what sensors follow by its name, and all of it that is registered."""

    noun: str
    topic: str
    is_followed: str  # how it is said of sensors that they follow one, such as "name the template"
    registered: Mapping[str, T]
    uses: Callable[[Collection[str]], Mapping[str, Use]]  # who follows them; it may look at every sensor
    read: Callable[[str, object], T]  # of its name and a document
    refuse_unfit: Callable[[Use, T], None]  # `Refused` or a `HistogramError`, where those who use it could not

    def resource(self, unread: Callable[[], list[str]]) -> Resource[T]:
        """Return what people change; `unread` says why they cannot yet."""
        return Resource(
            noun=self.noun,
            topic=self.topic,
            not_ready_because=unread,
            present=at_hand(self.registered.get),
            version=version_of,
            read=lambda name, document, _: self.read(name, document),
            document=lambda each: each.document,
            refuse=lambda name, _, wanted: self._refuse_impossible(name, wanted),
            record=record_of,
            audited=partial(audited, self.noun),
        )

    def _refuse_impossible(self, name: str, wanted: T | None) -> None:
        use, count = self.uses({name})[name], len(self.registered)
        if wanted is None and use.sensors:
            sensors = f"{len(use.sensors)} sensors {self.is_followed} {name!r}"
            raise Problem(409, f"{sensors}: change or remove them first")
        if name not in self.registered and count >= MOST_OF_A_KIND:
            raise Problem(409, f"there are {count} {self.noun}s, the most allowed; remove one first")
        if wanted is None:
            return
        try:
            self.refuse_unfit(use, wanted)
        except Refused as refused:
            raise Problem(422, refused.detail) from None
        except HistogramError as error:
            raise Problem(422, f"the {self.noun} is not usable: {error}") from None


def audited(noun: str, name: str, before: T | None, after: T | None) -> tuple[str, str, Any, Any]:
    """Return what the audit trail tells of a change: the action, its subject, and what it was before and after it."""
    return f"{noun}.{action(before, after)}", name, before and before.document, after and after.document


@dataclass
class FollowedChanges(Generic[T]):
    """The one way in which ingest changes what sensors follow, such as templates, one change at a time."""

    kind: Followed[T]
    sensors: SensorChanges
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        sensors = self.sensors.one
        self.of: Resource[T] = self.kind.resource(self.sensors.registry.unread)
        self.one: Changes[T] = Changes(self.of, sensors.publisher, sensors.audit, sensors.clock_us)

    async def make(self, name: str, edit: Edit[T], precondition: Precondition, who: Caller) -> bool:
        """Change one as `Changes.make` does; every sensor that names it has it when this returns.

        After a `Problem`, 503, some sensors may not have it yet: the same change again gives it to the rest.
        """
        async with self._one_at_a_time:
            async with self.sensors.one.one_at_a_time:  # no sensor comes to name what goes
                created = await self.one.make(name, edit, precondition, who)
            await self._renew(name, who)
            return created

    async def finish(self) -> None:
        """Give sensors what they lack, because ingest ended in the midst of a change.

        It begins once everything registered was read, and tries again while the log does not take the records.
        """
        while True:
            if await self._finish_now():
                return
            await asyncio.sleep(TRY_AGAIN_S)

    async def _finish_now(self) -> bool:
        if self.sensors.registry.unread():
            return False
        for name, sensors in (await run_in_threadpool(self._behind)).items():
            if not sensors:
                continue
            log.info("finishing the change of %s %s, which %d sensors lack", self.of.noun, name, len(sensors))
            try:
                async with self._one_at_a_time:
                    await self._renew(name, NOBODY)
            except Problem as problem:
                log.warning("the change of %s %s is not finished: %s", self.of.noun, name, problem.detail)
                return False
        return True

    async def _renew(self, name: str, who: Caller) -> None:
        await self.sensors.renew(f"{self.of.noun} {name}", partial(self._sensors_behind, name), who)

    def _sensors_behind(self, name: str) -> Collection[str]:
        return self.kind.uses({name})[name].behind

    def _behind(self) -> dict[str, Collection[str]]:
        """Return the sensors that lack what they follow as it is now, by its name."""
        return {name: use.behind for name, use in self.kind.uses(self.kind.registered.keys()).items()}
