"""Sensors as what people change: what a document declares, one at a time, many at once, and those of a template."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from starlette.concurrency import run_in_threadpool

from coincide import Histogram
from coincide.clocks.template_forms import template_of_form
from coincide.errors import HistogramError
from coincide.wire.declarations.names import FORMS_IN_WORDS, RegisteredName, SensorId
from coincide.wire.declarations.sensor_record import Particulars
from coincide.wire.fields import LONGEST_NAME
from services.common.access.audit import AuditTrail
from services.common.access.caller import Caller
from services.common.clock import Clock
from services.common.http.problem import Problem, try_again
from services.common.http.strict_requests import document_as
from services.common.resources.changes import Changes, Publisher
from services.common.resources.resource import Resource, at_hand, version_of
from services.ingest.registry.named_templates import record_of, renewed
from services.ingest.registry.sensors import Sensor, audited_change, particulars_of, refuse_unfit_template
from services.ingest.registry.sensors_topic import SENSORS
from services.ingest.registry.snapshot import Registry
from services.ingest.verdicts import Refused

MOST_STREAMS = 64
MOST_AT_ONCE = 1_000  # sensors of one request, or that follow their template together

Status = Literal["created", "replaced", "unchanged", "refused", "unacknowledged"]


class _Identified(Struct):
    id: SensorId


class SensorDocument(Particulars, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A sensor as somebody writes it: a template is a form as in sensors.yaml, a name, or the id of one in use."""

    id: SensorId | None = None
    area: RegisteredName
    streams: Annotated[dict[RegisteredName, str | dict[str, Any]], Meta(min_length=1, max_length=MOST_STREAMS)]


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
            templates = self.registry.templates
            present = [replace(each, sensor=renewed(each.sensor, templates)) for each in many]
            return await self._make_all(present, overwrite=overwrite, who=who, changed_by=who.key)

    async def renew(self, template: str, who: Caller) -> None:
        """Give every sensor that names a template the template as it is now, many at a time.

        A `Problem`, 503, says that the log did not acknowledge all: the rest follows when it is called again.
        """
        while True:
            async with self.one.one_at_a_time:
                behind = await run_in_threadpool(self._behind, template)
                because = f"template {template}"[:LONGEST_NAME]
                outcomes = await self._make_all(behind, overwrite=True, who=who, changed_by=because)
            if any(each.status == "unacknowledged" for each in outcomes):
                raise try_again("the template was changed, but not all its sensors have it yet: ask for it again")
            if not outcomes:
                return

    def _behind(self, template: str) -> list[WantedSensor]:
        """Return sensors, as they shall be, that name a template and have another content of it; so many at most."""
        templates, snapshot = self.registry.templates, self.registry.snapshot
        ids = sorted(self.registry.uses({template})[template].behind) if template in templates else []
        sensors = filter(None, map(snapshot.sensor, ids[:MOST_AT_ONCE]))
        return [WantedSensor(nth, renewed(sensor, templates)) for nth, sensor in enumerate(sensors)]

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


def sensor_resource(registry: Registry) -> Resource[Sensor]:
    """Return what sensors are: detections are stamped by a change once it was made; those before are not."""

    def present(sensor_id: str) -> Sensor | None:
        return registry.snapshot.sensor(sensor_id)

    def read(sensor_id: str, document: object, present: Sensor | None) -> Sensor:
        known = {} if present is None else {template.id: template for template in present.streams.values()}
        return sensor_in(sensor_id, document, registry, known)

    return Resource(
        noun="sensor",
        topic=SENSORS,
        not_ready_because=registry.unread,
        present=at_hand(present),
        version=version_of,
        read=read,
        document=lambda sensor: sensor.document,
        refuse=lambda *_: None,
        record=record_of,
        audited=audited_change,
    )


def sensor_in(
    sensor_id: str, document: object, registry: Registry, known: Mapping[str, Histogram] | None = None
) -> Sensor:
    """Return the sensor that a document describes, with `known` templates by their names; a `Problem` refuses it.

    It names those of its templates that are registered under the name that the document gives.
    """
    document_as(_Identified, {"id": sensor_id}, "sensor", FORMS_IN_WORDS)
    declared = document_as(SensorDocument, document, "sensor", FORMS_IN_WORDS)
    if declared.id not in {None, sensor_id}:
        raise Problem(422, f"id is {declared.id!r}: the path says {sensor_id!r}")
    streams = {
        name: _template(f"streams.{name}", form, registry, name, known or {}) for name, form in declared.streams.items()
    }
    named = registry.templates
    names = {
        stream: form
        for stream, form in declared.streams.items()
        if isinstance(form, str) and form in named and named[form].histogram == streams[stream]
    }
    area, particulars = declared.area, particulars_of(declared)
    return Sensor(sensor_id, area, MappingProxyType(streams), particulars, names=MappingProxyType(names))


def _template(
    where: str, form: str | dict[str, Any], registry: Registry, stream: str, known: Mapping[str, Histogram]
) -> Histogram:
    if stream not in registry.streams:
        raise Problem(422, f"{where}: stream {stream!r} is not declared: one of {', '.join(registry.streams)}")
    try:
        template = _named(where, form, registry, known) if isinstance(form, str) else template_of_form(form)
        refuse_unfit_template(template, registry.streams[stream], where)
    except HistogramError as error:
        raise Problem(422, f"{where}: {error}") from None
    except Refused as refused:
        raise Problem(422, refused.detail) from None
    return template


def _named(where: str, name: str, registry: Registry, known: Mapping[str, Histogram]) -> Histogram:
    if name in known:
        return known[name]
    if name in registry.templates:
        return registry.templates[name].histogram
    found = registry.snapshot.template(name)
    if found is None:
        said = name[:LONGEST_NAME]
        raise Problem(422, f"{where}: no template is named {said!r}, and no registered sensor uses one of that id")
    return found.histogram
