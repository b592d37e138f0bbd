"""MaximalSets against the whole answer, found anew before and after every arrival; test_tuple_stream.py has more."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from coincide.joins.tuples.maximal_sets import MaximalSets

EVENTS = 7
PAIRS = list(combinations(range(EVENTS), 2))
TRIPLES = list(combinations(range(EVENTS), 3))


@given(
    apart=st.sets(st.sampled_from(PAIRS), max_size=8),
    barred=st.sets(st.sampled_from(TRIPLES), max_size=12),
    m=st.integers(2, 4),
)
def test_what_may_not_stand_though_its_pairs_do(
    apart: set[tuple[int, int]], barred: set[tuple[int, int, int]], m: int
) -> None:
    """Seven events: some pairs are incompatible, and some three are so only all together."""

    def holds(chosen: frozenset[int]) -> bool:
        return not any(chosen >= set(three) for three in barred)

    def answer(arrived: range) -> set[frozenset[int]]:
        every = [frozenset(each) for size in range(1, EVENTS + 1) for each in combinations(arrived, size)]
        standing = [each for each in every if holds(each) and not any(each >= set(pair) for pair in apart)]
        return {each for each in standing if len(each) >= m and not any(each < other for other in standing)}

    sets = MaximalSets(m, holds=holds if barred else None)
    for event in range(EVENTS):
        growths = sets.add(event, [other for other in range(event) if (other, event) not in apart])
        assert {grown for grown, _ in growths} == answer(range(event + 1)) - answer(range(event))
        assert all(before == grown - {event} for grown, before in growths if before is not None)
        retracted = {before for _, before in growths if before is not None}
        assert retracted == answer(range(event)) - answer(range(event + 1))
