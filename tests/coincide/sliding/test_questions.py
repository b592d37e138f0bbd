"""Windows and their answers in blocks: the same as all at once, and counted before they are made."""

from collections.abc import Iterator
from contextlib import ExitStack
from unittest.mock import Mock, patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Equal
from coincide.joins.search.work import SearchWork
from coincide.sliding import questions
from coincide.sliding.questions import Lasting, Longest, Question, Similar, answers
from coincide.sliding.rules import RunRule, windows_due
from coincide.temporal import fact_joins, sliding_windows
from coincide.temporal.facts import Facts
from coincide.temporal.intervals import Intervals
from tests.examples import examples

RULE = RunRule(hold_us=5, equivalence=Equal())
spans = st.tuples(st.integers(0, 60), st.integers(1, 25)).map(lambda each: (each[0], each[0] + each[1]))
asked = st.sampled_from([Longest(), Lasting(1), Lasting(4), Similar(0.0, 2), Similar(1.0, 1)])


class Counted(SearchWork):
    def __init__(self) -> None:
        self.held = 0

    def hold(self, count: int) -> None:
        self.held += count


def runs_of(groups: list[list[tuple[int, int]]]) -> Facts:
    """Return runs that do not meet within a group."""
    columns = list[tuple[int, int, int, float]]()
    for group, of_group in enumerate(groups):
        last = -1
        for start, end in sorted(of_group):
            if start > last:
                columns.append((start, end, group, float(start % 3)))
                last = end
    starts, ends, codes, values = (np.array([row[nth] for row in columns], kind) for nth, kind in enumerate("qqqd"))
    return Facts(starts, ends, codes, values)


def answered(question: Question, runs: Facts, work: SearchWork, at_once: int) -> Iterator[tuple[int, ...]]:
    for windows in windows_due(runs.intervals, 5, 70, time_us=12, slide_us=4, at_once=at_once):
        for block in answers(question, runs, windows, RULE, work):
            columns = block.window_end_us, *block.groups, block.intervals.start_us, block.intervals.end_us
            yield from zip(*(column.tolist() for column in columns), strict=True)


@settings(max_examples=examples(150), deadline=None)
@given(asked, st.lists(st.lists(spans, max_size=5), max_size=4), st.integers(1, 5))
def test_blocks_change_no_answer_and_all_are_counted(
    question: Question, groups: list[list[tuple[int, int]]], at_once: int
) -> None:
    runs, whole, parted = runs_of(groups), Counted(), Counted()
    expected = list(answered(question, runs, whole, 1_000))
    with patch.object(questions, "ROWS_AT_ONCE", 3):
        assert list(answered(question, runs, parted, at_once)) == expected
    assert whole.held == parted.held == len(expected)


@pytest.mark.parametrize("question", [Longest(), Lasting(4), Similar(1.0, 2)])
def test_which_windows_each_run_reaches_is_computed_once(question: Question) -> None:
    """However many blocks of windows there are: finding it takes as long as cutting a block."""
    runs = runs_of([[(0, 9), (20, 60)], [(3, 30), (40, 70)]])
    found = Mock(wraps=sliding_windows.window_ranges)
    with ExitStack() as stack:
        for module in (questions, fact_joins, sliding_windows):
            stack.enter_context(patch.object(module, "window_ranges", found))
        stack.enter_context(patch.object(questions, "ROWS_AT_ONCE", 3))
        assert len(list(answered(question, runs, Counted(), 1_000))) > 9
    assert found.call_count == 1


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(spans, max_size=6), st.integers(-10, 40), st.integers(0, 60), st.integers(1, 4))
def test_the_windows_due_are_those_that_hold_something(
    facts: list[tuple[int, int]], after: int, more: int, at_once: int
) -> None:
    start, end = zip(*facts, strict=True) if facts else ((), ())
    intervals = Intervals(np.array(start, np.int64), np.array(end, np.int64))
    blocks = [each.end_us.tolist() for each in windows_due(intervals, after, after + more, 7, 3, at_once)]
    assert all(0 < len(block) <= at_once for block in blocks)
    ends = (number * 3 for number in range(-10, 60))
    due = [at for at in ends if after < at <= after + more and any(s < at and e > at - 7 for s, e in facts)]
    assert [at for block in blocks for at in block] == due
