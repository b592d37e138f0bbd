"""Readings: what was read, of which group and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import FloatArray, Int64Array, PositionArray
from coincide.arrays.order import stable_order_by

Ref = tuple[str, str, int]
"""Which reading it is: (sensor, id, received_at_us); of readings of a group at one instant the smallest counts.

A plain tuple, for there are millions: the garbage collector soon stops walking these, and never named ones.
"""


@dataclass(frozen=True)
class Readings:
    """Columns of length n, in any order."""

    ts_us: Int64Array
    group: Int64Array  # small codes
    value: FloatArray  # numbers, NaN where unknown; texts, true and false as codes
    refs: npt.NDArray[Any]  # each a `Ref`

    def __len__(self) -> int:
        return len(self.ts_us)

    @staticmethod
    def of(ts_us: npt.ArrayLike, group: Sequence[int], value: Sequence[float], refs: Sequence[Ref]) -> Readings:
        """Return the columns of readings given one by one."""
        which = np.fromiter(refs, object, len(refs))
        return Readings(np.array(ts_us, np.int64), np.array(group, np.int64), np.array(value, np.float64), which)

    def where(self, rows: npt.NDArray[Any]) -> Readings:
        """Return the readings at these rows: positions or a mask."""
        return Readings(self.ts_us[rows], self.group[rows], self.value[rows], self.refs[rows])

    @staticmethod
    def joined(parts: Sequence[Readings]) -> Readings:
        """Return the readings of all parts."""
        columns = [(part.ts_us, part.group, part.value, part.refs) for part in (Readings.of([], [], [], []), *parts)]
        return Readings(*(np.concatenate(each) for each in zip(*columns, strict=True)))

    def counted(self) -> Readings:
        """Return those that count at their instant, by (group, ts)."""
        return self.where(counted_rows(self.ts_us, self.group, self.refs))


def counted_rows(ts_us: Int64Array, group: Int64Array, refs: npt.NDArray[Any]) -> PositionArray:
    """Return which rows count, by (group, ts): of those at one instant of a group the one with the smallest ref."""
    order = stable_order_by(group, ts_us)
    tied = (np.diff(ts_us[order]) == 0) & (np.diff(group[order]) == 0)
    if not tied.any():
        return order
    starts = np.flatnonzero(np.append(True, ~tied))
    counted = order[starts]
    for place in (np.flatnonzero(tied) + 1).tolist():
        instant = np.searchsorted(starts, place, side="right") - 1
        if refs[order[place]] < refs[counted[instant]]:
            counted[instant] = order[place]
    return counted
