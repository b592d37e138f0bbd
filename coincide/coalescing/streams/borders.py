"""Runs across the borders of sections: what the first and the last run of a group in each section become in all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, Int64Array, LabelArray, PositionArray
from coincide.arrays.order import stable_order, stable_order_by
from coincide.coalescing.links import Link
from coincide.coalescing.runs import Runs, difference
from coincide.coalescing.streams.linked_section import LinkedSection, starts_between
from coincide.coalescing.streams.segments import joined


class RunParts(NamedTuple):
    """Runs of sections, which may be parts of longer runs, by group and start; columns of shape (n,)."""

    group: Int64Array
    start_us: Int64Array
    end_us: Int64Array
    value: npt.NDArray[Any]
    count: Int64Array  # type: ignore[assignment]  # nobody counts equal columns
    first: LabelArray
    last: LabelArray
    is_open: BoolArray  # the last one of its group in its section
    is_kept: BoolArray
    last_us: Int64Array  # time and value of its last reading
    last_value: npt.NDArray[Any]

    def runs(self) -> Runs:
        """Return them as they are in their sections."""
        rows = np.arange(len(self.group))
        return self._as_runs(rows, rows, self.end_us, self.count, self.is_open)

    def stitched(self, link: Link) -> Runs:
        """Return the runs that they make together."""
        rows = len(self.group)
        if rows == 0:
            return self.runs()
        meets = (self.group[1:] == self.group[:-1]) & self.is_open[:-1]
        goes_on = link.link(self.last_us[:-1], self.last_value[:-1], self.start_us[1:], self.value[1:])
        goes_on = goes_on & meets & self.is_kept[:-1] & self.is_kept[1:]
        first = np.flatnonzero(np.append(True, ~goes_on))
        last = np.append(first[1:], rows) - 1
        is_followed, end = np.append(meets, False), self.end_us.copy()
        end[:-1][meets] = link.ends(self.last_us[:-1], self.start_us[1:])[meets]
        is_open = (self.is_open & ~is_followed)[last]
        return self._as_runs(first, last, end[last], np.add.reduceat(self.count, first), is_open)

    def _as_runs(
        self, first: PositionArray, last: PositionArray, end_us: Int64Array, count: Int64Array, is_open: BoolArray
    ) -> Runs:
        kept = self.is_kept[first]
        first, last = first[kept], last[kept]
        ids = self.first[first], self.last[last]
        return Runs(
            self.start_us[first], end_us[kept], self.group[first], self.value[first], count[kept], *ids, is_open[kept]
        )


def run_parts(sections: Iterable[LinkedSection], labels: LabelArray, *, inner: bool = False) -> RunParts:
    """Return the first and the last run of each of some groups in each section; groups are positions in `labels`.

    With `inner`, the runs between them, too.
    """
    parts = [_parts_of(section, labels, inner) for section in sections]
    columns = [joined_columns(each) for each in zip(*parts, strict=True)]
    order = stable_order(columns[0])
    return RunParts(*(column[order] for column in columns))


def _parts_of(section: LinkedSection, labels: LabelArray, inner: bool) -> RunParts:
    segments = section.segments
    group, code = section.codes_of(labels)
    begin, end, number = segments.head[code], segments.tail[code], np.arange(len(code))
    if not inner:
        begin, end = np.column_stack([begin, end - 1]).ravel(), np.column_stack([begin + 1, end]).ravel()
        number = number.repeat(2)
    start, row = starts_between(segments, begin, end, code[number])
    number = number[row]
    last, rank = segments.last[start], segments.rank
    return RunParts(
        group[number],
        segments.ts[start],
        segments.end[start],
        segments.value[start],
        rank[last] - rank[start] + 1,
        segments.ref[start],
        segments.ref[last],
        rank[last] == rank[segments.tail[code[number]] - 1],
        segments.kept[start],
        segments.ts[last],
        segments.value[last],
    )


def around(
    sections: Sequence[LinkedSection], touched: Sequence[LinkedSection], labels: LabelArray
) -> list[LinkedSection]:
    """Return the sections in which runs of some groups may change as others are touched, by time.

    A run that goes through a touched section ends, on either side, in the next section where its group has two runs.
    Runs beyond may be put together wrongly, but the same before and after.
    """
    numbers = {number for number, section in enumerate(sections) if any(section is each for each in touched)}
    reached = set(numbers)
    for step in (-1, 1):
        for number in numbers:
            waiting, other = labels, number + step
            while len(waiting) and 0 <= other < len(sections) and other not in numbers:
                reached.add(other)
                waiting = waiting[~sections[other].has_two_runs(waiting)]
                other += step
    return [sections[number] for number in sorted(reached)]


def changed_runs(local: tuple[Runs, Runs], parts: tuple[RunParts, RunParts], link: Link) -> tuple[Runs, Runs]:
    """Return the runs inserted and retracted in all, by what changed in sections and the parts before and after."""
    inserted, retracted = local
    before, after = (each.runs() for each in parts)
    stitched_before, stitched_after = (each.stitched(link) for each in parts)
    gone = joined_runs([retracted.take(~is_in(retracted, before)), stitched_before])
    made = joined_runs([inserted.take(~is_in(inserted, after)), stitched_after])
    no_border = before.take(~is_in(before, joined_runs([after, retracted])))  # runs that are inside now, and were not
    new_border = after.take(~is_in(after, joined_runs([before, inserted])))  # runs that were inside, and are not now
    return difference(joined_runs([gone, new_border]), joined_runs([made, no_border]))


def is_in(runs: Runs, others: Runs) -> BoolArray:
    """Whether each run has the group and the start of one of the others, bool (n,)."""
    group, start = joined_columns([runs.group, others.group]), joined_columns([runs.start_us, others.start_us])
    order = stable_order_by(group, start)
    again = np.append(False, (np.diff(group[order]) == 0) & (np.diff(start[order]) == 0))
    shared = again.copy()
    shared[:-1] |= again[1:]
    found = np.zeros(len(order), np.bool_)
    found[order] = shared
    return found[: len(runs)]


def joined_runs(parts: Sequence[Runs]) -> Runs:
    """Return the runs of all parts, which have values."""
    names = ("start_us", "end_us", "group", "value", "count", "first", "last", "is_open")
    return Runs(*(joined_columns([getattr(part, name) for part in parts]) for name in names))


def joined_columns(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return one column after the other, of a type that holds all."""
    if len({column.dtype for column in columns}) == 1:
        return np.concatenate(columns)
    return reduce(joined, columns)
