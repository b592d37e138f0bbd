"""Deduplication on (area, sensor, id), for as long as the detection would not be late anyway."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array
from spark_jobs.rows.areas import Areas, Sensor
from spark_jobs.rows.decoding import Detection
from spark_jobs.rows.event_table import EventColumns, EventTable


def first_arrivals(
    sensors: Sequence[Sensor],
    ids: Sequence[str],
    next_seq: int,
    would_be_late: Callable[[int, int | None, int], bool],
) -> tuple[list[int], list[tuple[int, int]]]:
    """Give sequence numbers to the rows whose id their sensor does not remember, and let it remember them.

    Parameters
    ----------
    sensors, ids : sequence of length n
    next_seq : int
        Sequence number of the first new row.
    would_be_late : callable of (seq, first_position, position) -> bool
        Whether the row with that sequence number (at `first_position` of this batch, None if it came before) would
        be late if it came at `position`: then it is forgotten, even if nobody has swept it away yet.

    Returns
    -------
    accepted : list of int
        Positions of the new rows; the i-th has the sequence number ``next_seq + i``.
    repeated : list of (int, int)
        Position of each other row and the sequence number of the row that came first.
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
    rows: Sequence[Detection],
    template: CodeArray,
    stream: CodeArray,
    seq: Int64Array,
    table: EventTable,
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
