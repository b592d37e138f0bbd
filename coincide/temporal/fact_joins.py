"""The temporal join: facts of about the same value in different groups, in some of Allen's relations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array, PositionArray
from coincide.arrays.numbers import is_number
from coincide.arrays.range_expansion import pairs_in
from coincide.errors import IntervalError
from coincide.joins.search.work import WHATEVER_IT_TAKES, SearchWork
from coincide.temporal.allen import ALLEN, APART, OVERLAPPING
from coincide.temporal.durations import checked_duration, lasting_until
from coincide.temporal.fact_pairs import PairRule, related_pairs
from coincide.temporal.facts import Facts
from coincide.temporal.intervals import NOW_US, Intervals
from coincide.temporal.sliding_windows import SlidingWindows, cut_to_ranges, window_ranges


@dataclass(frozen=True)
class JoinedFacts:
    """Positions of pairs of facts, the later start of each pair and its earlier end.

    Between the two both facts hold. An end is open where both ends are. Of facts that are apart, the end comes first,
    or at the same instant where they meet: nothing holds from it to the start.
    """

    left: PositionArray
    right: PositionArray
    start_us: Int64Array
    end_us: Int64Array

    @property
    def intervals(self) -> Intervals:
        """When both facts hold; an IntervalError says that some are apart."""
        return Intervals(self.start_us, self.end_us)


@dataclass(frozen=True)
class WindowedPairs:
    """Positions of windows and of pairs of facts in them, by (window, left, right), and when both hold inside it."""

    window: PositionArray
    left: PositionArray
    right: PositionArray
    intervals: Intervals


def temporal_join(
    a: Facts,
    b: Facts | None = None,
    *,
    relations: str | Iterable[str] = OVERLAPPING,
    tolerance: float = 0.0,
    at_least_us: int = 1,
    same_group: bool = False,
) -> JoinedFacts:
    """Join facts that stand in given relations of Allen, with values within a tolerance; pairs by (left, right).

    With n facts and k pairs the work grows with k plus n log(n)^d. The least d is 1; it is one more for a tolerance
    above 0, and one more for relations that tie both the start and the end of the other fact, unless nothing but
    `OVERLAPPING` is asked for. Long facts that make few pairs cost little, as do many facts of one group.

    An IntervalError says that texts meet numbers, that a tolerance is below 0 or given for texts, that a relation is
    none of the thirteen, or that `at_least_us` is below 1, or above 1 for facts that are apart.

    Parameters
    ----------
    a, b : Facts
        Coalesced. `b` None joins `a` with itself. Where the relations allow a pair both ways, it comes once: the left
        fact is the one that starts first, or stands first of two that start together.
    relations : str or iterable of str
        What the left fact may be to the right one: names as in `ALLEN`. By default they have an instant in common,
        which is TSQL2's OVERLAPS; Allen's "overlaps" is narrower.
    tolerance : float
        How far values may differ, compared as decimals as `Bounded` does; texts must be equal.
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
    >>> during = temporal_join(humid, relations="during", tolerance=20.0, same_group=True)
    >>> during.left.tolist(), during.right.tolist()
    ([2], [1])
    """
    blocks = temporal_join_blocks(
        a, b, relations=relations, tolerance=tolerance, at_least_us=at_least_us, same_group=same_group
    )
    pairs = [(np.empty(0, np.intp),) * 2, *((block.left, block.right) for block in blocks)]
    left, right = map(np.concatenate, zip(*pairs, strict=True))
    order = np.lexsort((right, left))
    return _joined(a, a if b is None else b, left[order], right[order])


def temporal_join_blocks(
    a: Facts,
    b: Facts | None = None,
    *,
    relations: str | Iterable[str] = OVERLAPPING,
    tolerance: float = 0.0,
    at_least_us: int = 1,
    same_group: bool = False,
) -> Iterator[JoinedFacts]:
    """Join as `temporal_join` does, in parts for answers that need not fit in memory.

    A part has at most about 64k pairs and as many as there are facts. Parts and the pairs in them have no order.
    """
    names = _checked_relations(relations)
    checked_duration("at_least_us", at_least_us)
    if at_least_us > 1 and names & APART:
        raise IntervalError("at_least_us", at_least_us, "1 for facts that are apart: they hold at no time together")
    return _blocks(a, b, names, None, tolerance, at_least_us, same_group)


def join_in_windows(
    a: Facts,
    b: Facts | None,
    windows: SlidingWindows,
    *,
    relations: str | Iterable[str] = OVERLAPPING,
    tolerance: float = 0.0,
    at_least_us: int = 1,
    same_group: bool = False,
    work: SearchWork = WHATEVER_IT_TAKES,
) -> WindowedPairs:
    """Return what `temporal_join` finds in each window: the paper's Example 1.

    Facts are cut to the window, and must hold together for `at_least_us` inside it. The relations are those of whole
    facts, and of facts that have an instant in common: an IntervalError says so. Pairs that are in no window cost
    nothing. `work` is asked before each block of pairs, and told how many rows the answer has before they are made.

    Examples
    --------
    >>> humid = Facts([0, 3], [5, 9], group=["north", "south"], value=[60.0, 61.0])
    >>> pairs = join_in_windows(humid, None, SlidingWindows([4, 8], size_us=6), tolerance=2.0, at_least_us=2)
    >>> pairs.window.tolist(), pairs.intervals.start_us.tolist(), pairs.intervals.end_us.tolist()
    ([1], [3], [5])
    """
    names = _checked_relations(relations)
    checked_duration("at_least_us", at_least_us)
    if apart := names & APART:
        raise IntervalError("relations", ", ".join(sorted(apart)), "of facts that have an instant in common")
    columns = [(np.empty(0, np.intp),) * 5]
    for joined in _blocks(a, b, names, windows, tolerance, at_least_us, same_group):
        work.check()
        reached = window_ranges(joined.intervals, windows, at_least_us)
        work.hold(pairs_in(*reached))
        parts = cut_to_ranges(joined.intervals, windows, *reached)
        ends = parts.intervals.start_us, parts.intervals.end_us
        columns.append((parts.window, joined.left[parts.row], joined.right[parts.row], *ends))
    window, left, right, start, end = map(np.concatenate, zip(*columns, strict=True))
    order = np.lexsort((right, left, window))
    return WindowedPairs(window[order], left[order], right[order], Intervals(start[order], end[order]))


def _blocks(
    a: Facts,
    b: Facts | None,
    relations: frozenset[str],
    windows: SlidingWindows | None,
    tolerance: float,
    at_least_us: int,
    same_group: bool,
) -> Iterator[JoinedFacts]:
    others = a if b is None else b
    _check_comparable(a, others, tolerance)
    rule = PairRule(relations, tolerance, same_group, lambda start_us: _reach(start_us, windows, at_least_us))
    pairs = related_pairs(a, b, rule)
    return (_joined(a, others, left, right) for left, right in pairs if len(left))


def _reach(start_us: Int64Array, windows: SlidingWindows | None, at_least_us: int) -> tuple[Int64Array, BoolArray]:
    """Return until when facts must hold that hold together from the given instants on, and whether a window has room.

    The first window that ends late enough is the one that begins earliest.
    """
    reach = lasting_until(start_us, at_least_us)
    if windows is None:
        return reach, np.ones(len(start_us), bool)
    nth = np.searchsorted(windows.end_us, reach)
    can_pair = (nth < len(windows)) & (at_least_us <= windows.size_us)
    begin = np.append(windows.start_us, NOW_US - at_least_us)[nth]
    return np.maximum(reach, begin + at_least_us), can_pair


def _joined(a: Facts, b: Facts, left: PositionArray, right: PositionArray) -> JoinedFacts:
    start = np.maximum(a.intervals.start_us[left], b.intervals.start_us[right])
    end = np.minimum(a.intervals.end_us[left], b.intervals.end_us[right])
    return JoinedFacts(left, right, start, end)


def _checked_relations(relations: str | Iterable[str]) -> frozenset[str]:
    names = frozenset([relations] if isinstance(relations, str) else relations)
    if not names or names - ALLEN.keys():
        raise IntervalError("relations", ", ".join(sorted(map(str, names))), f"at least one of {', '.join(ALLEN)}")
    return names


def _check_comparable(a: Facts, b: Facts, tolerance: float) -> None:
    if not is_number(tolerance) or tolerance < 0:
        raise IntervalError("tolerance", tolerance, "a finite number, at least 0")
    both = [facts for facts in (a, b) if len(facts)]
    if tolerance > 0 and any(facts.value.dtype.kind == "U" for facts in both):
        raise IntervalError("tolerance", tolerance, "0 for values that are texts")
    for name in ("value", "group"):
        if len({getattr(facts, name).dtype.kind == "U" for facts in both}) > 1:
            raise IntervalError(name, "texts on one side, numbers on the other", "one kind on both")
