"""The registry: every sensor as of now, swapped whole so that a POST sees one state of it.

There may be 100,000 sensors, so that a sensor is no more than its stamps, and equal templates are one.
"""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import Struct

from coincide import Histogram
from services.common.settings import Streams
from services.ingest.registry.sensors import Sensor, Template, refuse_unfit_template, template_of
from services.ingest.stamping.verdicts import Reason, Refused


class Stamp(Struct, frozen=True, eq=False, gc=False):
    """What the detections of one (sensor, stream) share; `unfit` says why it cannot be used. Equal if identical."""

    area: str
    sensor: str
    stream: str
    template: Template
    unfit: Refused | None = None


@dataclass(frozen=True)
class Snapshot:
    """All sensors at one moment, never changed: the stamps of each, by its id, one for each stream it reports."""

    stamps: dict[str, tuple[Stamp, ...]] = field(default_factory=dict)

    @cached_property
    def ids(self) -> list[str]:
        """Return the sensors' ids, sorted."""
        return sorted(self.stamps)

    def template(self, template_id: str) -> Template | None:
        """Return a template that a sensor has; None if none has it. It looks at every sensor."""
        templates = (stamp.template for stamps in self.stamps.values() for stamp in stamps)
        return next((template for template in templates if template.id == template_id), None)


class Registry:
    """Holds the present snapshot. One thread changes it, any may read it."""

    def __init__(self, streams: Streams) -> None:
        self.streams = streams
        self.snapshot = Snapshot()
        self.caught_up = False

    def apply(self, changes: Mapping[str, Sensor | None]) -> None:
        """Replace, add or (None) remove sensors by id, all at once."""
        if changes:
            self.snapshot = self._changed(dict(self.snapshot.stamps), [changes])

    def replace(self, changes: Iterable[Mapping[str, Sensor | None]]) -> None:
        """Make what `changes` leave all the sensors there are; from now on the registry is caught up."""
        self.snapshot = self._changed({}, changes)
        self.caught_up = True

    def _changed(
        self, stamps: dict[str, tuple[Stamp, ...]], changes: Iterable[Mapping[str, Sensor | None]]
    ) -> Snapshot:
        for some in changes:
            for sensor_id, sensor in some.items():
                if sensor is None:
                    stamps.pop(sensor_id, None)
                else:
                    stamps[sensor.id] = tuple(self._stamp(sensor, *each) for each in sensor.streams.items())
        return Snapshot(stamps)

    def _stamp(self, sensor: Sensor, stream: str, histogram: Histogram) -> Stamp:
        unfit = self._unfit(stream, histogram)
        return Stamp(sys.intern(sensor.area), sensor.id, sys.intern(stream), template_of(histogram), unfit)

    def _unfit(self, stream: str, histogram: Histogram) -> Refused | None:
        declared = self.streams.get(stream)
        if declared is None:
            return Refused(Reason.UNKNOWN_STREAM, "stream", stream, f"one of {', '.join(self.streams)}")
        try:
            refuse_unfit_template(histogram, declared, "sensor")
        except Refused as refused:
            return refused.with_traceback(None)
        return None
