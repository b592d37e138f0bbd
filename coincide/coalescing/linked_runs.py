"""Where the runs of segments start and end: worked out anew from given places on, and read."""

from __future__ import annotations

import numpy as np

from coincide.arrays import Int64Array, PositionArray
from coincide.coalescing.link import Link
from coincide.coalescing.linked_segments import LinkedSegments
from coincide.coalescing.places import begins, places
from coincide.coalescing.runs import Runs


def relink(segments: LinkedSegments, group: PositionArray, since: Int64Array, link: Link) -> None:
    """Decide anew which readings link, from place ``since[i]`` of ``group[i]`` to the group's end.

    `since` must be before that end, and not between readings of one instant.
    """
    if len(group) == 0:
        return
    head = segments.head[group]
    anchor = _counted_before(segments, head, since)
    row, at = places(anchor, segments.tail[group])
    ts = segments.ts[at]
    counts = np.ones(len(at), np.bool_)
    counts[1:] = (ts[1:] != ts[:-1]) | (row[1:] != row[:-1])
    counted = counts.nonzero()[0]
    place, time, of_row = at[counted], ts[counted], row[counted]

    first_of_row = begins(of_row)
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
    row, at = places(begin, end)
    start = np.maximum(segments.start[at], segments.head[group][row])
    distinct = begins(start)
    start, code = start[distinct], group[row[distinct]]
    kept = segments.kept[start]
    if not kept.all():
        start, code = start[kept], code[kept]
    last, rank = segments.last[start], segments.rank
    rank_of_last = rank[last]
    return Runs(
        segments.ts[start], segments.end[start], code, segments.value[start], rank_of_last - rank[start] + 1,
        segments.ref[start], segments.ref[last], rank_of_last == rank[segments.tail[code] - 1],
    )  # fmt: skip
