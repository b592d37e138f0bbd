"""At least m of k streams: the oracle against cases worked out by hand, and what arrivals may change."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import ConstraintGraph, Detections, Histogram, Window
from tests.reference.constraint_graphs import CLIQUES
from tests.reference.window_join import (
    ABSENT,
    Positions,
    at_least_oracle,
    members_of_result,
    supersession_oracle,
    window_join_oracle,
)
from tests.reference.window_join_cases import WindowJoinCase, pushes, window_joins

POINT = [Histogram.point()]
SECOND = 1_000_000
ABC = ["a", "b", "c"]


def seconds(*times_s: float) -> Detections:
    return Detections([round(time_s * SECOND) for time_s in times_s], POINT)


SN1987A = {
    "imb": Detections([41_374_000], [Histogram.uniform(-0.05, 0.05)]),
    "baksan": Detections([71_818_000], [Histogram.uniform(-54, 2)]),
    "kamiokande": Detections([35 * SECOND], [Histogram.uniform(-60, 60)]),
}


def test_two_of_three_of_sn1987a() -> None:
    # Kamiokande's two minutes reach 10 s beyond Baksan's clock on both sides: 20/120 too
    graph = ConstraintGraph.clique(list(SN1987A), Window(10))
    assert at_least_oracle(SN1987A, graph, 2, threshold=0.04) == {(0, 0, 0)}
    assert at_least_oracle(SN1987A, graph, 2, threshold=0.1) == {(0, 0, ABSENT), (0, ABSENT, 0), (ABSENT, 0, 0)}
    assert at_least_oracle(SN1987A, graph, 2, threshold=0.3) == {(0, 0, ABSENT)}
    assert at_least_oracle(SN1987A, graph, 3, threshold=0.3) == set()


BURST = {"a": seconds(0), "b": seconds(6), "c": seconds(12)}
TEN_SECONDS = ConstraintGraph.clique(ABC, Window(10))


@pytest.mark.parametrize("order", list(permutations(ABC)))
def test_what_lies_12_s_apart_is_two_pairs_in_every_order_of_arrival(order: tuple[str, ...]) -> None:
    assert window_join_oracle(BURST, TEN_SECONDS) == set()
    pairs = {(0, 0, ABSENT), (ABSENT, 0, 0)}
    assert at_least_oracle(BURST, TEN_SECONDS, 2) == pairs
    changes = list(supersession_oracle(BURST, [(stream, [0]) for stream in order], TEN_SECONDS, 2))
    assert set.union(*(inserted for inserted, _ in changes)) == pairs
    assert not any(retracted for _, retracted in changes)


def test_a_third_member_supersedes_the_pairs() -> None:
    frames = {"a": seconds(0), "b": seconds(6), "c": seconds(9, 14)}
    pushed = [("a", [0]), ("c", [0]), ("c", [1]), ("b", [0])]
    assert list(supersession_oracle(frames, pushed, TEN_SECONDS, 2)) == [
        (set(), set()),
        ({(0, ABSENT, 0)}, set()),
        (set(), set()),
        ({(0, 0, 0), (ABSENT, 0, 1)}, {(0, ABSENT, 0)}),
    ]
    assert members_of_result((ABSENT, 0, 1), TEN_SECONDS) == {"b": 0, "c": 1}


def is_part(one: Positions, other: Positions) -> bool:
    return one != other and all(mine in {ABSENT, theirs} for mine, theirs in zip(one, other, strict=True))


@settings(deadline=None, max_examples=20)
@given(data=st.data(), case=window_joins(CLIQUES, fewest=3, most=5, most_choices=40))
def test_arrivals_supersede_parts_of_what_they_complete(data: st.DataObject, case: WindowJoinCase) -> None:
    m = data.draw(st.integers(2, len(case.graph.roles)))
    alive: set[Positions] = set()
    pushed = data.draw(pushes(case.frames))
    changes = supersession_oracle(case.frames, pushed, case.graph, m, **case.asked)
    for (stream, [row]), (inserted, retracted) in zip(pushed, changes, strict=True):
        at = case.graph.roles.index(stream)
        assert all(members[at] == row for members in inserted)
        assert all(any(is_part(old, new) for new in inserted) for old in retracted)
        alive = (alive | inserted) - retracted
        assert not any(is_part(one, other) for one in alive for other in alive)
    assert alive == at_least_oracle(case.frames, case.graph, m, **case.asked)
    full = {members for members in alive if ABSENT not in members}
    assert full == window_join_oracle(case.frames, case.graph, **case.asked)
