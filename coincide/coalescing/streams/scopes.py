"""The scopes of an extent: the w largest readings or those of the last T; which readings are late or leave."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array, LabelArray, PositionArray
from coincide.arrays.order import stable_order
from coincide.coalescing.streams.expiry_queue import ExpiryQueue
from coincide.coalescing.streams.extent import Frame, Key
from coincide.coalescing.streams.segments import BEYOND_US, MergedFrame, Segments, merged_frame, places

NOTHING_YET = -(1 << 62)  # before any time


def behind_time_scope(ts_us: Int64Array, latest_us: int, duration_us: int) -> Int64Array:
    """Return by how much each row lies before [latest - T, latest] when it arrives; 0 or less where it does not.

    Parameters
    ----------
    ts_us : ndarray of int64, shape (n,)
        In order of arrival.
    latest_us : int
        The latest that arrived before; `NOTHING_YET` if none did.

    Examples
    --------
    >>> behind_time_scope(np.array([10, 30, 15]), NOTHING_YET, duration_us=10).tolist()
    [-10, -10, 5]
    """
    latest: Int64Array = np.maximum(np.maximum.accumulate(ts_us), latest_us)
    return latest - duration_us - ts_us


def behind_tuple_scope(
    rows: Iterable[tuple[int, Any, bool]], left: list[Any], oldest: Any, free: int
) -> list[tuple[int, int]]:
    """Return (row, by how much it is too late) of those that find all w places taken by later ones.

    Parameters
    ----------
    rows : iterable of (row, key, is_new)
        In order of arrival; a key that is there already is not new. Keys begin with the ts.
    left : list of keys
        Those that were in the extent before, and are not after.
    oldest : key
        The oldest that is in the extent after all rows: what comes before it has left, or never was there.
    free : int
        How many places were free before.

    Examples
    --------
    >>> behind_tuple_scope([(0, (30,), True), (1, (15,), True)], left=[(10,)], oldest=(20,), free=0)
    [(1, 5)]
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


class Admission(NamedTuple):
    """Which rows of a frame come too late, and which readings leave for the others.

    Attributes
    ----------
    merged : MergedFrame
    leaving : ndarray of int64, shape (G,)
        How many of each group leave, the oldest of the merged ones.
    late, late_by_us : ndarray of int64, shape (l,)
        Rows of the frame that came too late, and by how much.
    """

    merged: MergedFrame
    leaving: Int64Array
    late: Int64Array
    late_by_us: Int64Array


def rows_of_groups(code: Int64Array) -> Iterator[tuple[int, PositionArray]]:
    """Yield each group that has rows, and its rows in their order.

    Examples
    --------
    >>> [(code, rows.tolist()) for code, rows in rows_of_groups(np.array([2, 0, 2]))]
    [(0, [1]), (2, [0, 2])]
    """
    order = stable_order(code)
    of_group = code[order]
    begins = np.flatnonzero(np.append(True, of_group[1:] != of_group[:-1])[: len(code)])
    for rows in np.split(order, begins[1:]):
        if len(rows):
            yield int(code[rows[0]]), rows


NONE = np.empty(0, np.int64)


class TupleScope:
    """Judges frames for a tuple-based extent; `expiry` is None where each group has its own."""

    def __init__(self, size: int, per_group: bool) -> None:
        self._size = size
        self.expiry = None if per_group else ExpiryQueue()

    def admit(self, segments: Segments, frame: Frame) -> Admission:
        """Judge a frame; its groups are codes."""
        merged = merged_frame(segments, frame)
        if self.expiry is None:
            leaving = np.maximum(merged.tail - segments.head - self._size, 0)
        else:
            new = merged.is_new
            self.expiry.add(merged.readings.ts_us[new], merged.readings.group[new])
            leaving = self.expiry.pop(max(0, len(self.expiry) - self._size), len(segments.labels))
        if not self._may_be_late(segments, merged, leaving):
            return Admission(merged, leaving, NONE, NONE)
        fronts = _Fronts(segments, merged, leaving)
        late = [found for scope in self._early(frame, fronts) for found in self._late(frame, fronts, *scope)]
        rows, late_by_us = np.array(sorted(late), np.int64).reshape(-1, 2).T
        return Admission(merged, leaving, rows, late_by_us)

    def _may_be_late(self, segments: Segments, merged: MergedFrame, leaving: Int64Array) -> bool:
        """Whether a row of the frame leaves with the frame, or was there already."""
        head = segments.head + leaving
        leaves = merged.at < head[merged.readings.group]
        return not merged.of_row.all() or bool((leaves & merged.is_new).any())

    def _early(self, frame: Frame, fronts: _Fronts) -> Iterator[tuple[PositionArray, PositionArray]]:
        """Yield the rows and groups of each full extent to which a row comes that may be before its oldest reading."""
        if self.expiry is None:
            full = fronts.sizes[frame.group] == self._size
            for code, _ in rows_of_groups(frame.group[full & (frame.ts_us <= fronts.oldest_us[frame.group])]):
                yield np.flatnonzero(frame.group == code), np.array([code])
        elif len(frame.ts_us) and len(self.expiry) == self._size and frame.ts_us.min() <= fronts.oldest_us.min():
            yield np.arange(len(frame.ts_us)), np.arange(len(fronts.sizes))

    def _late(self, frame: Frame, fronts: _Fronts, rows: PositionArray, groups: PositionArray) -> list[tuple[int, int]]:
        """Return which rows of one extent are late, and by how much."""
        columns = (frame.ts_us[rows], frame.group[rows], frame.ref[rows])
        keys = zip(*(column.tolist() for column in columns), strict=True)
        arrivals = zip(rows.tolist(), keys, fronts.merged.of_row[rows].tolist(), strict=True)
        free = self._size - int(fronts.segments.sizes[groups].sum())
        oldest = groups[np.argmin(fronts.oldest_us[groups])]
        return behind_tuple_scope(arrivals, fronts.left(groups), fronts.oldest(oldest), free)


class _Fronts:
    """Where each group's readings begin once those that leave have gone, before the merged ones are written."""

    def __init__(self, segments: Segments, merged: MergedFrame, leaving: Int64Array) -> None:
        self.segments, self.merged = segments, merged
        self._head = segments.head + leaving
        self.sizes = merged.tail - self._head
        self.oldest_us = np.full(len(leaving), BEYOND_US)
        held = np.flatnonzero(self.sizes)
        self.oldest_us[held] = self._column("ts_us", "ts", self._head[held])

    def oldest(self, group: int) -> Key:
        """Return the key of a group's first reading."""
        at = self._head[group : group + 1]
        return int(self.oldest_us[group]), group, self._column("ref", "ref", at)[0]

    def left(self, groups: PositionArray) -> list[Key]:
        """Return the keys of those that were there and leave."""
        row, at = places(self.segments.head[groups], self._head[groups])
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
        merged, held = getattr(self.merged.readings, of_merged), getattr(self.segments, of_segments)
        column: LabelArray = merged[place] if len(merged) else held[at]
        if len(held):
            column = column.astype(np.result_type(column, held))
            column[~here] = held[at[~here]]
        return column


class TimeScope:
    """Judges frames for a time-based extent; `expiry` is None where each group has its own."""

    def __init__(self, duration_us: int, per_group: bool) -> None:
        self._duration_us = duration_us
        self.expiry = None if per_group else ExpiryQueue()

    def admit(self, segments: Segments, frame: Frame) -> Admission:
        """Judge a frame; its groups are codes."""
        latest = self._latest(segments)
        behind = np.empty(len(frame.ts_us), np.int64)
        if self.expiry is None:
            for code, rows in rows_of_groups(frame.group):
                behind[rows] = behind_time_scope(frame.ts_us[rows], int(latest[code]), self._duration_us)
            np.maximum.at(latest, frame.group, frame.ts_us)
        elif len(behind):
            behind = behind_time_scope(frame.ts_us, int(latest[0]), self._duration_us)
            np.maximum(latest, frame.ts_us.max(), out=latest)
        return self._admitted(segments, frame, behind, latest - self._duration_us)

    def _latest(self, segments: Segments) -> Int64Array:
        """Return the latest ts that arrived for each group, int64 (G,); of all groups where they share an extent."""
        held = segments.tail > segments.head
        latest = np.full(len(held), NOTHING_YET)
        latest[held] = segments.ts[segments.tail[held] - 1]
        if self.expiry is not None:
            latest[:] = latest.max(initial=NOTHING_YET)
        return latest

    def _admitted(self, segments: Segments, frame: Frame, behind: Int64Array, since_us: Int64Array) -> Admission:
        late = np.flatnonzero(behind > 0)
        stays = frame.ts_us >= since_us[frame.group]  # others are late, or leave with a later row of the frame
        if not stays.all():
            frame = frame.take(stays)
        merged = merged_frame(segments, frame)
        if self.expiry is None:
            return Admission(merged, _before(segments, since_us), late, behind[late])
        new = merged.is_new
        self.expiry.add(merged.readings.ts_us[new], merged.readings.group[new])
        leaving = self.expiry.pop_before(since_us.max(initial=NOTHING_YET), len(since_us))
        return Admission(merged, leaving, late, behind[late])


def _before(segments: Segments, since_us: Int64Array) -> Int64Array:
    """Return how many readings of each group lie before an instant, int64 (G,)."""
    leaving = np.zeros(len(since_us), np.int64)
    some = np.flatnonzero(segments.tail > segments.head)
    some = some[segments.ts[segments.head[some]] < since_us[some]]
    times = segments.ts.data
    bounds = (column[some].tolist() for column in (since_us, segments.head, segments.tail))
    leaving[some] = [bisect_left(times, *bound) - bound[1] for bound in zip(*bounds, strict=True)]
    return leaving
