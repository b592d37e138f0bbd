"""ColumnarExtent: an extent and its runs in columns, updated by whole frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from coincide.arrays import BoolArray, Int64Array, PositionArray
from coincide.changes import Changes
from coincide.coalescing.columnar_readings import ColumnarReadings
from coincide.coalescing.extent import WindowExtent
from coincide.coalescing.frame import Frame
from coincide.coalescing.link import Link
from coincide.coalescing.linked_runs import relink, runs_between
from coincide.coalescing.linked_segments import LinkedSegments
from coincide.coalescing.merged_frame import MergedFrame
from coincide.coalescing.run_difference import difference
from coincide.coalescing.runs import Runs, value_column


class ColumnarExtent(ColumnarReadings):
    """An extent in columns, and its runs; a frame touches those at the ends and at the fronts of its groups alone."""

    _segments: LinkedSegments

    def __init__(self, extent: WindowExtent, link: Link) -> None:
        super().__init__(extent)
        self._segments = LinkedSegments()
        self._link = link

    def push(self, frame: Frame) -> Changes[Runs]:
        """Take readings; see `EagerCoalescing.push`."""
        admitted = self._admit(frame)
        inserted, retracted = self._update(admitted.merged, admitted.leaving)
        return Changes(self._named(inserted), self._named(retracted), admitted.late, admitted.late_by_us)

    def scan(self) -> Runs:
        """Return all runs, by group and start."""
        segments = self._segments
        return self._named(runs_between(segments, segments.head, segments.tail, np.arange(len(segments.head))))

    def _update(self, merged: MergedFrame, leaving: Int64Array) -> tuple[Runs, Runs]:
        """Write the readings, drop so many of each group's oldest; return the runs inserted and retracted."""
        segments = self._segments
        head = segments.head + leaving
        since = self._changed_since(merged, head)
        changed = since < merged.tail
        touched = np.flatnonzero((merged.tail > merged.since) | (leaving > 0))
        before = self._runs(touched, head, changed, np.minimum(since, merged.since))
        segments.write(merged.at, merged.readings, merged.tail)
        segments.drop(head, since)
        relinked = np.flatnonzero(changed)
        relink(segments, relinked, since[relinked], self._link)
        return difference(before, self._runs(touched, head, changed, since))

    def _changed_since(self, merged: MergedFrame, head: Int64Array) -> Int64Array:
        """Return from where each segment's links change; its end where they do not.

        If of readings at one instant the one that counts leaves, another counts instead, and links anew.
        """
        segments = self._segments
        since = np.maximum(merged.since, head)
        cut = np.flatnonzero((segments.head < head) & (head < merged.since))
        waited = cut[segments.ts[head[cut]] == segments.ts[head[cut] - 1]]
        since[waited] = head[waited]
        return since

    def _runs(self, groups: PositionArray, head: Int64Array, changed: BoolArray, since: Int64Array) -> Runs:
        """Return the runs up to the new head, its own included; of changed groups those from `since` on, too."""
        segments = self._segments
        begin, tail = segments.head[groups], segments.tail[groups]
        end = np.minimum(head[groups] + 1, tail)
        again = np.where(changed[groups], np.clip(since[groups] - 1, end, tail), tail)
        ranges = np.column_stack([begin, again]).ravel(), np.column_stack([end, tail]).ravel()
        return runs_between(segments, *ranges, np.repeat(groups, 2))

    def _named(self, runs: Runs) -> Runs:
        """Return the runs with their groups' labels."""
        value = runs.value
        if value is not None and value.dtype.kind == "O":
            value = value_column(value.tolist())
        return replace(runs, group=self._segments.labels[runs.group], value=value)
