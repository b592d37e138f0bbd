"""The scopes of an extent: the w largest readings or those of the last T; which readings are late or leave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array, LabelArray, PositionArray
from coincide.arrays.order import group_starts, stable_order
from coincide.arrays.range_expansion import expanded_ranges
from coincide.coalescing.columns import BEYOND_US
from coincide.coalescing.streams.extent import Key, ReadingBatch
from coincide.coalescing.streams.sections import NOTHING_YET, Section, SectionPart, Sections
from coincide.coalescing.streams.segments import Segments


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


class Admission(NamedTuple):
    """What a push does to each section that it touches, in their order, and which rows come too late."""

    parts: list[SectionPart[Any]]
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


def with_leavers(
    sections: Sections[Any], parts: list[SectionPart[Any]], counts: Iterable[int]
) -> list[SectionPart[Any]]:
    """Let so many of each section leave, section by section until none does; return the parts of all."""
    part_of = {id(part.section): part for part in parts}
    for section, count in zip(sections, counts, strict=False):
        if not count:
            break
        part = part_of[id(section)] = part_of.get(id(section)) or SectionPart.without_rows(section)
        part.leaving = section.expiry.pop(count, len(part.leaving))
    return [part_of[id(section)] for section in sections if id(section) in part_of]


class TupleScope:
    """Judges batches for a tuple-based extent."""

    def __init__(self, size: int, per_group: bool) -> None:
        self._size = size
        self._per_group = per_group

    def admit(self, sections: Sections[Any], batch: ReadingBatch) -> Admission:
        """Judge a batch."""
        parts = sections.parts(batch)
        if self._per_group:
            for part in parts:
                part.leaving = np.maximum(part.merged.tail - part.section.segments.head - self._size, 0)
        else:
            parts = with_leavers(sections, parts, self._surplus(sections))
        if not any(part.has_new_that_leave() for part in parts):
            return Admission(parts, NONE, NONE)
        late = self._late_of_groups(parts[0]) if self._per_group else self._late_of_all(sections, batch, parts)
        rows, late_by_us = np.array(sorted(late), np.int64).reshape(-1, 2).T
        return Admission(parts, rows, late_by_us)

    def _surplus(self, sections: Sections[Any]) -> Iterator[int]:
        """Yield how many readings of each section are too many."""
        surplus = max(0, sections.count - self._size)
        for section in sections:
            leaving = min(surplus, len(section))
            surplus -= leaving
            yield leaving

    def _late_of_groups(self, part: SectionPart[Any]) -> Iterator[tuple[int, int]]:
        """Yield which rows are late, and by how much, of each full extent to which an early row comes."""
        fronts, batch = _Fronts(part), part.batch
        full = fronts.sizes[batch.group] == self._size
        for code, _ in rows_of_groups(batch.group[full & (batch.ts_us <= fronts.oldest_us[batch.group])]):
            rows = np.flatnonzero(batch.group == code)
            free = self._size - int(part.section.segments.sizes[code])
            arrivals = _arrivals(rows, batch.take(rows), part.merged.of_row[rows])
            yield from behind_tuple_scope(arrivals, fronts.left(np.array([code])), fronts.oldest(code), free)

    def _late_of_all(
        self, sections: Sections[Any], batch: ReadingBatch, parts: list[SectionPart[Any]]
    ) -> list[tuple[int, int]]:
        """Return which rows are late, and by how much; of one instant all are in one section, and have its codes."""
        if sections.count < self._size:
            return []
        part_of = {id(part.section): part for part in parts}
        of_sections = (_Fronts(part_of.get(id(section)) or SectionPart.without_rows(section)) for section in sections)
        front = next(fronts for fronts in of_sections if fronts.sizes.any())
        oldest = front.oldest(int(np.argmin(front.oldest_us)))
        if batch.ts_us.min() > oldest[0]:
            return []
        code, is_new = np.empty(len(batch.ts_us), np.int64), np.empty(len(batch.ts_us), np.bool_)
        left = list[Key]()
        for part in parts:
            code[part.rows], is_new[part.rows] = part.batch.group, part.merged.of_row
            left += _Fronts(part).left(np.arange(len(part.leaving)))
        left_in_all = sum(int(part.leaving.sum()) for part in parts)
        free = self._size - (sections.count + left_in_all - int(np.count_nonzero(is_new)))
        arrivals = _arrivals(np.arange(len(code)), batch._replace(group=code), is_new)
        return behind_tuple_scope(arrivals, left, oldest, free)


def _arrivals(rows: PositionArray, batch: ReadingBatch, is_new: BoolArray) -> Iterator[tuple[int, Key, bool]]:
    """Return (row, key, is_new) of each row."""
    keys = zip(batch.ts_us.tolist(), batch.group.tolist(), batch.ref.tolist(), strict=True)
    return zip(rows.tolist(), keys, is_new.tolist(), strict=True)


class _Fronts:
    """Where each group's readings begin once those that leave have gone, before the merged ones are written."""

    def __init__(self, part: SectionPart[Any]) -> None:
        self.segments, self.merged, self._head = part.section.segments, part.merged, part.head
        self.sizes = part.merged.tail - self._head
        self.oldest_us = np.full(len(part.leaving), BEYOND_US)
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
    """Judges batches for a time-based extent."""

    def __init__(self, duration_us: int, per_group: bool) -> None:
        self._duration_us = duration_us
        self._per_group = per_group

    def admit(self, sections: Sections[Any], batch: ReadingBatch) -> Admission:
        """Judge a batch."""
        return self._of_groups(sections.first, batch) if self._per_group else self._of_all(sections, batch)

    def _of_all(self, sections: Sections[Any], batch: ReadingBatch) -> Admission:
        latest_us = sections.last.latest_us
        behind = behind_time_scope(batch.ts_us, latest_us, self._duration_us)
        since_us = max(latest_us, int(batch.ts_us.max(initial=NOTHING_YET))) - self._duration_us
        late, stays = np.flatnonzero(behind > 0), batch.ts_us >= since_us  # others leave with a later row of the batch
        parts = sections.parts(batch if stays.all() else batch.take(stays))
        leaving = (section.expiry.before(since_us) for section in sections)
        return Admission(with_leavers(sections, parts, leaving), late, behind[late])

    def _of_groups(self, section: Section, batch: ReadingBatch) -> Admission:
        batch = section.with_codes(batch)
        segments, behind = section.segments, np.empty(len(batch.ts_us), np.int64)
        filled = segments.tail > segments.head
        latest = np.full(len(filled), NOTHING_YET)
        latest[filled] = segments.ts[segments.tail[filled] - 1]
        for code, rows in rows_of_groups(batch.group):
            behind[rows] = behind_time_scope(batch.ts_us[rows], int(latest[code]), self._duration_us)
        np.maximum.at(latest, batch.group, batch.ts_us)
        since_us = latest - self._duration_us
        late, stays = np.flatnonzero(behind > 0), batch.ts_us >= since_us[batch.group]
        part = SectionPart.of(section, batch if stays.all() else batch.take(stays), np.flatnonzero(stays))
        part.leaving = _before(segments, since_us)
        return Admission([part], late, behind[late])


def _before(segments: Segments, since_us: Int64Array) -> Int64Array:
    """Return how many readings of each group lie before an instant, int64 (G,)."""
    leaving = np.zeros(len(since_us), np.int64)
    some = np.flatnonzero(segments.tail > segments.head)
    some = some[segments.ts[segments.head[some]] < since_us[some]]
    leaving[some] = np.array(segments.first_from(since_us, some), np.int64) - segments.head[some]
    return leaving


def parts_before(sections: Sections[Any], us: int) -> list[SectionPart[Any]]:
    """Return what it does to the sections if all readings before an instant leave."""
    if sections.first.expiry is not None:
        return with_leavers(sections, [], (section.expiry.before(us) for section in sections))
    part = SectionPart.without_rows(sections.first)
    part.leaving = _before(sections.first.segments, np.full(len(part.leaving), us))
    return [part]
