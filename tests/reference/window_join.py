"""The window join from its definition: every choice of one event a stream, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt

from coincide import ConstraintGraph, Edge
from tests.reference.compatible_members import ACCURACY, Frames, Keys, Member, Rules, members_of

# Position in its frame of each member, in the graph's order of streams; ABSENT where a stream has none.
Positions = tuple[int, ...]
Predicate = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.bool_]]

ABSENT = -1
CYCLIC_ACCURACY = 1e-3  # the same for cyclic graphs other than uniform cliques: half a certified interval and more


def window_join_oracle(
    frames: Frames,
    graph: ConstraintGraph,
    key: Keys | None = None,
    threshold: float | None = None,
    where: Predicate | None = None,
    sensors: str = "different",
) -> set[Positions]:
    """Positions of all results; a joint probability within 1e-12 of the threshold counts as reaching it."""
    return _results(members_of(frames, graph, key), Rules(graph, threshold, sensors), where)


def sure_and_possible(
    frames: Frames,
    graph: ConstraintGraph,
    key: Keys | None = None,
    threshold: float | None = None,
    where: Predicate | None = None,
    sensors: str = "different",
) -> tuple[set[Positions], set[Positions]]:
    """Results that must be found, and those that may: joint probabilities near the threshold count either way.

    How near is 1e-12, or 1e-3 where only a certified interval is promised.
    """
    members, rules = members_of(frames, graph, key), Rules(graph, threshold, sensors)
    if threshold is None:
        found = _results(members, rules, where)
        return found, found
    near = ACCURACY if graph.is_tree or graph.uniform_window is not None else CYCLIC_ACCURACY
    edges = [Edge(e.a, e.b, e.window, threshold if e.threshold is None else e.threshold) for e in graph.edges]
    each_edge = ConstraintGraph(graph.roles, tuple(edges))
    possible: set[Positions] = set()
    sure: set[Positions] = set()
    for positions in _results(members, Rules(each_edge, None, sensors), where):
        excess = rules.joint(_present(members, positions)) - Fraction(threshold)
        possible |= {positions} if excess >= -Fraction(near) else set()
        sure |= {positions} if excess >= Fraction(near) else set()
    return sure, possible


def joint_probabilities(frames: Frames, graph: ConstraintGraph, results: Sequence[Positions]) -> list[Fraction]:
    """Exact joint probability of each result, whatever it is; ABSENT members are left out."""
    members, rules = members_of(frames, graph, None), Rules(graph)
    return [rules.joint(_present(members, positions)) for positions in results]


def at_least_oracle(
    frames: Frames,
    graph: ConstraintGraph,
    m: int,
    key: Keys | None = None,
    threshold: float | None = None,
    sensors: str = "different",
) -> set[Positions]:
    """Maximal compatible member sets of m or more streams' events, at most one a stream."""
    return _maximal_sets(members_of(frames, graph, key), Rules(graph, threshold, sensors), m)


def members_of_result(positions: Positions, graph: ConstraintGraph) -> dict[str, int]:
    members = zip(graph.roles, positions, strict=True)
    return {stream: position for stream, position in members if position != ABSENT}


Push = tuple[str, Sequence[int]]  # a stream, and the positions in its frame of the events that arrive together
Change = tuple[set[Positions], set[Positions]]  # inserted and retracted; what a push makes and supersedes is in neither


def supersession_oracle(
    frames: Frames,
    pushes: Sequence[Push],
    graph: ConstraintGraph,
    m: int | None = None,
    key: Keys | None = None,
    threshold: float | None = None,
    sensors: str = "different",
) -> Iterator[Change]:
    """Yield how the whole answer differs before and after each push; `m` None: all streams, any graph."""
    members, rules = members_of(frames, graph, key), Rules(graph, threshold, sensors)
    arrived: dict[str, list[Member]] = {stream: [] for stream in graph.roles}
    before: set[Positions] = set()
    for stream, positions in pushes:
        arrived[stream] += [members[stream][position] for position in positions]
        after = _results(arrived, rules, None) if m is None else _maximal_sets(arrived, rules, m)
        yield after - before, before - after
        before = after


def _present(members: Mapping[str, Sequence[Member]], positions: Positions) -> dict[str, Member]:
    chosen = zip(members, positions, strict=True)
    return {stream: members[stream][position] for stream, position in chosen if position != ABSENT}


def _results(members: Mapping[str, Sequence[Member]], rules: Rules, where: Predicate | None) -> set[Positions]:
    choices = (dict(zip(members, chosen, strict=True)) for chosen in product(*members.values()))
    found = {tuple(member.position for member in chosen.values()) for chosen in choices if rules.allow(chosen)}
    if where is None:
        return found
    return {positions for positions in found if bool(where(np.array([positions], dtype=np.int64))[0])}


def _maximal_sets(members: Mapping[str, Sequence[Member]], rules: Rules, m: int) -> set[Positions]:
    """Grow compatible sets stream by stream: each is compatible without its last member too."""
    compatible: list[dict[str, Member]] = [{}]
    for stream, events in members.items():
        grown = [{**chosen, stream: event} for chosen in compatible for event in events]
        compatible += [chosen for chosen in grown if rules.allow(chosen)]
    found = [chosen for chosen in compatible if len(chosen) >= m and _is_maximal(chosen, members, rules)]
    return {tuple(chosen[name].position if name in chosen else ABSENT for name in members) for chosen in found}


def _is_maximal(chosen: Mapping[str, Member], members: Mapping[str, Sequence[Member]], rules: Rules) -> bool:
    others = ((stream, event) for stream, events in members.items() if stream not in chosen for event in events)
    return not any(rules.allow({**chosen, stream: event}) for stream, event in others)
