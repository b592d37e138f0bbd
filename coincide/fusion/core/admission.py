"""From records of the detections topic to accepted rows; the rest goes to the dead letters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from msgspec import Raw, json

from coincide.arrays.kinds import BoolArray, Int64Array, PositionArray
from coincide.fusion.core.acceptance import Acceptance, Beat
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
from coincide.fusion.rows.event_table import FEW_ROWS
from coincide.fusion.rows.held_rows import HeldRows, Reached
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
    area's watermark at that row, then the ids remembered. Those of streams with `echo_s` are held back: see `HeldRows`.
    """

    codes: RowCodes
    rows: KeptRows
    held: HeldRows
    health: HealthTable
    totals: Totals
    letters: list[tuple[int, int, DeadLetter]] = field(default_factory=list)
    silence: AreaSilence = field(init=False)
    on_time: OnTime = field(init=False)  # of what is declared, and as it was before the batch
    _beats: dict[int, list[Beat]] = field(default_factory=dict)  # by partition
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
            clock = areas.clocks[record.partition]
            self._beats.setdefault(record.partition, []).append(Beat(record.offset, clock.listened_us, clock.seconds))
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
        """Return all rows of a few plain ones; None if there are more, or others, or some are held back."""
        if self.held.has_waiting or sum(len(frame.content) for frame in frames) > FEW_ROWS:
            return None
        judge = PlainJudge(self.codes.areas, self.on_time, self.codes.streams.echo_us)
        rows = judge.rows(frames)
        return None if rows is None else self._accept_plain(rows, judge.reached_us, offset)

    def _accept_plain(
        self, rows: Sequence[PlainRow], reached_us: Mapping[int, int], offset: Sequence[int]
    ) -> AcceptedBatch:
        areas = self.codes.areas
        for area, us in reached_us.items():
            areas.watermark.put(area, us)
        self.silence.settle()
        if len(self.held.table):
            self.held.let_nothing_go(self.codes.on_time())
        self._note_plain(sorted(rows, key=lambda row: row.at))
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
        watermark_us = self._watermark_us(batch, usable)
        reached = Reached(batch.area[usable], watermark_us, batch.moved_us[usable], usable, len(batch))
        is_late = self._refuse_late(batch, usable, watermark_us)
        self.silence.settle()
        on_time = usable[~is_late]
        batch.stamps.name_sensors(np.flatnonzero(np.bincount(batch.stamp[on_time])), self.codes.areas)
        self._note_health(batch, usable, on_time)
        acceptance = Acceptance(
            batch,
            offset,
            clock_s,
            self.codes,
            self.rows,
            self.held,
            self.health,
            self.totals,
            self.on_time,
            self._beats,
            lambda row, reason, detail: self._refuse(batch, row, reason, detail),
        )
        lot = acceptance.accept(on_time, watermark_us[~is_late], reached)
        backgrounds = count_detections(self.codes.areas, lot.rows, lot.watermark_us)
        return AcceptedBatch(lot.rows, backgrounds, lot.rows.offset, lot.frame, lot.clock_s)

    def _refuse_faulty(self, batch: BatchRows) -> PositionArray:
        refused = faults(batch)
        for row, (reason, detail) in refused.items():
            self._refuse(batch, row, reason, detail)
        self.totals.malformed += len(refused)
        usable = np.ones(len(batch), np.bool_)
        usable[list(refused)] = False
        return np.flatnonzero(usable)

    def _watermark_us(self, batch: BatchRows, rows: PositionArray) -> Int64Array:
        """Return the watermark at each row, which they move on.

        Heartbeats of the batch move a watermark by a sum, rows raise it to a maximum. Without what it was moved by it
        is a running maximum of rows without what it had been moved by before them.
        """
        latest_us, moved_us = batch.latest_us[rows], batch.moved_us[rows]
        received_at_us = batch.received_at_us[rows] - moved_us
        watermark_us: Int64Array = moved_us + self.codes.areas.watermark.advance(
            batch.area[rows], latest_us - moved_us, received_at_us
        )
        return watermark_us

    def _refuse_late(self, batch: BatchRows, rows: PositionArray, watermark_us: Int64Array) -> BoolArray:
        """Return which rows are late, given the watermark at each."""
        how_late_us = self.on_time.late_by_us(watermark_us, batch.latest_us[rows], batch.area[rows], batch.stream[rows])
        late: BoolArray = how_late_us > 0
        for row, by_us in zip(rows[late].tolist(), how_late_us[late].tolist(), strict=True):
            self._refuse(batch, row, "late", f"{by_us / 1e6:.6f} s later than its stream's delay allows", by_us)
        self.totals.late += int(late.sum())
        return late

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

    def _refuse(self, batch: BatchRows, row: int, reason: str, detail: str, late_by_us: int | None = None) -> None:
        shown = (
            Raw(json.encode(batch.ids[row])),
            Raw(b"%d" % batch.detected_at_us[row]),
            payload_json(batch.payload[row]),
        )
        area, stamp = self.codes.areas.area_of(batch.area[row]).name, batch.stamps.stamp(int(batch.stamp[row]))
        letter = refused_row(reason, detail, area, int(batch.received_at_us[row]), stamp, shown, late_by_us)
        self.letters.append((int(batch.frame[row]), row, letter))
