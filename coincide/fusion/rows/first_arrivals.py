"""Which rows are the first of their sensor and id; sensors remember ids until their rows would be late."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, pairwise
from typing import NamedTuple, Protocol

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.arrays.order import group_starts, stable_order
from coincide.fusion.rows.areas import AreaSensor
from coincide.fusion.rows.event_table import EventTable
from coincide.fusion.rows.on_time import OnTime


@dataclass(frozen=True, eq=False)
class ArrivedRows:
    """Rows on time in the order of arrival; arrays of shape (n,)."""

    ids: list[str]
    sensor: CodeArray
    watermark_us: Int64Array  # of the row's area, the row included
    stands_until_us: Int64Array  # the last watermark at which the row is not late

    def __len__(self) -> int:
        return len(self.ids)


class Memory(Protocol):
    """Whoever knows which ids a sensor remembers."""

    def sensor_of(self, code: int) -> AreaSensor:
        """Return the sensor that has the code."""


@dataclass(frozen=True, eq=False)
class FirstArrivals:
    """What became of some arrivals."""

    accepted: PositionArray
    seq: Int64Array  # of each accepted row: its number
    is_remembered: BoolArray  # of each accepted row; not if another one of the batch has taken its id over
    repeated: PositionArray
    first_seq: Int64Array  # of each repeated row: the number of the first that has its id


def first_arrivals(
    arrivals: ArrivedRows, memory: Memory, table: EventTable, on_time: OnTime, next_seq: Int64Array
) -> FirstArrivals:
    """Let sensors remember the ids that are new to them.

    If the first row that had an id would be late by now, another row takes it over. `next_seq` is the number that each
    row would have if it were the first to be accepted.
    """
    groups = list(_by_sensor(arrivals, memory))
    every = np.arange(len(arrivals))
    seqs = (next_seq + every).tolist()
    doubtful = [group for group in groups if not group.remember_new(seqs)]
    if not doubtful:
        return FirstArrivals(every, next_seq + every, np.ones(len(every), np.bool_), every[:0], every[:0])
    judge = _Judge(arrivals, table, on_time)
    for group in doubtful:
        judge.judge(group)
    seq = next_seq + np.cumsum(judge.is_accepted) - 1
    for group in groups:
        group.remember(judge.is_accepted, seq)
    return judge.answer(seq)


class _SensorRows(NamedTuple):
    """Rows of one sensor and their ids, in the order of arrival, and the ids that it remembers."""

    remembered: dict[str, int]
    rows: list[int]
    ids: list[str]

    def remember_new(self, seqs: Sequence[int]) -> bool:
        """Remember the ids as if all arrivals were accepted, if none is remembered or comes twice; return whether."""
        new = dict(zip(self.ids, map(seqs.__getitem__, self.rows), strict=True))
        is_new = len(new) == len(self.rows) and self.remembered.keys().isdisjoint(new)
        if is_new:
            self.remembered.update(new)
        return is_new

    def remember(self, is_accepted: BoolArray, seq: Int64Array) -> None:
        """Remember the ids of accepted rows by the sequence number of every arrival."""
        accepted = is_accepted[self.rows].tolist()
        seqs = compress(seq[self.rows].tolist(), accepted)
        self.remembered.update(zip(compress(self.ids, accepted), seqs, strict=True))


def _by_sensor(arrivals: ArrivedRows, memory: Memory) -> Iterator[_SensorRows]:
    order = stable_order(arrivals.sensor)
    sensor, rows = arrivals.sensor[order], order.tolist()
    ids = list(map(arrivals.ids.__getitem__, rows))
    starts = group_starts(sensor)
    bounds = [*starts.tolist(), len(rows)]
    for code, (start, stop) in zip(sensor[starts].tolist(), pairwise(bounds), strict=True):
        yield _SensorRows(memory.sensor_of(code).remembered, rows[start:stop], ids[start:stop])


class _Judge:
    """Tells the first rows from those that repeat them, row by row."""

    def __init__(self, arrivals: ArrivedRows, table: EventTable, on_time: OnTime) -> None:
        self._table, self._on_time = table, on_time
        self._watermark_us = arrivals.watermark_us.tolist()
        self._stands_until_us = arrivals.stands_until_us.tolist()
        self.is_accepted = np.ones(len(arrivals), np.bool_)
        self._is_remembered = np.ones(len(arrivals), np.bool_)
        self._repeated: dict[int, int] = {}  # row to the number of its first, or to ~row if that is of this batch

    def judge(self, group: _SensorRows) -> None:
        """Judge the rows of one sensor."""
        first = self._known(group)
        for id_, row in zip(group.ids, group.rows, strict=True):
            of_id = first.get(id_)
            if of_id is not None and self._watermark_us[row] <= of_id.stands_until_us:
                self._repeated[row] = of_id.number
                self.is_accepted[row] = False
                continue
            if of_id is not None:
                self._forget(of_id.number)
            first[id_] = _First(~row, self._stands_until_us[row])

    def answer(self, seq: Int64Array) -> FirstArrivals:
        """Return what was judged, given the sequence number of every accepted row."""
        repeated = np.array(sorted(self._repeated), np.int64)
        number = np.array([self._repeated[row] for row in repeated.tolist()], np.int64)
        first_seq = np.where(number < 0, seq[~number * (number < 0)], number)
        accepted = np.flatnonzero(self.is_accepted)
        return FirstArrivals(accepted, seq[accepted], self._is_remembered[accepted], repeated, first_seq)

    def _known(self, group: _SensorRows) -> dict[str, _First]:
        """Return the first rows of the ids that the sensor remembers."""
        seq = {id_: group.remembered[id_] for id_ in group.ids if id_ in group.remembered}
        at, rows = self._table.positions(np.array([*seq.values()], np.int64)), self._table.columns
        until_us = self._on_time.stands_until_us(rows.latest_us[at], rows.area[at], rows.stream[at]).tolist()
        return {id_: _First(number, us) for (id_, number), us in zip(seq.items(), until_us, strict=True)}

    def _forget(self, number: int) -> None:
        """Note that the id of a row has been taken over."""
        if number < 0:
            self._is_remembered[~number] = False
        else:
            self._table.columns.remembered[self._table.positions(np.array([number]))] = False


class _First(NamedTuple):
    """The first row that has an id."""

    number: int  # its sequence number; ~row of one of the batch
    stands_until_us: int
