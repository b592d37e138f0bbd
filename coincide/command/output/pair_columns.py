"""The answer's columns: what each side shows of its events, and what each pair has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.command.input.file_events import Events

DIGITS = 6  # of a probability; more than any calibration supports


@dataclass(frozen=True, eq=False)
class PairBlock:
    """Some of the pairs.

    Attributes
    ----------
    left, right : ndarray of int64, shape (n,)
        Positions among the events of either side.
    offset_s : ndarray of float64, shape (n,)
        detected_at of b minus detected_at of a.
    probability : ndarray of float64, shape (n,)
        Rounded to six digits.
    """

    left: Int64Array
    right: Int64Array
    offset_s: FloatArray
    probability: FloatArray


def shown_columns(a: Events, b: Events) -> tuple[pa.Table, pa.Table]:
    """Return what the answer shows of each event: on the left also the area, which both members share."""
    area = {"area": a.labels["area"]} if "area" in a.labels else {}
    return pa.table({**area, **_side(a, "a")}), pa.table(_side(b, "b"))


def _side(events: Events, role: str) -> dict[str, pa.Array]:
    name = f"id_{role}" if "id" in events.labels else f"row_{role}"
    columns = {name: events.labels.get("id", pa.array(events.row))}
    columns[f"detected_at_{role}"] = pa.array(events.detected_at_us).cast(pa.timestamp("us", "UTC"))
    if "sensor" in events.labels:
        columns[f"sensor_{role}"] = events.labels["sensor"]
    return columns


def pair_columns(block: PairBlock) -> dict[str, pa.Array]:
    """Return the columns that belong to a pair rather than to one of its events."""
    return {"offset_s": pa.array(block.offset_s), "probability": pa.array(block.probability)}


def column_names(sides: Sequence[pa.Table]) -> list[str]:
    """Return the names of all columns, in order."""
    return [*(name for side in sides for name in side.column_names), "offset_s", "probability"]
