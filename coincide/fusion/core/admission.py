"""From records of the detections topic to accepted rows; the rest goes to the dead letters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from msgspec import Raw, json

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.fusion.health.health_table import NOBODY, HealthTable
from coincide.fusion.records.kafka_records import InputRecord
from coincide.fusion.rows.areas import AreaSilence
from coincide.fusion.rows.batch_rows import (
    AcceptedBatch,
    ArrivedFrame,
    BatchRows,
    batch_of,
    count_detections,
    faults,
)
from coincide.fusion.rows.decoding import decode_frame, heartbeat_us, malformed_frame
from coincide.fusion.rows.elements import refused_row
from coincide.fusion.rows.event_table import FEW_ROWS, EventColumns
from coincide.fusion.rows.first_arrivals import ArrivedRows, first_arrivals
from coincide.fusion.rows.kept_rows import KeptRows
from coincide.fusion.rows.named_rows import NamedRows
from coincide.fusion.rows.on_time import OnTime
from coincide.fusion.rows.plain_rows import PlainJudge, PlainRow
from coincide.fusion.rows.row_codes import RowCodes
from coincide.wire.fields import FrameError
from coincide.wire.payload import payload_json
from coincide.wire.results.dead_letter import DeadLetter
from coincide.wire.status_record import Totals

SECOND_US = 1_000_000
NO_ROW = -1  # a letter about a whole frame, or a row that could not be decoded, comes before those about its rows


@dataclass
class RowAdmission:
    """One batch of detections on its way into the rows that are kept.

    Every row meets the same checks in the same order, whatever the batch: what is declared, then lateness against its
    area's watermark at that row, then the ids remembered.
    """

    codes: RowCodes
    rows: KeptRows
    health: HealthTable
    totals: Totals
    letters: list[tuple[int, int, DeadLetter]] = field(default_factory=list)
    silence: AreaSilence = field(init=False)
    on_time: OnTime = field(init=False)  # of what is declared, and as it was before the batch
    _clock_s: dict[int, tuple[int, int]] = field(default_factory=dict)  # of each frame, by its position in the batch

    def __post_init__(self) -> None:
        self.silence = AreaSilence(self.codes.areas, self.rows.limits.quiet_us)
        self.on_time = self.codes.on_time()

    def take(self, records: Sequence[InputRecord]) -> AcceptedBatch:
        """Return what was accepted of records in (partition, offset) order; it is in the table already."""
        frames = self._decode(records)
        offset = [record.offset for record in records]
        taken = self._accepted_plain(frames, offset)
        if taken is None:
            clock_s = [self._clock_s.get(each, (0, 0)) for each in range(len(records))]
            of_frames = np.array(offset, np.int64), np.array(clock_s, np.int64).reshape(-1, 2)
            taken = self._accept(batch_of(frames), *of_frames)
        self.silence.settle()
        return taken

    def take_rows(self, rows: NamedRows) -> AcceptedBatch:
        """Return what was accepted of rows that each came alone, where nobody sends heartbeats."""
        batch = rows.batch(self.codes, self.rows.next_seq)
        heard_us = self.codes.areas.hear_rows(batch.area, batch.received_at_us)
        return self._accept(batch, np.zeros(len(batch), np.int64), np.stack((heard_us, heard_us), axis=1) // SECOND_US)

    def letters_in_order(self) -> list[DeadLetter]:
        """Return the letters in the order of their frames and rows."""
        return [letter for _, _, letter in sorted(self.letters, key=lambda entry: entry[:2])]

    def _decode(self, records: Sequence[InputRecord]) -> list[ArrivedFrame]:
        frames: list[ArrivedFrame] = []
        for position, record in enumerate(records):
            try:
                self._take(frames, position, record)
            except FrameError as error:
                self.totals.frames += 1
                self.totals.malformed += 1
                self.letters.append((position, NO_ROW, malformed_frame(record, error)))
        return frames

    def _take(self, frames: list[ArrivedFrame], position: int, record: InputRecord) -> None:
        """Take a heartbeat or a frame."""
        areas, totals = self.codes.areas, self.totals
        beat_us = heartbeat_us(record)
        if beat_us is not None:
            totals.heartbeats += 1
            self.silence.heartbeat(record.partition, beat_us)
            return
        frame = decode_frame(record, self.rows.limits, self.codes.stamps)
        totals.frames += 1
        totals.detections += len(frame) + len(frame.refused)
        totals.malformed += len(frame.refused)
        self.letters += ((position, NO_ROW, letter) for letter in frame.refused)
        area = areas.area(frame.area, self.rows.next_seq)
        moved_us = self.silence.frame(area, record.partition, frame.received_at_us)
        frames.append(ArrivedFrame(position, frame, area, moved_us))
        self._clock_s[position] = areas.clocks[record.partition].seconds

    def _accepted_plain(self, frames: Sequence[ArrivedFrame], offset: Sequence[int]) -> AcceptedBatch | None:
        """Return all rows of a few plain ones; None if there are more, or others."""
        if sum(len(frame.content) for frame in frames) > FEW_ROWS:
            return None
        judge = PlainJudge(self.codes.areas, self.on_time)
        rows = judge.rows(frames)
        return None if rows is None else self._accept_plain(rows, judge.reached_us, offset)

    def _accept_plain(
        self, rows: Sequence[PlainRow], reached_us: Mapping[int, int], offset: Sequence[int]
    ) -> AcceptedBatch:
        areas = self.codes.areas
        for area, us in reached_us.items():
            areas.watermark.put(area, us)
        self._note_plain(sorted(rows, key=lambda row: row.place))
        accepted = []
        for seq, row in enumerate(rows, self.rows.next_seq):
            sensor = row.sensor(areas)
            sensor.remembered[row.id] = seq
            accepted.append(row.fields(seq, offset[row.frame], sensor.code))
        new = self.rows.add(accepted)
        self.totals.accepted += len(new)
        backgrounds = count_detections(areas, new, np.array([row.watermark_us for row in rows], np.int64))
        frame = [row.frame for row in rows]
        clock_s = np.array([self._clock_s[at] for at in frame], np.int64).reshape(-1, 2)
        return AcceptedBatch(new, backgrounds, new.offset, np.array(frame, np.int64), clock_s)

    def _note_plain(self, rows: Sequence[PlainRow]) -> None:
        """Count rows of sensors; those of a sensor that has several together, as a batch of columns does."""
        places = [(place, row.received_at_us) for row in rows if (place := self._health_row(row)) != NOBODY]
        if len({place for place, _ in places}) == len(places):
            for place, received_at_us in places:
                self.health.count_one(place, received_at_us)
            return
        place, received_us = np.array(places, np.int64).T
        self.health.count(place, np.ones(len(place), np.int64), np.zeros(len(place), np.int64), received_us)

    def _health_row(self, row: PlainRow) -> int:
        def name_of(_: int) -> tuple[str, str, str]:
            stamp = row.table.stamps[row.stamp]
            return self.codes.areas.area_of(row.area).name, stamp.sensor, stamp.stream

        return self.health.row_of(row.sensor(self.codes.areas).code, row.stream, name_of)

    def _accept(self, batch: BatchRows, offset: Int64Array, clock_s: Int64Array) -> AcceptedBatch:
        """Return what was accepted of a batch; `offset` is that of each frame, `clock_s` as in `AcceptedBatch`."""
        usable = self._refuse_faulty(batch)
        on_time, watermark_us = self._refuse_late(batch, usable)
        new, accepted = self._accept_new(batch, on_time, watermark_us, offset)
        self._note_health(batch, usable, on_time)
        backgrounds = count_detections(self.codes.areas, new, watermark_us[accepted])
        frame = batch.frame[on_time[accepted]]
        return AcceptedBatch(new, backgrounds, new.offset, frame, clock_s[frame])

    def _refuse_faulty(self, batch: BatchRows) -> PositionArray:
        refused = faults(batch)
        for row, (reason, detail) in refused.items():
            self._refuse(batch, row, reason, detail)
        self.totals.malformed += len(refused)
        usable = np.ones(len(batch), np.bool_)
        usable[list(refused)] = False
        return np.flatnonzero(usable)

    def _refuse_late(self, batch: BatchRows, rows: PositionArray) -> tuple[PositionArray, Int64Array]:
        """Return the rows that are on time, and the watermark at each of them.

        Heartbeats of the batch move a watermark by a sum, rows raise it to a maximum. Without what it was moved by it
        is a running maximum of rows without what it had been moved by before them.
        """
        latest_us, moved_us = batch.latest_us[rows], batch.moved_us[rows]
        watermark = self.codes.areas.watermark
        received_at_us = batch.received_at_us[rows] - moved_us
        watermark_us = watermark.advance(batch.area[rows], latest_us - moved_us, received_at_us) + moved_us
        how_late_us = self.on_time.late_by_us(watermark_us, latest_us, batch.area[rows], batch.stream[rows])
        late = how_late_us > 0
        for row, by_us in zip(rows[late].tolist(), how_late_us[late].tolist(), strict=True):
            self._refuse(batch, row, "late", f"{by_us / 1e6:.6f} s later than its stream's delay allows", by_us)
        self.totals.late += int(late.sum())
        return rows[~late], watermark_us[~late]

    def _note_health(self, batch: BatchRows, usable: PositionArray, on_time: PositionArray) -> None:
        """Count the rows of each sensor and stream, late ones among them; all rows of a stamp came at one time."""
        stamps, size = batch.stamps, len(batch.stamps.area)
        came = np.bincount(batch.stamp[usable], minlength=size)
        late = came - np.bincount(batch.stamp[on_time], minlength=size)
        received_at_us = np.zeros(size, np.int64)
        received_at_us[batch.stamp] = batch.received_at_us
        used = np.flatnonzero(came)

        def name_of(nth: int) -> tuple[str, str, str]:
            stamp = stamps.stamp(int(used[nth]))
            return self.codes.areas.area_of(int(stamps.area[used[nth]])).name, stamp.sensor, stamp.stream

        row = self.health.rows(stamps.sensor[used], stamps.stream[used], name_of)
        used, row = used[row != NOBODY], row[row != NOBODY]
        self.health.count(row, came[used], late[used], received_at_us[used])

    def _accept_new(
        self, batch: BatchRows, rows: PositionArray, watermark_us: Int64Array, offset: Int64Array
    ) -> tuple[EventColumns, PositionArray]:
        """Return the rows whose id is new, and which of `rows` they are; `offset` is that of each frame."""
        areas, stamp = self.codes.areas, batch.stamp[rows]
        batch.stamps.name_sensors(np.flatnonzero(np.bincount(stamp)), areas)
        sensor = batch.stamps.sensor[stamp]
        stands_until_us = self.on_time.stands_until_us(batch.latest_us[rows], batch.area[rows], batch.stream[rows])
        arrivals = ArrivedRows(_taken(batch.ids, rows), sensor, watermark_us, stands_until_us)
        first = first_arrivals(arrivals, areas, self.rows.table, self.on_time, self.rows.next_seq)
        columns = rows[first.accepted], sensor[first.accepted], first.is_remembered
        new = self._columns(batch, *columns, offset)
        self.rows.append(new)
        self.totals.accepted += len(new)
        if len(first.repeated):
            self._count_repeated(batch, rows[first.repeated], first.first_seq)
        return new, first.accepted

    def _columns(
        self, batch: BatchRows, rows: PositionArray, sensor: CodeArray, is_remembered: BoolArray, offset: Int64Array
    ) -> EventColumns:
        return EventColumns(
            ids=_taken(batch.ids, rows),
            payload=_taken(batch.payload, rows),
            seq=self.rows.next_seq + np.arange(len(rows)),
            detected_at_us=batch.detected_at_us[rows],
            latest_us=batch.latest_us[rows],
            received_at_us=batch.received_at_us[rows],
            offset=offset[batch.frame[rows]],
            area=batch.area[rows],
            sensor=sensor,
            template=batch.template[rows],
            stream=batch.stream[rows],
            slot=np.zeros(len(rows), np.int32),
            remembered=is_remembered,
        )

    def _count_repeated(self, batch: BatchRows, rows: PositionArray, first_seq: Int64Array) -> None:
        """Count rows that repeat those with the given numbers, and refuse those that say something else."""
        known, first = self.rows.columns, self.rows.table.positions(first_seq)
        differs = (
            (known.detected_at_us[first] != batch.detected_at_us[rows])
            | (known.template[first] != batch.template[rows])
            | (known.stream[first] != batch.stream[rows])
        )
        pairs = zip(first.tolist(), rows.tolist(), strict=True)
        differs |= np.array([known.payload[at] != batch.payload[row] for at, row in pairs], np.bool_)
        for row in rows[differs].tolist():
            self._refuse(batch, row, "conflict", "the sensor has sent another detection by this id; it stands")
        self.totals.conflicts += int(differs.sum())
        self.totals.duplicates += int((~differs).sum())

    def _refuse(self, batch: BatchRows, row: int, reason: str, detail: str, late_by_us: int | None = None) -> None:
        shown = (
            Raw(json.encode(batch.ids[row])),
            Raw(b"%d" % batch.detected_at_us[row]),
            payload_json(batch.payload[row]),
        )
        area, stamp = self.codes.areas.area_of(batch.area[row]).name, batch.stamps.stamp(int(batch.stamp[row]))
        letter = refused_row(reason, detail, area, int(batch.received_at_us[row]), stamp, shown, late_by_us)
        self.letters.append((int(batch.frame[row]), row, letter))


T = TypeVar("T")


def _taken(column: list[T], rows: PositionArray) -> list[T]:
    """Return some rows of a list, which rise; all of them are not copied."""
    return column if len(rows) == len(column) else [column[row] for row in rows.tolist()]
