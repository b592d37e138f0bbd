"""Areas and their sensors: what may be joined with what, how far each area's time has come, and each partition's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from coincide.joins.watermark import BEFORE_ALL_US, Watermark
from spark_jobs.rows.rates import DetectionRates

NO_STEP_IS_TOO_LONG_US = 2**62


@dataclass(slots=True)
class PartitionClock:
    """How far received_at has come in one partition of the detections topic, by its frames and heartbeats in order.

    Attributes
    ----------
    heard_us : int
        received_at of the latest record.
    missed_us : int
        Sum of the steps that were too long to be listened through.
    """

    heard_us: int
    missed_us: int = 0

    @property
    def listened_us(self) -> int:
        """received_at without the steps in which nobody listened: it never goes back."""
        return self.heard_us - self.missed_us

    def hear(self, received_at_us: int, longest_step_us: int) -> None:
        """Take the time of the next record.

        A step of more than `longest_step_us` is missed: ingest was away, or its clock was set. A shorter one back is
        that of a second replica, or of a frame that took longer to be written.
        """
        step_us = received_at_us - self.heard_us
        if abs(step_us) > longest_step_us:
            self.missed_us += step_us
            self.heard_us = received_at_us
        elif step_us > 0:
            self.heard_us = received_at_us


NOT_SILENT_US = 2**62  # of an area before its first frame


@dataclass(slots=True)
class AreaSensor:
    """A sensor of one area; `remembered` maps the ids of its detections that are not late yet to sequence numbers."""

    code: int
    name: str
    remembered: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Area:
    """One area of the shard.

    `since` is the sequence number from which on it is known (anew, if it was forgotten), `partition` the one of the
    detections topic that its frames come from. `silent_since_us` is what the partition's clock had listened to at the
    area's last frame, and is moved on together with the watermark.
    """

    code: int
    name: str
    since: int
    partition: int = 0
    last_received_us: int = BEFORE_ALL_US
    silent_since_us: int = NOT_SILENT_US
    sensors: dict[str, AreaSensor] = field(default_factory=dict)
    rates: DetectionRates = field(default_factory=DetectionRates)


class Areas:
    """Areas by name and by code, sensors by code; codes are small and used again once forgotten.

    Attributes
    ----------
    watermark : Watermark
        By area code.
    clocks : dict of int to PartitionClock
        Of the partitions of the detections topic from which something has come.
    """

    def __init__(self) -> None:
        self.watermark = Watermark()
        self.clocks: dict[int, PartitionClock] = {}
        self._by_name: dict[str, Area] = {}
        self._by_code: list[Area | None] = []
        self._sensor_by_code: list[AreaSensor | None] = []
        self._free_areas: list[int] = []
        self._free_sensors: list[int] = []

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[Area]:
        return iter(self._by_name.values())

    def get(self, name: str) -> Area | None:
        """Return the area of that name, None if it is not known."""
        return self._by_name.get(name)

    def area(self, name: str, next_seq: int) -> Area:
        """Return the area of that name; one not known yet counts from `next_seq` on."""
        known = self._by_name.get(name)
        if known is not None:
            return known
        code = _free_code(self._free_areas, self._by_code)
        area = self._by_name[name] = self._by_code[code] = Area(code, name, next_seq)
        return area

    def sensor(self, area: Area, name: str) -> AreaSensor:
        """Return the area's sensor of that name, known or new."""
        known = area.sensors.get(name)
        if known is not None:
            return known
        code = _free_code(self._free_sensors, self._sensor_by_code)
        sensor = area.sensors[name] = self._sensor_by_code[code] = AreaSensor(code, name)
        return sensor

    def area_of(self, code: int) -> Area:
        """Return the area that has the code."""
        area = self._by_code[code]
        if area is None:
            raise LookupError(f"no area has the code {code}")
        return area

    def sensor_of(self, code: int) -> AreaSensor:
        """Return the sensor that has the code."""
        sensor = self._sensor_by_code[code]
        if sensor is None:
            raise LookupError(f"no sensor has the code {code}")
        return sensor

    def idle(self, longer_than_us: int) -> list[Area]:
        """Areas whose last frame was received so long before the latest frame or heartbeat of their partition.

        Of their partition: in a backlog one partition may be read far ahead of another, whose areas are not idle.
        """
        heard_us = {partition: clock.heard_us for partition, clock in self.clocks.items()}
        return [area for area in self if heard_us[area.partition] - area.last_received_us > longer_than_us]

    def forget(self, area: Area) -> None:
        """Free the area and its sensors; no row may refer to them any more."""
        self.forget_sensors(area, lambda _: True)
        del self._by_name[area.name]
        self._by_code[area.code] = None
        self.watermark.put(area.code, BEFORE_ALL_US)
        self._free_areas.append(area.code)

    def forget_sensors(self, area: Area, unused: Callable[[AreaSensor], bool]) -> None:
        """Free those sensors of the area for which `unused` holds."""
        for sensor in [sensor for sensor in area.sensors.values() if unused(sensor)]:
            del area.sensors[sensor.name]
            self._sensor_by_code[sensor.code] = None
            self._free_sensors.append(sensor.code)


def _free_code(free: list[int], by_code: list[Any]) -> int:
    if free:
        return free.pop()
    by_code.append(None)
    return len(by_code) - 1
