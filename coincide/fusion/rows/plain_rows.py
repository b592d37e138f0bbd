"""Plain rows: a handful of rows that are usable, on time, held back by nothing and new to their sensors, one by one.

A push of a few detections seldom has others. The laws are those of the columns (`BatchRows`, `OnTime`, `Watermark`,
`first_arrivals`), of which numpy would ask a hundred calls for so few rows. Judging changes nothing: if any row is not
plain, the columns judge them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from coincide.arrays.kinds import Int64Array
from coincide.fusion.control.known_streams import NO_ECHOES
from coincide.fusion.rows.areas import Area, Areas, AreaSensor
from coincide.fusion.rows.batch_rows import ArrivedFrame, are_out_of_range
from coincide.fusion.rows.event_table import RowFields
from coincide.fusion.rows.on_time import OnTime
from coincide.fusion.rows.stamps import NO_SENSOR, StampTable
from coincide.joins.lateness import late_by_us, raised_us


class PlainRow(NamedTuple):
    """One row, the position of its frame in the batch, and the watermark of its area there."""

    id: str
    payload: bytes
    detected_at_us: int
    latest_us: int
    received_at_us: int
    area: int
    template: int
    place: int
    stream: int
    frame: int
    watermark_us: int
    table: StampTable
    stamp: int

    @property
    def at(self) -> tuple[int, int]:
        """Where its stamp stands among those of the batch."""
        return self.frame, self.stamp

    def fields(self, seq: int, offset: int, sensor: int) -> RowFields:
        """Return the accepted row as the table has it; `offset` is that of its frame, `sensor` a code."""
        times_us = self.detected_at_us, self.latest_us, self.received_at_us
        codes = self.area, sensor, self.template, self.place, self.stream
        return self.id, self.payload, seq, *times_us, offset, *codes, 0, True

    def sensor(self, areas: Areas) -> AreaSensor:
        """Return its sensor, which has a code from now on."""
        code = int(self.table.sensor[self.stamp])
        if code != NO_SENSOR:
            return areas.sensor_of(code)
        known = areas.sensor(areas.area_of(self.area), self.table.stamps[self.stamp].sensor)
        self.table.sensor[self.stamp] = known.code
        return known


@dataclass(eq=False)
class PlainJudge:
    """Judges the rows of a batch; `reached_us` says how far they bring each area, by code, but for heartbeats."""

    areas: Areas
    on_time: OnTime
    echo_us: Int64Array  # by stream code; of a stream that has echoes rows are held back
    reached_us: dict[int, int] = field(default_factory=dict)
    _ids: set[tuple[int, str, str]] = field(default_factory=set)

    def rows(self, frames: Iterable[ArrivedFrame]) -> list[PlainRow] | None:
        """Return the rows of all frames; None if one of them is not plain."""
        if self.on_time.floors_us:
            return None
        judged: list[PlainRow] = []
        for frame in frames:
            for row in self._of_frame(frame):
                if row is None:
                    return None
                judged.append(row)
        return judged

    def _of_frame(self, frame: ArrivedFrame) -> Iterator[PlainRow | None]:
        content = frame.content
        columns = content.ids, content.payload, content.detected_at_us.tolist(), content.stamp.tolist()
        for id_, payload, detected_at_us, stamp in zip(*columns, strict=True):
            row = self._row(frame, id_, payload, detected_at_us, stamp)
            yield row if row is not None and self._is_on_time(row) and self._is_new(row, frame.area) else None

    def _row(self, frame: ArrivedFrame, id_: str, payload: bytes, detected_at_us: int, stamp: int) -> PlainRow | None:
        """Return a row, which raises its area's watermark; None if it cannot be used."""
        table, code, received_at_us = frame.content.stamps, frame.area.code, frame.content.received_at_us
        earliest_us, latest_us = (detected_at_us + int(us[stamp]) for us in (table.earliest_us, table.latest_us))
        if stamp in table.refused or are_out_of_range(earliest_us, latest_us):
            return None
        if self.echo_us[table.stream[stamp]] != NO_ECHOES:
            return None
        before_us = self.reached_us.get(code)
        before_us = self.areas.watermark.us(code) if before_us is None else before_us
        reached_us = raised_us(before_us, latest_us - frame.moved_us, received_at_us - frame.moved_us)
        self.reached_us[code] = reached_us
        return PlainRow(
            id_,
            payload,
            detected_at_us,
            latest_us,
            received_at_us,
            code,
            int(table.template[stamp]),
            int(table.place[stamp]),
            int(table.stream[stamp]),
            frame.position,
            reached_us + frame.moved_us,
            table,
            stamp,
        )

    def _is_on_time(self, row: PlainRow) -> bool:
        return late_by_us(row.watermark_us, row.latest_us, int(self.on_time.delays_us[row.stream])) <= 0

    def _is_new(self, row: PlainRow, area: Area) -> bool:
        """Whether neither the sensor remembers the id, nor a row of the batch has it."""
        name, before = row.table.stamps[row.stamp].sensor, len(self._ids)
        self._ids.add((row.area, name, row.id))
        known = area.sensors.get(name)
        return len(self._ids) > before and (known is None or row.id not in known.remembered)
