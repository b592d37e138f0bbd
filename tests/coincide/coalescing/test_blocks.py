"""Blocks of rows: what they are united to, and how much is sorted and read for it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from operator import eq
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import Bounded, Equal, Increasing, Quantised, Runs, coalesce, coalesce_readings, validity
from coincide.coalescing import Equivalence, Predicate, batch, columns, spans
from coincide.coalescing import blocks as row_blocks
from coincide.coalescing.blocks import BLOCK_ROWS
from coincide.coalescing.spans import Spans
from tests.reference.call_counts import CallCounts
from tests.reference.coalescing import Fact, Reading, coalesced_facts, coalesced_readings, coalesced_trends

EQUIVALENCES = [Equal(), Bounded(1), Increasing(), Quantised(2), Predicate(eq)]
FAR = 1 << 60

readings = st.lists(
    st.builds(Reading, st.integers(0, 12), st.integers(0, 2), st.integers(0, 3), st.integers(0, 3)), max_size=25
)
facts = st.lists(
    st.builds(
        lambda start, length, group, value: Fact(start, start + length, group, value),
        st.integers(0, 30), st.integers(0, 8) | st.just(FAR), st.integers(0, 2), st.integers(0, 2),
    ),
    max_size=15,
)  # fmt: skip
orders = st.sampled_from(["as they come", "by time", "by group and time"])


@pytest.fixture(scope="module", autouse=True)
def blocks_of_three() -> Iterator[None]:
    """Few rows make many blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_blocks, "BLOCK_ROWS", 3)
        patch.setattr(row_blocks, "FEWEST_ROWS", 0)
        yield


def in_order(rows: list[Any], order: str) -> list[Any]:
    if order == "by time":
        return sorted(rows)
    return sorted(rows, key=lambda row: (row.group, row)) if order == "by group and time" else rows


@given(readings, orders, st.sampled_from(EQUIVALENCES), st.none() | st.integers(0, 5))
def test_readings_equal_the_definition(
    listed: list[Reading], order: str, equivalence: Equivalence, hold_us: int | None
) -> None:
    rows = [reading._replace(id=row, kept=True) for row, reading in enumerate(in_order(listed, order))]
    ts, group, value = (np.array([row[field] for row in rows], np.int64) for field in (0, 1, 3))

    runs = coalesce_readings(ts, group, value, equivalence, hold_us)

    assert list(runs) == coalesced_readings(rows, equivalence, hold_us)
    assert list(runs) == list(coalesce(*validity(ts, group, hold_us), group, value, equivalence))


@given(facts, orders, st.sampled_from(EQUIVALENCES), st.integers(0, 4))
def test_facts_equal_the_definition(listed: list[Fact], order: str, equivalence: Equivalence, gap_us: int) -> None:
    rows = in_order(listed, order)
    start, end, group, value = np.array(rows, np.int64).reshape(-1, 4).T

    runs = coalesce(start, end, group, value, equivalence, gap_us)

    slow = coalesced_facts(rows, gap_us) if equivalence == Equal() else coalesced_trends(rows, equivalence, gap_us)
    assert sorted(run[:5] for run in runs) == slow
    assert list(runs) == sorted(runs, key=lambda run: (run.group, run.start_us, run.first))


def test_facts_that_overlap_only_across_blocks_are_united_by_value() -> None:
    start, end, group, value = [0, 1, 2, 3, 6, 8], [9, 2, 3, 5, 7, 9], [0, 1, 1, 0, 0, 1], [1, 1, 1, 2, 1, 1]

    runs = coalesce(start, end, group, value)

    assert [run[:5] for run in runs] == [(0, 0, 9, 1, 2), (0, 3, 5, 2, 1), (1, 1, 3, 1, 2), (1, 8, 9, 1, 1)]


@given(readings)
def test_values_left_out_all_belong_together(listed: list[Reading]) -> None:
    ts, group = np.array([row[:2] for row in listed], np.int64).reshape(-1, 2).T

    assert list(coalesce_readings(ts, group)) == list(coalesce(*validity(ts, group), group))


@given(st.lists(st.sampled_from([0.0, -0.0, 1.5, float("nan")]), max_size=12), st.booleans())
def test_floats_are_one_class_if_they_are_equal(values: list[float], gap: bool) -> None:
    start = np.arange(len(values))
    runs = coalesce(start, start + 2, value=np.array(values, float), gap_us=int(gap))

    classes = {value for value in values if value == value}  # noqa: PLR0124 - NaN is not
    reached = [[at for at, value in enumerate(values) if value == wanted] for wanted in classes]
    breaks = sum(after - at > 2 + gap for places in reached for at, after in pairwise(places))
    assert len(runs) == len(classes) + breaks + sum(value != value for value in values)  # noqa: PLR0124


@given(st.lists(st.text(max_size=12) | st.sampled_from(["", "a", "ab", "\U0010ffff" * 3, "é"]), max_size=12))
def test_groups_of_text_are_coded_in_their_order(names: list[str]) -> None:
    labels = np.array(names, "U12")

    assert columns.group_codes(labels).tolist() == np.unique(labels, return_inverse=True)[1].tolist()
    assert columns.group_codes(labels.astype(">U12")[::-1]).tolist()[::-1] == columns.group_codes(labels).tolist()


ROWS, GROUPS = 4 * BLOCK_ROWS, 54


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> CallCounts:
    """Rows sorted as a whole, rows sorted block by block, rows united, rows given classes."""
    monkeypatch.setattr(row_blocks, "BLOCK_ROWS", BLOCK_ROWS)
    counts = CallCounts(monkeypatch)
    counts.watch(row_blocks, "stable_sort", "sorted", lambda _, start: len(start))
    counts.watch(row_blocks, "stable_order", "in blocks", lambda _, code: len(code))
    counts.watch(spans, "stable_order", "left over", lambda _, code: len(code))
    counts.watch(batch, "class_codes", "classes", lambda _, codes, values: len(codes))
    counts.watch(columns, "stable_order", "ranked", lambda _, labels: len(labels))
    counts.watch(Spans, "united", "united", lambda _, rows, rule: len(rows))
    return counts


def sensor_readings(order: str) -> tuple[Runs, int]:
    """Readings of many sensors in turns, a tenth of which differ from the one before; return how many are runs."""
    rng = np.random.default_rng(6)
    ts, group = np.arange(ROWS), rng.integers(0, GROUPS, ROWS)
    value = np.cumsum(rng.random(ROWS) < 0.1 / GROUPS)
    rows = {"shuffled": rng.permutation(ROWS), "by group": np.lexsort((ts, group)), "by time": ts}[order]
    runs = coalesce_readings(ts[rows], group[rows], value[rows])
    return runs, len(runs) + GROUPS * ROWS // BLOCK_ROWS


@pytest.mark.parametrize(("order", "sorted_rows", "in_blocks"), [
    ("by time", 0, ROWS), ("by group", 0, 0), ("shuffled", ROWS, ROWS),
])  # fmt: skip
def test_readings_are_sorted_no_more_than_they_must(
    work: CallCounts, order: str, sorted_rows: int, in_blocks: int
) -> None:
    runs, left_over = sensor_readings(order)

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
