"""Pairs of facts in some of Allen's relations: each relation as a box of starts, ends and values around a fact.

A fact looks for those that start with it or later. For the relations in which the other starts first, the two change
places. Relations that stand beside each other in the table below make one box. TSQL2's OVERLAPS asks for starts alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from coincide.arrays.decimals import within
from coincide.arrays.kinds import BoolArray, Int64Array, LabelArray, PositionArray
from coincide.arrays.range_expansion import expanded_range_blocks
from coincide.temporal.allen import INVERSES
from coincide.temporal.box_search import FEW, Boxes, Points, PositionPairs, points_in_boxes
from coincide.temporal.facts import Facts
from coincide.temporal.intervals import Intervals

# a row says where the other starts: with us, before our end, at our end, later;
# a column where it ends: before us, with us, later
_BY_START_AND_END = (
    ("started by", "equals", "starts"),
    ("contains", "finished by", "overlaps"),
    ("meets", "meets", "meets"),
    ("before", "before", "before"),
)
_OTHER_STARTS_FIRST = frozenset(INVERSES[each] for row in _BY_START_AND_END[1:] for each in row)


@dataclass(frozen=True)
class PairRule:
    """Which facts make a pair: the relations from left to right, how far values and whether groups may agree.

    `reach_us` takes the instants at which the later facts of pairs start. It returns until when both facts must hold,
    which never falls as the instant rises, and whether that is possible.
    """

    relations: frozenset[str]
    tolerance: float
    same_group: bool
    reach_us: Callable[[Int64Array], tuple[Int64Array, BoolArray]]


@dataclass(frozen=True)
class _Side:
    """The facts of one side that can be in a pair, by their start."""

    row: PositionArray
    start_us: Int64Array
    end_us: Int64Array
    reach_us: Int64Array
    value: LabelArray
    group: LabelArray | None

    def take(self, at: PositionArray) -> _Side:
        """Return some of the facts."""
        group = None if self.group is None else self.group[at]
        return _Side(self.row[at], self.start_us[at], self.end_us[at], self.reach_us[at], self.value[at], group)


def related_pairs(a: Facts, b: Facts | None, rule: PairRule) -> Iterator[PositionPairs]:
    """Write out the positions of the pairs in blocks, each pair once.

    `b` None joins `a` with itself: where the relations allow a pair both ways, the left fact starts first, or stands
    first of two that start together.
    """
    ours = _side(a, rule)
    theirs = ours if b is None else _side(b, rule)
    forth = rule.relations - _OTHER_STARTS_FIRST
    back = frozenset(INVERSES[each] for each in rule.relations & _OTHER_STARTS_FIRST)
    for left, right in _starting_later(ours, theirs, forth, rule.tolerance):
        kept = slice(None) if b is not None else _is_first(a.intervals, left, right, forth)
        yield left[kept], right[kept]
    for right, left in _starting_later(theirs, ours, back - forth if b is None else back, rule.tolerance):
        yield left, right


def _is_first(intervals: Intervals, left: PositionArray, right: PositionArray, relations: frozenset[str]) -> BoolArray:
    """Whether the left of two facts of one column, which starts with the right one or earlier, is the left to keep."""
    start, end = intervals.start_us, intervals.end_us
    first: BoolArray = (left < right) | (start[left] < start[right])
    if len(relations & {"starts", "started by"}) == 1:
        first |= end[left] != end[right]
    return first


def _starting_later(a: _Side, b: _Side, relations: frozenset[str], tolerance: float) -> Iterator[PositionPairs]:
    """Write out the pairs of facts of `a` and those of `b` that start with them or later."""
    if not (relations and len(a.row) and len(b.row)):
        return
    for rows, ends in _boxes(relations):
        low, high = (_start_cut(a, b, row) for row in rows)
        few = high - low <= FEW
        for left, right in expanded_range_blocks(low, np.where(few, high, low)):
            kept = np.flatnonzero(_alike(a, b, left, right, ends, tolerance))
            yield a.row[left[kept]], b.row[right[kept]]
        if len(many := np.flatnonzero(~few)):
            yield from _searched(a.take(many), b, (low[many], high[many]), ends, tolerance)


def _start_cut(a: _Side, b: _Side, row: int) -> PositionArray:
    """Return where the given row of the table begins among the facts of `b`, for each fact of `a`."""
    if row == 4:
        return np.full(len(a.row), len(b.row))
    if row == 2:
        return np.searchsorted(b.reach_us, a.end_us, side="right")
    return np.searchsorted(b.start_us, a.end_us if row == 3 else a.start_us, side="right" if row else "left")


def _alike(
    a: _Side, b: _Side, left: PositionArray, right: PositionArray, ends: tuple[int, int], tolerance: float
) -> BoolArray:
    """Whether pairs that start as they must also end so, and have values and groups that fit."""
    ours, theirs = a.value[left], b.value[right]
    alike = within(ours, theirs, tolerance)
    if ends != (0, 3):
        column = (b.end_us[right] >= a.end_us[left]).astype(np.int8) + (b.end_us[right] > a.end_us[left])
        alike &= (ends[0] <= column) & (column < ends[1])
    if a.group is not None and b.group is not None:
        alike &= a.group[left] != b.group[right]
    return alike


def _searched(
    a: _Side, b: _Side, start_range: PositionPairs, ends: tuple[int, int], tolerance: float
) -> Iterator[PositionPairs]:
    """Write out the pairs of facts of `a` that have many facts of `b` in their range of starts."""
    coordinates, ranges = [np.arange(len(b.row))], [start_range]
    if ends != (0, 3):
        end_us, position = _ordered(b.end_us)
        coordinates.append(position)
        ranges.append((_end_cut(end_us, a, ends[0]), _end_cut(end_us, a, ends[1])))
    if tolerance > 0:
        value, position = _ordered(b.value)
        coordinates.append(position)
        ranges.append(_similar(a.value, value, tolerance))
        code = np.zeros(len(a.row) + len(b.row), np.intp)
    else:
        code = np.unique(np.concatenate((a.value, b.value)), return_inverse=True)[1]
    points = Points(b.row, code[len(a.row) :], tuple(coordinates), b.group)
    yield from points_in_boxes(points, Boxes(a.row, code[: len(a.row)], tuple(ranges), a.group))


def _end_cut(end_us: Int64Array, a: _Side, column: int) -> PositionArray:
    """Return where the given column of the table begins among ends in order, for each fact of `a`."""
    if column in {0, 3}:
        return np.full(len(a.row), column and len(end_us))
    return np.searchsorted(end_us, a.end_us, side="left" if column == 1 else "right")


def _ordered(values: LabelArray) -> tuple[LabelArray, PositionArray]:
    """Return the values in ascending order, and the position of each row among them."""
    order = np.argsort(values)
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return values[order], position


def _boxes(relations: frozenset[str]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the rows and the columns of the table, the last excluded, that the relations fill."""
    filled = [tuple(each in relations for each in row) for row in _BY_START_AND_END]
    for columns, rows in groupby(range(4), key=filled.__getitem__):
        alike_rows = list(rows)
        for is_filled, ends in groupby(range(3), key=columns.__getitem__):
            filled_ends = list(ends)
            if is_filled:
                yield (alike_rows[0], alike_rows[-1] + 1), (filled_ends[0], filled_ends[-1] + 1)


def _side(facts: Facts, rule: PairRule) -> _Side:
    """Return the facts that can be in a pair by their start: held for long enough, with a value other than NaN."""
    order = np.argsort(facts.intervals.start_us, kind="stable")
    start, end, value = facts.intervals.start_us[order], facts.intervals.end_us[order], facts.value[order]
    reach, can_pair = rule.reach_us(start)
    can_pair &= reach <= end
    if value.dtype.kind == "f":
        can_pair &= ~np.isnan(value)
    side = _Side(order, start, end, reach, value, None if rule.same_group else facts.group[order])
    return side if can_pair.all() else side.take(np.flatnonzero(can_pair))


def _similar(ours: LabelArray, theirs: LabelArray, tolerance: float) -> PositionPairs:
    """Return, for each of our values, which range of their sorted values is within the tolerance or equal."""
    distinct, at = np.unique(ours, return_inverse=True)
    low = _first_position(len(theirs), distinct, lambda value, nth: ~_is_above(value, theirs[nth], tolerance))
    high = _first_position(len(theirs), distinct, lambda value, nth: _is_above(theirs[nth], value, tolerance))
    return low[at], high[at]


def _is_above(high: LabelArray, low: LabelArray, tolerance: float) -> BoolArray:
    """Whether values lie above others by more than the tolerance; once true it stays so for all that are higher."""
    return np.asarray((high > low) & ~within(high, low, tolerance))


def _first_position(
    n: int, values: LabelArray, holds: Callable[[LabelArray, PositionArray], BoolArray]
) -> PositionArray:
    """Return from which position of 0 to n - 1 on a condition holds for each value; n says that it never does."""
    low, high = np.zeros(len(values), np.intp), np.full(len(values), n)
    while (unknown := np.flatnonzero(low < high)).size:
        middle = (low[unknown] + high[unknown]) // 2
        held = holds(values[unknown], middle)
        high[unknown[held]] = middle[held]
        low[unknown[~held]] = middle[~held] + 1
    return low
