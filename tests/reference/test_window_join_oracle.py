"""The window join's oracle, of all streams and of at least m, against cases worked out by hand and its laws."""

from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import AtLeast, ConstraintGraph, Detections, Histogram, Window
from tests.examples import examples
from tests.reference.compatible_members import ACCURACY
from tests.reference.constraint_graphs import CLIQUES
from tests.reference.window_join import (
    ABSENT,
    Positions,
    at_least_oracle,
    joint_probabilities,
    members_of_result,
    supersession_oracle,
    sure_and_possible,
    window_join_oracle,
)
from tests.reference.window_join_cases import WindowJoinCase, pushes, self_joins, window_joins

POINT = [Histogram.point()]
SECOND = 1_000_000
ABC = ["a", "b", "c"]


def seconds(*times_s: float, **columns: Any) -> Detections:
    return Detections([round(time_s * SECOND) for time_s in times_s], POINT, **columns)


def test_each_form_asks_for_its_own_windows() -> None:
    frames = {"a": seconds(0), "b": seconds(1, 2), "c": seconds(2, -1)}
    one_s = Window(1)
    assert window_join_oracle(frames, ConstraintGraph.binary("a", "b", one_s)) == {(0, 0)}
    # a 0 - b 1 - c 2: a and c may lie 2 s apart
    assert window_join_oracle(frames, ConstraintGraph.path(ABC, one_s)) == {(0, 0, 0)}
    assert window_join_oracle(frames, ConstraintGraph.clique(ABC, one_s)) == set()
    # b 2 is out of reach of a; c -1 is within 1 s of a, and c 2 is not
    assert window_join_oracle(frames, ConstraintGraph.path(["b", "a", "c"], one_s)) == {(0, 0, 1)}
    assert window_join_oracle(frames, ConstraintGraph.clique(ABC, Window(2))) == {(0, 0, 0), (0, 1, 0), (0, 0, 1)}


def test_an_ordered_window_is_of_the_second_stream_minus_the_first() -> None:
    frames = {"a": seconds(5), "b": seconds(4, 5, 7, 8)}
    after = ConstraintGraph.binary("a", "b", Window(lo_s=0, hi_s=2))
    assert window_join_oracle(frames, after) == {(0, 1), (0, 2)}
    before = ConstraintGraph.graph([("b", "a", Window(lo_s=0, hi_s=2))], roles=["a", "b"])
    assert window_join_oracle(frames, before) == {(0, 0), (0, 1)}


def test_members_share_area_and_key_and_no_sensor() -> None:
    pair = ConstraintGraph.binary("a", "b", Window(1))
    frames = {
        "a": seconds(0, 0, area=["bay", "sea"], sensor=["s1", "s2"]),
        "b": seconds(0, 0, 0, area=["bay", "bay", "sea"], sensor=["s1", "s2", "s2"]),
    }
    assert window_join_oracle(frames, pair) == {(0, 1)}
    assert window_join_oracle(frames, pair, sensors="same") == {(0, 0), (1, 2)}
    assert window_join_oracle(frames, pair, sensors="any") == {(0, 0), (0, 1), (1, 2)}
    assert window_join_oracle(frames, pair, key={"a": [7, 8], "b": [7, 0, 8]}, sensors="any") == {(0, 0), (1, 2)}
    assert window_join_oracle(frames, pair, where=lambda members: members[:, 0] == 1, sensors="any") == {(1, 2)}


def test_members_that_share_no_edge_share_no_sensor_either() -> None:
    frames = {"a": seconds(0, sensor=["s1"]), "b": seconds(0, sensor=["s2"]), "c": seconds(0, 0, sensor=["s1", "s3"])}
    assert window_join_oracle(frames, ConstraintGraph.path(ABC, Window(1))) == {(0, 0, 1)}
    assert window_join_oracle({**frames, "c": seconds(0)}, ConstraintGraph.path(ABC, Window(1))) == {(0, 0, 0)}


def test_one_frame_under_several_names_is_a_self_join() -> None:
    own = seconds(2, 0, 1)
    frames = dict.fromkeys(ABC, own)
    assert window_join_oracle(frames, ConstraintGraph.clique(ABC, Window(2))) == {(1, 2, 0)}  # once, in order of time
    # a path's ends can be swapped with each other, not with its middle; a path in order has no ends to swap
    assert window_join_oracle(frames, ConstraintGraph.path(ABC, Window(1))) == {(1, 2, 0)}
    assert window_join_oracle(frames, ConstraintGraph.path(ABC, Window(lo_s=-1, hi_s=1.5))) == {(1, 2, 0), (0, 2, 1)}
    tied = seconds(0, 0, sensor=["s2", "s1"])
    assert window_join_oracle({"a": tied, "b": tied}, ConstraintGraph.binary("a", "b", Window(0))) == {(1, 0)}


def test_uncertain_times_need_a_threshold() -> None:
    frames = {"a": seconds(0), "b": Detections([0], [Histogram.uniform(0, 1)])}
    with pytest.raises(ValueError, match="a-b has no threshold"):
        window_join_oracle(frames, ConstraintGraph.binary("a", "b", Window(1)))


@settings(deadline=None, max_examples=examples(20))
@given(case=self_joins(most_rows=4))
def test_alike_roles_of_one_frame_count_each_set_of_events_once(case: WindowJoinCase) -> None:
    frames = [id(case.frames[name]) for name in case.graph.roles]
    results = window_join_oracle(case.frames, case.graph, **case.asked)
    events = [frozenset(zip(frames, positions, strict=True)) for positions in results]
    assert all(len(members) == len(case.graph.roles) for members in events)
    if case.graph.uniform_window is not None and len(set(frames)) == 1:
        assert len(set(events)) == len(events)


SN1987A = {
    "imb": Detections([41_374_000], [Histogram.uniform(-0.05, 0.05)]),
    "baksan": Detections([71_818_000], [Histogram.uniform(-54, 2)]),
    "kamiokande": Detections([35 * SECOND], [Histogram.uniform(-60, 60)]),
}


def test_the_first_neutrinos_of_sn1987a() -> None:
    all_three = ConstraintGraph.clique(list(SN1987A), Window(10))
    assert joint_probabilities(SN1987A, all_three, [(0, 0, 0)]) == [Fraction(5, 112)]
    two = joint_probabilities(SN1987A, all_three, [(0, 0, ABSENT), (0, ABSENT, 0)])
    assert two == [Fraction(20, 56), Fraction(20, 120)]
    assert window_join_oracle(SN1987A, all_three, threshold=5 / 112) == {(0, 0, 0)}
    assert window_join_oracle(SN1987A, all_three, threshold=5 / 112 + 1e-9) == set()
    assert sure_and_possible(SN1987A, all_three, threshold=5 / 112) == (set(), {(0, 0, 0)})


@settings(deadline=None, max_examples=examples(20))
@given(case=window_joins(most_choices=60))
def test_every_result_passes_every_pair_it_has_an_edge_for(case: WindowJoinCase) -> None:
    for positions in window_join_oracle(case.frames, case.graph, **case.asked):
        chosen = dict(zip(case.graph.roles, positions, strict=True))
        for edge in case.graph.edges:
            least = case.threshold if edge.threshold is None else edge.threshold
            pair = ConstraintGraph.binary(edge.a, edge.b, edge.window, least)
            results = window_join_oracle(case.frames, pair, case.key, sensors=case.sensors)
            assert (chosen[edge.a], chosen[edge.b]) in results


@settings(deadline=None, max_examples=examples(20))
@given(case=window_joins(most=4, most_choices=60, with_joint=False), threshold=st.sampled_from([0.5, 0.2, 0.01]))
def test_a_joint_threshold_keeps_what_reaches_it(case: WindowJoinCase, threshold: float) -> None:
    results = sorted(window_join_oracle(case.frames, case.graph, case.key, sensors=case.sensors))
    joint = joint_probabilities(case.frames, case.graph, results)
    least = Fraction(threshold) - Fraction(ACCURACY)  # masses that do not add up to 1 may miss a tie by a rounding
    kept = {each for each, probability in zip(results, joint, strict=True) if probability >= least}
    asked = {**case.asked, "threshold": threshold}
    assert window_join_oracle(case.frames, case.graph, **asked) == kept
    sure, possible = sure_and_possible(case.frames, case.graph, **asked)
    assert sure <= kept <= possible


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


SCENE = ConstraintGraph.graph([("camera", name, Window(lo_s=0, hi_s=3)) for name in ("m1", "m2", "m3")])
HEARD = {"camera": seconds(0, 60), "m1": seconds(1, 61), "m2": seconds(2, 70), "m3": seconds(2.5, 1.5)}


def test_two_of_three_microphones_and_the_camera() -> None:
    mics = ("m1", "m2", "m3")
    assert at_least_oracle(HEARD, SCENE, AtLeast(2, mics)) == {(0, 0, 0, 0), (0, 0, 0, 1)}
    assert at_least_oracle(HEARD, SCENE, AtLeast(1, mics)) == {(0, 0, 0, 0), (0, 0, 0, 1), (1, 1, ABSENT, ABSENT)}
    assert at_least_oracle(HEARD, SCENE, AtLeast(0, ["m3"])) == {(0, 0, 0, 0), (0, 0, 0, 1)}


def test_only_an_optional_member_supersedes_a_set_of_required_and_enough_others() -> None:
    pushed = [("m1", [0]), ("m2", [0]), ("camera", [0]), ("m3", [0]), ("m3", [1])]
    assert list(supersession_oracle(HEARD, pushed, SCENE, AtLeast(2, ("m1", "m2", "m3")))) == [
        (set(), set()),
        (set(), set()),
        ({(0, 0, 0, ABSENT)}, set()),
        ({(0, 0, 0, 0)}, {(0, 0, 0, ABSENT)}),
        ({(0, 0, 0, 1)}, set()),
    ]


@settings(deadline=None, max_examples=examples(20))
@given(data=st.data(), case=window_joins(CLIQUES, fewest=3, most=5, most_choices=40))
def test_arrivals_supersede_parts_of_what_they_complete(data: st.DataObject, case: WindowJoinCase) -> None:
    def is_part(one: Positions, other: Positions) -> bool:
        return one != other and all(mine in {ABSENT, theirs} for mine, theirs in zip(one, other, strict=True))

    m, pushed = data.draw(st.integers(2, len(case.graph.roles))), data.draw(pushes(case.frames))
    alive: set[Positions] = set()
    changes = supersession_oracle(case.frames, pushed, case.graph, m, **case.asked)
    for (stream, [row]), (inserted, retracted) in zip(pushed, changes, strict=True):
        at = case.graph.roles.index(stream)
        assert all(members[at] == row for members in inserted)
        assert all(any(is_part(old, new) for new in inserted) for old in retracted)
        alive = (alive | inserted) - retracted
        assert not any(is_part(one, other) for one in alive for other in alive)
    assert alive == at_least_oracle(case.frames, case.graph, m, **case.asked)
    every = window_join_oracle(case.frames, case.graph, **case.asked)
    assert {members for members in alive if ABSENT not in members} == every
