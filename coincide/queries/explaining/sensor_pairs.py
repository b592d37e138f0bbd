"""Sensor pairs: which two sensors may play two roles, counted by their templates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import FloatArray, IndexArray, Int64Array
from coincide.constraints.conditions import SensorRule
from coincide.queries.explaining.known_sensors import Players

MOST_CELLS = 262_144  # pairs of (template, template) in one area each, and of sensors that play both roles


@dataclass(frozen=True, eq=False)
class SensorPairs:
    """Pairs of sensors of one area that may play two roles, in cells of equal area and templates; shape (n,).

    Attributes
    ----------
    area, u, v : ndarray of int64
        Numbers of the area and of the two templates.
    count : ndarray of int64
        How many pairs of sensors, above 0.
    rate_hz2 : ndarray of float64
        The sum of the products of their rates.
    is_sample : bool
        There were too many: some sensors stand for all.
    """

    area: Int64Array
    u: Int64Array
    v: Int64Array
    count: Int64Array
    rate_hz2: FloatArray
    is_sample: bool

    def __len__(self) -> int:
        return len(self.area)

    def take(self, rows: IndexArray) -> SensorPairs:
        """Return some of the cells."""
        columns = (self.area[rows], self.u[rows], self.v[rows], self.count[rows], self.rate_hz2[rows])
        return SensorPairs(*columns, self.is_sample)

    @classmethod
    def between(cls, a: Players, b: Players, rule: SensorRule) -> SensorPairs:
        """Count the pairs that the rule allows; of too many sensors some stand for all, with the rates of all."""
        in_all_hz2 = a.rate_hz.sum() * b.rate_hz.sum()
        few_a, few_b = _thinned(a, b)
        is_sample = len(few_a.area) < len(a.area) or len(few_b.area) < len(b.area)
        every, same = _in_areas(few_a, few_b), _of_same_sensor(few_a, few_b)
        parts = {"any": [(every, 1)], "different": [(every, 1), (same, -1)], "same": [(same, 1)]}[rule]
        keys = np.concatenate([each.keys for each, _ in parts], axis=1)
        kinds, cell = different(keys)
        count = np.bincount(cell, np.concatenate([sign * each.count for each, sign in parts]), kinds.shape[1])
        rate_hz2 = np.bincount(cell, np.concatenate([sign * each.rate_hz2 for each, sign in parts]), kinds.shape[1])
        if is_sample:
            rate_hz2 *= in_all_hz2 / max(few_a.rate_hz.sum() * few_b.rate_hz.sum(), np.finfo(np.float64).tiny)
        some = np.flatnonzero(count > 0.5)
        area, u, v = kinds[:, some]
        return cls(area, u, v, np.rint(count[some]).astype(np.int64), np.maximum(rate_hz2[some], 0.0), is_sample)


def different(keys: Int64Array) -> tuple[Int64Array, IndexArray]:
    """Return the different columns of numbers from 0 on, in order, and which of them each is: `unique`, but faster."""
    sizes = tuple((keys.max(axis=1, initial=0) + 1).tolist())
    codes, which = np.unique(np.ravel_multi_index(tuple(keys), sizes), return_inverse=True)
    return np.array(np.unravel_index(codes, sizes), dtype=np.int64), which


@dataclass(frozen=True, eq=False)
class _Cells:
    """Areas and templates, shape (3, n), with how many pairs of sensors each has and the products of their rates."""

    keys: Int64Array
    count: FloatArray
    rate_hz2: FloatArray


def _grouped(side: Players) -> tuple[Int64Array, FloatArray, FloatArray]:
    """Return (area, template) of each group in order, shape (2, n), how many sensors it has and their rates' sum."""
    kinds, group = different(np.stack((side.area, side.template)))
    size = kinds.shape[1]
    rate_hz: FloatArray = np.bincount(group, weights=side.rate_hz, minlength=size).astype(np.float64)
    return kinds, np.bincount(group, minlength=size).astype(np.float64), rate_hz


def _in_areas(a: Players, b: Players) -> _Cells:
    """Every sensor of `a` with every one of `b` in its area."""
    (a_kinds, a_count, a_hz), (b_kinds, b_count, b_hz) = _grouped(a), _grouped(b)
    left, right = _joined(a_kinds[0], b_kinds[0])
    keys = np.stack((a_kinds[0][left], a_kinds[1][left], b_kinds[1][right]))
    return _Cells(keys, a_count[left] * b_count[right], a_hz[left] * b_hz[right])


def _of_same_sensor(a: Players, b: Players) -> _Cells:
    """Each sensor of both roles with itself."""
    a, b = (side.take(np.flatnonzero(side.sensor >= 0)) for side in (a, b))
    b = b.take(np.argsort(b.sensor, kind="stable"))
    left, right = _joined(a.sensor, b.sensor)
    together = a.area[left] == b.area[right]
    left, right = left[together], right[together]
    keys = np.stack((a.area[left], a.template[left], b.template[right]))
    return _Cells(keys, np.ones(len(left)), a.rate_hz[left] * b.rate_hz[right])


def _joined(a: Int64Array, b: Int64Array) -> tuple[IndexArray, IndexArray]:
    """Return the positions of all pairs of equal numbers; `b` is in order."""
    first, last = np.searchsorted(b, a, side="left"), np.searchsorted(b, a, side="right")
    count = last - first
    left = np.repeat(np.arange(len(a)), count)
    nth = np.arange(len(left)) - np.repeat(np.cumsum(count) - count, count)
    return left, first[left] + nth


def _work(a: Players, b: Players) -> int:
    """How many cells and sensors of both roles `between` would look at."""
    of_areas, of_sensors = ((_sizes(a, of), _sizes(b, of)) for of in ("area", "sensor"))
    return sum(
        count * theirs.get(number, 0) for mine, theirs in (of_areas, of_sensors) for number, count in mine.items()
    )


def _sizes(side: Players, of: str) -> dict[int, int]:
    """How many different templates each area or sensor has."""
    numbers: Int64Array = getattr(side, of)
    least = int(numbers.min(initial=0))  # below 0 where sensors have no name
    kinds, _ = different(np.stack((numbers - least, side.template)))
    values, counts = np.unique(kinds[0] + least, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _thinned(a: Players, b: Players) -> tuple[Players, Players]:
    """Leave out every second sensor until few enough remain; or every second row, where that leaves out none."""
    while _work(a, b) > MOST_CELLS:
        kept = np.unique(np.concatenate((a.sensor, b.sensor)))[::2]
        before = len(a.area) + len(b.area)
        a, b = _only(a, kept), _only(b, kept)
        if len(a.area) + len(b.area) == before:
            a, b = (side.take(np.arange(0, len(side.area), 2)) for side in (a, b))
    return a, b


def _only(side: Players, sensors: Int64Array) -> Players:
    """Return the rows of these sensors, or all of them where it has none of these."""
    rows = np.flatnonzero(np.isin(side.sensor, sensors))
    return side.take(rows) if len(rows) else side
