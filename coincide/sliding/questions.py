"""What a query may ask of each of its windows, and the answers over the runs of their extent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import Int64Array
from coincide.sliding.rules import RunRule
from coincide.temporal.fact_joins import join_in_windows
from coincide.temporal.facts import Facts
from coincide.temporal.intervals import Intervals
from coincide.temporal.sliding_windows import SlidingWindows, in_windows


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


def answers(question: Question, runs: Facts, windows: SlidingWindows, rule: RunRule) -> Answers:
    """Answer a question about each window; the runs were coalesced by the rule, and no end is open."""
    if isinstance(question, Similar):
        return _similar(question, runs, windows, rule)
    parts = in_windows(runs.intervals, windows)
    lasting = parts.intervals.end_us - parts.intervals.start_us
    group: Int64Array = runs.group[parts.row]
    if isinstance(question, Lasting):
        chosen = np.lexsort((parts.intervals.start_us, group, parts.window))
        chosen = chosen[lasting[chosen] >= question.lasting_us]
    else:
        order = np.lexsort((parts.intervals.start_us, -lasting, group, parts.window))
        same = (np.diff(group[order]) == 0) & (np.diff(parts.window[order]) == 0)
        chosen = order[np.append(np.ones(min(1, len(order)), np.bool_), ~same)]
    return Answers(windows.end_us[parts.window[chosen]], (group[chosen],), parts.intervals.take(chosen))


def _similar(question: Similar, runs: Facts, windows: SlidingWindows, rule: RunRule) -> Answers:
    worth = Facts(runs.intervals.start_us, runs.intervals.end_us, runs.group, rule.value_of(runs.value))
    pairs = join_in_windows(worth, None, windows, tolerance=question.within, at_least_us=question.lasting_us)
    groups = runs.group[pairs.left], runs.group[pairs.right]
    return Answers(windows.end_us[pairs.window], groups, pairs.intervals)
