"""WindowJoin against the whole answer, found anew before and after every push."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import ConstraintGraph, Detections, Stream, Tuples, WindowJoin
from tests.reference.constraint_graphs import CLIQUES, Form
from tests.reference.supernova_network import AT_LEAST, SupernovaNetwork, supernova_network
from tests.reference.window_join import Positions, Push, supersession_oracle, window_join_oracle
from tests.reference.window_join_cases import WindowJoinCase, pushes, self_joins, window_joins

EXACTLY_JUDGED: tuple[Form, ...] = ("path", "tree", "uniform clique")  # joint thresholds of others: to 1e-3


def declared(names: Iterable[str], longest_template_s: float) -> dict[str, Stream]:
    return {name: Stream(name, max_delay_s=1e6, longest_template_s=longest_template_s) for name in names}


def part_of(frame: Detections, rows: list[int] | Iterable[int]) -> Detections:
    """Some rows in that order, called by their positions: so ties of time are ordered as the oracle orders them."""
    listed = np.array(list(rows), dtype=np.int64)
    part = frame.take(listed)
    return Detections(part.detected_at_us, part.templates, part.template_index, part.area, part.sensor, id=listed)


class Pushing:
    """A join that answers in positions."""

    def __init__(self, join: WindowJoin) -> None:
        self.join = join

    def push(
        self, frames: Mapping[str, Detections], pushed: Push, key: Mapping[str, np.ndarray] | None = None
    ) -> tuple[set[Positions], set[Positions]]:
        stream, rows = pushed
        own_key = None if key is None else key[stream][list(rows)]
        changes = self.join.push(stream, part_of(frames[stream], rows), own_key)
        assert len(changes.late) == 0
        return self.positions(changes.insert), self.positions(changes.retract)

    def positions(self, tuples: Tuples) -> set[Positions]:
        listed = list(map(tuple, tuples.members.tolist()))
        assert len(listed) == len(set(listed))
        return set(listed)


def joined(case: WindowJoinCase, at_least: int | None = None) -> Pushing:
    lengths = [template.length_s for frame in case.frames.values() for template in frame.templates]
    streams = declared(case.graph.roles, max(lengths))
    keyed = case.key is not None
    return Pushing(WindowJoin(case.graph, streams, case.threshold, at_least, case.sensors, keyed=keyed))


def assert_as_the_oracle(data: st.DataObject, case: WindowJoinCase, m: int | None) -> None:
    pushed = data.draw(pushes(case.frames, most_together=data.draw(st.integers(1, 3))))
    pushing = joined(case, m)
    expected = supersession_oracle(case.frames, pushed, case.graph, m, **case.asked)
    for each, changes in zip(pushed, expected, strict=True):
        assert pushing.push(case.frames, each, case.key) == changes


ALL_MEMBERS = {
    "uncertain times": window_joins(with_joint=False, most_choices=60),
    "exact times": window_joins(certain=True, most_choices=60),
    "joint threshold": window_joins(EXACTLY_JUDGED, fewest=3, most=4, with_joint=True, most_choices=40),
}
AT_LEAST_SO_MANY = {
    "each edge": window_joins(CLIQUES, fewest=3, most=5, with_joint=False, most_choices=60),
    "joint threshold": window_joins(("uniform clique",), fewest=3, most=4, with_joint=True, most_choices=40),
}


@pytest.mark.parametrize("cases", ALL_MEMBERS.values(), ids=ALL_MEMBERS)
@settings(max_examples=15)
@given(data=st.data())
def test_tuples_of_all_members(data: st.DataObject, cases: st.SearchStrategy[WindowJoinCase]) -> None:
    assert_as_the_oracle(data, data.draw(cases), None)


@pytest.mark.parametrize("cases", AT_LEAST_SO_MANY.values(), ids=AT_LEAST_SO_MANY)
@settings(max_examples=15)
@given(data=st.data())
def test_sets_of_at_least_so_many(data: st.DataObject, cases: st.SearchStrategy[WindowJoinCase]) -> None:
    case = data.draw(cases)
    assert_as_the_oracle(data, case, data.draw(st.integers(2, len(case.graph.roles))))


@settings(max_examples=20)
@given(data=st.data(), case=self_joins(most_rows=4))
def test_one_stream_in_several_roles(data: st.DataObject, case: WindowJoinCase) -> None:
    frames = {str(id(frame)): frame for frame in case.frames.values()}
    streams = declared(frames, 0)
    roles = {role: streams[str(id(frame))] for role, frame in case.frames.items()}
    pushing = Pushing(WindowJoin(case.graph, roles, sensors=case.sensors))
    found: set[Positions] = set()
    for pushed in data.draw(pushes(frames, most_together=data.draw(st.integers(1, 4)))):
        inserted, retracted = pushing.push(frames, pushed)
        assert not inserted & found
        assert not retracted
        found |= inserted
    assert found == window_join_oracle(case.frames, case.graph, **case.asked)


def final_sets(network: SupernovaNetwork, order: list[Push]) -> set[Positions]:
    graph: ConstraintGraph = network.graph
    lengths = [template.length_s for frame in network.frames.values() for template in frame.templates]
    pushing = Pushing(WindowJoin(graph, declared(graph.roles, max(lengths)), at_least=AT_LEAST))
    alive: set[Positions] = set()
    for pushed in order:
        inserted, retracted = pushing.push(network.frames, pushed)
        assert retracted <= alive
        assert not inserted & alive
        alive = (alive - retracted) | inserted
    return alive


def test_ten_detectors_end_in_the_same_sets_in_every_order_of_arrival() -> None:
    for uncertain in (False, True):
        network = supernova_network(uncertain=uncertain)
        for order in network.orders_of_arrival(6):
            assert final_sets(network, order) == network.expected
