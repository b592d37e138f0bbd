"""The temporal join: facts of about the same value that hold at the same time in different groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from coincide.arrays.kinds import BoolArray, PositionArray
from coincide.arrays.numbers import is_number
from coincide.arrays.range_expansion import expanded_range_blocks
from coincide.errors import IntervalError
from coincide.temporal.durations import checked_duration
from coincide.temporal.facts import Facts
from coincide.temporal.intervals import Intervals
from coincide.temporal.sliding_windows import SlidingWindows, in_windows

PositionPairs = tuple[PositionArray, PositionArray]  # of a left and of a right fact


@dataclass(frozen=True)
class JoinedFacts:
    """Positions of pairs of facts, ordered by (left, right), and when both hold: an end is open where both ends are."""

    left: PositionArray
    right: PositionArray
    intervals: Intervals


@dataclass(frozen=True)
class WindowedPairs:
    """Positions of windows and of pairs of facts in them, by (window, left, right), and when both hold inside it."""

    window: PositionArray
    left: PositionArray
    right: PositionArray
    intervals: Intervals


def temporal_join(
    a: Facts, b: Facts | None = None, *, tolerance: float = 0.0, at_least_us: int = 1, same_group: bool = False
) -> JoinedFacts:
    """Join facts that overlap (TSQL2's OVERLAPS), with values within a tolerance.

    An IntervalError says that texts meet numbers, that a tolerance is below 0 or given for texts, or that `at_least_us`
    is below 1.

    Parameters
    ----------
    a, b : Facts
        Coalesced. `b` None joins `a` with itself, each pair once: the left fact is the one that starts first.
    tolerance : float
        How far values may differ; texts must be equal.
    at_least_us : int
        How long both must hold together. A pair that still holds has no end yet, and passes.
    same_group : bool
        Whether facts of one group may be joined with each other.

    Examples
    --------
    >>> humid = Facts([0, 3, 4], [5, 9, 8], group=["north", "south", "south"], value=[60.0, 61.0, 75.0])
    >>> pairs = temporal_join(humid, tolerance=2.0)
    >>> pairs.left.tolist(), pairs.right.tolist(), pairs.intervals.start_us.tolist(), pairs.intervals.end_us.tolist()
    ([0], [1], [3], [5])
    """
    others = a if b is None else b
    _check_comparable(a, others, tolerance)
    checked_duration("at_least_us", at_least_us)
    blocks = _overlapping(a.intervals) if b is None else _overlapping_both(a.intervals, b.intervals)
    pairs = [(np.empty(0, np.intp), np.empty(0, np.intp))]
    for left, right in blocks:
        kept = _similar(a, others, left, right, tolerance)
        if not same_group:
            kept &= a.group[left] != others.group[right]
        pairs.append((left[kept], right[kept]))
    return _lasting(a, others, pairs, at_least_us)


def join_in_windows(
    a: Facts, b: Facts | None, windows: SlidingWindows, *,
    tolerance: float = 0.0, at_least_us: int = 1, same_group: bool = False,
) -> WindowedPairs:  # fmt: skip
    """Return what `temporal_join` finds in each window: the paper's Example 1.

    Facts are cut to the window, and must hold together for `at_least_us` inside it.

    Examples
    --------
    >>> humid = Facts([0, 3], [5, 9], group=["north", "south"], value=[60.0, 61.0])
    >>> pairs = join_in_windows(humid, None, SlidingWindows([4, 8], size_us=6), tolerance=2.0, at_least_us=2)
    >>> pairs.window.tolist(), pairs.intervals.start_us.tolist(), pairs.intervals.end_us.tolist()
    ([1], [3], [5])
    """
    joined = temporal_join(a, b, tolerance=tolerance, at_least_us=at_least_us, same_group=same_group)
    parts = in_windows(joined.intervals, windows)
    long_enough = np.flatnonzero(parts.intervals.end_us - parts.intervals.start_us >= at_least_us)
    order = long_enough[np.argsort(parts.window[long_enough], kind="stable")]
    row = parts.row[order]
    return WindowedPairs(parts.window[order], joined.left[row], joined.right[row], parts.intervals.take(order))


def _overlapping(intervals: Intervals) -> Iterator[PositionPairs]:
    """Write out the pairs of one column that overlap, each once: those that start in the time of an earlier row."""
    order = np.argsort(intervals.start_us, kind="stable")
    sorted_us = intervals.start_us[order]
    stop = np.searchsorted(sorted_us, intervals.end_us[order], side="left")  # after the row itself
    for left, right in expanded_range_blocks(np.arange(1, len(order) + 1), stop):
        yield order[left], order[right]


def _overlapping_both(a: Intervals, b: Intervals) -> Iterator[PositionPairs]:
    """Write out the pairs of two columns that overlap: b starts in the time of a, or a strictly inside that of b."""
    yield from _starting_inside(a, b, side="left")
    for right, left in _starting_inside(b, a, side="right"):
        yield left, right


def _starting_inside(a: Intervals, b: Intervals, side: Literal["left", "right"]) -> Iterator[PositionPairs]:
    order = np.argsort(b.start_us, kind="stable")
    sorted_us = b.start_us[order]
    start = np.searchsorted(sorted_us, a.start_us, side=side)
    for row, at in expanded_range_blocks(start, np.searchsorted(sorted_us, a.end_us, side="left")):
        yield row, order[at]


def _similar(a: Facts, b: Facts, left: PositionArray, right: PositionArray, tolerance: float) -> BoolArray:
    ours, theirs = a.value[left], b.value[right]
    same = np.asarray(ours == theirs)
    if tolerance == 0:
        return same
    with np.errstate(invalid="ignore"):  # infinite values are equal or too far apart
        return np.asarray(same | (np.abs(np.subtract(ours, theirs, dtype=np.float64)) <= tolerance))


def _lasting(a: Facts, b: Facts, pairs: list[PositionPairs], at_least_us: int) -> JoinedFacts:
    left, right = map(np.concatenate, zip(*pairs, strict=True))
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    start = np.maximum(a.intervals.start_us[left], b.intervals.start_us[right])
    end = np.minimum(a.intervals.end_us[left], b.intervals.end_us[right])
    kept = np.flatnonzero(end - at_least_us >= start)
    return JoinedFacts(left[kept], right[kept], Intervals(start[kept], end[kept]))


def _check_comparable(a: Facts, b: Facts, tolerance: float) -> None:
    if not is_number(tolerance) or tolerance < 0:
        raise IntervalError("tolerance", tolerance, "a finite number, at least 0")
    both = [facts for facts in (a, b) if len(facts)]
    if tolerance > 0 and any(facts.value.dtype.kind == "U" for facts in both):
        raise IntervalError("tolerance", tolerance, "0 for values that are texts")
    for name in ("value", "group"):
        if len({getattr(facts, name).dtype.kind == "U" for facts in both}) > 1:
            raise IntervalError(name, "texts on one side, numbers on the other", "one kind on both")
