"""An extent and its runs in columns, updated by whole batches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from coincide.arrays.changes import Changes
from coincide.arrays.kinds import BoolArray, Int64Array, PositionArray
from coincide.arrays.order import group_starts
from coincide.arrays.range_expansion import expanded_ranges
from coincide.coalescing.links import Link
from coincide.coalescing.runs import Label, Runs, difference, with_plain_values
from coincide.coalescing.streams.extent import ReadingBatch, WindowExtent
from coincide.coalescing.streams.scopes import Admission, TimeScope, TupleScope
from coincide.coalescing.streams.segments import LinkedSegments, MergedBatch, Segments, joined


def relink(segments: LinkedSegments, group: PositionArray, since: Int64Array, link: Link) -> None:
    """Decide anew which readings link, from place ``since[i]`` of ``group[i]`` to the group's end.

    `since` must be before that end, and not between readings of one instant.
    """
    if len(group) == 0:
        return
    head = segments.head[group]
    anchor = _counted_before(segments, head, since)
    row, at = expanded_ranges(anchor, segments.tail[group])
    ts = segments.ts[at]
    counts = np.ones(len(at), np.bool_)
    counts[1:] = (ts[1:] != ts[:-1]) | (row[1:] != row[:-1])
    counted = counts.nonzero()[0]
    place, time, of_row = at[counted], ts[counted], row[counted]

    first_of_row = group_starts(of_row)
    starting = np.ones(len(place), np.bool_)
    starting[1:] = ~link.between(time, segments.value[place], segments.kept[place])
    starting[first_of_row] = True
    first_of_run = starting.nonzero()[0]
    goes_on = (anchor < since).nonzero()[0]
    before = place[first_of_row[goes_on]]  # those that keep their rank, and maybe the start of their run
    start = place.copy()
    start[first_of_row[goes_on]] = np.maximum(segments.start[before], head[goes_on])
    rank_before = np.zeros(len(group), np.int64)
    rank_before[goes_on] = segments.rank[before]

    run = starting.cumsum() - 1
    number = counts.cumsum() - 1
    start = start[first_of_run]
    segments.rank[at] = (np.arange(len(place)) + (rank_before - first_of_row)[of_row])[number]
    segments.start[at] = start[run][number]
    last = np.append(first_of_run[1:], len(place)) - 1
    held_until = link.ends(time[last], np.append(time, time[-1])[last + 1])
    newest = np.append(first_of_row[1:], len(place)) - 1
    held_until[run[newest]] = time[newest]
    segments.last[start] = place[last]
    segments.end[start] = held_until


def _counted_before(segments: LinkedSegments, head: Int64Array, since: Int64Array) -> PositionArray:
    """Return where the reading stands that counts before each place; the place itself where there is none."""
    anchor = np.maximum(since - 1, head)
    ts = segments.ts
    while (waits := (anchor > head) & (ts[anchor - 1] == ts[anchor])).any():
        anchor = anchor - waits
    return anchor


def runs_between(segments: LinkedSegments, begin: Int64Array, end: Int64Array, group: PositionArray) -> Runs:
    """Return the runs of readings at ``begin[i]`` to ``end[i]``, the last one excluded; groups are codes.

    The rows of `group` never fall, and neither do their places.
    """
    row, at = expanded_ranges(begin, end)
    start = np.maximum(segments.start[at], segments.head[group][row])
    distinct = group_starts(start)
    start, code = start[distinct], group[row[distinct]]
    kept = segments.kept[start]
    if not kept.all():
        start, code = start[kept], code[kept]
    last, rank = segments.last[start], segments.rank
    rank_of_last = rank[last]
    return Runs(
        segments.ts[start],
        segments.end[start],
        code,
        segments.value[start],
        rank_of_last - rank[start] + 1,
        segments.ref[start],
        segments.ref[last],
        rank_of_last == rank[segments.tail[code] - 1],
    )


class ColumnarReadings:
    """Merges a batch into the ends of its groups' segments, from its earliest reading on, and drops from the fronts.

    What lies between is not touched: the cost of a batch depends on its length, and on how far back it reaches.
    """

    def __init__(self, extent: WindowExtent) -> None:
        self._segments = Segments()
        self._scope: TimeScope | TupleScope
        if extent.duration_us is not None:
            self._scope = TimeScope(extent.duration_us, extent.per_group)
        else:
            self._scope = TupleScope(extent.size or 0, extent.per_group)
        self._code_of: dict[Label, int] = {}

    def __len__(self) -> int:
        return int(self._segments.sizes.sum())

    def push(self, batch: ReadingBatch) -> Changes[Runs]:
        """Take readings; say which are late."""
        admitted = self._admit(batch)
        self._segments.write(admitted.merged.at, admitted.merged.readings, admitted.merged.tail)
        self._segments.head = self._segments.head + admitted.leaving
        return Changes(Runs.of([]), Runs.of([]), admitted.late, admitted.late_by_us)

    def readings(self) -> ReadingBatch:
        """Return the readings, by (group, ts, id)."""
        segments = self._segments
        row, at = expanded_ranges(segments.head, segments.tail)
        group, value = segments.labels[row], segments.value[at]
        return ReadingBatch(segments.ts[at], group, value, segments.ref[at], segments.kept[at])

    def _admit(self, batch: ReadingBatch) -> Admission:
        """Judge a batch, and make room for it."""
        return self._scope.admit(self._segments, batch._replace(group=self._codes(batch)))

    def _codes(self, batch: ReadingBatch) -> Int64Array:
        """Return the group of each row as its position among the labels; make room for it."""
        segments, groups = self._segments, batch.group.tolist()
        try:
            code = np.fromiter(map(self._code_of.__getitem__, groups), np.int64, len(groups))
        except KeyError:
            self._add_groups(batch)
            code = np.fromiter(map(self._code_of.__getitem__, groups), np.int64, len(groups))
        more = np.bincount(code, minlength=len(segments.labels))
        if (segments.tail + more > segments.limit).any():
            segments.make_room(segments.labels, more)
        return code

    def _add_groups(self, batch: ReadingBatch) -> None:
        """Take the batch's groups among the labels, and forget those that have no readings left."""
        filled = self._segments.labels[self._segments.sizes > 0]
        labels = np.unique(joined(filled, batch.group))
        codes = self._segments.make_room(labels, np.zeros(len(labels), np.int64))
        if self._scope.expiry is not None:
            self._scope.expiry.recode(codes)
        self._code_of = {label: code for code, label in enumerate(labels.tolist())}


class ColumnarExtent(ColumnarReadings):
    """An extent in columns, and its runs; a batch touches those at the ends and at the fronts of its groups alone."""

    _segments: LinkedSegments

    def __init__(self, extent: WindowExtent, link: Link) -> None:
        super().__init__(extent)
        self._segments = LinkedSegments()
        self._link = link

    def push(self, batch: ReadingBatch) -> Changes[Runs]:
        """Take readings; see `EagerCoalescing.push`."""
        admitted = self._admit(batch)
        inserted, retracted = self._update(admitted.merged, admitted.leaving)
        return Changes(self._named(inserted), self._named(retracted), admitted.late, admitted.late_by_us)

    def scan(self) -> Runs:
        """Return all runs, by group and start."""
        segments = self._segments
        return self._named(runs_between(segments, segments.head, segments.tail, np.arange(len(segments.head))))

    def _update(self, merged: MergedBatch, leaving: Int64Array) -> tuple[Runs, Runs]:
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

    def _changed_since(self, merged: MergedBatch, head: Int64Array) -> Int64Array:
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
        return replace(with_plain_values(runs), group=self._segments.labels[runs.group])
