"""TupleScope: the w largest readings by (ts, group, id), over all groups or in each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from coincide.arrays import BoolArray, Int64Array, LabelArray, PositionArray
from coincide.coalescing.admission import Admission, rows_of_groups
from coincide.coalescing.expiry_queue import ExpiryQueue
from coincide.coalescing.extent import Key
from coincide.coalescing.frame import Frame
from coincide.coalescing.late_readings import behind_tuple_scope
from coincide.coalescing.merged_frame import BEYOND_US, MergedFrame, merged_frame
from coincide.coalescing.places import places
from coincide.coalescing.segments import Segments

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
