"""From records of the detections topic to accepted rows; the rest goes to the dead letters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.joins.lateness import late_by_us
from spark_jobs.core.query_retention import delays_us
from spark_jobs.core.shard import ShardState
from spark_jobs.records.kafka_records import InputRecord, Refusal
from spark_jobs.rows.areas import AreaSensor, Silence
from spark_jobs.rows.batch_rows import AcceptedBatch, BatchRows, BatchRowsBuilder, count_detections, faults
from spark_jobs.rows.decoding import DetectionRow, FrameError, decode_frame, heartbeat_us, malformed_frame, refused_row
from spark_jobs.rows.event_table import EventColumns, EventTable

NO_ROW = -1  # a letter about a whole frame, or a row that could not be decoded, comes before those about its rows


@dataclass
class RowAdmission:
    """One batch of detections on its way into the state.

    Every row meets the same checks in the same order, whatever the batch: what is declared, then lateness against its
    area's watermark at that row, then the ids remembered.
    """

    state: ShardState
    letters: list[tuple[int, int, Refusal]] = field(default_factory=list)
    silence: Silence = field(init=False)
    _clock_s: dict[int, tuple[int, int]] = field(default_factory=dict)  # of each frame, by its position in the batch

    def __post_init__(self) -> None:
        self.silence = Silence(self.state.areas, self.state.limits.quiet_us)

    def take(self, records: Sequence[InputRecord]) -> AcceptedBatch:
        """Return what was accepted of records in (partition, offset) order; it is in the table already."""
        batch = self._decode(records)
        taken = self._accept(batch, records)
        self.state.areas.watermark.move_on(*self.silence.moved())
        return taken

    def letters_in_order(self) -> list[Refusal]:
        """Return the letters in the order of their frames and rows."""
        return [letter for _, _, letter in sorted(self.letters, key=lambda entry: entry[:2])]

    def _decode(self, records: Sequence[InputRecord]) -> BatchRows:
        builder = BatchRowsBuilder(self.state.stream_codes, self.state.templates)
        for position, record in enumerate(records):
            try:
                self._take(builder, position, record)
            except FrameError as error:
                self.state.totals.frames += 1
                self.state.totals.malformed += 1
                self.letters.append((position, NO_ROW, malformed_frame(record, error)))
        return builder.build()

    def _take(self, builder: BatchRowsBuilder, position: int, record: InputRecord) -> None:
        """Take a heartbeat or a frame."""
        state, totals = self.state, self.state.totals
        beat_us = heartbeat_us(record)
        if beat_us is not None:
            totals.heartbeats += 1
            self.silence.heartbeat(record.partition, beat_us)
            return
        frame = decode_frame(record, state.limits)
        totals.frames += 1
        totals.detections += len(frame.detections) + len(frame.refused)
        totals.malformed += len(frame.refused)
        self.letters += ((position, NO_ROW, letter) for letter in frame.refused)
        area = state.areas.area(frame.area, state.next_seq)
        builder.add(position, frame, area, self.silence.frame(area, record.partition, frame.received_at_us))
        self._clock_s[position] = state.areas.clocks[record.partition].seconds

    def _accept(self, batch: BatchRows, records: Sequence[InputRecord]) -> AcceptedBatch:
        usable = self._refuse_faulty(batch)
        on_time, watermark_us = self._refuse_late(batch, usable)
        new, accepted = self._accept_new(batch, on_time, watermark_us)
        backgrounds = count_detections(self.state.areas, new, watermark_us[accepted])
        offset = np.array([record.offset for record in records], np.int64)
        frame = batch.frame[on_time[accepted]]
        clock_s = np.array([self._clock_s[each] for each in frame.tolist()], np.int64).reshape(-1, 2)
        return AcceptedBatch(new, backgrounds, offset[frame], frame, clock_s)

    def _refuse_faulty(self, batch: BatchRows) -> PositionArray:
        reasons = faults(batch, self.state.templates, list(self.state.streams.values()))
        for row, (reason, detail) in reasons.items():
            self._refuse(batch, row, reason, detail)
        self.state.totals.malformed += len(reasons)
        usable = np.ones(len(batch), np.bool_)
        usable[list(reasons)] = False
        return np.flatnonzero(usable)

    def _refuse_late(self, batch: BatchRows, rows: PositionArray) -> tuple[PositionArray, Int64Array]:
        """Return the rows that are on time, and the watermark at each of them.

        Heartbeats of the batch move a watermark by a sum, rows raise it to a maximum. Without what it was moved by it
        is a running maximum of rows without what it had been moved by before them.
        """
        latest_us, moved_us = batch.latest_us[rows], batch.moved_us[rows]
        watermark = self.state.areas.watermark
        received_at_us = batch.received_at_us[rows] - moved_us
        watermark_us = watermark.advance(batch.area[rows], latest_us - moved_us, received_at_us) + moved_us
        how_late_us = late_by_us(watermark_us, latest_us, delays_us(self.state.streams)[batch.stream[rows]])
        late = how_late_us > 0
        for row, by_us in zip(rows[late].tolist(), how_late_us[late].tolist(), strict=True):
            self._refuse(batch, row, "late", f"{by_us / 1e6:.6f} s later than its stream's delay allows", by_us)
        self.state.totals.late += int(late.sum())
        return rows[~late], watermark_us[~late]

    def _accept_new(
        self, batch: BatchRows, rows: PositionArray, watermark_us: Int64Array
    ) -> tuple[EventColumns, list[int]]:
        """Return the rows whose id is new, and which of `rows` they are."""
        state = self.state
        at = rows.tolist()
        sensors = [state.areas.sensor(batch.areas[row], batch.rows[row].sensor) for row in at]
        ids = [batch.rows[row].id for row in at]
        known = _FirstRows(state, batch, rows, watermark_us)
        accepted, repeated = _first_arrivals(sensors, ids, state.next_seq, known.would_be_late)
        new = self._columns(batch, rows[accepted], [sensors[position] for position in accepted])
        state.table.append(new)
        state.next_seq += len(new)
        state.totals.accepted += len(new)
        if repeated:
            self._count_repeated(batch, rows, repeated)
        return new, accepted

    def _columns(self, batch: BatchRows, rows: PositionArray, sensors: Sequence[AreaSensor]) -> EventColumns:
        chosen = [batch.rows[row] for row in rows.tolist()]
        return EventColumns(
            ids=[row.id for row in chosen],
            attributes=[bytes(row.attributes) for row in chosen],
            seq=self.state.next_seq + np.arange(len(rows)),
            detected_at_us=batch.detected_at_us[rows],
            latest_us=batch.latest_us[rows],
            received_at_us=batch.received_at_us[rows],
            area=batch.area[rows],
            sensor=np.array([sensor.code for sensor in sensors], np.int32),
            template=batch.template[rows],
            stream=batch.stream[rows],
            slot=np.zeros(len(rows), np.int32),
            remembered=np.ones(len(rows), np.bool_),
        )

    def _count_repeated(self, batch: BatchRows, rows: PositionArray, repeated: list[tuple[int, int]]) -> None:
        at = rows[[position for position, _ in repeated]]
        seq = np.array([first for _, first in repeated], np.int64)
        again = [batch.rows[row] for row in at.tolist()]
        conflicts = _conflicting(again, batch.template[at], batch.stream[at], seq, self.state.table)
        for row in at[conflicts].tolist():
            self._refuse(batch, row, "conflict", "the sensor has sent another detection by this id; it stands")
        self.state.totals.conflicts += int(conflicts.sum())
        self.state.totals.duplicates += int((~conflicts).sum())

    def _refuse(self, batch: BatchRows, row: int, reason: str, detail: str, late_by_us: int | None = None) -> None:
        received_at_us = int(batch.received_at_us[row])
        letter = refused_row(reason, detail, batch.areas[row].name, received_at_us, batch.rows[row], late_by_us)
        self.letters.append((int(batch.frame[row]), row, letter))


class _FirstRows:
    """Tells whether an id may be taken over, because the first row that had it would be late by now."""

    def __init__(self, state: ShardState, batch: BatchRows, rows: PositionArray, watermark_us: Int64Array) -> None:
        self._table = state.table
        self._known = state.table.columns
        self._batch = batch
        self._rows = rows
        self._watermark_us = watermark_us
        self._delays_us = delays_us(state.streams)

    def would_be_late(self, seq: int, first_position: int | None, position: int) -> bool:
        """Whether the row with that sequence number would be late at the position (both among `rows`)."""
        if first_position is None:
            at, rows = self._table.positions(np.array([seq])), self._known
            latest_us, stream = rows.latest_us[at], rows.stream[at]
        else:
            at = self._rows[[first_position]]
            latest_us, stream = self._batch.latest_us[at], self._batch.stream[at]
        return bool(late_by_us(self._watermark_us[[position]], latest_us, self._delays_us[stream])[0] > 0)


def _first_arrivals(
    sensors: Sequence[AreaSensor],
    ids: Sequence[str],
    next_seq: int,
    would_be_late: Callable[[int, int | None, int], bool],
) -> tuple[list[int], list[tuple[int, int]]]:
    """Let sensors remember the ids that are new to them; return the new rows and the repeated ones, as positions.

    The i-th new row has the sequence number ``next_seq + i``; a repeated row comes with that of its first. If the first
    (by number, and position if of this batch) `would_be_late` at the position of another, its id is forgotten.
    """
    before = next_seq
    accepted: list[int] = []
    repeated: list[tuple[int, int]] = []
    for position, (sensor, detection_id) in enumerate(zip(sensors, ids, strict=True)):
        first = sensor.remembered.setdefault(detection_id, next_seq)
        if first != next_seq:
            first_position = accepted[first - before] if first >= before else None
            if not would_be_late(first, first_position, position):
                repeated.append((position, first))
                continue
        sensor.remembered[detection_id] = next_seq
        accepted.append(position)
        next_seq += 1
    return accepted, repeated


def _conflicting(
    rows: Sequence[DetectionRow], template: CodeArray, stream: CodeArray, seq: Int64Array, table: EventTable
) -> BoolArray:
    """Whether each repeated row says something else than the first one of its id, which has the given `seq`."""
    first = table.positions(seq)
    known = table.columns
    detected_at_us = np.array([row.detected_at_us for row in rows], np.int64)
    differs = (
        (known.detected_at_us[first] != detected_at_us)
        | (known.template[first] != template)
        | (known.stream[first] != stream)
    )
    attributes = [known.attributes[at] != bytes(row.attributes) for at, row in zip(first.tolist(), rows, strict=True)]
    either: BoolArray = differs | np.array(attributes, np.bool_)
    return either
