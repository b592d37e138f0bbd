"""validity and coalesce on examples, what they refuse, and how much they sort and read."""

from typing import Any

import numpy as np
import pytest

from coincide import Bounded, Quantised, coalesce, coalesce_readings, validity
from coincide.coalescing import NEVER_US, Predicate, batch, columns, spans
from coincide.coalescing import blocks as row_blocks
from coincide.coalescing.blocks import BLOCK_ROWS
from coincide.coalescing.spans import Spans
from coincide.errors import CoalescingError
from tests.reference.call_counts import CallCounts


def test_many_rows_take_the_same_way_as_few() -> None:
    rng = np.random.default_rng(6)
    start, group = rng.integers(0, 4000, 9000), rng.integers(0, 3, 9000)
    end, value = start + rng.integers(0, 3, 9000), rng.integers(0, 2, 9000)
    classes = [(group == g) & (value == v) for g in range(3) for v in (0, 1)]
    ends = [run.end_us for mine in classes for run in coalesce(start[mine], end[mine])]
    assert sorted(coalesce(start, end, group, value).end_us.tolist()) == sorted(ends)


def test_a_filter_after_validity_does_not_bridge_what_it_leaves_out() -> None:
    ts, celsius = np.array([0, 10, 20, 30]), np.array([105, 90, 105, 105])
    start, end = validity(ts)
    hot = celsius > 100
    after = coalesce(start[hot], end[hot], value=celsius[hot])
    before = coalesce(*validity(ts[hot]), value=celsius[hot])
    assert (after.start_us.tolist(), after.end_us.tolist()) == ([0, 20], [10, 30])
    assert (before.start_us.tolist(), before.end_us.tolist()) == ([0], [30])  # the cool spell is bridged


def test_of_readings_at_one_instant_the_first_row_counts() -> None:
    start, end = validity([5, 5, 9], ["a", "a", "a"])
    assert (start.tolist(), end.tolist()) == ([5, 5, 9], [9, NEVER_US, 9])


def test_values_need_not_be_numbers() -> None:
    assert [run.value for run in coalesce([0, 5, 9], [5, 9, 12], value=["calm", "calm", "storm"])] == ["calm", "storm"]
    assert len(coalesce([0, 5, 9], [5, 9, 12], value=np.array([None, "a", "a"], object), gap_us=2)) == 2


def test_small_integers_do_not_wrap() -> None:
    value = np.array([250, 5], np.uint8)
    assert len(coalesce([0, 1], [1, 2], value=value, equivalence=Bounded(20))) == 2


def test_no_rows_no_runs() -> None:
    assert len(coalesce(*validity([]), group=[], value=[])) == 0
    assert list(coalesce([], [])) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: coalesce([5], [4]), r"end_us\[0\] is 4: its start, 5, or later"),
        (lambda: coalesce([0.5], [4]), "start_us is 'an array of float64 with shape (1,)': whole numbers"),
        (lambda: coalesce([0], [4], gap_us=-1), "gap_us is -1: 0 to"),
        (lambda: coalesce([0], [4], gap_us=0.5), "gap_us is 0.5: a whole number"),  # type: ignore[arg-type]
        (lambda: coalesce([0], [4], group=[1, 2]), "group is 'an array with shape"),
        (lambda: coalesce([0], [5], value=[[1, 2]]), "value is 'an array with shape"),
        (lambda: coalesce([0], [4], group=[1.5]), "group is 'an array of float64': whole numbers or strings"),
        (lambda: coalesce([0], [4], value=["a"], equivalence=Bounded(1)), "numbers for Bounded"),
        (lambda: coalesce([0], [4], equivalence="equal"), "equivalence is 'equal': an Equivalence"),  # type: ignore[arg-type]
        (lambda: coalesce([2**62], [2**62]), "start_us is .*: microseconds from"),
        (lambda: validity([0], hold_us=True), "hold_us is True: a whole number"),
        (lambda: Bounded(-1), "epsilon is -1: a finite number, 0 or more"),
        (lambda: Quantised(0), "step is 0: a finite number above 0"),
        (lambda: Predicate(3), "function is 3: a function of two values"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_used_is_refused(call: Any, message: str) -> None:
    with pytest.raises(CoalescingError, match=message.replace("(1,)", r"\(1,\)")):
        call()


def test_runs_show_how_many_they_are_and_the_first_of_them() -> None:
    runs = coalesce(np.arange(30), np.arange(30), value=["<a>", "b"] * 15)
    assert repr(runs) == "Runs(30 runs, 1 groups, 1 open)"
    assert runs._repr_html_().count("<tr>") == 11
    assert "<td>&lt;a&gt;</td>" in runs._repr_html_()


ROWS, GROUPS = 4 * BLOCK_ROWS, 54


@pytest.fixture
def work(counts: CallCounts) -> CallCounts:
    """Rows sorted as a whole, rows sorted block by block, rows united, rows given classes."""
    counts.watch(row_blocks, "stable_sort", "sorted", lambda _, start: len(start))
    counts.watch(row_blocks, "stable_order", "in blocks", lambda _, code: len(code))
    counts.watch(spans, "stable_order", "left over", lambda _, code: len(code))
    counts.watch(batch, "class_codes", "classes", lambda _, codes, values: len(codes))
    counts.watch(columns, "stable_order", "ranked", lambda _, labels: len(labels))
    counts.watch(Spans, "united", "united", lambda _, rows, rule: len(rows))
    return counts


@pytest.mark.parametrize(
    ("order", "sorted_rows", "in_blocks"),
    [
        ("by time", 0, ROWS),
        ("by group", 0, 0),
        ("shuffled", ROWS, ROWS),
    ],
)
def test_readings_are_sorted_no_more_than_they_must(
    work: CallCounts, order: str, sorted_rows: int, in_blocks: int
) -> None:
    """Readings of many sensors in turns, a tenth of which differ from the one before."""
    rng = np.random.default_rng(6)
    ts, group = np.arange(ROWS), rng.integers(0, GROUPS, ROWS)
    value = np.cumsum(rng.random(ROWS) < 0.1 / GROUPS)
    rows = {"shuffled": rng.permutation(ROWS), "by group": np.lexsort((ts, group)), "by time": ts}[order]
    runs = coalesce_readings(ts[rows], group[rows], value[rows])
    left_over = len(runs) + GROUPS * ROWS // BLOCK_ROWS
    assert 0.05 < len(runs) / ROWS < 0.2
    assert (work["sorted"], work["in blocks"]) == (sorted_rows, in_blocks)
    assert work["united"] <= ROWS + left_over
    assert work["left over"] <= left_over
    assert work["classes"] == work["ranked"] == 0


def test_only_overlapping_facts_are_given_classes_and_that_is_seen_in_the_first_block(work: CallCounts) -> None:
    rng = np.random.default_rng(7)
    start, group, value = np.arange(ROWS), rng.integers(0, GROUPS, ROWS), rng.integers(0, 9, ROWS)
    apart = coalesce(start, start + 1, group, value)
    assert work["classes"] == 0
    overlapping = coalesce(start, start + 2000, group, value)
    assert len(apart) > 0.99 * ROWS > 5 * len(overlapping)
    assert (work["classes"], work["sorted"], work["ranked"]) == (ROWS, 0, 0)
    assert work["in blocks"] == ROWS + BLOCK_ROWS + ROWS
