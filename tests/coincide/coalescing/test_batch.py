"""validity and coalesce against the definition."""

from __future__ import annotations

from operator import eq
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import Bounded, Decreasing, Equal, Increasing, Quantised, coalesce, validity
from coincide.coalescing import NEVER_US, Equivalence, Predicate
from coincide.errors import CoalescingError
from tests.reference.coalescing import Fact, Reading, coalesced_facts, coalesced_readings, coalesced_trends

EQUIVALENCES = [Equal(), Bounded(1), Increasing(), Decreasing(), Quantised(2), Predicate(eq)]

readings = st.lists(
    st.builds(Reading, st.integers(0, 12), st.integers(0, 2), st.integers(0, 3), st.integers(0, 3), st.booleans()),
    max_size=25,
)
facts = st.lists(
    st.builds(
        lambda start, length, group, value: Fact(start, start + length, group, value),
        st.integers(0, 30), st.integers(0, 8), st.integers(0, 1), st.integers(0, 2),
    ),
    max_size=12,
)  # fmt: skip


def united(listed: list[Fact], equivalence: Equivalence = Equal(), gap_us: int = 0) -> list[tuple[Any, ...]]:  # noqa: B008
    """Return (group, start, end, value, count) of each run, sorted."""
    start, end, group, value = np.array(listed, np.int64).reshape(-1, 4).T
    return sorted(run[:5] for run in coalesce(start, end, group, value, equivalence, gap_us))


@given(readings, st.sampled_from(EQUIVALENCES), st.none() | st.integers(1, 5))
def test_filters_after_validity_equal_the_definition(
    listed: list[Reading], equivalence: Equivalence, hold_us: int | None
) -> None:
    rows = [reading._replace(id=row) for row, reading in enumerate(listed)]  # the position is the id
    ts, group, value, kept = (np.array([row[field] for row in rows], np.int64) for field in (0, 1, 3, 4))
    start, end = validity(ts, group, hold_us)
    left = np.flatnonzero(kept)

    runs = coalesce(start[left], end[left], group[left], value[left], equivalence)

    named = [run._replace(first=int(left[run.first]), last=int(left[run.last])) for run in runs]  # type: ignore[index]
    assert named == coalesced_readings(rows, equivalence, hold_us)


@given(facts, st.sampled_from(EQUIVALENCES), st.integers(0, 4))
def test_facts_equal_the_definition(listed: list[Fact], equivalence: Equivalence, gap_us: int) -> None:
    slow = coalesced_facts(listed, gap_us) if equivalence == Equal() else coalesced_trends(listed, equivalence, gap_us)

    assert united(listed, equivalence, gap_us) == slow


@given(facts, st.integers(0, 4))
def test_what_is_coalesced_stays_as_it_is(listed: list[Fact], gap_us: int) -> None:
    start, end, group, value = np.array(listed, np.int64).reshape(-1, 4).T
    once = coalesce(start, end, group, value, gap_us=gap_us)

    again = coalesce(once.start_us, once.end_us, once.group, once.value, gap_us=gap_us)

    assert [run[:4] for run in again] == [run[:4] for run in once]


@given(facts, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(listed: list[Fact], random: Any) -> None:
    assert united(random.sample(listed, len(listed)), gap_us=1) == united(listed, gap_us=1)


def test_many_rows_take_the_same_way_as_few() -> None:
    rng = np.random.default_rng(6)
    start, group = rng.integers(0, 4000, 9000), rng.integers(0, 3, 9000)
    end, value = start + rng.integers(0, 3, 9000), rng.integers(0, 2, 9000)
    runs = coalesce(start, end, group, value)
    classes = [(group == g) & (value == v) for g in range(3) for v in (0, 1)]
    apart = [coalesce(start[mine], end[mine]) for mine in classes]

    assert len(runs) == sum(map(len, apart))
    assert sorted(runs.end_us.tolist()) == sorted(end for part in apart for end in part.end_us.tolist())


def test_a_filter_after_validity_does_not_bridge_what_it_leaves_out() -> None:
    ts, celsius = np.array([0, 10, 20, 30]), np.array([105, 90, 105, 105])
    start, end = validity(ts)
    hot = celsius > 100

    after = coalesce(start[hot], end[hot], value=celsius[hot])
    start_hot, end_hot = validity(ts[hot])
    before = coalesce(start_hot, end_hot, value=celsius[hot])

    assert [(run.start_us, run.end_us) for run in after] == [(0, 10), (20, 30)]
    assert [(run.start_us, run.end_us) for run in before] == [(0, 30)]  # the cool spell is bridged


def test_of_readings_at_one_instant_the_first_row_counts() -> None:
    start, end = validity([5, 5, 9], ["a", "a", "a"])

    assert (start.tolist(), end.tolist()) == ([5, 5, 9], [9, NEVER_US, 9])


def test_example_4_of_the_paper() -> None:
    """Nine readings of three regions at 1, 2 and 3 p.m. are five runs."""
    region, hour = np.repeat([1, 2, 3], 3), np.tile([13, 14, 15], 3)
    fahrenheit = [81, 81, 81, 81, 79, 81, 81, 81, 81]

    runs = coalesce(*validity(hour, region), region, fahrenheit)

    assert [(run.group, run.start_us, run.value) for run in runs] == [
        (1, 13, 81), (2, 13, 81), (2, 14, 79), (2, 15, 81), (3, 13, 81),
    ]  # fmt: skip


def test_values_need_not_be_numbers() -> None:
    runs = coalesce([0, 5, 9], [5, 9, 12], value=["calm", "calm", "storm"])
    objects = np.array([None, "a", "a"], object)

    assert runs.value is not None
    assert runs.value.tolist() == ["calm", "storm"]
    with pytest.raises(CoalescingError, match="value is 'an array with shape"):
        coalesce([0], [5], value=[[1, 2]])
    assert len(coalesce([0, 5, 9], [5, 9, 12], value=objects, gap_us=2)) == 2


def test_nan_equals_nothing() -> None:
    nan = float("nan")

    assert len(coalesce([0, 5, 9], [5, 9, 12], value=[nan, nan, 1.0])) == 3
    assert len(coalesce([0, 5, 9], [5, 9, 12], value=[nan, nan, 1.0], gap_us=1)) == 3


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
