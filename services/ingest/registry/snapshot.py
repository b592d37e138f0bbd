"""The registry: every sensor as of now, swapped whole so that a POST sees one state of it.

There may be 100,000 sensors, so that a sensor is no more than its stamps, and equal templates are one.
"""

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct, structs

from coincide import Histogram
from coincide.errors import HistogramError
from coincide.places import form_of_place, place_of_form
from coincide.wire.declarations.sensor_record import Particulars
from coincide.wire.last_change import UNKNOWN_CHANGE, LastChange
from coincide.wire.place_field import PlaceForm
from services.common.declared_streams import DeclaredStreams
from services.common.health_board import HealthBoard
from services.common.settings import Streams
from services.ingest.registry.area_places import AreaPlaces, Placed
from services.ingest.registry.named_templates import NamedTemplate, NamedTemplates
from services.ingest.registry.registered_clocks import RegisteredClock, RegisteredClocks
from services.ingest.registry.sensors import NO_PARTICULARS, Sensor, Template, refuse_unfit_template, template_of
from services.ingest.registry.template_renewal import renewed_template
from services.ingest.verdicts import Reason, Refused


class StreamStamp(Struct, frozen=True, eq=False, gc=False):
    """What the detections of one (sensor, stream) share; `unfit` says why it cannot be used. Equal if identical."""

    area: str
    sensor: str
    stream: str
    template: Template
    unfit: Refused | None = None
    place: PlaceForm | None = None


@dataclass(frozen=True)
class Snapshot:
    """All sensors at one moment, never changed: the stamps of each, by its id, one for each stream it reports."""

    stamps: dict[str, tuple[StreamStamp, ...]] = field(default_factory=dict)
    particulars: dict[str, Particulars] = field(default_factory=dict)  # of the sensors that have any
    changes: dict[str, LastChange] = field(default_factory=dict)  # of those that were changed one by one

    @cached_property
    def ids(self) -> list[str]:
        """Return the sensors' ids, sorted."""
        return sorted(self.stamps)

    def sensor(self, sensor_id: str) -> Sensor | None:
        """Return a sensor as it was registered; None if it is not."""
        stamps = self.stamps.get(sensor_id)
        if stamps is None:
            return None
        streams = {stamp.stream: stamp.template.histogram for stamp in stamps}
        names = {stamp.stream: stamp.template.name for stamp in stamps if stamp.template.name is not None}
        return Sensor(
            sensor_id,
            stamps[0].area,
            MappingProxyType(streams),
            self.particulars.get(sensor_id, NO_PARTICULARS),
            self.change(sensor_id),
            MappingProxyType(names),
        )

    def placed(self, but: Collection[str] = ()) -> Iterator[Placed]:
        """Yield the sensors that have a place, without some."""
        for sensor_id, said in self.particulars.items():
            if said.place is not None and sensor_id not in but:
                yield Placed(sensor_id, self.stamps[sensor_id][0].area, said.place)

    @cached_property
    def places(self) -> AreaPlaces:
        """Return the kind of places of each area."""
        return AreaPlaces(self.placed())

    def change(self, sensor_id: str) -> LastChange:
        """Return which change made a sensor what it is."""
        return self.changes.get(sensor_id, UNKNOWN_CHANGE)

    def template(self, template_id: str) -> Template | None:
        """Return a template that a sensor has; None if none has it. It looks at every sensor."""
        return self.templates_of({template_id}).get(template_id)

    def templates_of(self, template_ids: Collection[str]) -> dict[str, Template]:
        """Return those templates that some sensor has, by their ids. It looks at every sensor once, or at none."""
        if not template_ids:
            return {}
        templates = (stamp.template for stamps in self.stamps.values() for stamp in stamps)
        return {template.id: template for template in templates if template.id in template_ids}


class Use(NamedTuple):
    """Who names a template or a clock: sensors, some stamp of each kind, and the sensors that lack what it is now."""

    sensors: set[str]
    stamps: dict[tuple[str, str], StreamStamp]  # by the ids of templates, and streams
    behind: set[str]


class Registry:
    """Holds the present snapshot, and what is heard of the sensors; any thread may read both."""

    def __init__(
        self, streams: Streams, templates: NamedTemplates | None = None, clocks: RegisteredClocks | None = None
    ) -> None:
        self.streams = streams if isinstance(streams, DeclaredStreams) else DeclaredStreams(streams)
        self.streams.on_change = self._stamp_anew
        self.templates = NamedTemplates() if templates is None else templates
        self.clocks = RegisteredClocks() if clocks is None else clocks
        self.snapshot = Snapshot()
        self.health = HealthBoard()
        self.has_sensors = False  # whether all of them were read
        self._one_change = Lock()

    @property
    def caught_up(self) -> bool:
        """Whether sensors and streams were read, so that detections can be stamped."""
        return self.has_sensors and self.streams.is_caught_up

    def unread(self) -> list[str]:
        """Return a sentence for each part that was not read yet; all of it can be changed when there is none."""
        checks = {
            "the sensor registry has not been read yet": self.has_sensors,
            "the streams have not been read yet": self.streams.is_caught_up,
            "the templates have not been read yet": self.templates.is_caught_up,
            "the clocks have not been read yet": self.clocks.is_caught_up,
        }
        return [reason for reason, is_read in checks.items() if not is_read]

    def reporting(self) -> Counter[str]:
        """Return how many sensors report each stream."""
        return Counter(stamp.stream for stamps in self.snapshot.stamps.values() for stamp in stamps)

    def uses_of_templates(self, names: Collection[str]) -> dict[str, Use]:
        """Return who names each of these templates. It looks at every sensor once."""
        return self._uses(names, lambda stamp: stamp.template.name)

    def uses_of_clocks(self, names: Collection[str]) -> dict[str, Use]:
        """Return who is on each of these clocks. It looks at every sensor once."""
        return self._uses(names, lambda stamp: stamp.template.clock)

    def _uses(self, names: Collection[str], name_of: Callable[[StreamStamp], str | None]) -> dict[str, Use]:
        found = {name: Use(set(), {}, set()) for name in names}
        for stamp in (each for stamps in self.snapshot.stamps.values() for each in stamps):
            use = found.get(name_of(stamp) or "")
            if use is not None:
                use.sensors.add(stamp.sensor)
                use.stamps[stamp.template.id, stamp.stream] = stamp
                if self._is_behind(stamp):
                    use.behind.add(stamp.sensor)
        return found

    def refuse_unfit_use(
        self,
        use: Use,
        field: str,
        templates: Mapping[str, NamedTemplate],
        clocks: Mapping[str, RegisteredClock],
    ) -> None:
        """Refuse what the streams of those who use it have no room for, if templates and clocks were these.

        Raises `Refused`, or a `HistogramError` where an error does not add up with that of its clock.
        """
        for stamp in use.stamps.values():
            if stamp.stream in self.streams:
                wanted = renewed_template(stamp.template.histogram, stamp.template.name, templates, clocks)
                refuse_unfit_template(wanted, self.streams[stamp.stream], field)

    def _is_behind(self, stamp: StreamStamp) -> bool:
        """Whether a template could be as what it names is now, and is not."""
        template = stamp.template
        if template.clock is None:  # not unpacked: there may be 100,000
            named = self.templates.get(template.name or "")
            return named is not None and named.histogram.id != template.id
        try:
            return renewed_template(template.histogram, template.name, self.templates, self.clocks).id != template.id
        except HistogramError:
            return False

    def apply(self, changes: Mapping[str, Sensor | None]) -> None:
        """Replace, add or (None) remove sensors by id, all at once."""
        if changes:
            with self._one_change:
                before = self.snapshot
                copy = Snapshot(dict(before.stamps), dict(before.particulars), dict(before.changes))
                self.snapshot = self._changed(copy, [changes])

    def replace(self, changes: Iterable[Mapping[str, Sensor | None]]) -> None:
        """Make what `changes` leave all the sensors there are; from now on the registry is caught up."""
        with self._one_change:
            self.snapshot = self._changed(Snapshot(), changes)
        self.has_sensors = True

    def _stamp_anew(self, streams: frozenset[str]) -> None:
        """Judge the templates of these streams again: they are declared otherwise now."""
        with self._one_change:
            before = self.snapshot
            stamps = {
                id_: tuple(self._judged(stamp) if stamp.stream in streams else stamp for stamp in each)
                for id_, each in before.stamps.items()
            }
            self.snapshot = Snapshot(stamps, before.particulars, before.changes)

    def _judged(self, stamp: StreamStamp) -> StreamStamp:
        unfit = self._unfit(stamp.stream, stamp.template.histogram)
        both_fit = unfit is None and stamp.unfit is None
        return stamp if both_fit else structs.replace(stamp, unfit=unfit)

    def _changed(self, snapshot: Snapshot, changes: Iterable[Mapping[str, Sensor | None]]) -> Snapshot:
        """Return a snapshot that nobody else has yet, changed."""
        for some in changes:
            for sensor_id, sensor in some.items():
                snapshot.particulars.pop(sensor_id, None)
                snapshot.changes.pop(sensor_id, None)
                if sensor is None:
                    snapshot.stamps.pop(sensor_id, None)
                    continue
                place = _stamped(sensor.particulars.place)
                stamps = (self._stamp(sensor, *each, place) for each in sensor.streams.items())
                snapshot.stamps[sensor.id] = tuple(stamps)
                if sensor.particulars != NO_PARTICULARS:
                    snapshot.particulars[sensor.id] = sensor.particulars
                if sensor.change.version:
                    snapshot.changes[sensor.id] = sensor.change
        return snapshot

    def _stamp(self, sensor: Sensor, stream: str, histogram: Histogram, place: PlaceForm | None) -> StreamStamp:
        unfit = self._unfit(stream, histogram)
        template = template_of(histogram, sensor.names.get(stream))
        return StreamStamp(sys.intern(sensor.area), sensor.id, sys.intern(stream), template, unfit, place)

    def _unfit(self, stream: str, histogram: Histogram) -> Refused | None:
        declared = self.streams.get(stream)
        if declared is None:
            return Refused(Reason.UNKNOWN_STREAM, "stream", stream, f"one of {', '.join(self.streams)}")
        try:
            refuse_unfit_template(histogram, declared, "sensor")
        except Refused as refused:
            return refused.with_traceback(None)
        return None


def _stamped(place: PlaceForm | None) -> PlaceForm | None:
    """Return a place as stamps have it: of equal places the same bytes."""
    return None if place is None else form_of_place(place_of_form(place))
