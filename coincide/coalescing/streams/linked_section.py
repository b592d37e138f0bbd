"""LinkedSection: a section that keeps the runs of its readings, too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array, LabelArray, PositionArray
from coincide.arrays.order import group_starts, stable_order_by
from coincide.arrays.range_expansion import expanded_ranges
from coincide.coalescing.columns import BEYOND_US
from coincide.coalescing.links import Link
from coincide.coalescing.runs import Runs, difference
from coincide.coalescing.streams.sections import Section
from coincide.coalescing.streams.segments import LinkedSegments, MergedBatch

NONE = np.empty(0, np.intp)
SPARSE = 8  # where so many readings are written anew for each one that comes, runs are compared around it alone


class LinkedSection(Section):
    """Readings and the runs that they make within the section."""

    segments: LinkedSegments

    def __init__(self, from_us: int, link: Link, *, is_shared: bool) -> None:
        super().__init__(from_us, link, is_shared=is_shared)
        self.segments = LinkedSegments()

    def write(self, merged: MergedBatch, leaving: Int64Array) -> None:
        """Set the readings, drop so many of each group's oldest, and decide anew which of them link."""
        self._write(merged, leaving, self._changed_since(merged, self.segments.head + leaving))

    def update(self, merged: MergedBatch, leaving: Int64Array) -> tuple[Runs, Runs]:
        """Do as `write`; return the runs inserted and retracted, whose groups are codes."""
        head = self.segments.head + leaving
        since = self._changed_since(merged, head)
        touched = np.flatnonzero((merged.tail > merged.since) | (leaving > 0))
        is_sparse = _is_sparse(merged, since)
        again = np.where((since < merged.tail) & ~is_sparse, since, BEYOND_US)
        few = np.flatnonzero(merged.is_new & is_sparse[merged.readings.group]) if is_sparse.any() else NONE
        group, place, ts_us = merged.readings.group[few], merged.at[few], merged.readings.ts_us[few]
        moved = np.arange(len(few)) - np.searchsorted(group, group)  # by those of its group that come before it
        again_before = np.where(again < BEYOND_US, merged.since, BEYOND_US)
        before = self._runs(touched, head, again_before, (group, place - moved, ts_us))
        self._write(merged, leaving, since)
        return difference(before, self._runs(touched, head, again, (group, place, ts_us)))

    def runs(self) -> Runs:
        """Return all runs, by group and start; groups are codes."""
        segments = self.segments
        return runs_between(segments, segments.head, segments.tail, np.arange(len(segments.head)))

    def named(self, runs: Runs) -> Runs:
        """Return the runs with their groups' labels."""
        return replace(runs, group=self.segments.labels[runs.group])

    def has_two_runs(self, labels: LabelArray) -> BoolArray:
        """Whether each of some groups has more than one run here, bool (n,); the labels are distinct and ascending."""
        number, code = self.codes_of(labels)
        has_two = np.zeros(len(labels), np.bool_)
        has_two[number] = self.segments.start[self.segments.tail[code] - 1] > self.segments.head[code]
        return has_two

    def keeps_borders(self, merged: MergedBatch, leaving: Int64Array, *, is_first: bool, is_last: bool) -> bool:
        """Whether the runs that may go on in the sections before and after this one surely stay as they are."""
        segments, head = self.segments, self.segments.head + leaving
        touched = np.flatnonzero((merged.tail > merged.since) | (leaving > 0))
        filled = segments.tail[touched] > segments.head[touched]
        if not filled.all():
            return False
        since = merged.since[touched]
        if not is_first:
            first = segments.head[touched]
            later = segments.ts[np.maximum(since - 1, first)] > segments.ts[segments.last[first]]
            if leaving[touched].any() or not later.all():
                return False
        last_run = np.maximum(segments.start[segments.tail[touched] - 1], segments.head[touched])
        is_whole = (merged.tail[touched] == since) & (since == segments.tail[touched]) & (head[touched] <= last_run)
        return is_last or bool(is_whole.all())

    def _write(self, merged: MergedBatch, leaving: Int64Array, since: Int64Array) -> None:
        segments, head = self.segments, self.segments.head + leaving
        segments.write(merged.at, merged.readings, merged.tail)
        segments.drop(head, since)
        relinked = np.flatnonzero(since < merged.tail)
        relink(segments, relinked, since[relinked], self.link)

    def _changed_since(self, merged: MergedBatch, head: Int64Array) -> Int64Array:
        """Return from where each segment's links change; its end where they do not.

        If of readings at one instant the one that counts leaves, another counts instead, and links anew.
        """
        segments = self.segments
        since = np.maximum(merged.since, head)
        cut = np.flatnonzero((segments.head < head) & (head < merged.since))
        waited = cut[segments.ts[head[cut]] == segments.ts[head[cut] - 1]]
        since[waited] = head[waited]
        return since

    def _runs(self, groups: PositionArray, head: Int64Array, again: Int64Array, few: tuple[PositionArray, ...]) -> Runs:
        """Return the runs up to the new head, its own included; those from a place on; and those around a `few` places.

        `few` are groups, places in them and the times of what comes there, in order.
        """
        segments, (group, place, ts_us) = self.segments, few
        begin, tail = segments.head[groups], segments.tail[groups]
        end = np.minimum(head[groups] + 1, tail)
        again = np.clip(again[groups] - 1, end, tail)
        begin, end = np.column_stack([begin, again]).ravel(), np.column_stack([end, tail]).ravel()
        groups = np.repeat(groups, 2)
        if len(group):
            some = np.flatnonzero(begin < end)
            after = np.minimum(segments.first_after(ts_us, place, group) + 1, segments.tail[group])
            begin = np.append(begin[some], np.maximum(place - 1, segments.head[group]))
            groups, end = np.append(groups[some], group), np.append(end[some], after)
            order = stable_order_by(groups, end)
            groups, begin, end = groups[order], begin[order], end[order]
            begin[1:] = np.maximum(begin[1:], np.where(groups[1:] == groups[:-1], end[:-1], begin[1:]))
        return runs_between(segments, begin, end, groups)


def _is_sparse(merged: MergedBatch, since: Int64Array) -> BoolArray:
    """Whether so few of the readings that a group's segment gets anew are new that only runs around these change."""
    coming = np.bincount(merged.readings.group[merged.is_new], minlength=len(since))
    is_sparse: BoolArray = (since == merged.since) & (merged.tail - since > SPARSE * coming)
    return is_sparse


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
    start, row = starts_between(segments, begin, end, group)
    code, kept = group[row], segments.kept[start]
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


def starts_between(
    segments: LinkedSegments, begin: Int64Array, end: Int64Array, group: PositionArray
) -> tuple[PositionArray, PositionArray]:
    """Return where the runs of readings at ``begin[i]`` to ``end[i]`` start, and the i of each."""
    row, at = expanded_ranges(begin, end)
    start = np.maximum(segments.start[at], segments.head[group][row])
    distinct = group_starts(start)
    return start[distinct], row[distinct]
