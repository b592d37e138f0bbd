"""Areas and their sensors, how far the time of each has come, and how heartbeats move that of a silent one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from msgspec import Struct

from coincide.arrays.key_codes import Codes
from coincide.arrays.kinds import CodeArray, Int64Array, PositionArray
from coincide.fusion.rows.rates import DetectionRates
from coincide.joins.lateness import BEFORE_ALL_US, Watermark

NO_STEP_IS_TOO_LONG_US = 2**62
NOT_SILENT_US = 2**62  # of an area before its first frame
LONG_AGO_US = -(2**61)  # its difference to every other time is an int64
NOWHERE = -1  # the partition of a code that no area has
UNSETTLED = -1  # a heartbeat came since


class PartitionClock(Struct, array_like=True):
    """How far received_at has come in one partition of the detections topic, by its frames and heartbeats in order."""

    heard_us: int  # received_at of the latest record
    missed_us: int = 0  # sum of the steps that were too long to be listened through
    beaten_us: int = LONG_AGO_US  # what had been listened to at the latest heartbeat

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
    rates: DetectionRates = field(default_factory=DetectionRates)
    sensors: dict[str, AreaSensor] = field(default_factory=dict)  # by name


class AreaTimes:
    """Where the frames of each area come from, and when the last one came: int64 arrays by area code."""

    def __init__(self) -> None:
        self._by_code = np.empty((3, 0), np.int64)
        self._name_rows()

    def _name_rows(self) -> None:
        self.partition: Int64Array = self._by_code[0]  # of the detections topic; NOWHERE where no area has the code
        self.last_received_us: Int64Array = self._by_code[1]
        # What the partition's clock had listened to at the last frame; it moves with the watermark.
        self.silent_since_us: Int64Array = self._by_code[2]

    def put(self, area: int, partition: int, last_received_us: int, silent_since_us: int) -> None:
        """Set what is known of one area."""
        missing = area + 1 - self._by_code.shape[1]
        if missing > 0:
            more = np.full((3, max(missing, self._by_code.shape[1])), NOWHERE, np.int64)
            self._by_code = np.concatenate((self._by_code, more), axis=1)
            self._name_rows()
        self._by_code[:, area] = partition, last_received_us, silent_since_us

    def of(self, area: int) -> list[int]:
        """Return partition, last_received_us and silent_since_us of one area."""
        times: list[int] = self._by_code[:, area].tolist()
        return times

    def of_partitions(self, us: Mapping[int, int]) -> Int64Array:
        """Return for each area what `us` says of its partition; LONG_AGO_US where it says nothing."""
        by_partition = np.full(max(us, default=0) + 2, LONG_AGO_US)  # the last is that of NOWHERE
        by_partition[list(us)] = list(us.values())
        of_area: Int64Array = by_partition[np.minimum(self.partition, len(by_partition) - 1)]
        return of_area


class Areas:
    """Areas by name and by code, sensors by code, watermarks and times by area code, and clocks by partition."""

    def __init__(self) -> None:
        self.watermark = Watermark()
        self.times = AreaTimes()
        self.clocks: dict[int, PartitionClock] = {}
        self.floors_us: dict[int, Int64Array] = {}  # see `OnTime`: by stream code, then by area code
        self.settled_quiet_us: int | None = UNSETTLED  # the silence by which `AreaSilence` moved all watermarks last
        self.forgotten = 0  # how many were, so far
        self._in_order: tuple[list[str], PositionArray] | None = None  # names and codes, until an area comes or goes
        self._changed: set[str] = set()
        self._forgotten: set[str] = set()
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

    def changes(self) -> tuple[set[str], set[str]]:
        """Return the areas that frames have come from since the last call, and those forgotten since, by name."""
        changed, forgotten = self._changed - self._forgotten, self._forgotten
        self._changed, self._forgotten = set(), set()
        return changed, forgotten

    def note_frame(self, area: Area, partition: int, received_at_us: int, listened_us: int) -> None:
        """Note that a frame came from the area, and what its partition's clock had listened to."""
        last_us = max(int(self.times.last_received_us[area.code]), received_at_us)
        self.times.put(area.code, partition, last_us, listened_us)
        self._changed.add(area.name)

    def note_change(self, area: CodeArray) -> None:
        """Note that areas have changed though no frame came: what they held back has joined."""
        self._changed.update(self._areas[code].name for code in np.unique(area).tolist())

    def hear_rows(self, area: CodeArray, received_at_us: Int64Array) -> Int64Array:
        """Hear rows that each came alone, those of an area by a partition that is its own; return its clock at each."""
        heard_us = received_at_us.copy()
        for code in np.unique(area).tolist():
            at = np.flatnonzero(area == code)
            clock = self.clocks.setdefault(code, PartitionClock(int(heard_us[at[0]])))
            heard_us[at] = np.maximum(np.maximum.accumulate(heard_us[at]), clock.heard_us)
            clock.heard_us = int(heard_us[at[-1]])
            self.note_frame(self.area_of(code), code, clock.heard_us, clock.listened_us)
        return heard_us

    def area(self, name: str, next_seq: int) -> Area:
        """Return the area of that name; one not known yet counts from `next_seq` on."""
        code = self._codes.code(name)
        if code not in self._areas:
            self._areas[code], self._in_order = Area(code, name, next_seq), None
            self.times.put(code, 0, BEFORE_ALL_US, NOT_SILENT_US)
            self.watermark.put(code, BEFORE_ALL_US)
        return self._areas[code]

    def clock_of(self, area: Area) -> PartitionClock:
        """Return the clock of the partition that the area's frames come from."""
        return self.clocks[int(self.times.partition[area.code])]

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

    def latest_watermarks_us(self, most: int) -> dict[str, int]:
        """Return the watermarks of the areas from which frames came last, at most so many, by name."""
        if self._in_order is None:
            named = sorted((area.name, code) for code, area in self._areas.items())
            self._in_order = [name for name, _ in named], np.array([code for _, code in named], np.intp)
        names, codes = self._in_order
        if len(names) > most:
            at = np.sort(np.argpartition(self.times.last_received_us[codes], -most)[-most:])
            names, codes = [names[nth] for nth in at.tolist()], codes[at]
        return dict(zip(names, self.watermark.of(codes).tolist(), strict=True))

    def idle(self, longer_than_us: int) -> list[Area]:
        """Areas whose last frame came so long before the last record of their partition (another may be far ahead)."""
        heard_us = self.times.of_partitions({number: clock.heard_us for number, clock in self.clocks.items()})
        silent_us = heard_us - np.maximum(self.times.last_received_us, LONG_AGO_US)
        return [self._areas[code] for code in np.flatnonzero(silent_us > longer_than_us).tolist()]

    def forget(self, area: Area) -> None:
        """Free the area; no row may refer to it any more."""
        del self._areas[self._codes.forget(area.name)]
        self.watermark.put(area.code, BEFORE_ALL_US)
        self.times.put(area.code, NOWHERE, BEFORE_ALL_US, NOT_SILENT_US)
        for floor_us in self.floors_us.values():
            floor_us[area.code : area.code + 1] = BEFORE_ALL_US
        self._forgotten.add(area.name)
        self.forgotten, self._in_order = self.forgotten + 1, None

    def hold(self, stream: int, since_us: Int64Array) -> None:
        """Let nothing that lies before `since_us`, by area code, be on time on a stream, whatever its delay will be."""
        self.floors_us = {**self.floors_us, stream: since_us}
        self._changed.update(area.name for area in self)

    def let_go(self, stream: int) -> None:
        """Take back what `hold` did to a stream."""
        self.floors_us = {code: floor_us for code, floor_us in self.floors_us.items() if code != stream}

    def put_floor(self, area: Area, stream: int, since_us: int) -> None:
        """Set from when on detections of one area and stream are on time at least: as it was when it was saved."""
        floor_us = self.floors_us.get(stream, np.empty(0, np.int64))
        if area.code >= len(floor_us):
            floor_us = np.append(floor_us, np.full(area.code + 1, BEFORE_ALL_US))
        floor_us[area.code] = since_us
        self.floors_us[stream] = floor_us

    def keep_sensors(self, used: CodeArray) -> bool:
        """Free the sensors whose codes are not used; return whether there are any."""
        unused = self._sensor_codes.keep_only(used)
        for (area_name, name), code in unused.items():
            del self._sensors[code]
            if (area := self.get(area_name)) is not None:
                del area.sensors[name]
        return bool(unused)


class AreaSilence:
    """The silence of the areas, followed record by record through one batch.

    A heartbeat moves the watermark of every area of its partition that has been silent for longer than `quiet_us` by
    the time listened beyond that, once. It is worked out when the area's next frame comes and at the end of the batch;
    after a restart, for all areas, from the time listened up to the latest heartbeat.
    """

    def __init__(self, areas: Areas, quiet_us: int | None) -> None:
        self._areas = areas
        self._quiet_us = quiet_us
        self._longest_step_us = NO_STEP_IS_TOO_LONG_US if quiet_us is None else quiet_us
        self._moved_us: dict[int, int] = {}  # by area code, before its latest frame

    def heartbeat(self, partition: int, received_at_us: int) -> None:
        """Take the next record of a partition, a heartbeat."""
        clock = self._heard(partition, received_at_us)
        clock.beaten_us = clock.listened_us
        self._areas.settled_quiet_us = UNSETTLED

    def frame(self, area: Area, partition: int, received_at_us: int) -> int:
        """Take a frame, which ends a silence; return how far this batch had moved its area's watermark."""
        code = area.code
        beyond_us = self._beyond_us(code)
        if beyond_us > 0:
            self._moved_us[code] = self._moved_us.get(code, 0) + beyond_us
        self._areas.note_frame(area, partition, received_at_us, self._heard(partition, received_at_us).listened_us)
        return self._moved_us.get(code, 0)

    def settle(self) -> None:
        """Move the watermarks of all areas; call it at the end of the batch, and once after a restart."""
        if self._areas.settled_quiet_us == self._quiet_us:  # no heartbeat came since, and nothing else moves any
            return
        self._areas.settled_quiet_us = self._quiet_us
        times, beaten_us = self._areas.times, {number: clock.beaten_us for number, clock in self._areas.clocks.items()}
        moved_us = np.zeros(len(times.partition), np.int64)
        if self._quiet_us is not None:
            beyond_us = times.of_partitions(beaten_us) - self._quiet_us - times.silent_since_us
            np.maximum(moved_us, beyond_us, out=moved_us)
            times.silent_since_us[:] += moved_us
        for code, us in self._moved_us.items():
            moved_us[code] += us
        codes = np.flatnonzero(moved_us).astype(np.int32)
        self._areas.watermark.move_on(codes, moved_us[codes])

    def _beyond_us(self, area: int) -> int:
        """By how much the latest heartbeat has moved the area, and `settle` not yet."""
        times = self._areas.times
        clock = self._areas.clocks.get(int(times.partition[area]))
        if clock is None or self._quiet_us is None:
            return 0
        return clock.beaten_us - self._quiet_us - int(times.silent_since_us[area])

    def _heard(self, partition: int, received_at_us: int) -> PartitionClock:
        clock = self._areas.clocks.setdefault(partition, PartitionClock(received_at_us))
        clock.hear(received_at_us, self._longest_step_us)
        return clock
