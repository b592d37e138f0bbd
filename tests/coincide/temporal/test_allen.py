import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide.errors import IntervalError
from coincide.temporal import ALLEN, NOW_US, Intervals, intersect, overlaps_tsql2, relation
from tests.reference import temporal as reference

INTERVALS = st.tuples(st.integers(0, 8), st.integers(1, 5)).map(lambda drawn: (drawn[0], sum(drawn)))
PAIRS = st.lists(st.tuples(INTERVALS, INTERVALS), max_size=20)


Pair = tuple[tuple[int, int], tuple[int, int]]


def _columns(pairs: list[Pair]) -> tuple[Intervals, Intervals]:
    a, b = (Intervals(*([pair[side][end] for pair in pairs] for end in (0, 1))) for side in (0, 1))
    return a, b


@given(PAIRS)
def test_a_relation_is_that_of_the_instants_and_its_inverse_the_other_way(pairs: list[Pair]) -> None:
    a, b = _columns(pairs)
    inverses = dict(zip(ALLEN, reversed(list(ALLEN)), strict=True))
    assert relation(a, b).tolist() == [reference.relation(*pair) for pair in pairs]
    assert [inverses[name] for name in relation(a, b)] == relation(b, a).tolist()


ENDS = st.integers(-(2**63), 2**63 - 1)
PROPER = st.tuples(ENDS, ENDS).filter(lambda ends: ends[0] != ends[1]).map(lambda ends: (min(ends), max(ends)))


@given(PROPER | INTERVALS, PROPER | INTERVALS)
def test_exactly_one_of_the_thirteen_holds(a: tuple[int, int], b: tuple[int, int]) -> None:
    columns = _columns([(a, b)])
    assert [name for name, predicate in ALLEN.items() if predicate(*columns)[0]] == relation(*columns).tolist()


def test_there_are_thirteen_and_each_can_hold() -> None:
    every = [(start, end) for start in range(5) for end in range(start + 1, 6)]
    columns = _columns([(a, b) for a in every for b in every])
    assert len(ALLEN) == 13
    assert set(relation(*columns)) == set(ALLEN)


@given(PAIRS)
def test_tsql2_overlaps_what_shares_an_instant(pairs: list[Pair]) -> None:
    a, b = _columns(pairs)
    shared = [reference.instants(one) & reference.instants(other) for one, other in pairs]
    assert overlaps_tsql2(a, b).tolist() == [bool(each) for each in shared]
    rows, common = intersect(a, b)
    assert rows.tolist() == [row for row, each in enumerate(shared) if each]
    found = zip(common.start_us.tolist(), common.end_us.tolist(), strict=True)
    assert [reference.instants(each) for each in found] == [each for each in shared if each]


def test_tsql2_means_more_by_overlaps_than_allen() -> None:
    inside, outside = Intervals([2], [3]), Intervals([0], [9])
    assert overlaps_tsql2(inside, outside)[0]
    assert not ALLEN["overlaps"](inside, outside)[0]


def test_what_still_holds_finishes_together() -> None:
    assert relation(Intervals([3, 0], [NOW_US, 3]), Intervals([0], [NOW_US])).tolist() == ["finishes", "starts"]


def test_columns_of_other_lengths_are_refused() -> None:
    with pytest.raises(IntervalError, match="2 intervals"):
        relation(Intervals([0, 0, 0], [1, 1, 1]), Intervals([0, 0], [1, 1]))
