"""HeldRows: rows of streams with `echo_s`, held back until it is certain which of them are echoes.

The law: a report is an echo if its sensor made another one on the stream, in the same area, at most `echo_s` before it,
an echo or not. That is certain once the report would be late if it came now, since no earlier one can come any more. So
a row is let go before the first row that brings its area's watermark so far, or by a heartbeat that does, and joins
what came by then. Neither batches nor restarts change that.

Reports are compared by the latest times at which they may have happened, by which they are late. While a sensor keeps
its template, these are as far apart as its reports.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.control.limits import Limits
from coincide.fusion.rows.areas import AreaSensor
from coincide.fusion.rows.event_table import EventColumns, EventTable
from coincide.fusion.rows.on_time import OnTime
from coincide.joins.echoes import are_echoes
from coincide.joins.lateness import BEFORE_ALL_US

NOT_YET = -1


class Reached(NamedTuple):
    """How far the usable rows of a batch bring their areas, each by its position there; `end` is behind all rows."""

    area: CodeArray
    watermark_us: Int64Array
    moved_us: Int64Array  # how far heartbeats of the batch have moved the area's watermark before the row
    row: PositionArray
    end: int


class Release(NamedTuple):
    """Rows that are let go, in order, and those that were echoes."""

    rows: EventColumns
    before: PositionArray  # the row of the batch that each comes before; its end where no row of the area is left
    watermark_us: Int64Array  # of its area then
    beaten_us: Int64Array  # where heartbeats had brought that before the row: they let it go if that is no less
    echoes: EventColumns


NOTHING = Release(
    EventColumns.empty(), np.empty(0, np.intp), np.empty(0, np.int64), np.empty(0, np.int64), EventColumns.empty()
)


class HeldIds:
    """What sensors remember of held rows, by sensor code, as `Areas` has it of the others."""

    def __init__(self) -> None:
        self._by_code: dict[int, AreaSensor] = {}

    def sensor_of(self, code: int) -> AreaSensor:
        """Return the sensor that has the code."""
        return self._by_code.setdefault(code, AreaSensor(code, ""))

    def remember(self, rows: EventColumns) -> None:
        """Remember the ids of rows."""
        for sensor, id_, number in zip(rows.sensor.tolist(), rows.ids, rows.seq.tolist(), strict=True):
            self.sensor_of(sensor).remembered[id_] = number

    def forget(self, rows: EventColumns) -> None:
        """Forget the ids of rows, but for those that other rows have taken over."""
        for sensor, id_, number in zip(rows.sensor.tolist(), rows.ids, rows.seq.tolist(), strict=True):
            remembered = self.sensor_of(sensor).remembered
            if remembered.get(id_) == number:
                del remembered[id_]
            if not remembered:
                del self._by_code[sensor]


@dataclass(eq=False)
class HeldRows:
    """Rows that wait, by numbers of their own, and of each sensor the last one that was let go, or was an echo.

    That one stays as long as a row to come may be its echo. With more than `max_buffered` rows that wait, the oldest
    are judged by what is known of them.
    """

    streams: KnownStreams
    limits: Limits
    table: EventTable = field(default_factory=EventTable)
    memory: HeldIds = field(default_factory=HeldIds)
    next_seq: int = 0
    first_seq: int = 0  # rows before it do not wait, though they may not be late yet: there were too many
    is_anew: bool = False  # whether rows went, since they were saved, of which nothing else says that they did
    _waits: BoolArray = field(default_factory=lambda: np.zeros(0, np.bool_))

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to hold, and nothing is held."""
        return len(self.table) == 0 and not (self.streams.echo_us >= 0).any()

    @property
    def has_waiting(self) -> bool:
        """Whether any row waits, which rows of other streams, or heartbeats, may let go."""
        return bool(self._waits.any())

    @property
    def columns(self) -> EventColumns:
        """The rows, as `EventTable.columns`."""
        return self.table.columns

    def are_held(self, stream: CodeArray) -> BoolArray:
        """Whether rows of these streams are held back."""
        held: BoolArray = self.streams.echo_us[stream] >= 0
        return held

    def append(self, new: EventColumns) -> None:
        """Take rows that are to wait, numbered from `next_seq` on."""
        self.table.append(new)
        self._waits = np.append(self._waits, np.ones(len(new), np.bool_))
        self.next_seq += len(new)

    def waiting_by_stream(self) -> Int64Array:
        """Return how many rows wait, by stream code."""
        return np.bincount(self.columns.stream[self._waits], minlength=len(self.streams))

    def let_go(self, reached: Reached, before: OnTime, now: OnTime) -> Release:
        """Let go what a batch makes certain, between `before` and `now`."""
        waiting = np.flatnonzero(self._waits)
        rows = self.columns
        until_us = now.stands_until_us(rows.latest_us[waiting], rows.area[waiting], rows.stream[waiting])
        until_us[~self.are_held(rows.stream[waiting])] = BEFORE_ALL_US  # nothing of its stream is an echo any more
        place, beaten_us = _places(rows.area[waiting], until_us, reached, before, now)
        self._judge_oldest(waiting, place, reached.end)
        is_due = place != NOT_YET
        due, place, until_us, beaten_us = waiting[is_due], place[is_due], until_us[is_due], beaten_us[is_due]
        watermark_us = _watermark_us(rows.area[due], until_us, before, now)
        self._waits[due] = False
        is_echo = self._are_echoes(due)
        order = np.lexsort((rows.seq[due], watermark_us, place))
        order = order[~is_echo[order]]
        columns = place[order], watermark_us[order], beaten_us[order]
        release = Release(_taken(rows, due[order]), *columns, _taken(rows, due[is_echo]))
        self.memory.forget(_taken(rows, due))
        self._keep_needed(now)
        return release

    def let_nothing_go(self, now: OnTime) -> None:
        """Do what `let_go` does where no row waits: forget those that can have no echo any more."""
        self._keep_needed(now)

    def drop(self, gone: BoolArray) -> None:
        """Drop rows with their area or their stream."""
        if gone.any():
            self.memory.forget(self.columns.where(gone & self._waits))
            self._keep(~gone)
            self.is_anew = True

    def restore(self, saved: EventColumns, now: OnTime) -> None:
        """Begin with the rows of the slots that were saved when it was `now`; some of them were not held any more."""
        saved = saved.where(self.are_held(saved.stream))
        self.table.append(saved)
        is_late = now.is_late(saved.latest_us, saved.area, saved.stream)
        self._waits = (saved.seq >= self.first_seq) & ~is_late
        self.memory.remember(saved.where(self._waits))
        self._keep_needed(now)

    def _judge_oldest(self, waiting: PositionArray, place: PositionArray, end: int) -> None:
        """Let the oldest of the rows go at the end of the batch if too many would be left to wait."""
        left = np.flatnonzero(place == NOT_YET)
        beyond = len(left) - self.limits.max_buffered
        if beyond > 0:
            place[left[:beyond]] = end
            self.first_seq = int(self.columns.seq[waiting[left[beyond - 1]]]) + 1

    def _are_echoes(self, due: PositionArray) -> BoolArray:
        """Whether each of some rows is an echo of one that does not wait either."""
        rows, echoes = self.columns, np.zeros(len(self.table), np.bool_)
        for stream in np.unique(rows.stream[due]).tolist():
            echo_us = int(self.streams.echo_us[stream])
            at = np.flatnonzero((rows.stream == stream) & ~self._waits)
            if echo_us >= 0:
                ids = np.array([rows.ids[row] for row in at.tolist()], np.str_)
                echoes[at] = are_echoes(rows.sensor[at].astype(np.int64), rows.latest_us[at], echo_us, ids)
        return echoes[due]

    def _keep_needed(self, now: OnTime) -> None:
        """Drop all rows that do not wait but the last of each sensor and stream that may still have an echo."""
        rows, keep = self.columns, self._waits.copy()
        judged = np.flatnonzero(~keep & self.are_held(rows.stream))
        last_us = rows.latest_us[judged] + self.streams.echo_us[rows.stream[judged]]
        judged = judged[~now.is_late(last_us, rows.area[judged], rows.stream[judged])]
        judged = judged[np.lexsort((rows.latest_us[judged], rows.stream[judged], rows.sensor[judged]))]
        is_last = np.ones(len(judged), np.bool_)
        is_last[:-1] = (np.diff((rows.sensor[judged], rows.stream[judged])) != 0).any(axis=0)
        keep[judged[is_last]] = True
        self._keep(keep)

    def _keep(self, keep: BoolArray) -> None:
        if not keep.all():
            self.table.keep(keep)
            self._waits = self._waits[keep]


def _places(
    area: CodeArray, until_us: Int64Array, reached: Reached, before: OnTime, now: OnTime
) -> tuple[PositionArray, Int64Array]:
    """Return the row of a batch before which each row is let go that waits, and where heartbeats had come by then.

    The row is the batch's end if none is left, or `NOT_YET`.
    """
    place, beaten_us = np.full(len(area), NOT_YET), now.watermark_us[area]
    is_over = now.watermark_us[area] > until_us
    for each in np.unique(area[is_over]).tolist():
        of_area, ours = np.flatnonzero(reached.area == each), np.flatnonzero(is_over & (area == each))
        watermark_us, moved_us = reached.watermark_us[of_area], reached.moved_us[of_area]
        nth = np.searchsorted(watermark_us, until_us[ours], side="right")
        place[ours] = np.append(reached.row[of_area], reached.end)[nth]
        start_us = before.watermark_us[each] if each < len(before.watermark_us) else BEFORE_ALL_US
        by_row_us = np.append(start_us, watermark_us)[: len(of_area)] + np.diff(moved_us, prepend=0)
        beaten_us[ours] = np.append(by_row_us, now.watermark_us[each])[nth]
    return place, beaten_us


def _watermark_us(area: CodeArray, until_us: Int64Array, before: OnTime, now: OnTime) -> Int64Array:
    """Return the first watermark at which each row could go; where a declaration lets it go, that of its area."""
    were_us = np.append(before.watermark_us, np.full(len(now.watermark_us), BEFORE_ALL_US))[area]
    watermark_us: Int64Array = np.minimum(np.maximum(until_us + 1, were_us), now.watermark_us[area])
    return watermark_us


def _taken(rows: EventColumns, at: PositionArray) -> EventColumns:
    """Return some rows, in the order of `at`."""
    places = at.tolist()
    return EventColumns(
        [rows.ids[row] for row in places], [rows.payload[row] for row in places], *(each[at] for each in rows.arrays())
    )
