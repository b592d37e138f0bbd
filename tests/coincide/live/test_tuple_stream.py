"""WindowJoin against the whole answer, found anew before and after every push."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import AtLeast, ConstraintGraph, Detections, Histogram, Stream, Tuples, Window, WindowJoin
from tests.examples import examples
from tests.reference.constraint_graphs import CLIQUES, Form
from tests.reference.supernova_network import AT_LEAST, supernova_network
from tests.reference.window_join import Positions, Push, at_least_oracle, supersession_oracle, window_join_oracle
from tests.reference.window_join_cases import (
    WindowJoinCase,
    partly_required,
    pushes,
    self_joins,
    sets_of_one_stream,
    window_joins,
)

EXACTLY_JUDGED: tuple[Form, ...] = ("path", "tree", "uniform clique")  # joint thresholds of others: to 1e-3


def declared(frames: Mapping[str, Detections]) -> dict[str, Stream]:
    longest_s = max(template.length_s for frame in frames.values() for template in frame.templates)
    return {name: Stream(name, max_delay_s=1e6, longest_template_s=longest_s) for name in frames}


def push(
    join: WindowJoin, frames: Mapping[str, Detections], pushed: Push, key: Mapping[str, np.ndarray] | None = None
) -> tuple[set[Positions], set[Positions]]:
    """Push rows that are called by their positions, so that ties of time are ordered as the oracle orders them."""
    stream, rows = pushed[0], np.array(list(pushed[1]), dtype=np.int64)
    part = frames[stream].take(rows)
    named = Detections(part.detected_at_us, part.templates, part.template_index, part.area, part.sensor, id=rows)
    changes = join.push(stream, named, None if key is None else key[stream][rows])
    assert len(changes.late) == 0
    return positions(changes.insert), positions(changes.retract)


def positions(tuples: Tuples) -> set[Positions]:
    listed = set(map(tuple, tuples.members.tolist()))
    assert len(listed) == len(tuples)
    return listed


CASES = {
    "all members, uncertain times": window_joins(with_joint=False, most_choices=60),
    "all members, exact times": window_joins(certain=True, most_choices=60),
    "all members, joint threshold": window_joins(EXACTLY_JUDGED, fewest=3, most=4, with_joint=True, most_choices=40),
    "at least m, each edge": window_joins(CLIQUES, fewest=3, most=5, with_joint=False, most_choices=60),
    "at least m, joint threshold": window_joins(
        ("uniform clique",), fewest=3, most=4, with_joint=True, most_choices=40
    ),
    "some required, each edge": window_joins(fewest=3, most=5, with_joint=False, most_choices=60),
    "some required, joint threshold": window_joins(EXACTLY_JUDGED, fewest=3, most=4, with_joint=True, most_choices=40),
}


def least(data: st.DataObject, case: WindowJoinCase, cases: str) -> int | AtLeast | None:
    if cases.startswith("some required"):
        return data.draw(partly_required(case.graph))
    return data.draw(st.integers(2, len(case.graph.roles))) if cases.startswith("at least") else None


@pytest.mark.parametrize("cases", CASES)
@settings(max_examples=examples(15))
@given(data=st.data())
def test_every_push_changes_what_the_oracle_says(data: st.DataObject, cases: str) -> None:
    case = data.draw(CASES[cases])
    m = least(data, case, cases)
    pushed = data.draw(pushes(case.frames, most_together=data.draw(st.integers(1, 3))))
    keyed = case.key is not None
    join = WindowJoin(case.graph, declared(case.frames).values(), case.threshold, m, case.sensors, keyed=keyed)
    expected = supersession_oracle(case.frames, pushed, case.graph, m, **case.asked)
    for each, changes in zip(pushed, expected, strict=True):
        assert push(join, case.frames, each, case.key) == changes


@settings(max_examples=examples(20))
@given(data=st.data(), case=self_joins(most_rows=4))
def test_one_stream_in_several_roles(data: st.DataObject, case: WindowJoinCase) -> None:
    frames = {str(id(frame)): frame for frame in case.frames.values()}
    streams = declared(frames)
    roles = {role: streams[str(id(frame))] for role, frame in case.frames.items()}
    join = WindowJoin(case.graph, roles, sensors=case.sensors)
    found: set[Positions] = set()
    for pushed in data.draw(pushes(frames, most_together=data.draw(st.integers(1, 4)))):
        inserted, retracted = push(join, frames, pushed)
        assert not inserted & found
        assert not retracted
        found |= inserted
    assert found == window_join_oracle(case.frames, case.graph, **case.asked)


@settings(max_examples=examples(25))
@given(data=st.data(), case=sets_of_one_stream())
def test_at_least_so_many_events_of_one_stream(data: st.DataObject, case: WindowJoinCase) -> None:
    [frame], m = set(case.frames.values()), data.draw(st.integers(2, len(case.graph.roles)))
    longest_s = max(template.length_s for template in frame.templates)
    stream = Stream("x", max_delay_s=1e6, longest_template_s=longest_s)
    join = WindowJoin(case.graph, dict.fromkeys(case.graph.roles, stream), case.threshold, m, case.sensors)
    alive = set[Positions]()
    for pushed in data.draw(pushes({"x": frame}, most_together=data.draw(st.integers(1, 4)))):
        inserted, retracted = push(join, {"x": frame}, pushed)
        assert retracted <= alive
        assert not inserted & alive
        alive = (alive - retracted) | inserted
    expected = at_least_oracle(case.frames, case.graph, m, **case.asked)
    assert sorted(tuple(sorted(each)) for each in alive) == sorted({tuple(sorted(each)) for each in expected})


def test_a_set_that_its_own_push_enlarges_is_not_told() -> None:
    graph = ConstraintGraph.clique("abc", Window(1.0), 0.5)
    join = WindowJoin(graph, dict.fromkeys("abc", Stream("x", 10.0, 0.0)), at_least=2)
    frame = {"x": Detections([0, 1, 2, 9_000_000, 9_000_001], [Histogram.uniform(0, 0)])}
    assert push(join, frame, ("x", [0, 1, 2, 3])) == ({(0, 1, 2)}, set())
    assert push(join, frame, ("x", [4])) == ({(3, 4, -1)}, set())


@pytest.mark.parametrize("uncertain", [False, True])
def test_ten_detectors_end_in_the_same_sets_in_every_order_of_arrival(uncertain: bool) -> None:
    network = supernova_network(uncertain=uncertain)
    for order in network.orders_of_arrival(20):
        join, alive = WindowJoin(network.graph, declared(network.frames).values(), at_least=AT_LEAST), set[Positions]()
        for pushed in order:
            inserted, retracted = push(join, network.frames, pushed)
            assert retracted <= alive
            assert not inserted & alive
            alive = (alive - retracted) | inserted
        assert alive == network.expected
