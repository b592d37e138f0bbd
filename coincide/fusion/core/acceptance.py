"""From rows on time to accepted ones: which are the first of their id, which are held back, and which are let go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.fusion.health.health_table import NOBODY, HealthTable
from coincide.fusion.rows.batch_rows import BatchRows, Lot
from coincide.fusion.rows.event_table import EventColumns, EventTable
from coincide.fusion.rows.first_arrivals import ArrivedRows, Memory, first_arrivals
from coincide.fusion.rows.held_rows import NOTHING, HeldRows, Reached, Release
from coincide.fusion.rows.kept_rows import KeptRows
from coincide.fusion.rows.on_time import OnTime
from coincide.fusion.rows.row_codes import RowCodes
from coincide.wire.status_record import Totals


class Beat(NamedTuple):
    """A heartbeat: its offset, and what its partition's clock had listened to, and showed, by then."""

    offset: int
    listened_us: int
    seconds: tuple[int, int]


class Firsts(NamedTuple):
    """The rows of some whose id is new, and which these are; and the others, with the numbers of those they repeat."""

    new: EventColumns
    accepted: PositionArray
    repeated: PositionArray
    first_seq: Int64Array


@dataclass(frozen=True, eq=False)
class Acceptance:
    """The acceptance of one batch, whose rows have moved the watermarks by now, and whose sensors have codes."""

    batch: BatchRows
    offset: Int64Array  # of each frame
    clock_s: Int64Array  # of each frame, as in `AcceptedBatch`
    codes: RowCodes
    rows: KeptRows
    held: HeldRows
    health: HealthTable
    totals: Totals
    before: OnTime  # what was on time before the batch
    beats: Mapping[int, Sequence[Beat]]  # the heartbeats of the batch, by partition
    refuse: Callable[[int, str, str], None]  # takes a row of the batch, the reason and a sentence

    def accept(self, rows: PositionArray, watermark_us: Int64Array, reached: Reached) -> Lot:
        """Return what joins: of the rows on time, each with the watermark at it, and of those that were held back."""
        is_held = self.held.are_held(self.batch.stream[rows])
        self._hold(rows[is_held], watermark_us[is_held])
        release = NOTHING if self.held.is_idle else self.held.let_go(reached, self.before, self.codes.on_time())
        return self._join(rows[~is_held], watermark_us[~is_held], release)

    def _hold(self, rows: PositionArray, watermark_us: Int64Array) -> None:
        """Take rows that are held back; none is of an id that a row has which joined before its stream had `echo_s`."""
        if len(rows) == 0:
            return
        held, known = self.held, self._joined_before(rows, watermark_us)
        is_new = known < 0
        self._count_repeated(rows[~is_new], known[~is_new], self.rows.table)
        next_seq = np.full(np.count_nonzero(is_new), held.next_seq)
        firsts = self._firsts(rows[is_new], watermark_us[is_new], held.table, held.memory, next_seq)
        held.append(firsts.new)
        self.totals.accepted += len(firsts.new)
        self._count_repeated(firsts.repeated, firsts.first_seq, held.table)

    def _joined_before(self, rows: PositionArray, watermark_us: Int64Array) -> Int64Array:
        """Return the number of the row of the same stream that each row repeats; -1 if there is none."""
        batch, kept = self.batch, self.rows.columns
        sensors = map(self.codes.areas.sensor_of, batch.stamps.sensor[batch.stamp[rows]].tolist())
        ids = _taken(batch.ids, rows)
        seq = np.array([each.remembered.get(id_, -1) for each, id_ in zip(sensors, ids, strict=True)], np.int64)
        for nth in np.flatnonzero(seq >= 0).tolist():
            [at] = self.rows.table.positions(seq[nth : nth + 1])
            alike = slice(at, at + 1)
            until_us = self.before.stands_until_us(kept.latest_us[alike], kept.area[alike], kept.stream[alike])
            if kept.stream[at] != batch.stream[rows[nth]] or watermark_us[nth] > until_us[0]:
                seq[nth] = -1
        return seq

    def _join(self, rows: PositionArray, watermark_us: Int64Array, release: Release) -> Lot:
        """Take rows into the table, with those that are let go, each before the row that lets it go."""
        kept, areas = self.rows, self.codes.areas
        next_seq = kept.next_seq + np.searchsorted(release.before, rows, side="right")
        firsts = self._firsts(rows, watermark_us, kept.table, areas, next_seq)
        came = rows[firsts.accepted]
        frame = self.batch.frame[came]
        lot = Lot(firsts.new, watermark_us[firsts.accepted], frame, self.clock_s[frame])
        self.totals.accepted += len(firsts.new)
        self._count_echoes(release.echoes)
        if len(release.rows):
            release.rows.seq[:] = kept.next_seq + np.arange(len(release.rows)) + np.searchsorted(came, release.before)
            release.rows.remembered[:], release.rows.slot[:] = False, 0
            lot = lot.merged(self._released(release))
            areas.note_change(release.rows.area)
        kept.append(lot.rows)
        self._remember(release.rows)
        self._count_repeated(firsts.repeated, firsts.first_seq, kept.table)
        return lot

    def _released(self, release: Release) -> Lot:
        """Return rows as of the frame, or else the heartbeat, that lets them go; these count as a frame each."""
        rows, of_row = release.rows, release.before < len(self.batch)
        frame, second = np.full(len(rows), len(self.offset)), np.empty((len(rows), 2), np.int64)
        frame[of_row] = self.batch.frame[release.before[of_row]]
        own, rows.offset[of_row] = rows.offset.copy(), self.offset[frame[of_row]]
        second[of_row] = self.clock_s[frame[of_row]]
        for nth in np.flatnonzero(release.watermark_us <= release.beaten_us).tolist():
            partition = int(self.codes.areas.times.partition[rows.area[nth]])
            left_us = int(release.beaten_us[nth] - release.watermark_us[nth])
            beat = self._beat(partition, int(rows.offset[nth]) if of_row[nth] else None, left_us)
            frame[nth] = len(self.offset) + nth
            rows.offset[nth] = own[nth] if beat is None else beat.offset
            second[nth] = self.codes.areas.clocks[partition].seconds if beat is None else beat.seconds
        return Lot(rows, release.watermark_us, frame, second)

    def _beat(self, partition: int, until: int | None, left_us: int) -> Beat | None:
        """Return the first heartbeat that had `left_us` or less to come of those before offset `until`."""
        beats = [each for each in self.beats.get(partition, ()) if until is None or each.offset < until]
        return next((each for each in beats if beats[-1].listened_us - each.listened_us <= left_us), None)

    def _count_echoes(self, echoes: EventColumns) -> None:
        """Count echoes, and those of each sensor and stream that is followed."""
        self.totals.echoes += len(echoes)
        areas, streams = self.codes.areas, self.codes.streams.names
        codes = zip(echoes.area.tolist(), echoes.sensor.tolist(), echoes.stream.tolist(), strict=True)
        names = ((areas.area_of(area).name, areas.sensor_of(sensor).name, streams[of]) for area, sensor, of in codes)
        row = np.array([self.health.known_row(*name) for name in names], np.intp)
        self.health.count_echoes(row[row != NOBODY], echoes.received_at_us[row != NOBODY])

    def _remember(self, released: EventColumns) -> None:
        """Let sensors remember the ids of rows that were let go before they are late; mostly there are none."""
        table = self.rows.table
        is_late = self.codes.on_time().is_late(released.latest_us, released.area, released.stream)
        for nth in np.flatnonzero(~is_late).tolist():
            remembered, id_ = self.codes.areas.sensor_of(int(released.sensor[nth])).remembered, released.ids[nth]
            seq = int(released.seq[nth])
            before, own = table.positions(np.array([remembered.get(id_, seq), seq])).tolist()
            table.columns.remembered[before], table.columns.remembered[own] = False, True
            remembered[id_] = seq

    def _firsts(
        self, rows: PositionArray, watermark_us: Int64Array, table: EventTable, memory: Memory, next_seq: Int64Array
    ) -> Firsts:
        """Return the rows whose id is new to `memory`; `next_seq` is as for `first_arrivals`."""
        batch = self.batch
        sensor = batch.stamps.sensor[batch.stamp[rows]]
        stands_until_us = self.before.stands_until_us(batch.latest_us[rows], batch.area[rows], batch.stream[rows])
        arrivals = ArrivedRows(_taken(batch.ids, rows), sensor, watermark_us, stands_until_us)
        first = first_arrivals(arrivals, memory, table, self.before, next_seq)
        columns = rows[first.accepted], sensor[first.accepted], first.is_remembered, first.seq
        return Firsts(self._columns(*columns), first.accepted, rows[first.repeated], first.first_seq)

    def _columns(
        self, rows: PositionArray, sensor: CodeArray, is_remembered: BoolArray, seq: Int64Array
    ) -> EventColumns:
        batch = self.batch
        return EventColumns(
            ids=_taken(batch.ids, rows),
            payload=_taken(batch.payload, rows),
            seq=seq,
            detected_at_us=batch.detected_at_us[rows],
            latest_us=batch.latest_us[rows],
            received_at_us=batch.received_at_us[rows],
            offset=self.offset[batch.frame[rows]],
            area=batch.area[rows],
            sensor=sensor,
            template=batch.template[rows],
            place=batch.place[rows],
            stream=batch.stream[rows],
            slot=np.zeros(len(rows), np.int32),
            remembered=is_remembered,
        )

    def _count_repeated(self, rows: PositionArray, first_seq: Int64Array, table: EventTable) -> None:
        """Count rows that repeat those with the given numbers, and refuse those that say something else."""
        if len(rows) == 0:
            return
        batch, known, first = self.batch, table.columns, table.positions(first_seq)
        differs = (
            (known.detected_at_us[first] != batch.detected_at_us[rows])
            | (known.template[first] != batch.template[rows])
            | (known.place[first] != batch.place[rows])
            | (known.stream[first] != batch.stream[rows])
        )
        pairs = zip(first.tolist(), rows.tolist(), strict=True)
        differs |= np.array([known.payload[at] != batch.payload[row] for at, row in pairs], np.bool_)
        for row in rows[differs].tolist():
            self.refuse(row, "conflict", "the sensor has sent another detection by this id; it stands")
        self.totals.conflicts += int(differs.sum())
        self.totals.duplicates += int((~differs).sum())


T = TypeVar("T")


def _taken(column: list[T], rows: PositionArray) -> list[T]:
    """Return some rows of a list, which rise; all of them are not copied."""
    return column if len(rows) == len(column) else [column[row] for row in rows.tolist()]
