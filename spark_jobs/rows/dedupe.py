"""Deduplication on (area, sensor, id), for as long as the detection would not be late anyway."""

from collections.abc import Callable, Sequence

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array
from spark_jobs.rows.areas import Areas, AreaSensor
from spark_jobs.rows.decoding import DetectionRow
from spark_jobs.rows.event_table import EventColumns, EventTable


def first_arrivals(
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


def conflicting(
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


def forget(rows: EventColumns, gone: BoolArray, areas: Areas) -> None:
    """Let the sensors forget the ids of the rows that are `gone` (and still remembered)."""
    for position in np.flatnonzero(gone & rows.remembered).tolist():
        remembered = areas.sensor_of(rows.sensor[position]).remembered
        if remembered.get(rows.ids[position]) == rows.seq[position]:  # else a later row has taken the id over
            del remembered[rows.ids[position]]
    rows.remembered[gone] = False
