"""Buffer: what a streaming operator keeps of one stream, many areas in a few sorted runs."""

from __future__ import annotations

import numpy as np

from coincide.arrays.instants import EARLIEST_TIME_US, LATEST_TIME_US
from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.arrays.range_expansion import expanded_ranges
from coincide.joins.events import Events, SortedEvents
from coincide.joins.keys import AreaKeys, PackedKeys, WideKeys, narrowest_keys
from coincide.joins.sorted_run import Columns, SortedRun

FEW_MOVED = 4096  # rows that a push may move, however small it is
MOVED_A_ROW = 16  # rows that each new row may move; also how much longer a run is than the next
COMPACT_FROM = 1 / 16  # several areas: rewrite the arrays once this share of them can go


class Buffer:
    """Events of one stream, sorted by area, then the time that they are buffered under.

    The rows lie in a few runs, each at least 16 times as long as the next, and every row of a run came before those of
    the next. New rows go into the last run where that moves few rows, else they begin a run of their own. So what a
    push costs does not grow with what is buffered (O'Neil et al., The Log-Structured Merge-Tree, 1996). Rows of one
    area that come nearly in order are always one run. The buffer chooses new keys when an area or a time does not fit
    them, so no key ever wraps; the widest need 16 bytes (`WideKeys`).
    """

    def __init__(self, few_moved: int = FEW_MOVED, moved_a_row: int = MOVED_A_ROW) -> None:
        self._few_moved, self._moved_a_row = few_moved, moved_a_row
        self._codec: AreaKeys = PackedKeys()
        self._runs: list[SortedRun] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def near(self, events: Events, lo_us: Int64Array, hi_us: Int64Array) -> SortedEvents:
        """Return the rows whose time lies in [lo, hi] of one of the events' in its area, and perhaps others.

        `lo_us` and `hi_us` have shape (n,) or (1,). Rows of one run are the run's own: valid until the buffer changes.
        """
        if len(self._runs) <= 1 or len(events) == 0:
            return SortedEvents(self._codec, *(self._runs[0].columns if self._runs else _no_rows(self._codec)))
        lower = self._codec.encode_bound(events.area, events.detected_at_us + lo_us)
        upper = self._codec.encode_bound(events.area, events.detected_at_us + hi_us)
        parts = [_within(run.columns, lower, upper) for run in self._runs]
        return SortedEvents(self._codec, *_in_order([part for part in parts if len(part[0])], self._codec))

    def rows(self) -> SortedEvents:
        """Return all rows, copied if there are several runs."""
        return SortedEvents(self._codec, *_in_order([run.columns for run in self._runs], self._codec))

    def events(self) -> Events:
        """Return a copy of all events; a new buffer that inserts it answers alike."""
        held = self.rows()
        area, time_us = self._codec.area(held.keys), self._codec.time_us(held.keys)
        return Events(area, time_us, held.template.copy(), held.sensor.copy(), held.ref.copy())

    def insert(self, batch: Events) -> None:
        """Add events in any order, whose refs are greater than all before."""
        if len(batch) == 0:
            return
        batch = batch.sorted()
        if not self._codec.fits(*(span := batch.span)):
            self._rekey(*span)
        keys = self._codec.encode(batch.area, batch.detected_at_us)
        new: Columns = (keys, batch.template, batch.sensor, batch.ref)
        if self._runs and self._runs[-1].following(keys[0]) <= max(self._few_moved, self._moved_a_row * len(batch)):
            self._runs[-1].merge(new)
        else:
            self._runs.append(SortedRun(tuple(column.copy() for column in new)))
        self._merge_short_runs()

    def evict(self, keep_from_us: Int64Array) -> Int64Array:
        """Drop events before the bound of their area code; return their refs.

        Areas beyond the bounds keep everything. With one area in the buffer exactly those go. With several they go once
        they are a sixteenth of all: then rewriting the arrays costs a bounded share of inserting. Which go depends on
        the content alone.
        """
        if len(self) == 0:
            return np.empty(0, np.int64)
        ends = self._codec.area(np.concatenate([run.keys[[0, -1]] for run in self._runs]))
        if ends.min() == ends.max():
            return self._drop_first(int(ends[0]), keep_from_us)
        goes = [self._before(run.columns, keep_from_us) for run in self._runs]
        if sum(map(np.count_nonzero, goes)) < COMPACT_FROM * len(self):
            return np.empty(0, np.int64)
        return self._drop(goes)

    def evict_oldest(self, count: int) -> Int64Array:
        """Drop the `count` events of the earliest times, whatever their area; return their refs."""
        if count <= 0 or len(self) == 0:
            return np.empty(0, np.int64)
        time_us = np.concatenate([self._codec.time_us(run.columns[0]) for run in self._runs])
        goes = np.zeros(len(self), np.bool_)
        goes[np.argsort(time_us, kind="stable")[:count]] = True
        return self._drop(np.split(goes, np.cumsum([len(run) for run in self._runs])[:-1]))

    def drop(self, refs: Int64Array) -> None:
        """Drop the events that have one of these refs."""
        goes = [np.isin(run.columns[3], refs) for run in self._runs]
        if any(map(np.any, goes)):
            self._drop(goes)

    def drop_areas(self, areas: CodeArray) -> Int64Array:
        """Drop all events of some areas; return their refs."""
        goes = [np.isin(self._codec.area(run.columns[0]), areas) for run in self._runs]
        return self._drop(goes) if any(map(np.any, goes)) else np.empty(0, np.int64)

    def recode_templates(self, new_code: CodeArray) -> None:
        """Replace template code c by ``new_code[c]`` everywhere."""
        for run in self._runs:
            template = run.columns[1]
            template[:] = new_code[template]

    def least_ref(self) -> int | None:
        """Return the least ref, None if there is no event."""
        return min((int(run.columns[3].min()) for run in self._runs), default=None)

    def codes(self) -> tuple[CodeArray, CodeArray, CodeArray]:
        """Return the codes of area, sensor and template of every event, in any order."""
        columns = [_no_rows(self._codec), *(run.columns for run in self._runs)]
        keys, template, sensor, _ = (np.concatenate(each) for each in zip(*columns, strict=True))
        return self._codec.area(keys), sensor, template

    def _merge_short_runs(self) -> None:
        """Merge the last run into the one before while that is not much longer."""
        while len(self._runs) > 1 and self._moved_a_row * len(self._runs[-1]) >= len(self._runs[-2]):
            last = self._runs.pop()
            self._runs[-1].merge(last.columns)

    def _rekey(self, greatest_area: int, earliest_us: int, latest_us: int) -> None:
        """Write the events with the narrowest keys for them and for the given area and times."""
        held = self.events()
        if len(held):
            greatest_area = max(greatest_area, int(held.area[-1]))
            earliest_us = min(earliest_us, int(held.detected_at_us.min()))
            latest_us = max(latest_us, int(held.detected_at_us.max()))
        self._codec = narrowest_keys(greatest_area, earliest_us, latest_us)
        keys = self._codec.encode(held.area, held.detected_at_us)
        self._runs = [SortedRun((keys, held.template, held.sensor, held.ref))] if len(held) else []

    def _drop_first(self, area: int, keep_from_us: Int64Array) -> Int64Array:
        """Drop the rows before the bound of the only area."""
        if area >= len(keep_from_us):
            return np.empty(0, np.int64)
        bound = self._codec.encode_bound(np.array([area], np.int32), keep_from_us[area : area + 1])[0]
        dropped = [np.empty(0, np.int64)]
        for run in self._runs:
            count = int(np.searchsorted(run.keys, bound, side="left"))
            if count:
                dropped.append(run.columns[3][:count].copy())
                run.drop_first(count)
        self._runs = [run for run in self._runs if len(run)]
        return np.concatenate(dropped)

    def _before(self, rows: Columns, keep_from_us: Int64Array) -> BoolArray:
        area = self._codec.area(rows[0])
        known = int(np.searchsorted(area, len(keep_from_us)))  # areas rise; those beyond the bounds keep everything
        before = np.zeros(len(area), np.bool_)
        before[:known] = self._codec.time_us(rows[0][:known]) < keep_from_us[area[:known]]
        return before

    def _drop(self, goes: list[BoolArray]) -> Int64Array:
        """Drop rows of each run."""
        dropped = np.concatenate([run.columns[3][gone] for run, gone in zip(self._runs, goes, strict=True)])
        kept = [run.kept(~gone) for run, gone in zip(self._runs, goes, strict=True)]
        self._runs = [run for run in kept if len(run)]
        if isinstance(self._codec, WideKeys) and self._runs:
            self._rekey(0, LATEST_TIME_US, EARLIEST_TIME_US)
        self._merge_short_runs()
        return dropped


def _within(rows: Columns, lower: Int64Array, upper: Int64Array) -> Columns:
    """Return the rows whose keys lie in one of the closed ranges, each once."""
    start, stop = np.searchsorted(rows[0], lower, side="left"), np.searchsorted(rows[0], upper, side="right")
    at = _covered(start, stop)
    return tuple(column[at] for column in rows)


def _covered(start: PositionArray, stop: PositionArray) -> PositionArray | slice:
    """Return the positions in any of the ranges start : stop, each once."""
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(stop[order])
    apart = np.flatnonzero(start[1:] > reach[:-1]) + 1
    first, last = np.append(0, apart), np.append(apart, len(start)) - 1
    if len(first) == 1:
        return slice(int(start[0]), max(int(start[0]), int(reach[-1])))
    return expanded_ranges(start[first], reach[last])[1]


def _in_order(parts: list[Columns], codec: AreaKeys) -> Columns:
    """Return the rows of sorted parts, those of an earlier part first where keys are equal."""
    if len(parts) == 1:
        return parts[0]
    columns = tuple(np.concatenate(each) for each in zip(_no_rows(codec), *parts, strict=True))
    order = np.argsort(columns[0], kind="stable")  # a merge sort, which is linear in sorted parts
    return tuple(column[order] for column in columns)


def _no_rows(codec: AreaKeys) -> Columns:
    time_us, codes = np.empty(0, np.int64), np.empty(0, np.int32)
    return codec.encode(codes, time_us), codes, codes, time_us
