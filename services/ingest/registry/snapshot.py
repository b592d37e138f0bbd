"""The registry: every sensor as of now, swapped whole so that a POST sees one state of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import UNSET, UnsetType

from coincide import Histogram
from services.common.settings import Streams
from services.ingest.registry.sensors import Sensor, Template, refuse_unfit_template
from services.ingest.stamping.verdicts import Reason, Refused


@dataclass(frozen=True, slots=True)
class Stamp:
    """What one (sensor, stream) puts on its detections; `unfit` says why it cannot."""

    area: str
    stream: str
    template: Template
    unfit: Refused | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All sensors at one moment, never changed; among `stamps`, the stream UNSET stands for a sensor's only one."""

    sensors: dict[str, Sensor] = field(default_factory=dict)
    stamps: dict[str, dict[str | UnsetType, Stamp]] = field(default_factory=dict)
    templates: dict[str, Histogram] = field(default_factory=dict)


class Registry:
    """Holds the present snapshot. One thread changes it, any may read it."""

    def __init__(self, streams: Streams) -> None:
        self.streams = streams
        self.snapshot = Snapshot()
        self.caught_up = False

    def apply(self, changes: Mapping[str, Sensor | None]) -> None:
        """Replace, add or (None) remove sensors by id, all at once."""
        if changes:
            self._swap(self.snapshot, changes)

    def replace(self, sensors: Mapping[str, Sensor]) -> None:
        """Make these all the sensors there are; from now on the registry is caught up."""
        self._swap(Snapshot(), sensors)
        self.caught_up = True

    def _swap(self, before: Snapshot, changes: Mapping[str, Sensor | None]) -> None:
        sensors, stamps = dict(before.sensors), dict(before.stamps)
        for sensor_id, sensor in changes.items():
            if sensor is None:
                sensors.pop(sensor_id, None)
                stamps.pop(sensor_id, None)
            else:
                sensors[sensor_id] = sensor
                stamps[sensor_id] = self._stamps(sensor)
        templates = {each.id: each for sensor in sensors.values() for each in sensor.streams.values()}
        self.snapshot = Snapshot(dict(sorted(sensors.items())), stamps, templates)

    def _stamps(self, sensor: Sensor) -> dict[str | UnsetType, Stamp]:
        stamps: dict[str | UnsetType, Stamp] = {
            stream: Stamp(sensor.area, stream, Template.of(histogram), self._unfit(stream, histogram))
            for stream, histogram in sensor.streams.items()
        }
        if len(stamps) == 1:
            stamps[UNSET] = next(iter(stamps.values()))
        return stamps

    def _unfit(self, stream: str, histogram: Histogram) -> Refused | None:
        declared = self.streams.get(stream)
        if declared is None:
            return Refused(Reason.UNKNOWN_STREAM, "stream", stream, f"one of {', '.join(self.streams)}")
        try:
            refuse_unfit_template(histogram, declared, "sensor")
        except Refused as refused:
            return refused
        return None
