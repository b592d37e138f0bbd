import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coincide.temporal import NOW_US, OVERLAPPING, Facts, SlidingWindows, in_windows, join_in_windows, longest_periods
from tests.reference import temporal as reference
from tests.reference.temporal_facts import facts_of, tied_facts

NUMBERS = st.integers(0, 3) | st.sampled_from([0.1, 0.2, 0.3, 0.4])
FACTS = st.lists(
    st.builds(
        lambda start, length, *rest: (start, start + length, *rest),
        st.integers(0, 12),
        st.integers(1, 6),
        st.sampled_from("abc"),
        NUMBERS,
    ),
    max_size=10,
)
WINDOWS = st.builds(
    lambda first, slide, size: (
        SlidingWindows.sliding(first, 20, size_us=size, slide_us=slide),
        [(end - size, end) for end in range(first, 21, slide)],
    ),
    st.integers(0, 6),
    st.integers(1, 4),
    st.integers(1, 9),
)
RELATIONS = st.just(set(OVERLAPPING)) | st.sets(st.sampled_from(sorted(OVERLAPPING)), min_size=1)
Drawn = tuple[SlidingWindows, list[tuple[int, int]]]


@given(
    FACTS | tied_facts(40),
    st.none() | FACTS | tied_facts(40),
    WINDOWS,
    RELATIONS,
    st.sampled_from([0, 0.1, 1, 2]),
    st.integers(1, 3),
)
def test_the_join_is_that_of_the_instants(
    a: list[reference.Fact],
    b: list[reference.Fact] | None,
    drawn: Drawn,
    relations: set[str],
    tolerance: float,
    at_least: int,
) -> None:
    (windows, each), other = drawn, None if b is None else facts_of(b)
    found = join_in_windows(facts_of(a), other, windows, relations=relations, tolerance=tolerance, at_least_us=at_least)
    columns = (found.window, found.left, found.right, found.intervals.start_us, found.intervals.end_us)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert rows == reference.join_in_windows(a, b, each, relations, tolerance, at_least)


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
