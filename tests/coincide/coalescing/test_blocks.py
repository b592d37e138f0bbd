"""Batches against the definition, with their rows in one block or in many."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Equal, Runs, coalesce, coalesce_readings, validity
from coincide.coalescing import Equivalence, columns
from coincide.coalescing import blocks as row_blocks
from tests.examples import examples
from tests.reference.coalescing import (
    EQUIVALENCES,
    Fact,
    Reading,
    coalesced_facts,
    coalesced_readings,
    coalesced_trends,
)

NUMBERS = st.integers(0, 3) | st.sampled_from([-0.1, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7])
FAR = 1 << 60

readings = st.lists(
    st.builds(Reading, st.integers(0, 12), st.integers(0, 2), st.integers(0, 3), NUMBERS, st.booleans()),
    max_size=25,
)
facts = st.lists(
    st.builds(
        lambda start, length, group, value: Fact(start, start + length, group, value),
        st.integers(0, 30),
        st.integers(0, 8) | st.just(FAR),
        st.integers(0, 2),
        NUMBERS,
    ),
    max_size=15,
)
orders = st.sampled_from(["as they come", "by time", "by group and time"])


@pytest.fixture(scope="module", autouse=True, params=[3, row_blocks.BLOCK_ROWS])
def block_rows(request: pytest.FixtureRequest) -> Iterator[None]:
    """Few rows make many blocks, or one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_blocks, "BLOCK_ROWS", request.param)
        patch.setattr(row_blocks, "FEWEST_ROWS", 0)
        yield


def in_order(rows: list[Any], order: str) -> list[Any]:
    keys = {"as they come": lambda _: 0, "by time": lambda row: row, "by group and time": lambda row: (row.group, row)}
    return sorted(rows, key=keys[order])


def united(rows: list[Fact], gap_us: int, equivalence: Equivalence = Equal()) -> Runs:  # noqa: B008
    start, end, group = np.array([row[:3] for row in rows], np.int64).reshape(-1, 3).T
    return coalesce(start, end, group, [row.value for row in rows], equivalence, gap_us)


@given(readings, orders, st.sampled_from(EQUIVALENCES), st.none() | st.integers(0, 5))
def test_readings_equal_the_definition(
    listed: list[Reading], order: str, equivalence: Equivalence, hold_us: int | None
) -> None:
    rows = [reading._replace(id=row, kept=True) for row, reading in enumerate(in_order(listed, order))]
    ts, group = (np.array([row[field] for row in rows], np.int64) for field in (0, 1))
    value = np.array([row.value for row in rows])
    runs = coalesce_readings(ts, group, value, equivalence, hold_us)
    assert list(runs) == coalesced_readings(rows, equivalence, hold_us)
    assert list(runs) == list(coalesce(*validity(ts, group, hold_us), group, value, equivalence))


@given(readings, st.sampled_from(EQUIVALENCES), st.none() | st.integers(1, 5))
def test_filters_after_validity_equal_the_definition(
    listed: list[Reading], equivalence: Equivalence, hold_us: int | None
) -> None:
    rows = [reading._replace(id=row) for row, reading in enumerate(listed)]  # the position is the id
    ts, group, kept = (np.array([row[field] for row in rows], np.int64) for field in (0, 1, 4))
    value = np.array([row.value for row in rows])
    start, end = validity(ts, group, hold_us)
    left = np.flatnonzero(kept)
    runs = coalesce(start[left], end[left], group[left], value[left], equivalence)
    named = [run._replace(first=int(left[run.first]), last=int(left[run.last])) for run in runs]  # type: ignore[index]
    assert named == coalesced_readings(rows, equivalence, hold_us)


@given(facts, orders, st.sampled_from(EQUIVALENCES), st.integers(0, 4))
def test_facts_equal_the_definition(listed: list[Fact], order: str, equivalence: Equivalence, gap_us: int) -> None:
    rows = in_order(listed, order)
    runs = united(rows, gap_us, equivalence)
    slow = coalesced_facts(rows, gap_us) if equivalence == Equal() else coalesced_trends(rows, equivalence, gap_us)
    assert sorted(run[:5] for run in runs) == slow
    assert list(runs) == sorted(runs, key=lambda run: (run.group, run.start_us, run.first))


@settings(max_examples=examples())
@given(facts, st.integers(0, 4), st.randoms(use_true_random=False))
def test_what_is_coalesced_stays_as_it_is_in_any_order(listed: list[Fact], gap_us: int, random: Any) -> None:
    once = united(listed, gap_us)
    again = coalesce(once.start_us, once.end_us, once.group, once.value, gap_us=gap_us)
    shuffled = united(random.sample(listed, len(listed)), gap_us)
    assert [run[:4] for run in again] == [run[:4] for run in once]
    assert sorted(run[:5] for run in shuffled) == sorted(run[:5] for run in once)


def test_facts_that_overlap_only_across_blocks_are_united_by_value() -> None:
    start, end, group, value = [0, 1, 2, 3, 6, 8], [9, 2, 3, 5, 7, 9], [0, 1, 1, 0, 0, 1], [1, 1, 1, 2, 1, 1]
    runs = [run[:5] for run in coalesce(start, end, group, value)]
    assert runs == [(0, 0, 9, 1, 2), (0, 3, 5, 2, 1), (1, 1, 3, 1, 2), (1, 8, 9, 1, 1)]


@settings(max_examples=examples())
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
