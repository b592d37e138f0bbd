from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide.arrays.range_expansion import pairs_in
from coincide.errors import IntervalError
from coincide.temporal import (
    ALLEN,
    NOW_US,
    OVERLAPPING,
    Facts,
    JoinedFacts,
    SlidingWindows,
    WindowedPairs,
    box_search,
    fact_pairs,
    join_in_windows,
    temporal_join,
    temporal_join_blocks,
)
from tests.examples import examples
from tests.reference import temporal as reference
from tests.reference.call_counts import CallCounts
from tests.reference.temporal_facts import facts_of, tied_facts

RELATIONS = (
    st.sampled_from(sorted(ALLEN)).map(lambda name: {name})
    | st.just(set(OVERLAPPING))
    | st.sets(st.sampled_from(sorted(ALLEN)), min_size=1)
)


def pairs_of(joined: JoinedFacts) -> list[tuple[int, int]]:
    return list(zip(joined.left.tolist(), joined.right.tolist(), strict=True))


@settings(max_examples=examples())
@given(tied_facts(70), st.none() | tied_facts(70), RELATIONS, st.integers(0, 2), st.booleans())
def test_the_join_is_that_of_every_pair_compared(
    a: list[reference.Fact], b: list[reference.Fact] | None, relations: set[str], tolerance: int, same_group: bool
) -> None:
    other = None if b is None else facts_of(b)
    joined = temporal_join(facts_of(a), other, relations=relations, tolerance=tolerance, same_group=same_group)
    assert pairs_of(joined) == reference.temporal_join(a, b, relations, tolerance, same_group)
    blocks = temporal_join_blocks(facts_of(a), other, relations=relations, tolerance=tolerance, same_group=same_group)
    assert sorted(pair for block in blocks for pair in pairs_of(block)) == pairs_of(joined)


EXTREMES = [-(2**63), -(2**63) + 1, -1, 0, 1, NOW_US - 1, NOW_US]
PROPER = [(start, end) for start in EXTREMES for end in EXTREMES if start < end]


@pytest.mark.parametrize("name", ALLEN)
def test_each_relation_holds_at_the_ends_of_time(name: str) -> None:
    facts = Facts(*np.transpose(PROPER * 2))
    joined = temporal_join(facts, Facts(*np.transpose(PROPER)), relations=name, same_group=True)
    left, right = np.repeat(np.arange(len(facts)), len(PROPER)), np.tile(np.arange(len(PROPER)), len(facts))
    held = ALLEN[name](facts.intervals.take(left), facts.intervals.take(right))
    assert pairs_of(joined) == list(zip(left[held].tolist(), right[held].tolist(), strict=True))


def test_the_ends_of_a_pair_apart_say_how_long_nothing_holds() -> None:
    facts = Facts([0, 5, 9], [5, 7, 20], group=[1, 2, 3])
    joined = temporal_join(facts, relations=["meets", "before"])
    assert pairs_of(joined) == [(0, 1), (0, 2), (1, 2)]
    assert (joined.end_us.tolist(), joined.start_us.tolist()) == ([5, 5, 7], [5, 9, 9])
    with pytest.raises(IntervalError, match="later than the start"):
        joined.intervals  # noqa: B018


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
    ("values", "pairs"),
    [([float("inf")] * 2, 1), ([float("nan")] * 2, 0), ([-(2**63), 2**63 - 1], 0), ([2**62, 2**62 + 2], 0)],
)
def test_values_that_no_difference_tells(values: list[float], pairs: int) -> None:
    assert len(temporal_join(Facts([0, 0], [1, 1], [1, 2], values), tolerance=1.0).left) == pairs


@pytest.mark.parametrize(("field", "bad"), [("tolerance", -1), ("tolerance", float("nan")), ("at_least_us", 0)])
def test_what_no_join_can_ask_for_is_refused(field: str, bad: float) -> None:
    with pytest.raises(IntervalError, match=field):
        temporal_join(Facts([0], [1]), **{field: bad})  # type: ignore[arg-type]


def test_relations_that_no_join_can_ask_for_are_refused() -> None:
    facts, window = Facts([0], [1]), SlidingWindows([1], size_us=1)
    for relations in ("OVERLAPS", [], ["before", "beside"]):
        with pytest.raises(IntervalError, match="relations is"):
            temporal_join(facts, relations=relations)
    with pytest.raises(IntervalError, match="at_least_us is 2: 1 for facts that are apart"):
        temporal_join(facts, relations=["overlaps", "meets"], at_least_us=2)
    with pytest.raises(IntervalError, match="relations is 'after'"):
        join_in_windows(facts, None, window, relations=["during", "after"])


LONG = 30_000
NTH = np.random.default_rng(5).permutation(LONG)
FAR = np.arange(LONG) * 10


def _staircase(value: object = None, group: object = None) -> Facts:
    """Return facts that all have an instant in common, none inside another."""
    return Facts(NTH, LONG + NTH, np.arange(LONG) if group is None else group, value)  # type: ignore[arg-type]


def _nested() -> Facts:
    return Facts(NTH, 3 * LONG - NTH, np.arange(LONG))


def _random(value: object, group: object = None) -> Facts:
    ends = np.random.default_rng(6).integers(0, 10**6, (2, LONG))
    return Facts(ends[0], 10**9 + ends[1], np.arange(LONG) if group is None else group, value)  # type: ignore[arg-type]


ONE_GROUP = np.zeros(LONG, np.int64)
BY_TENTHS = NTH * 0.1
UNREACHED = SlidingWindows([10 * LONG], size_us=LONG)
SHORT_WINDOWS = SlidingWindows.sliding(0, 4 * LONG, size_us=LONG, slide_us=LONG)
LONG_JOINS: dict[str, Callable[[], JoinedFacts | WindowedPairs]] = {
    "other values": lambda: temporal_join(_staircase(FAR)),
    "values just too far": lambda: temporal_join(_staircase(FAR), _staircase(FAR + 5), tolerance=4.0),
    "one group": lambda: temporal_join(_staircase(group=ONE_GROUP)),
    "one group, every value near": lambda: temporal_join(_random(BY_TENTHS, ONE_GROUP), tolerance=1000.0),
    "none inside another": lambda: temporal_join(_staircase(), relations=["during", "contains"]),
    "all inside another": lambda: temporal_join(_nested(), _nested(), relations=["overlaps", "overlapped by"]),
    "few near values": lambda: temporal_join(_random(BY_TENTHS), relations=["overlaps", "during"], tolerance=0.5),
    "no room in a window": lambda: join_in_windows(_staircase(), None, SHORT_WINDOWS, at_least_us=LONG),
    "together in no window": lambda: join_in_windows(_staircase(), None, UNREACHED),
    **{
        f"{name}, one group": partial(temporal_join, _random(BY_TENTHS, ONE_GROUP), relations=name, tolerance=1000.0)
        for name in ALLEN
    },
}


@pytest.mark.parametrize("case", LONG_JOINS)
def test_long_facts_that_make_few_pairs_are_hardly_compared(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = CallCounts(monkeypatch)
    for module in (fact_pairs, box_search):
        counts.watch(module, "expanded_range_blocks", "comparisons", lambda _, start, stop: pairs_in(start, stop))
    counts.watch(box_search, "_search", "rows", lambda _, points, boxes: len(points.row) + len(boxes.row))
    pairs = len(LONG_JOINS[case]().left)
    assert pairs <= 10 * LONG
    every_pair = LONG**2 // 2
    assert counts["comparisons"] + counts["rows"] <= every_pair // 64 + 10 * pairs
