"""What a query may ask of each of its windows, and the answers over the runs of their extent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from coincide.arrays.kinds import Int64Array, PositionArray
from coincide.arrays.range_expansion import pairs_in
from coincide.joins.search.work import WHATEVER_IT_TAKES, SearchWork
from coincide.sliding.rules import RunRule
from coincide.temporal.fact_joins import join_in_windows
from coincide.temporal.facts import Facts
from coincide.temporal.intervals import Intervals
from coincide.temporal.sliding_windows import InWindows, SlidingWindows, cut_to_ranges, window_ranges

#: A block of rows, with what sorting them needs, takes some 40 MB, and a fraction of a second.
ROWS_AT_ONCE = 262_144


@dataclass(frozen=True)
class Longest:
    """The longest run of each group in the window, the first of equally long ones (the paper's Example 2)."""


@dataclass(frozen=True)
class Lasting:
    """Every run that lasts at least so long inside the window (Example 4)."""

    lasting_us: int


@dataclass(frozen=True)
class Similar:
    """Runs of two groups, their values at most `within` apart, that hold together so long in the window (Example 1)."""

    within: float
    lasting_us: int


Question = Longest | Lasting | Similar


@dataclass(frozen=True)
class Answers:
    """Answers in columns of length n, by window."""

    window_end_us: Int64Array
    groups: tuple[Int64Array, ...]  # whose run it is; of a join the groups of both
    intervals: Intervals  # inside the window

    def __len__(self) -> int:
        return len(self.window_end_us)


def answers(
    question: Question,
    runs: Facts,
    windows: SlidingWindows,
    rule: RunRule,
    work: SearchWork = WHATEVER_IT_TAKES,
) -> Iterator[Answers]:
    """Answer a question about each window, in blocks of windows in their order; no more rows than need be are held.

    The runs were coalesced by the rule, and no end is open. `work` is asked before each block, and told how many
    answers it has before they are kept.
    """
    if isinstance(question, Similar):
        yield _similar(question, runs, windows, rule, work)
        return
    lasting_us = question.lasting_us if isinstance(question, Lasting) else 1
    reached = window_ranges(runs.intervals, windows, lasting_us)
    work.hold(_count(question, runs, reached))
    for first, last in _blocks(reached, len(windows)):
        work.check()
        inside = (np.clip(each, first, last) for each in reached)
        yield _of_groups(question, runs, windows, cut_to_ranges(runs.intervals, windows, *inside))


Reached = tuple[PositionArray, PositionArray]
"""Of each run, the windows [first, beyond) in which it has a part that is long enough."""


def _blocks(reached: Reached, windows: int) -> Iterator[tuple[int, int]]:
    """Cut the windows so that few runs are in those of a block together; one window may have more."""
    begin, end = (np.bincount(each, minlength=windows + 1) for each in reached)
    rows = np.cumsum(np.cumsum(begin - end)[:windows])
    cuts = np.searchsorted(rows, np.arange(ROWS_AT_ONCE, rows[-1] if len(rows) else 0, ROWS_AT_ONCE), side="right")
    yield from pairwise(np.unique([0, *cuts.tolist(), windows]).tolist())


def _count(question: Longest | Lasting, runs: Facts, reached: Reached) -> int:
    """Return how many answers there are, without making them."""
    if isinstance(question, Lasting):
        return pairs_in(*reached)
    first, beyond = reached
    order = np.lexsort((first, runs.group))
    code = np.unique(runs.group[order], return_inverse=True)[1]
    apart = code * (beyond.max(initial=0) + 1)  # no window of two groups
    first, beyond = first[order] + apart, np.maximum.accumulate(beyond[order] + apart)
    return pairs_in(np.maximum(first, np.append(first[:1], beyond[:-1])), beyond)


def _of_groups(question: Longest | Lasting, runs: Facts, windows: SlidingWindows, parts: InWindows) -> Answers:
    group: Int64Array = runs.group[parts.row]
    if isinstance(question, Lasting):
        chosen = np.lexsort((parts.intervals.start_us, group, parts.window))
    else:
        lasting = parts.intervals.end_us - parts.intervals.start_us
        order = np.lexsort((parts.intervals.start_us, -lasting, group, parts.window))
        same = (np.diff(group[order]) == 0) & (np.diff(parts.window[order]) == 0)
        chosen = order[np.append(np.ones(min(1, len(order)), np.bool_), ~same)]
    return Answers(windows.end_us[parts.window[chosen]], (group[chosen],), parts.intervals.take(chosen))


def _similar(question: Similar, runs: Facts, windows: SlidingWindows, rule: RunRule, work: SearchWork) -> Answers:
    worth = Facts(runs.intervals.start_us, runs.intervals.end_us, runs.group, rule.value_of(runs.value))
    pairs = join_in_windows(worth, None, windows, tolerance=question.within, at_least_us=question.lasting_us, work=work)
    groups = runs.group[pairs.left], runs.group[pairs.right]
    return Answers(windows.end_us[pairs.window], groups, pairs.intervals)
