"""Changing what sensors follow by its name: checked, written, and then given to every sensor that names it."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from starlette.concurrency import run_in_threadpool

from services.common.access.caller import NOBODY, Caller
from services.common.http.preconditions import Precondition
from services.common.http.problem import Problem
from services.common.resources.changes import Changes
from services.common.resources.resource import Edit, Resource
from services.ingest.registry.sensor_changes import SensorChanges
from services.ingest.registry.snapshot import Use

TRY_AGAIN_S = 1.0

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass
class FollowedChanges(Generic[T]):
    """The one way in which ingest changes what sensors follow, such as templates, one change at a time."""

    of: Resource[T]
    sensors: SensorChanges
    names: Collection[str]  # of all that there are, as they are now
    uses: Callable[[Collection[str]], Mapping[str, Use]]  # who follows them; it may look at every sensor
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        sensors = self.sensors.one
        self.one = Changes(self.of, sensors.publisher, sensors.audit, sensors.clock_us)

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
        return self.uses({name})[name].behind

    def _behind(self) -> dict[str, Collection[str]]:
        """Return the sensors that lack what they follow as it is now, by its name."""
        return {name: use.behind for name, use in self.uses(self.names).items()}
