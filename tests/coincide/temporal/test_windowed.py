import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide.errors import IntervalError
from coincide.temporal import NOW_US, Facts, SlidingWindows, in_windows, join_in_windows, longest_periods, temporal_join
from tests.reference import temporal as reference

FACTS = st.lists(
    st.builds(
        lambda start, length, *rest: (start, start + length, *rest),
        st.integers(0, 12), st.integers(1, 6), st.sampled_from("abc"), st.integers(0, 3),
    ),
    max_size=10,
)  # fmt: skip
WINDOWS = st.builds(
    lambda first, slide, size: (
        SlidingWindows.sliding(first, 20, size_us=size, slide_us=slide),
        [(end - size, end) for end in range(first, 21, slide)],
    ),
    st.integers(0, 6), st.integers(1, 4), st.integers(1, 9),
)  # fmt: skip
Drawn = tuple[SlidingWindows, list[tuple[int, int]]]


def facts_of(rows: list[reference.Fact]) -> Facts:
    return Facts(*([row[column] for row in rows] for column in range(4)))


@given(FACTS, st.none() | FACTS, WINDOWS, st.integers(0, 2), st.integers(1, 3))
def test_the_join_is_that_of_the_instants(
    a: list[reference.Fact], b: list[reference.Fact] | None, drawn: Drawn, tolerance: int, at_least: int
) -> None:
    (windows, each), other = drawn, None if b is None else facts_of(b)
    found = join_in_windows(facts_of(a), other, windows, tolerance=tolerance, at_least_us=at_least)
    columns = (found.window, found.left, found.right, found.intervals.start_us, found.intervals.end_us)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert rows == reference.join_in_windows(a, b, each, tolerance, at_least)


@given(FACTS, WINDOWS)
def test_the_longest_periods_are_those_of_the_instants(rows: list[reference.Fact], drawn: Drawn) -> None:
    windows, each = drawn
    found = longest_periods(facts_of(rows), windows)
    shown = zip(found.window.tolist(), found.group.tolist(), found.duration_us.tolist(), strict=True)
    assert list(shown) == reference.longest_periods(rows, each)


@given(FACTS, WINDOWS)
def test_to_cut_and_to_coalesce_commute(rows: list[reference.Fact], drawn: Drawn) -> None:
    windows, each = drawn
    parts = in_windows(facts_of(runs := reference.coalesced(rows)).intervals, windows)
    for number, (start, end) in enumerate(each):
        cut = [(max(fact[0], start), min(fact[1], end), *fact[2:]) for fact in rows]
        here = np.flatnonzero(parts.window == number)
        intervals = parts.intervals.take(here)
        shown = zip(intervals.start_us.tolist(), intervals.end_us.tolist(), parts.row[here].tolist(), strict=True)
        assert sorted((start, end, *runs[row][2:]) for start, end, row in shown) == reference.coalesced(cut)


def test_what_still_holds_is_cut_to_each_window() -> None:
    found = longest_periods(Facts([2], [NOW_US], group=["north"]), SlidingWindows([2, 3, 10, 20], size_us=5))
    assert (found.window.tolist(), found.duration_us.tolist()) == ([1, 2, 3], [1, 5, 5])


def test_two_that_still_hold_are_joined_with_an_open_end() -> None:
    pairs = temporal_join(Facts([2, 4], [NOW_US, NOW_US], ["north", "south"]), at_least_us=1000)
    assert (pairs.intervals.start_us.tolist(), pairs.intervals.is_open.tolist()) == ([4], [True])


def test_facts_of_one_group_are_joined_only_if_asked_for() -> None:
    facts = Facts([0, 1], [5, 5])
    assert len(temporal_join(facts).left) == 0
    assert len(temporal_join(facts, same_group=True).left) == 1


def test_texts_are_joined_if_equal() -> None:
    facts = Facts([0, 1, 2], [9, 9, 9], [1, 2, 3], ["rain", "rain", "sun"])
    assert temporal_join(facts).right.tolist() == [1]
    with pytest.raises(IntervalError, match="texts"):
        temporal_join(facts, tolerance=0.5)
    with pytest.raises(IntervalError, match="one kind"):
        temporal_join(facts, Facts([0], [1], [1], [0.5]))


@pytest.mark.parametrize(
    ("values", "pairs"), [([float("inf")] * 2, 1), ([float("nan")] * 2, 0), ([-(2**63), 2**63 - 1], 0)]
)
def test_values_that_no_difference_tells(values: list[float], pairs: int) -> None:
    assert len(temporal_join(Facts([0, 0], [1, 1], [1, 2], values), tolerance=1.0).left) == pairs


@pytest.mark.parametrize(("field", "bad"), [("tolerance", -1), ("tolerance", float("nan")), ("at_least_us", 0)])
def test_what_no_join_can_ask_for_is_refused(field: str, bad: float) -> None:
    with pytest.raises(IntervalError, match=field):
        temporal_join(Facts([0], [1]), **{field: bad})  # type: ignore[arg-type]
