"""TimeScope: the readings in the closed interval [latest - T, latest], over all groups or in each."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from coincide.arrays import Int64Array
from coincide.coalescing.admission import Admission, rows_of_groups
from coincide.coalescing.expiry_queue import ExpiryQueue
from coincide.coalescing.frame import Frame
from coincide.coalescing.late_readings import NOTHING_YET, behind_time_scope
from coincide.coalescing.merged_frame import merged_frame
from coincide.coalescing.segments import Segments


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
