"""Sensor pairs: which two sensors may play two roles, counted by their templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import FloatArray, IndexArray, Int64Array
from coincide.arrays.numbers import is_number
from coincide.constraints.conditions import SensorRule
from coincide.errors import RateError
from coincide.queries.role_filter import Source
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import checked_template

MOST_CELLS = 262_144  # pairs of (template, template) in one area each, and of sensors that play both roles


@dataclass(frozen=True, slots=True)
class KnownSensor:
    """A sensor that reports a stream: where it stands, its template, and how often it reports.

    Parameters
    ----------
    sensor : str, optional
        None is a sensor of its own.
    area, stream : str
    template : Histogram
        Of a sensor with several templates there is one KnownSensor for each.
    rate_hz : float
        Detections a second, at least 0.
    """

    sensor: str | None
    area: str
    stream: str
    template: Histogram
    rate_hz: float = 0.0

    def __post_init__(self) -> None:
        checked_template("template", self.template)
        if not is_number(self.rate_hz) or not self.rate_hz >= 0:
            raise RateError("rate_hz", self.rate_hz, "a finite number of detections per second, at least 0")


def players(source: Source, sensors: Sequence[KnownSensor]) -> list[KnownSensor]:
    """Return the sensors that may play a role, as far as streams and names go."""
    return [
        each for each in sensors if each.stream == source.stream and source.admits_names(each.sensor or "", each.area)
    ]


class Codes:
    """Numbers for areas, sensors and templates; a sensor without a name has a number of its own each time."""

    def __init__(self) -> None:
        self.areas: dict[str, int] = {}
        self.names: dict[str | int, int] = {}
        self.templates: dict[Histogram, int] = {}

    def of(self, known: KnownSensor) -> tuple[int, int, int]:
        """Return the numbers of a sensor's area, of itself and of its template."""
        name: str | int = len(self.names) if known.sensor is None else known.sensor
        return (
            self.areas.setdefault(known.area, len(self.areas)),
            self.names.setdefault(name, len(self.names)),
            self.templates.setdefault(known.template, len(self.templates)),
        )


@dataclass(frozen=True, eq=False)
class Players:
    """The sensors of one role in columns: numbers of area, sensor and template, and rates, each of shape (n,)."""

    area: Int64Array
    sensor: Int64Array
    template: Int64Array
    rate_hz: FloatArray

    @classmethod
    def of(cls, sensors: Sequence[KnownSensor], codes: Codes) -> Players:
        """Return the sensors in numbers."""
        numbers = np.array([codes.of(each) for each in sensors], dtype=np.int64).reshape(-1, 3)
        area, sensor, template = numbers.T
        return cls(area, sensor, template, np.array([each.rate_hz for each in sensors], dtype=np.float64))

    def take(self, rows: IndexArray) -> Players:
        """Return some of them."""
        return Players(self.area[rows], self.sensor[rows], self.template[rows], self.rate_hz[rows])


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
        kinds, cell = np.unique(keys, axis=1, return_inverse=True)
        cell = cell.ravel()
        count = np.bincount(cell, np.concatenate([sign * each.count for each, sign in parts]), kinds.shape[1])
        rate_hz2 = np.bincount(cell, np.concatenate([sign * each.rate_hz2 for each, sign in parts]), kinds.shape[1])
        if is_sample:
            rate_hz2 *= in_all_hz2 / max(few_a.rate_hz.sum() * few_b.rate_hz.sum(), np.finfo(np.float64).tiny)
        some = np.flatnonzero(count > 0.5)
        area, u, v = kinds[:, some]
        return cls(area, u, v, np.rint(count[some]).astype(np.int64), np.maximum(rate_hz2[some], 0.0), is_sample)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Areas and templates, shape (3, n), with how many pairs of sensors each has and the products of their rates."""

    keys: Int64Array
    count: FloatArray
    rate_hz2: FloatArray


def _grouped(side: Players) -> tuple[Int64Array, FloatArray, FloatArray]:
    """Return (area, template) of each group in order, shape (2, n), how many sensors it has and their rates' sum."""
    kinds, group = np.unique(np.stack((side.area, side.template)), axis=1, return_inverse=True)
    group = group.ravel()
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
    kinds = np.unique(np.stack((getattr(side, of), side.template)), axis=1)
    values, counts = np.unique(kinds[0], return_counts=True)
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
