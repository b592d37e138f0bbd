"""Frames: the events of both files as the library's Detections, with labels as numbers that both share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays import Int64Array
from coincide.command.assignment import Assignment
from coincide.command.errors import CommandError
from coincide.command.events import Events
from coincide.detections import Detections


def frames(sides: Sequence[tuple[Events, Assignment]]) -> list[Detections]:
    """Return one frame for each file.

    Raises
    ------
    CommandError
        One file has areas and another has none.
    """
    events = [side for side, _ in sides]
    with_area = [side.path for side in events if "area" in side.labels and len(side)]
    without_area = [side.path for side in events if "area" not in side.labels and len(side)]
    if with_area and without_area:
        raise CommandError(f"{with_area[0]} has a column area and {without_area[0]} has none: both or neither")
    areas, sensors = (_codes(events, name) for name in ("area", "sensor"))
    return [
        Detections(chosen.anchor_us, chosen.templates, chosen.index, areas[number], sensors[number])
        for number, (_, chosen) in enumerate(sides)
    ]


def _codes(sides: Sequence[Events], name: str) -> list[Int64Array | None]:
    """Positions of the labels in the sorted list of all of them, for each file; None where it has none."""
    columns = {
        number: side.labels[name].cast(pa.large_string()) for number, side in enumerate(sides) if name in side.labels
    }
    if not columns:
        return [None for _ in sides]
    known = pc.unique(pa.chunked_array(list(columns.values()), pa.large_string())).sort()
    return [_positions(columns[number], known) if number in columns else None for number in range(len(sides))]


def _positions(column: pa.Array, known: pa.Array) -> Int64Array:
    codes: Int64Array = pc.index_in(column, value_set=known).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes
