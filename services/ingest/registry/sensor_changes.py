"""Sensors as what people change: what a document declares, one at a time, many at once, and those of a template."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from starlette.concurrency import run_in_threadpool

from coincide.wire.fields import LONGEST_NAME
from services.common.access.audit import AuditTrail
from services.common.access.caller import Caller
from services.common.clock import Clock
from services.common.http.problem import Problem, try_again
from services.common.resources.changes import Changes, Publisher
from services.common.resources.resource import Resource, at_hand, version_of
from services.ingest.registry.area_places import AreaPlaces, Placed
from services.ingest.registry.sensor_documents import sensor_in
from services.ingest.registry.sensors import Sensor, audited_change
from services.ingest.registry.sensors_topic import SENSORS
from services.ingest.registry.snapshot import Registry, Snapshot
from services.ingest.registry.template_renewal import record_of, renewed

MOST_AT_ONCE = 1_000  # sensors of one request, or that follow their template together

Status = Literal["created", "replaced", "unchanged", "refused", "unacknowledged"]


@dataclass(frozen=True)
class WantedSensor:
    """A sensor as it shall be, and its place in the list that it came in."""

    index: int
    sensor: Sensor


@dataclass(frozen=True)
class SensorVerdict:
    """What became of one of many sensors; `version` is that of the sensor now, None where it was not written."""

    wanted: WantedSensor
    status: Status
    version: int | None
    detail: str | None = None


@dataclass
class SensorChanges:
    """The one way in which ingest changes sensors, one change at a time.

    Another ingest may change the same sensor in the same moment: the later record stands, as its version says.
    """

    registry: Registry
    publisher: Publisher
    audit: AuditTrail
    clock_us: Clock

    def __post_init__(self) -> None:
        self.one = Changes(sensor_resource(self.registry), self.publisher, self.audit, self.clock_us)

    async def make_many(self, many: Sequence[WantedSensor], *, overwrite: bool, who: Caller) -> list[SensorVerdict]:
        """Create sensors, and with `overwrite` replace those that are there; return what became of each."""
        async with self.one.one_at_a_time:
            self.one.refuse_unless_ready()
            renewed = [replace(each, sensor=self._renewed(each.sensor)) for each in many]
            wanted, refused = await run_in_threadpool(_with_places_of_one_kind, renewed, self.registry.snapshot)
            return refused + await self._make_all(wanted, overwrite=overwrite, who=who, changed_by=who.key)

    async def renew(self, followed: str, behind: Callable[[], Collection[str]], who: Caller) -> None:
        """Give the sensors that are `behind` what they follow, such as template cable, as it is now; many at a time.

        A `Problem`, 503, says that the log did not acknowledge all: the rest follows when it is called again.
        """
        while True:
            async with self.one.one_at_a_time:
                wanted = await run_in_threadpool(self._wanted, behind)
                because = followed[:LONGEST_NAME]
                outcomes = await self._make_all(wanted, overwrite=True, who=who, changed_by=because)
            if any(each.status == "unacknowledged" for each in outcomes):
                kind = followed.partition(" ")[0]
                raise try_again(f"the {kind} was changed, but not all its sensors have it yet: ask for it again")
            if not outcomes:
                return

    def _wanted(self, behind: Callable[[], Collection[str]]) -> list[WantedSensor]:
        """Return sensors as they shall be; so many at most."""
        sensors = filter(None, map(self.registry.snapshot.sensor, sorted(behind())[:MOST_AT_ONCE]))
        return [WantedSensor(nth, self._renewed(sensor)) for nth, sensor in enumerate(sensors)]

    def _renewed(self, sensor: Sensor) -> Sensor:
        return renewed(sensor, self.registry.templates, self.registry.clocks)

    async def _make_all(
        self, many: Sequence[WantedSensor], *, overwrite: bool, who: Caller, changed_by: str | None
    ) -> list[SensorVerdict]:
        snapshot = self.registry.snapshot
        before = {each.sensor.id: snapshot.sensor(each.sensor.id) for each in many}
        outcomes = await asyncio.gather(
            *(self._make_one(each, before[each.sensor.id], overwrite=overwrite, changed_by=changed_by) for each in many)
        )
        made = [each for each in outcomes if each.status in ("created", "replaced")]
        await asyncio.to_thread(self._note_many, who, made, before)
        return list(outcomes)

    async def _make_one(
        self, wanted: WantedSensor, present: Sensor | None, *, overwrite: bool, changed_by: str | None
    ) -> SensorVerdict:
        sensor = wanted.sensor
        if present is not None and (sensor == present or not overwrite):
            differs = "it is there and differs: ask with overwrite=true to replace it"
            if sensor == present:
                return SensorVerdict(wanted, "unchanged", present.change.version)
            return SensorVerdict(wanted, "refused", present.change.version, differs)
        change = self.one.change(sensor.id, present, changed_by)
        try:
            await self.one.write(sensor.id, sensor, change)
        except Problem as problem:
            return SensorVerdict(wanted, "unacknowledged", None, problem.detail)
        return SensorVerdict(wanted, "created" if present is None else "replaced", change.version)

    def _note_many(self, who: Caller, made: Iterable[SensorVerdict], before: Mapping[str, Sensor | None]) -> None:
        for each in made:
            sensor = each.wanted.sensor
            self.audit.note(who, *audited_change(sensor.id, before[sensor.id], sensor))


def _with_places_of_one_kind(
    many: Sequence[WantedSensor], snapshot: Snapshot
) -> tuple[list[WantedSensor], list[SensorVerdict]]:
    """Return those whose places go with what their areas have and with those before them, and a verdict on others."""
    if all(each.sensor.particulars.place is None for each in many):
        return list(many), []
    places = AreaPlaces(snapshot.placed({each.sensor.id for each in many}))
    wanted, refused = list[WantedSensor](), list[SensorVerdict]()
    for each in many:
        sensor, place = each.sensor, each.sensor.particulars.place
        if place is not None and (said := places.conflict(sensor.area, place)):
            version = snapshot.change(sensor.id).version if sensor.id in snapshot.stamps else None
            refused.append(SensorVerdict(each, "refused", version, f"place is {place}: {said}"))
            continue
        if place is not None:
            places.add(Placed(sensor.id, sensor.area, place))
        wanted.append(each)
    return wanted, refused


def _refuse_mixed_places(registry: Registry, sensor_id: str, wanted: Sensor | None) -> None:
    """Raise a Problem, 422, for a place of another kind than its area has."""
    place = wanted.particulars.place if wanted else None
    if wanted is None or place is None:
        return
    said = AreaPlaces(registry.snapshot.placed({sensor_id})).conflict(wanted.area, place)
    if said is not None:
        raise Problem(422, f"place is {place}: {said}", field="place", value=place, allowed=said)


def sensor_resource(registry: Registry) -> Resource[Sensor]:
    """Return what sensors are: detections are stamped by a change once it was made; those before are not."""

    def present(sensor_id: str) -> Sensor | None:
        return registry.snapshot.sensor(sensor_id)

    def read(sensor_id: str, document: object, present: Sensor | None) -> Sensor:
        known = {} if present is None else {each.id: each for each in present.templates.values()}
        return sensor_in(sensor_id, document, registry, known)

    return Resource(
        noun="sensor",
        topic=SENSORS,
        not_ready_because=registry.unread,
        present=at_hand(present),
        version=version_of,
        read=read,
        document=lambda sensor: sensor.document,
        refuse=lambda name, _, wanted: _refuse_mixed_places(registry, name, wanted),
        record=record_of,
        audited=audited_change,
    )
