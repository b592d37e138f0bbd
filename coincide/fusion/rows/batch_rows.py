"""The rows of one batch in columns, each checked against what is declared; and those that were accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from coincide.arrays.instants import EARLIEST_TIME_US, LATEST_TIME_US
from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.fusion.rows.areas import Area, Areas
from coincide.fusion.rows.decoding import DecodedFrame
from coincide.fusion.rows.event_table import FEW_ROWS, EventColumns
from coincide.fusion.rows.rates import MINUTE_US, Background
from coincide.fusion.rows.stamps import NO_SENSOR, StampTable, Unusable
from coincide.joins.lateness import Us
from coincide.wire.detection_record import Stamp

OUT_OF_RANGE = Unusable("time_out_of_range", "earliest_us and latest_us must lie from 1898 to 2112")


class BatchStamps:
    """The stamps of all frames of a batch, one after the other; all arrays have shape (stamps,)."""

    def __init__(self, tables: list[StampTable], area: CodeArray) -> None:
        """`area` is that of each frame."""
        none, no_times = np.empty(0, np.int32), np.empty(0, np.int64)
        lengths = [len(table) for table in tables]
        self._tables, self._starts = tables, [0, *accumulate(lengths)]
        self._first = np.array(self._starts)
        self.area: CodeArray = np.repeat(area, lengths)
        self.stream = np.concatenate([none, *(table.stream for table in tables)])
        self.template = np.concatenate([none, *(table.template for table in tables)])
        self.place = np.concatenate([none, *(table.place for table in tables)])
        self.sensor = np.concatenate([none, *(table.sensor for table in tables)])
        self.earliest_us = np.concatenate([no_times, *(table.earliest_us for table in tables)])
        self.latest_us = np.concatenate([no_times, *(table.latest_us for table in tables)])
        self.is_usable = np.concatenate([np.empty(0, np.bool_), *(table.is_usable for table in tables)])

    def first(self, frame: int) -> int:
        """Return the position of a frame's first stamp."""
        return self._starts[frame]

    def stamp(self, at: int) -> Stamp:
        """Return a stamp as it is written."""
        table, nth = self._find(at)
        return table.stamps[nth]

    def refused(self, at: int) -> Unusable:
        """Return why the rows of a stamp that is not usable cannot be used."""
        table, nth = self._find(at)
        return table.refused[nth]

    def name_sensors(self, used: PositionArray, areas: Areas) -> None:
        """Give the sensors of these stamps their codes, if they have none yet."""
        unnamed = used[self.sensor[used] == NO_SENSOR]
        frames = np.searchsorted(self._first, unnamed, side="right") - 1
        for at, frame, area in zip(unnamed.tolist(), frames.tolist(), self.area[unnamed].tolist(), strict=True):
            table, nth = self._tables[frame], at - self._starts[frame]
            self.sensor[at] = table.sensor[nth] = areas.sensor(areas.area_of(area), table.stamps[nth].sensor).code

    def _find(self, at: int) -> tuple[StampTable, int]:
        frame = int(np.searchsorted(self._first, at, side="right")) - 1
        return self._tables[frame], at - self._starts[frame]


@dataclass
class BatchRows:
    """The rows of one batch in the order of arrival; arrays and lists have length n."""

    stamps: BatchStamps
    ids: list[str]
    payload: list[bytes]
    frame: Int64Array  # its position in the batch
    received_at_us: Int64Array
    detected_at_us: Int64Array
    latest_us: Int64Array
    moved_us: Int64Array  # how far heartbeats of the batch have moved the area's watermark before the row
    area: CodeArray
    stamp: Int64Array  # position among the stamps of the batch
    template: CodeArray  # or a `TemplateFault`
    place: CodeArray  # `NO_PLACE` where it is not known
    stream: CodeArray  # -1 if it is not declared

    def __len__(self) -> int:
        return len(self.ids)


class ArrivedFrame(NamedTuple):
    """A frame at its position in the batch, which had moved its area's watermark by `moved_us` before."""

    position: int
    content: DecodedFrame
    area: Area
    moved_us: int


def batch_of(frames: Sequence[ArrivedFrame]) -> BatchRows:
    """Return the rows of all frames."""
    contents = [frame.content for frame in frames]
    heads = [(len(each), at, each.received_at_us, area.code, moved) for at, each, area, moved in frames]
    per_frame = np.array(heads, np.int64).reshape(-1, 5)
    frame, received, area, moved = np.repeat(per_frame[:, 1:], per_frame[:, 0], axis=0).T
    stamps = BatchStamps([each.stamps for each in contents], per_frame[:, 3].astype(np.int32))
    nobody, no_rows = np.empty(0, np.int32), np.empty(0, np.int64)
    stamp = np.concatenate([nobody, *(each.stamp + stamps.first(nth) for nth, each in enumerate(contents))])
    detected_at_us = np.concatenate([no_rows, *(each.detected_at_us for each in contents)])
    return BatchRows(
        stamps=stamps,
        ids=[id_ for each in contents for id_ in each.ids],
        payload=[payload for each in contents for payload in each.payload],
        frame=frame,
        received_at_us=np.ascontiguousarray(received),
        detected_at_us=detected_at_us,
        latest_us=detected_at_us + stamps.latest_us[stamp],
        moved_us=np.ascontiguousarray(moved),
        area=area.astype(np.int32),
        stamp=stamp,
        template=stamps.template[stamp],
        place=stamps.place[stamp],
        stream=stamps.stream[stamp],
    )


def are_out_of_range(earliest_us: Us, latest_us: Us) -> BoolArray | bool:
    """Whether times lie outside the years that can be computed with."""
    return (earliest_us < EARLIEST_TIME_US) | (latest_us > LATEST_TIME_US)


def faults(batch: BatchRows) -> dict[int, Unusable]:
    """Return why rows cannot be used, by position."""
    stamps, refused = batch.stamps, dict[int, Unusable]()
    if not stamps.is_usable.all():
        for row in np.flatnonzero(~stamps.is_usable[batch.stamp]).tolist():
            refused[row] = stamps.refused(int(batch.stamp[row]))
    earliest_us = batch.detected_at_us + stamps.earliest_us[batch.stamp]
    for row in np.flatnonzero(are_out_of_range(earliest_us, batch.latest_us)).tolist():
        refused.setdefault(row, OUT_OF_RANGE)
    return refused


@dataclass(frozen=True)
class Backgrounds:
    """The background of each accepted row."""

    first_seq: int
    minute: Int64Array  # event time of each row: its area's watermark there, in minutes since the epoch
    of_minute: dict[tuple[int, int], Background | None]  # by area code and minute

    def at(self, area: int, seq: int) -> Background | None:
        """Return what was known in an area when one of the accepted rows came; None if not enough had been seen."""
        return self.of_minute[area, int(self.minute[seq - self.first_seq])]


def count_detections(areas: Areas, rows: EventColumns, watermark_us: Int64Array) -> Backgrounds:
    """Count accepted rows, in the order of their areas' event time, which is the area's watermark at each row."""
    minute = watermark_us // MINUTE_US
    of_minute: dict[tuple[int, int], Background | None] = {}
    for nth, count in zip(*_alike(rows, minute), strict=True):  # a sensor is of one area
        area, sensor = areas.area_of(rows.area[nth]), areas.sensor_of(rows.sensor[nth])
        key = (area.code, int(minute[nth]))
        if key not in of_minute:
            area.rates.advance(key[1])
            of_minute[key] = area.rates.background()
        area.rates.count(sensor.name, int(rows.stream[nth]), count)
    return Backgrounds(int(rows.seq[0]) if len(rows) else 0, minute, of_minute)


def _alike(rows: EventColumns, minute: Int64Array) -> tuple[list[int], list[int]]:
    """Return the first row of each (minute, sensor, stream), in order, and how many are alike."""
    if len(rows) <= FEW_ROWS:
        kinds = list(zip(minute.tolist(), rows.sensor.tolist(), rows.stream.tolist(), strict=True))
        distinct = dict.fromkeys(kinds)
        return [kinds.index(kind) for kind in distinct], [kinds.count(kind) for kind in distinct]
    sensors, streams = (int(codes.max(initial=0)) + 1 for codes in (rows.sensor, rows.stream))
    key = ((minute - minute.min(initial=0)) * sensors + rows.sensor) * streams + rows.stream
    _, first, counts = np.unique(key, return_index=True, return_counts=True)
    order = np.argsort(first)  # not by code: a restart gives out other codes
    return first[order].tolist(), counts[order].tolist()


@dataclass(frozen=True, eq=False)
class Lot:
    """Rows by number, the watermark of the area at each, and frame and clock as in `AcceptedBatch`."""

    rows: EventColumns
    watermark_us: Int64Array
    frame: Int64Array
    clock_s: Int64Array

    def merged(self, other: Lot) -> Lot:
        """Return the rows of both."""
        order = np.argsort(np.concatenate((self.rows.seq, other.rows.seq)))
        pairs = zip(self._columns, other._columns, strict=True)
        return Lot(EventColumns.joined([self.rows, other.rows]), *(np.concatenate(pair)[order] for pair in pairs))

    @property
    def _columns(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        return self.watermark_us, self.frame, self.clock_s


@dataclass(frozen=True)
class AcceptedBatch:
    """The accepted rows of a batch, which are in the table already, and what each found counted before it."""

    rows: EventColumns
    backgrounds: Backgrounds
    offset: Int64Array  # of the frame that each row came in
    frame: Int64Array  # its position in the batch
    clock_s: Int64Array  # (n, 2): whole seconds listened and heard by its partition's clock at that frame

    def offset_of(self, seq: int) -> int:
        """Return the offset of the frame of the row with that sequence number."""
        return int(self.offset[seq - int(self.rows.seq[0])])

    def frames_of(self, seq: Int64Array) -> Int64Array:
        """Return the frame of each row, by its position in the batch."""
        return self.frame[seq - int(self.rows.seq[0])]
