"""Readings: what was read, of which group and when, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

import numpy as np

from coincide.arrays import BoolArray, FloatArray, Int64Array


class Ref(NamedTuple):
    """Which reading it is; of readings of a group at one instant the smallest (sensor, id) counts."""

    sensor: str
    id: str
    received_at_us: int


@dataclass(frozen=True)
class Readings:
    """Columns of length n, in any order.

    Attributes
    ----------
    ts_us : ndarray of int64
    group : ndarray of int64
        Small codes.
    value : ndarray of float64
        Numbers; texts, true and false as codes.
    refs : sequence of Ref
    """

    ts_us: Int64Array
    group: Int64Array
    value: FloatArray
    refs: Sequence[Ref]

    def __len__(self) -> int:
        return len(self.ts_us)

    def where(self, rows: BoolArray) -> Readings:
        """Return the readings for which `rows` is true."""
        refs = list(compress(self.refs, rows.tolist()))
        return Readings(self.ts_us[rows], self.group[rows], self.value[rows], refs)

    @staticmethod
    def joined(parts: Sequence[Readings]) -> Readings:
        """Return the readings of all parts."""
        return Readings(
            np.concatenate([part.ts_us for part in parts] or [np.empty(0, np.int64)]),
            np.concatenate([part.group for part in parts] or [np.empty(0, np.int64)]),
            np.concatenate([part.value for part in parts] or [np.empty(0)]),
            [ref for part in parts for ref in part.refs],
        )

    def counted(self) -> Readings:
        """Return those that count at their instant, by (group, ts)."""
        order = np.lexsort((self.ts_us, self.group))
        ts, group = self.ts_us[order], self.group[order]
        refs = [self.refs[row] for row in order.tolist()]
        tied = (ts[1:] == ts[:-1]) & (group[1:] == group[:-1])
        if tied.any():
            by_ref = sorted(range(len(ts)), key=lambda row: (group[row], ts[row], refs[row]))
            order, refs = order[by_ref], [refs[row] for row in by_ref]
        first = np.append(np.ones(min(1, len(ts)), np.bool_), ~tied)
        return Readings(ts, group, self.value[order], refs).where(first)
