"""ColumnarExtent: an extent kept in columns, updated by whole frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from coincide.arrays import BoolArray, Int64Array, PositionArray
from coincide.coalescing.extent import WindowExtent
from coincide.coalescing.frame import Frame
from coincide.coalescing.link import Link
from coincide.coalescing.linked_runs import relink, runs_between
from coincide.coalescing.merged_frame import MergedFrame
from coincide.coalescing.places import places
from coincide.coalescing.run_difference import difference
from coincide.coalescing.runs import Label, Runs, value_column
from coincide.coalescing.segments import Segments, joined
from coincide.coalescing.time_scope import TimeScope
from coincide.coalescing.tuple_scope import TupleScope
from coincide.pairs import Changes


class ColumnarExtent:
    """Merges a frame into the ends of its groups' segments, from its earliest reading on, and drops from the fronts.

    What lies between is not touched: the cost of a frame depends on its length, and on how far back it reaches.
    """

    def __init__(self, extent: WindowExtent, link: Link) -> None:
        self._link = link
        self._segments = Segments()
        self._scope = _scope_of(extent)
        self._code_of: dict[Label, int] = {}

    def __len__(self) -> int:
        return int(self._segments.sizes.sum())

    def push(self, frame: Frame) -> Changes[Runs]:
        """Take readings; see `EagerCoalescing.push`."""
        coded = frame._replace(group=self._codes(frame))
        admitted = self._scope.admit(self._segments, coded)
        inserted, retracted = self._update(admitted.merged, admitted.leaving)
        return Changes(self._named(inserted), self._named(retracted), admitted.late, admitted.late_by_us)

    def scan(self) -> Runs:
        """Return all runs, by group and start."""
        segments = self._segments
        return self._named(runs_between(segments, segments.head, segments.tail, np.arange(len(segments.head))))

    def readings(self) -> Frame:
        """Return the readings, by (group, ts, id)."""
        segments = self._segments
        row, at = places(segments.head, segments.tail)
        return Frame(segments.ts[at], segments.labels[row], segments.value[at], segments.ref[at], segments.kept[at])

    def _codes(self, frame: Frame) -> Int64Array:
        """Return the group of each row as its position among the labels; make room for it."""
        segments, groups = self._segments, frame.group.tolist()
        if not self._code_of.keys() >= set(groups):
            self._add_groups(frame)
        code = np.fromiter(map(self._code_of.__getitem__, groups), np.int64, len(groups))
        more = np.bincount(code, minlength=len(segments.labels))
        if (segments.tail + more > segments.limit).any():
            segments.make_room(segments.labels, more)
        return code

    def _add_groups(self, frame: Frame) -> None:
        """Take the frame's groups among the labels, and forget those that have no readings left."""
        held = self._segments.labels[self._segments.sizes > 0]
        labels = np.unique(joined(held, frame.group))
        codes = self._segments.make_room(labels, np.zeros(len(labels), np.int64))
        if self._scope.expiry is not None:
            self._scope.expiry.recode(codes)
        self._code_of = {label: code for code, label in enumerate(labels.tolist())}

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


def _scope_of(extent: WindowExtent) -> TimeScope | TupleScope:
    if extent.duration_us is not None:
        return TimeScope(extent.duration_us, extent.per_group)
    return TupleScope(extent.size or 0, extent.per_group)
