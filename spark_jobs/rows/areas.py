"""Areas and their sensors, how far the time of each has come, and how heartbeats move that of a silent one."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from msgspec import Struct

from coincide.arrays.key_codes import Codes
from coincide.arrays.kinds import CodeArray, Int64Array
from coincide.joins.lateness import BEFORE_ALL_US, Watermark
from spark_jobs.rows.rates import DetectionRates

NO_STEP_IS_TOO_LONG_US = 2**62


class PartitionClock(Struct, array_like=True):
    """How far received_at has come in one partition of the detections topic, by its frames and heartbeats in order."""

    heard_us: int  # received_at of the latest record
    missed_us: int = 0  # sum of the steps that were too long to be listened through

    @property
    def listened_us(self) -> int:
        """received_at without the steps in which nobody listened: it never goes back."""
        return self.heard_us - self.missed_us

    @property
    def seconds(self) -> tuple[int, int]:
        """Whole seconds listened and heard: the first never goes back, the second tells steps that were missed."""
        return self.listened_us // 1_000_000, self.heard_us // 1_000_000

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
    """One area of the shard."""

    code: int
    name: str
    since: int  # sequence number from which on it is known (anew, if it was forgotten)
    partition: int = 0  # of the detections topic, that its frames come from
    last_received_us: int = BEFORE_ALL_US
    silent_since_us: int = NOT_SILENT_US  # what the clock had listened to at its last frame; moves with the watermark
    rates: DetectionRates = field(default_factory=DetectionRates)
    sensors: dict[str, AreaSensor] = field(default_factory=dict)  # by name: every row looks its sensor up


class Areas:
    """Areas by name and by code, sensors by code, watermarks by area code, and clocks by partition."""

    def __init__(self) -> None:
        self.watermark = Watermark()
        self.clocks: dict[int, PartitionClock] = {}
        self._codes: Codes[str] = Codes()
        self._sensor_codes: Codes[tuple[str, str]] = Codes()  # by names of area and sensor
        self._areas: dict[int, Area] = {}
        self._sensors: dict[int, AreaSensor] = {}

    def __len__(self) -> int:
        return len(self._areas)

    def __iter__(self) -> Iterator[Area]:
        return iter(self._areas.values())

    def get(self, name: str) -> Area | None:
        """Return the area of that name, None if it is not known."""
        code = self._codes.get(name)
        return None if code is None else self._areas[code]

    def area(self, name: str, next_seq: int) -> Area:
        """Return the area of that name; one not known yet counts from `next_seq` on."""
        code = self._codes.code(name)
        if code not in self._areas:
            self._areas[code] = Area(code, name, next_seq)
        return self._areas[code]

    def sensor(self, area: Area, name: str) -> AreaSensor:
        """Return the area's sensor of that name, known or new."""
        known = area.sensors.get(name)
        if known is None:
            code = self._sensor_codes.code((area.name, name))
            known = area.sensors[name] = self._sensors[code] = AreaSensor(code, name)
        return known

    def area_of(self, code: int) -> Area:
        """Return the area that has the code."""
        return self._areas[code]

    def sensor_of(self, code: int) -> AreaSensor:
        """Return the sensor that has the code."""
        return self._sensors[code]

    def idle(self, longer_than_us: int) -> list[Area]:
        """Areas whose last frame came so long before the last record of their partition (another may be far ahead)."""
        heard_us = {partition: clock.heard_us for partition, clock in self.clocks.items()}
        return [area for area in self if heard_us[area.partition] - area.last_received_us > longer_than_us]

    def forget(self, area: Area) -> None:
        """Free the area; no row may refer to it any more."""
        del self._areas[self._codes.forget(area.name)]
        self.watermark.put(area.code, BEFORE_ALL_US)

    def keep_sensors(self, used: CodeArray) -> None:
        """Free the sensors whose codes are not used."""
        for (area_name, name), code in self._sensor_codes.keep_only(used).items():
            del self._sensors[code]
            if (area := self.get(area_name)) is not None:
                del area.sensors[name]


class Silence:
    """The silence of the areas, followed record by record through one batch.

    A heartbeat moves the watermark of every area of its partition that has been silent for longer than `quiet_us` by
    the time listened beyond that, once. It is worked out when the area's next frame comes and at the end of the batch.
    """

    def __init__(self, areas: Areas, quiet_us: int | None) -> None:
        self._areas = areas
        self._quiet_us = quiet_us
        self._longest_step_us = NO_STEP_IS_TOO_LONG_US if quiet_us is None else quiet_us
        self._beaten_us: dict[int, int] = {}  # by partition: time listened up to its last heartbeat
        self._moved_us: dict[int, int] = {}  # by area code

    def heartbeat(self, partition: int, received_at_us: int) -> None:
        """Take the next record of a partition, a heartbeat."""
        self._beaten_us[partition] = self._heard(partition, received_at_us)

    def frame(self, area: Area, partition: int, received_at_us: int) -> int:
        """Take a frame, which ends a silence; return how far this batch had moved its area's watermark."""
        self._settle(area)
        area.partition = partition
        area.silent_since_us = self._heard(partition, received_at_us)
        return self._moved_us.get(area.code, 0)

    def moved(self) -> tuple[CodeArray, Int64Array]:
        """Return the codes of the areas whose watermarks this batch has moved, and by how many microseconds each."""
        if self._beaten_us:
            for area in self._areas:
                self._settle(area)
        codes = np.fromiter(self._moved_us.keys(), np.int32, len(self._moved_us))
        return codes, np.fromiter(self._moved_us.values(), np.int64, len(self._moved_us))

    def _heard(self, partition: int, received_at_us: int) -> int:
        clock = self._areas.clocks.setdefault(partition, PartitionClock(received_at_us))
        clock.hear(received_at_us, self._longest_step_us)
        return clock.listened_us

    def _settle(self, area: Area) -> None:
        beaten_us = self._beaten_us.get(area.partition)
        if beaten_us is None or self._quiet_us is None:
            return
        beyond_us = beaten_us - self._quiet_us - area.silent_since_us
        if beyond_us > 0:
            area.silent_since_us += beyond_us
            self._moved_us[area.code] = self._moved_us.get(area.code, 0) + beyond_us
