"""HealthTable: what a shard has heard of each sensor and stream, counted in columns and told part by part.

Nothing here is exact to the last detection: it is saved when it is told, and a restart forgets what came since.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import CodeArray, FloatArray, Int64Array, PositionArray
from coincide.fusion.records.kafka_records import KeptRecord
from coincide.learning.drift import PARTS, drift_of
from coincide.wire.sensor_health import MOST_SENSORS, HealthError, HealthRecord, SensorHealth, TemplateDrift, health_in

HALF_LIFE_S = 3_600.0
EVERY_US = 10_000_000  # a part is told at most so often
MOST_RECORDS, MOST_ROWS = 64, 1_024  # that one batch tells
MOST_FOLLOWED = 131_072
LEVELS_KEPT = 200  # beyond it each count is halved, so that older errors count less
STEADY_ERRORS = 30  # a template used for so long is the sensor's own: another in its place begins anew
NOBODY = -1
SMALLEST_CAPACITY = 1_024
TINY = 1e-300
LONG_AGO_US = -(2**61)

_ROW = np.dtype(
    [
        ("since_us", "i8"),
        ("seen_us", "i8"),
        ("count", "f8"),  # of detections, each half after an hour, as of `seen_us`
        ("late", "f8"),
        ("echoes", "f8"),
        ("part", "i4"),
        ("template", "u8"),
        ("steady", "u2"),  # errors since the template was another
        ("levels", "u2", (PARTS,)),
    ]
)

Name = tuple[str, str, str]
"""Area, sensor and stream."""


@dataclass
class HealthPart:
    """Some sensors of one area."""

    area: str
    number: int
    rows: list[int] = field(default_factory=list)
    is_waiting: bool = False  # to be told
    told_us: int = LONG_AGO_US

    def record(self, now_us: int, sensors: list[SensorHealth]) -> HealthRecord:
        """Return the record that tells these."""
        return HealthRecord(self.area, self.number, now_us, sensors)


class HealthTable:
    """A row for each sensor and stream, at most `most` of them: beyond it those silent for longest are forgotten."""

    def __init__(self, streams: int = 1, most: int = MOST_FOLLOWED, rows_of_part: int = MOST_SENSORS) -> None:
        self._streams, self._most, self._rows_of_part = streams, most, rows_of_part
        self._rows = np.zeros(SMALLEST_CAPACITY, _ROW)
        self._of_codes: PositionArray = np.full((1, streams), NOBODY)  # rows by codes of sensor and stream
        self._names: list[Name] = []
        self._row_of: dict[Name, int] = {}
        self._parts: dict[int, HealthPart] = {}  # by the number that they are saved under
        self._of_area: dict[str, list[int]] = {}  # parts, the one with room last
        self._free: list[int] = []  # numbers of parts that are no more
        self._waiting: list[tuple[int, int]] = []  # when each part may be told, and which; a heap
        self._gone: dict[int, HealthPart] = {}

    def __len__(self) -> int:
        return len(self._names)

    def row(self, area: str, sensor: str, stream: str) -> int:
        """Return the row of a sensor's stream, known or new; `NOBODY` if there is no room before the next `forget`."""
        known = self.known_row(area, sensor, stream)
        if known != NOBODY or self.is_full:
            return known
        return self._add((area, sensor, stream), self._part_with_room(area))

    def rows(self, sensor: CodeArray, stream: CodeArray, name_of: Callable[[int], Name]) -> PositionArray:
        """Return the row of each sensor's stream, by their codes; a sensor without one is looked up by `name_of`.

        What is known of codes holds until `forget_codes`.
        """
        missing = int(sensor.max(initial=NOBODY)) + 1 - len(self._of_codes)
        if missing > 0:
            room = np.full((max(missing, len(self._of_codes)), self._streams), NOBODY)
            self._of_codes = np.concatenate((self._of_codes, room))
        row = np.where(sensor >= 0, self._of_codes[sensor, stream], NOBODY)
        for nth in np.flatnonzero(row == NOBODY).tolist():
            row[nth] = self.row(*name_of(nth))
        self._of_codes[sensor[sensor >= 0], stream[sensor >= 0]] = row[sensor >= 0]
        return row

    def row_of(self, sensor: int, stream: int, name_of: Callable[[int], Name]) -> int:
        """Return the row of one sensor's stream, as `rows` does."""
        row = int(self._of_codes[sensor, stream]) if sensor < len(self._of_codes) else NOBODY
        if row == NOBODY:
            row = int(self.rows(np.array([sensor], np.int32), np.array([stream], np.int32), name_of)[0])
        return row

    def forget_codes(self) -> None:
        """Forget the codes of sensors: some have been freed."""
        self._of_codes[:] = NOBODY

    def widen(self, streams: int) -> None:
        """Make room for the codes of so many streams."""
        self._streams = streams
        self._of_codes = np.full((1, streams), NOBODY)

    def known_row(self, area: str, sensor: str, stream: str) -> int:
        """Return the row of a sensor's stream; `NOBODY` if it has none."""
        return self._row_of.get((area, sensor, stream), NOBODY)

    def count(self, row: PositionArray, detections: Int64Array, late: Int64Array, received_at_us: Int64Array) -> None:
        """Count detections, late ones among them; all of shape (n,), and a row may stand more than once."""
        rows, at = np.unique(row, return_inverse=True)
        newest_us = np.full(len(rows), LONG_AGO_US)
        oldest_us = -newest_us
        np.maximum.at(newest_us, at, received_at_us)
        np.minimum.at(oldest_us, at, received_at_us)
        columns = self._rows[rows]
        is_new = columns["count"] == 0
        columns["since_us"] = np.where(is_new, oldest_us, columns["since_us"])
        before_us = np.where(is_new, newest_us, columns["seen_us"])
        columns["seen_us"] = np.maximum(newest_us, before_us)
        faded, weight = _faded(columns["seen_us"] - before_us), _faded(columns["seen_us"][at] - received_at_us)
        columns["count"] = columns["count"] * faded + np.bincount(at, detections * weight, len(rows))
        columns["late"] = columns["late"] * faded + np.bincount(at, late * weight, len(rows))
        columns["echoes"] *= faded
        self._rows[rows] = columns
        self._changed(np.unique(columns["part"]).tolist())

    def count_one(self, row: int, received_at_us: int) -> None:
        """Count one detection that was on time, as `count` does."""
        since_us, seen_us, count, late = (self._rows[name] for name in ("since_us", "seen_us", "count", "late"))
        before_us, counted = int(seen_us[row]), float(count[row])
        if counted == 0:
            since_us[row] = before_us = received_at_us
        newest_us = seen_us[row] = max(received_at_us, before_us)
        faded, weight = (float(_faded(newest_us - us)) if us < newest_us else 1.0 for us in (before_us, received_at_us))
        count[row] = counted * faded + weight
        late[row] *= faded
        self._rows["echoes"][row] *= faded
        self._changed([int(self._rows["part"][row])])

    def count_echoes(self, row: PositionArray, received_at_us: Int64Array) -> None:
        """Note that detections which were counted when they came are echoes; a row may stand more than once."""
        np.add.at(self._rows["echoes"], row, _faded(self._rows["seen_us"][row] - received_at_us))
        self._changed(np.unique(self._rows["part"][row]).tolist())

    def add_level(self, row: int, template: str, part_of_level: int) -> None:
        """Count the level of one error, by the template that its detection used."""
        columns, number = self._rows[row], _number_of(template)
        if columns["template"] != number:
            if columns["steady"] >= STEADY_ERRORS:
                columns["levels"] = 0
            columns["template"], columns["steady"] = number, 0
        columns["steady"] = min(int(columns["steady"]) + 1, STEADY_ERRORS)
        columns["levels"][part_of_level] += 1
        if columns["levels"].sum() > LEVELS_KEPT:
            columns["levels"] //= 2
        self._changed([int(columns["part"])])

    def tell(self, now_us: int) -> dict[int, KeptRecord]:
        """Return records of parts that have changed, by the number that they are saved under; no more than a budget."""
        told, rows_told = self._retired(), 0
        while self._waiting and len(told) < MOST_RECORDS and rows_told < MOST_ROWS:
            due_us, number = self._waiting[0]
            if now_us < due_us <= now_us + EVERY_US:  # further ahead is a clock that was set back
                break
            heapq.heappop(self._waiting)
            part = self._parts.get(number)
            if part is None or not part.is_waiting:
                continue
            part.is_waiting, part.told_us = False, now_us
            record = part.record(now_us, self._health(part.rows))
            told[number] = KeptRecord(record.key, record.to_record())
            rows_told += len(part.rows)
        return told

    @property
    def is_full(self) -> bool:
        """Whether it is time to `forget`."""
        return len(self) >= self._most

    def forget(self) -> None:
        """Forget the quarter that has been silent for longest; the others get other rows."""
        by_silence = np.argsort(self._rows["seen_us"][: len(self)], kind="stable")
        kept = np.sort(by_silence[len(self) // 4 + 1 :])
        rows, names = self._rows[kept], [self._names[row] for row in kept.tolist()]
        smaller = {int(self._rows["part"][row]) for row in by_silence[: len(self) // 4 + 1].tolist()}
        for part in self._parts.values():
            part.rows = []
        self._names, self._row_of = [], {}
        self.forget_codes()
        for name, columns in zip(names, rows, strict=True):
            self._put(name, columns)
        self._changed(number for number in smaller if self._parts[number].rows)
        for number in [number for number in smaller if not self._parts[number].rows]:
            self._gone[number] = part = self._parts.pop(number)
            self._of_area[part.area].remove(number)
            if not self._of_area[part.area]:
                del self._of_area[part.area]

    def recall(self, saved: Mapping[int, bytes]) -> None:
        """Take over what `tell` gave, by its numbers; call it first. What cannot be read is forgotten."""
        for number, value in sorted(saved.items()):
            try:
                record = health_in(value)
            except HealthError:
                continue
            self._begin_part(number, record.area, record.part)
            for each in record.sensors:
                self._put((record.area, each.sensor, each.stream), _row_of(each, number))
        self._free = sorted(set(range(max(self._parts, default=-1) + 1)) - self._parts.keys())

    def _retired(self) -> dict[int, KeptRecord]:
        """Return records that remove parts which are no more; their numbers are free then."""
        told = {}
        for number in list(self._gone)[:MOST_RECORDS]:
            told[number] = KeptRecord(self._gone.pop(number).record(0, []).key, None)
            self._free.append(number)
        return told

    def _changed(self, parts: Iterable[int]) -> None:
        for number in parts:
            part = self._parts[number]
            if not part.is_waiting:
                part.is_waiting = True
                heapq.heappush(self._waiting, (part.told_us + EVERY_US, number))

    def _put(self, name: Name, columns: npt.NDArray[np.void]) -> None:
        row = self._add(name, int(columns["part"]))  # which may move all rows
        self._rows[row] = columns

    def _add(self, name: Name, part: int) -> int:
        row = len(self._names)
        if row == len(self._rows):
            self._rows = np.concatenate((self._rows, np.zeros_like(self._rows)))
        self._rows[row] = np.zeros((), _ROW)
        self._rows["part"][row] = part
        self._names.append(name)
        self._row_of[name] = row
        self._parts[part].rows.append(row)
        return row

    def _part_with_room(self, area: str) -> int:
        parts = self._of_area.get(area, [])
        if parts and len(self._parts[parts[-1]].rows) < self._rows_of_part:
            return parts[-1]
        used = {self._parts[number].number for number in parts}
        return self._begin_part(
            self._free.pop() if self._free else len(self._parts) + len(self._gone),
            area,
            next(number for number in range(len(used) + 1) if number not in used),
        )

    def _begin_part(self, number: int, area: str, number_in_area: int) -> int:
        self._parts[number] = HealthPart(area, number_in_area)
        self._of_area.setdefault(area, []).append(number)
        return number

    def _health(self, rows: Sequence[int]) -> list[SensorHealth]:
        """Return what is told of these rows."""
        columns = self._rows[rows]
        has_drift: list[bool] = np.any(columns["levels"], axis=1).tolist()
        first, seconds = _counted(columns["seen_us"] - columns["since_us"])
        with np.errstate(divide="ignore", invalid="ignore"):
            rate_hz = ((columns["count"] - first) / seconds).tolist()
        since_us, seen_us, template = (columns[name].tolist() for name in ("since_us", "seen_us", "template"))
        late_share, echo_share = (_share(columns[name], columns["count"]) for name in ("late", "echoes"))
        return [
            SensorHealth(
                *self._names[row][1:],
                since_us=since_us[nth],
                last_seen_us=seen_us[nth],
                rate_hz=_rounded(rate_hz[nth]) if seconds[nth] > 0 else None,
                late_share=_rounded(late_share[nth]),
                drift=_drift(template[nth], columns["levels"][nth]) if has_drift[nth] else None,
                echo_share=_rounded(echo_share[nth]),
            )
            for nth, row in enumerate(rows)
        ]


def _share(some: FloatArray, count: FloatArray) -> list[float]:
    """Return which share of the counted detections some are."""
    share: list[float] = np.clip(some / np.maximum(count, TINY), 0.0, 1.0).tolist()
    return share


def _faded(age_us: Int64Array | int) -> FloatArray:
    """Return what a detection of that age counts."""
    faded: FloatArray = np.exp2(-age_us / 1e6 / HALF_LIFE_S)
    return faded


def _counted(age_us: Int64Array) -> tuple[FloatArray, FloatArray]:
    """Return what the first detection still counts, and the time since, which fades alike."""
    first = _faded(age_us)
    return first, HALF_LIFE_S / np.log(2) * (1 - first)


def _drift(template: int, levels: Int64Array) -> TemplateDrift | None:
    drift = drift_of(levels)
    if drift is None:
        return None
    figures = _rounded(drift.distance), _rounded(drift.p_value)
    spread = _rounded(drift.spread), _rounded(drift.spread_p_value)
    return TemplateDrift(f"t-{template:016x}", drift.errors, *figures, levels.tolist(), *spread)


def _row_of(saved: SensorHealth, part: int) -> npt.NDArray[np.void]:
    """Return the row that `saved` was told of."""
    row = np.zeros((), _ROW)
    first, seconds = _counted(np.array(saved.last_seen_us - saved.since_us))
    row["since_us"], row["seen_us"], row["part"] = saved.since_us, saved.last_seen_us, part
    row["count"] = float(first) + (saved.rate_hz or 0.0) * float(seconds)
    row["late"], row["echoes"] = saved.late_share * row["count"], saved.echo_share * row["count"]
    if saved.drift is not None and len(saved.drift.levels) == PARTS:
        row["template"], row["steady"] = _number_of(saved.drift.template), STEADY_ERRORS
        row["levels"] = np.minimum(saved.drift.levels, LEVELS_KEPT)
    return row


def _number_of(template: str) -> int:
    """Return the hash in a template's id."""
    return int(template.removeprefix("t-")[:16], 16)


def _rounded(figure: float) -> float:
    return float(f"{figure:.6g}")
