"""The scopes of an extent: the w largest readings or those of the last T; which readings are late or leave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array, LabelArray, PositionArray
from coincide.arrays.order import group_starts, stable_order, stable_order_by
from coincide.arrays.range_expansion import expanded_ranges
from coincide.coalescing.columns import BEYOND_US
from coincide.coalescing.streams.extent import Key, ReadingBatch
from coincide.coalescing.streams.segments import MergedBatch, Segments, merged_batch

NOTHING_YET = -BEYOND_US  # before any time


def behind_time_scope(ts_us: Int64Array, latest_us: int, duration_us: int) -> Int64Array:
    """Return by how much each row lies before [latest - T, latest] when it arrives; 0 or less where it does not."""
    latest: Int64Array = np.maximum(np.maximum.accumulate(ts_us), latest_us)
    return latest - duration_us - ts_us


def behind_tuple_scope(
    rows: Iterable[tuple[int, Any, bool]], left: list[Any], oldest: Any, free: int
) -> list[tuple[int, int]]:
    """Return (row, by how much it is too late) of those that find all w places taken by later ones.

    `rows` are (row, key, is_new) in order of arrival; a key that is there already is not new, and keys begin with the
    ts. `left` are the keys that were in the extent before and are not after. `oldest` is the oldest key in the extent
    after all rows. So many places were `free` before.
    """
    late = []
    leaving = list(left)
    heapify(leaving)
    for row, key, is_new in rows:
        if not free and key < (leaving[0] if leaving else oldest):
            late.append((row, (leaving[0] if leaving else oldest)[0] - key[0]))
            continue
        if not is_new:
            continue
        if key < oldest:
            heappush(leaving, key)
        if free:
            free -= 1
        else:
            heappop(leaving)
    return late


class ExpiryQueue:
    """Readings of all groups by (ts, group), so that a new extent says how many of each group have left.

    To add readings touches those after the earliest of them alone.
    """

    def __init__(self) -> None:
        self._ts = np.empty(0, np.int64)
        self._code = np.empty(0, np.int64)
        self._head = self._tail = 0

    def __len__(self) -> int:
        return self._tail - self._head

    def add(self, merged: MergedBatch) -> None:
        """Put the new readings of a batch in."""
        ts_us, code = merged.readings.ts_us[merged.is_new], merged.readings.group[merged.is_new]
        if len(ts_us) == 0:
            return
        since = self._head + int(np.searchsorted(self._ts[self._head : self._tail], ts_us.min()))
        ts = np.concatenate([self._ts[since : self._tail], ts_us])
        codes = np.concatenate([self._code[since : self._tail], code])
        order = stable_order_by(ts, codes)
        since = self._with_room(since, len(ts))
        self._tail = since + len(ts)
        self._ts[since : self._tail] = ts[order]
        self._code[since : self._tail] = codes[order]

    def pop(self, count: int, groups: int) -> Int64Array:
        """Take the `count` first; return how many of each group they were, int64 (groups,)."""
        popped = self._code[self._head : self._head + count]
        self._head += count
        return np.bincount(popped, minlength=groups)

    def pop_before(self, ts_us: int, groups: int) -> Int64Array:
        """Take those before an instant; return as `pop`."""
        return self.pop(int(np.searchsorted(self._ts[self._head : self._tail], ts_us)), groups)

    def recode(self, codes: PositionArray) -> None:
        """Give each group the new code at its old one; their order stays."""
        self._code = codes[self._code]

    def _with_room(self, since: int, more: int) -> int:
        """Make room behind `since` for so many; return where it is now."""
        if since + more <= len(self._ts):
            return since
        rows = since - self._head
        for name in ("_ts", "_code"):
            column = np.zeros(2 * (rows + more), np.int64)
            column[:rows] = getattr(self, name)[self._head : since]
            setattr(self, name, column)
        self._head = 0
        return rows


class Admission(NamedTuple):
    """Which rows of a batch come too late, and which readings leave for the others."""

    merged: MergedBatch
    leaving: Int64Array  # how many of each group, the oldest of the merged ones, shape (G,)
    late: Int64Array  # rows of the batch that came too late, shape (l,)
    late_by_us: Int64Array


def rows_of_groups(code: Int64Array) -> Iterator[tuple[int, PositionArray]]:
    """Yield each group that has rows, and its rows in their order."""
    order = stable_order(code)
    of_group = code[order]
    for rows in np.split(order, group_starts(of_group)[1:]):
        if len(rows):
            yield int(code[rows[0]]), rows


NONE = np.empty(0, np.int64)


class TupleScope:
    """Judges batches for a tuple-based extent; `expiry` is None where each group has its own."""

    def __init__(self, size: int, per_group: bool) -> None:
        self._size = size
        self.expiry = None if per_group else ExpiryQueue()

    def admit(self, segments: Segments, batch: ReadingBatch) -> Admission:
        """Judge a batch; its groups are codes."""
        merged = merged_batch(segments, batch)
        if self.expiry is None:
            leaving = np.maximum(merged.tail - segments.head - self._size, 0)
        else:
            self.expiry.add(merged)
            leaving = self.expiry.pop(max(0, len(self.expiry) - self._size), len(segments.labels))
        leaves = merged.at < (segments.head + leaving)[merged.readings.group]
        if merged.of_row.all() and not (leaves & merged.is_new).any():  # all are new and none leaves
            return Admission(merged, leaving, NONE, NONE)
        fronts = _Fronts(segments, merged, leaving)
        late = [row for scope in self._early(batch, fronts) for row in self._late(batch, fronts, *scope)]
        rows, late_by_us = np.array(sorted(late), np.int64).reshape(-1, 2).T
        return Admission(merged, leaving, rows, late_by_us)

    def _early(self, batch: ReadingBatch, fronts: _Fronts) -> Iterator[tuple[PositionArray, PositionArray]]:
        """Yield the rows and groups of each full extent to which a row comes that may be before its oldest reading."""
        if self.expiry is None:
            full = fronts.sizes[batch.group] == self._size
            for code, _ in rows_of_groups(batch.group[full & (batch.ts_us <= fronts.oldest_us[batch.group])]):
                yield np.flatnonzero(batch.group == code), np.array([code])
        elif len(batch.ts_us) and len(self.expiry) == self._size and batch.ts_us.min() <= fronts.oldest_us.min():
            yield np.arange(len(batch.ts_us)), np.arange(len(fronts.sizes))

    def _late(
        self, batch: ReadingBatch, fronts: _Fronts, rows: PositionArray, groups: PositionArray
    ) -> list[tuple[int, int]]:
        """Return which rows of one extent are late, and by how much."""
        columns = (batch.ts_us[rows], batch.group[rows], batch.ref[rows])
        keys = zip(*(column.tolist() for column in columns), strict=True)
        arrivals = zip(rows.tolist(), keys, fronts.merged.of_row[rows].tolist(), strict=True)
        free = self._size - int(fronts.segments.sizes[groups].sum())
        oldest = groups[np.argmin(fronts.oldest_us[groups])]
        return behind_tuple_scope(arrivals, fronts.left(groups), fronts.oldest(oldest), free)


class _Fronts:
    """Where each group's readings begin once those that leave have gone, before the merged ones are written."""

    def __init__(self, segments: Segments, merged: MergedBatch, leaving: Int64Array) -> None:
        self.segments, self.merged = segments, merged
        self._head = segments.head + leaving
        self.sizes = merged.tail - self._head
        self.oldest_us = np.full(len(leaving), BEYOND_US)
        filled = np.flatnonzero(self.sizes)
        self.oldest_us[filled] = self._column("ts_us", "ts", self._head[filled])

    def oldest(self, group: int) -> Key:
        """Return the key of a group's first reading."""
        at = self._head[group : group + 1]
        return int(self.oldest_us[group]), group, self._column("ref", "ref", at)[0]

    def left(self, groups: PositionArray) -> list[Key]:
        """Return the keys of those that were there and leave."""
        row, at = expanded_ranges(self.segments.head[groups], self._head[groups])
        here, place = self._in_merged(at)
        old = ~here
        old[here] = ~self.merged.is_new[place[here]]
        row, at = row[old], at[old]
        columns = self._column("ts_us", "ts", at), groups[row], self._column("ref", "ref", at)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def _in_merged(self, at: PositionArray) -> tuple[BoolArray, PositionArray]:
        place = np.searchsorted(self.merged.at, at)
        place[place == len(self.merged.at)] = 0
        here = self.merged.at[place] == at if len(self.merged.at) else np.zeros(len(at), np.bool_)
        return here, place

    def _column(self, of_merged: str, of_segments: str, at: PositionArray) -> LabelArray:
        here, place = self._in_merged(at)
        merged, before = getattr(self.merged.readings, of_merged), getattr(self.segments, of_segments)
        column: LabelArray = merged[place] if len(merged) else before[at]
        if len(before):
            column = column.astype(np.result_type(column, before))
            column[~here] = before[at[~here]]
        return column


class TimeScope:
    """Judges batches for a time-based extent; `expiry` is None where each group has its own."""

    def __init__(self, duration_us: int, per_group: bool) -> None:
        self._duration_us = duration_us
        self.expiry = None if per_group else ExpiryQueue()

    def admit(self, segments: Segments, batch: ReadingBatch) -> Admission:
        """Judge a batch; its groups are codes."""
        latest = self._latest(segments)
        behind = np.empty(len(batch.ts_us), np.int64)
        if self.expiry is None:
            for code, rows in rows_of_groups(batch.group):
                behind[rows] = behind_time_scope(batch.ts_us[rows], int(latest[code]), self._duration_us)
            np.maximum.at(latest, batch.group, batch.ts_us)
        elif len(behind):
            behind = behind_time_scope(batch.ts_us, int(latest[0]), self._duration_us)
            np.maximum(latest, batch.ts_us.max(), out=latest)
        return self._admitted(segments, batch, behind, latest - self._duration_us)

    def _latest(self, segments: Segments) -> Int64Array:
        """Return the latest ts that arrived for each group, int64 (G,); of all groups where they share an extent."""
        filled = segments.tail > segments.head
        latest = np.full(len(filled), NOTHING_YET)
        latest[filled] = segments.ts[segments.tail[filled] - 1]
        if self.expiry is not None:
            latest[:] = latest.max(initial=NOTHING_YET)
        return latest

    def _admitted(self, segments: Segments, batch: ReadingBatch, behind: Int64Array, since_us: Int64Array) -> Admission:
        late = np.flatnonzero(behind > 0)
        stays = batch.ts_us >= since_us[batch.group]  # others are late, or leave with a later row of the batch
        if not stays.all():
            batch = batch.take(stays)
        merged = merged_batch(segments, batch)
        if self.expiry is None:
            return Admission(merged, _before(segments, since_us), late, behind[late])
        self.expiry.add(merged)
        leaving = self.expiry.pop_before(since_us.max(initial=NOTHING_YET), len(since_us))
        return Admission(merged, leaving, late, behind[late])


def _before(segments: Segments, since_us: Int64Array) -> Int64Array:
    """Return how many readings of each group lie before an instant, int64 (G,)."""
    leaving = np.zeros(len(since_us), np.int64)
    some = np.flatnonzero(segments.tail > segments.head)
    some = some[segments.ts[segments.head[some]] < since_us[some]]
    leaving[some] = np.array(segments.first_from(since_us, some), np.int64) - segments.head[some]
    return leaving
