"""MaximalSets against the whole answer, found anew before and after every arrival."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from coincide.joins.tuples.maximal_sets import MaximalSets
from tests.reference.compatible_members import Rules, members_of
from tests.reference.constraint_graphs import CLIQUES
from tests.reference.supernova_network import AT_LEAST, supernova_network
from tests.reference.window_join import ABSENT, Positions, supersession_oracle
from tests.reference.window_join_cases import WindowJoinCase, pushes, window_joins


@settings(max_examples=30)
@given(data=st.data(), case=window_joins(CLIQUES, fewest=3, most=5, most_choices=60))
def test_every_arrival_changes_what_the_oracle_says(data: st.DataObject, case: WindowJoinCase) -> None:
    streams, members = case.graph.roles, members_of(case.frames, case.graph, case.key)
    rules = Rules(case.graph, case.threshold, case.sensors)
    events = [(stream, row) for stream, [row] in data.draw(pushes(case.frames))]

    def may_stand(chosen: frozenset[int]) -> bool:
        return rules.allow({stream: members[stream][row] for stream, row in (events[each] for each in chosen)})

    def positions(chosen: frozenset[int]) -> Positions:
        present = dict(events[each] for each in chosen)
        return tuple(present.get(stream, ABSENT) for stream in streams)

    m = data.draw(st.integers(2, len(streams)))
    sets = MaximalSets(m, holds=None if case.threshold is None else may_stand)
    expected = supersession_oracle(
        case.frames, [(stream, [row]) for stream, row in events], case.graph, m, **case.asked
    )
    for event, ((stream, _), (inserted, retracted)) in enumerate(zip(events, expected, strict=True)):
        others = [each for each in range(event) if events[each][0] != stream]
        growths = sets.add(event, [each for each in others if may_stand(frozenset({each, event}))])
        assert {positions(grown) for grown, _ in growths} == inserted
        assert {positions(before) for _, before in growths if before is not None} == retracted
        assert all(before == grown - {event} for grown, before in growths if before is not None)


EVENTS = 7
PAIRS = list(combinations(range(EVENTS), 2))
TRIPLES = list(combinations(range(EVENTS), 3))


@given(
    apart=st.sets(st.sampled_from(PAIRS), max_size=8),
    barred=st.sets(st.sampled_from(TRIPLES), min_size=1, max_size=12),
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

    sets = MaximalSets(m, holds=holds)
    for event in range(EVENTS):
        growths = sets.add(event, [other for other in range(event) if (other, event) not in apart])
        assert {grown for grown, _ in growths} == answer(range(event + 1)) - answer(range(event))
        retracted = {before for _, before in growths if before is not None}
        assert retracted == answer(range(event)) - answer(range(event + 1))


def test_alarms_of_ten_detectors_end_in_the_same_sets_in_every_order() -> None:
    network = supernova_network(uncertain=True)
    rules, members = Rules(network.graph), members_of(network.frames, network.graph, None)
    alarms = network.alarms
    is_pair = {
        (i, j): a != b and rules.allow({a: members[a][row], b: members[b][other]})
        for i, (a, row) in enumerate(alarms)
        for j, (b, other) in enumerate(alarms)
    }
    for order in network.orders_of_arrival(100):
        sets, arrived, live = MaximalSets(AT_LEAST), list[int](), set[frozenset[int]]()
        for alarm in (alarms.index((stream, row)) for stream, rows in order for row in rows):
            for grown, before in sets.add(alarm, [each for each in arrived if is_pair[each, alarm]]):
                assert grown not in live
                live -= {before} if before is not None else set()
                live.add(grown)
            arrived.append(alarm)
        present = [dict(alarms[each] for each in chosen) for chosen in live]
        found = {tuple(chosen.get(stream, ABSENT) for stream in network.graph.roles) for chosen in present}
        assert found == network.expected
