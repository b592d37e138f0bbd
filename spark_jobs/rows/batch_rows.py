"""The rows of one batch in columns, each checked against what is declared; and those that were accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat

import numpy as np

from coincide import Stream
from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array
from coincide.joins.keys import EARLIEST_TIME_US, LATEST_TIME_US
from coincide.joins.retention import ROUNDING_US
from spark_jobs.rows.areas import Area, Areas
from spark_jobs.rows.decoding import DecodedFrame, DetectionRow
from spark_jobs.rows.event_table import EventColumns, Fault, VerifiedTemplates
from spark_jobs.rows.rates import MINUTE_US, Background


@dataclass
class BatchRows:
    """The rows of one batch in the order of arrival; arrays and lists have length n."""

    rows: list[DetectionRow]
    areas: list[Area]
    frame: Int64Array  # its position in the batch
    received_at_us: Int64Array
    detected_at_us: Int64Array
    earliest_us: Int64Array
    latest_us: Int64Array
    moved_us: Int64Array  # how far heartbeats of the batch have moved the area's watermark before the row
    area: CodeArray
    template: CodeArray  # or a `Fault`
    stream: CodeArray  # -1 if it is not declared

    def __len__(self) -> int:
        return len(self.rows)


@dataclass
class BatchRowsBuilder:
    """Collects frames into `BatchRows`."""

    streams: Mapping[str, int]
    templates: VerifiedTemplates
    _rows: list[DetectionRow] = field(default_factory=list)
    _areas: list[Area] = field(default_factory=list)
    _template: list[int] = field(default_factory=list)
    _per_frame: list[tuple[int, int, int, int, int]] = field(default_factory=list)

    def add(self, position: int, frame: DecodedFrame, area: Area, moved_us: int) -> None:
        """Add a frame of `area`, whose watermark the batch had moved by `moved_us` before."""
        area.last_received_us = max(area.last_received_us, frame.received_at_us)
        codes = {template_id: self.templates.code(template_id, raw) for template_id, raw in frame.templates.items()}
        missing = int(Fault.MISSING)
        self._rows += frame.detections
        self._areas += repeat(area, len(frame.detections))
        self._template += [codes.get(row.template, missing) for row in frame.detections]
        self._per_frame.append((len(frame.detections), position, frame.received_at_us, area.code, moved_us))

    def build(self) -> BatchRows:
        """Return the rows of all frames added."""
        rows = self._rows
        per_frame = np.array(self._per_frame, np.int64).reshape(-1, 5)
        frame, received, area, moved = np.repeat(per_frame[:, 1:], per_frame[:, 0], axis=0).T
        codes = self.streams
        return BatchRows(
            rows=rows,
            areas=self._areas,
            frame=frame,
            received_at_us=np.ascontiguousarray(received),
            detected_at_us=np.array([row.detected_at_us for row in rows], np.int64),
            earliest_us=np.array([row.earliest_us for row in rows], np.int64),
            latest_us=np.array([row.latest_us for row in rows], np.int64),
            moved_us=np.ascontiguousarray(moved),
            area=area.astype(np.int32),
            template=np.array(self._template, np.int32),
            stream=np.array([codes.get(row.stream, -1) for row in rows], np.int32),
        )


def faults(batch: BatchRows, templates: VerifiedTemplates, streams: Sequence[Stream]) -> dict[int, tuple[str, str]]:
    """Return (reason, detail) of each row that cannot be used, by position; the first fault of a row counts."""
    first: dict[int, tuple[str, str]] = {}
    for wrong, reason, detail in _checks(batch, templates, streams):
        for row in np.flatnonzero(wrong).tolist():
            first.setdefault(row, (reason, detail))
    return first


def _checks(
    batch: BatchRows, templates: VerifiedTemplates, streams: Sequence[Stream]
) -> list[tuple[BoolArray, str, str]]:
    known = batch.template >= 0
    earliest, latest = np.zeros((2, len(batch)), np.int64)
    earliest[known], latest[known] = (us[batch.template[known]] for us in (templates.earliest_us, templates.latest_us))
    longest = np.array([stream.longest_template_us for stream in streams] or [0], np.int64)
    outside = (batch.detected_at_us + earliest != batch.earliest_us) | (
        batch.detected_at_us + latest != batch.latest_us
    )
    beyond = (batch.earliest_us < EARLIEST_TIME_US) | (batch.latest_us > LATEST_TIME_US)
    return [
        (batch.stream < 0, "unknown_stream", "the stream is not declared"),
        (batch.template == Fault.MISSING, "unknown_template", "the frame does not carry the row's template"),
        (batch.template == Fault.MALFORMED, "malformed_template", "the row's template is no usable histogram"),
        (batch.template == Fault.MISMATCH, "template_mismatch", "the template's id is not the hash of its content"),
        (
            known & (latest - earliest > longest[batch.stream] + ROUNDING_US),
            "template_too_long",
            "the row's template is longer than its stream declares",
        ),
        (known & outside, "wrong_bounds", "earliest_us and latest_us are not detected_at_us shifted by the template"),
        (beyond, "time_out_of_range", "earliest_us and latest_us must lie from 1898 to 2112"),
    ]


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
    sensors, streams = (int(codes.max(initial=0)) + 1 for codes in (rows.sensor, rows.stream))
    key = ((minute - minute.min(initial=0)) * sensors + rows.sensor) * streams + rows.stream
    _, first, counts = np.unique(key, return_index=True, return_counts=True)
    order = np.argsort(first)  # not by code: a restart gives out other codes
    return first[order].tolist(), counts[order].tolist()


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
