"""Where to cut rows that lie sorted in files, by what the files say of themselves: nobody reads a row for it.

The rows of a file are sorted by (area, time), its key. A file says of each of its groups of rows which areas and times
it has. Tasks get ranges of keys: many small areas, or a stretch of one large area's time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

BEGINNING_US, END_US = -(1 << 62), 1 << 62


class Key(NamedTuple):
    """Where a row lies in a sorted file."""

    area: str
    time_us: int


class RowGroup(NamedTuple):
    """Some successive rows of a file, by the least and the greatest area and time among them."""

    file: str
    number: int
    rows: int
    first_area: str
    last_area: str
    first_us: int
    last_us: int


@dataclass(frozen=True)
class KeyRange:
    """What one task owns, and what it sees beyond that.

    It owns the rows of its own files with ``first <= key < end`` (None: without end). It sees as much of later files,
    up to `reach_us` after its own ones, and up to `reach_us` beyond its end; and `back_us` before.
    """

    own: tuple[RowGroup, ...]
    beside: tuple[RowGroup, ...]
    first: Key
    end: Key | None
    first_us: int
    last_us: int
    reach_us: int
    back_us: int

    @property
    def seen(self) -> tuple[Key, Key | None]:
        """The range of keys that it sees."""
        end = None if self.end is None else Key(self.end.area, self.end.time_us + self.reach_us)
        return Key(self.first.area, self.first.time_us - self.back_us), end

    @property
    def rows(self) -> int:
        """How many rows the groups have of which it reads some."""
        return sum(group.rows for group in (*self.own, *self.beside))

    def may_see(self, group: RowGroup) -> bool:
        """Whether some row of the group may be in the range that it sees."""
        first, end = self.seen
        if group.last_us < self.first_us - self.back_us or group.first_us > self.last_us + self.reach_us:
            return False
        begins = group.last_area > first.area or (group.last_area, group.last_us) >= first
        return begins and (end is None or group.first_area < end.area or (group.first_area, group.first_us) < end)


def key_ranges(groups: Sequence[RowGroup], reach_us: int, task_rows: int, back_us: int = 0) -> Iterator[KeyRange]:
    """Yield the ranges of files of which each area may be in all.

    Files that follow one another in time, such as those of days, are cut for themselves; they see each other's rows.

    Examples
    --------
    One file of a day, sorted by area: the large one, "b", is cut by time.

    >>> of_day = [
    ...     RowGroup("day", 0, 100, "a", "b", 0, 50),
    ...     RowGroup("day", 1, 100, "b", "b", 20, 40),
    ...     RowGroup("day", 2, 100, "b", "c", 0, 50),
    ... ]
    >>> [(range.first.area, range.end) for range in key_ranges(of_day, reach_us=5, task_rows=100)]
    [('a', Key(area='b', time_us=20)), ('b', Key(area='b', time_us=4611686018427387904)), ('b', None)]
    """
    clusters = _in_time(groups)
    for own in clusters:
        first_us, last_us = min(group.first_us for group in own), max(group.last_us for group in own)
        near = [group for cluster in clusters if cluster is not own for group in cluster]
        near = [group for group in near if first_us - back_us <= group.last_us and group.first_us <= last_us + reach_us]
        borders = _borders(own, reach_us, task_rows)
        for first, end in zip(borders, [*borders[1:], None], strict=True):
            empty = KeyRange((), (), first, end, first_us, last_us, reach_us, back_us)
            seen = tuple(group for group in own if empty.may_see(group))
            beside = tuple(group for group in near if empty.may_see(group))
            if seen:
                yield replace(empty, own=seen, beside=beside)


def _in_time(groups: Sequence[RowGroup]) -> list[list[RowGroup]]:
    """Put files together that overlap in time; each list lies behind the one before it."""
    files: dict[str, list[RowGroup]] = {}
    for group in groups:
        files.setdefault(group.file, []).append(group)
    clusters: list[list[RowGroup]] = []
    latest_us = BEGINNING_US
    for of_file in sorted(files.values(), key=lambda each: min(group.first_us for group in each)):
        if not clusters or min(group.first_us for group in of_file) > latest_us:
            clusters.append([])
        clusters[-1] += of_file
        latest_us = max(latest_us, *(group.last_us for group in of_file))
    return clusters


def _borders(groups: Sequence[RowGroup], reach_us: int, task_rows: int) -> list[Key]:
    """Return the first key of each task; tasks are alike, and have no more rows than these, about."""
    total = sum(group.rows for group in groups)
    task_rows = -(-total // -(-total // max(task_rows, 1)))
    least = min(group.first_area for group in groups)
    borders, rows = [Key(least, BEGINNING_US)], 0
    last_area = {(group.file, group.number): group.last_area for group in groups}
    before = [last_area.get((group.file, group.number - 1)) for group in groups]
    pieces = (_pieces(group, area, task_rows) for group, area in zip(groups, before, strict=True))
    for key, count in sorted(chain.from_iterable(pieces)):
        last = borders[-1]
        is_apart = key.area != last.area or key.time_us - last.time_us > reach_us
        if rows >= task_rows and key > last and is_apart:
            borders.append(key)
            rows = 0
        rows += count
    return borders


def _pieces(group: RowGroup, area_before: str | None, task_rows: int) -> Iterator[tuple[Key, int]]:
    """Yield where a group may be cut, and how many rows are there until the next such place, about.

    Of a group of several areas nobody knows the time at which it begins. If its first area goes on from the group
    before, it is cut behind that area, else before it.
    """
    if group.first_area != group.last_area:
        yield Key(group.first_area, END_US if group.first_area == area_before else BEGINNING_US), group.rows
        return
    pieces = max(1, min(-(-group.rows // max(task_rows, 1)), group.last_us - group.first_us + 1))
    for nth in range(pieces):
        at_us = group.first_us + (group.last_us - group.first_us) * nth // pieces
        yield Key(group.first_area, at_us), group.rows // pieces
