"""The window join from its definition: every choice of one event a stream, one at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby, product
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide import AtLeast, ConstraintGraph, Edge
from tests.reference.compatible_members import ACCURACY, Frames, Keys, Member, Rules, members_of

# Position in its frame of each member, in the graph's order of streams; ABSENT where a stream has none.
Positions = tuple[int, ...]
Predicate = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.bool_]]

ABSENT = -1
CYCLIC_ACCURACY = 1e-3  # how near for cyclic graphs other than uniform cliques: half a certified interval and more


def window_join_oracle(
    frames: Frames, graph: ConstraintGraph, key: Keys = None, where: Predicate | None = None, **rules: Any
) -> set[Positions]:
    """Positions of all results; a joint probability within 1e-12 of the threshold counts as reaching it."""
    return _results(members_of(frames, graph, key), Rules(graph, **rules), where)


def sure_and_possible(
    frames: Frames, graph: ConstraintGraph, key: Keys = None, threshold: float | None = None, sensors: str = "different"
) -> tuple[set[Positions], set[Positions]]:
    """Results that must be found, and those that may: joint probabilities near the threshold count either way."""
    members, rules = members_of(frames, graph, key), Rules(graph, threshold, sensors)
    if threshold is None:
        matches = _results(members, rules, None)
        return matches, matches
    near = Fraction(ACCURACY if graph.is_tree or graph.uniform_window is not None else CYCLIC_ACCURACY)
    edges = [Edge(e.a, e.b, e.window, threshold if e.threshold is None else e.threshold) for e in graph.edges]
    results = _results(members, Rules(ConstraintGraph(graph.roles, tuple(edges)), None, sensors), None)
    excess = {each: rules.joint(_present(members, each)) - Fraction(threshold) for each in results}
    return {each for each in results if excess[each] >= near}, {each for each in results if excess[each] >= -near}


def joint_probabilities(frames: Frames, graph: ConstraintGraph, results: Sequence[Positions]) -> list[Fraction]:
    """Exact joint probability of each result, whatever it is; ABSENT members are left out."""
    members, rules = members_of(frames, graph, None), Rules(graph)
    return [rules.joint(_present(members, positions)) for positions in results]


def at_least_oracle(
    frames: Frames, graph: ConstraintGraph, m: int | AtLeast, key: Keys = None, **rules: Any
) -> set[Positions]:
    """Maximal compatible member sets of m or more streams' events, at most one a stream."""
    return _maximal_sets(members_of(frames, graph, key), Rules(graph, **rules), m)


def members_of_result(positions: Positions, graph: ConstraintGraph) -> dict[str, int]:
    return {stream: position for stream, position in zip(graph.roles, positions, strict=True) if position != ABSENT}


Push = tuple[str, list[int]]  # a stream, and the positions in its frame of the events that arrive together
Change = tuple[set[Positions], set[Positions]]  # inserted and retracted; what a push makes and supersedes is in neither


def pushes_of(events: Iterable[tuple[str, int]], most_together: int = 1) -> list[Push]:
    """Push events that come one after the other of one stream together, up to so many."""
    runs = ((name, [row for _, row in run]) for name, run in groupby(events, key=itemgetter(0)))
    return [(name, rows[at : at + most_together]) for name, rows in runs for at in range(0, len(rows), most_together)]


def supersession_oracle(
    frames: Frames,
    pushes: Sequence[Push],
    graph: ConstraintGraph,
    m: int | AtLeast | None = None,
    key: Keys = None,
    **rules: Any,
) -> Iterator[Change]:
    """Yield how the whole answer differs before and after each push; `m` None: all streams, any graph."""
    members, asked = members_of(frames, graph, key), Rules(graph, **rules)
    so_far: dict[str, list[Member]] = {stream: [] for stream in graph.roles}
    before: set[Positions] = set()
    for stream, positions in pushes:
        so_far[stream] += [members[stream][position] for position in positions]
        after = _results(so_far, asked, None) if m is None else _maximal_sets(so_far, asked, m)
        yield after - before, before - after
        before = after


def _present(members: Mapping[str, Sequence[Member]], positions: Positions) -> dict[str, Member]:
    chosen = zip(members, positions, strict=True)
    return {stream: members[stream][position] for stream, position in chosen if position != ABSENT}


def _results(members: Mapping[str, Sequence[Member]], rules: Rules, where: Predicate | None) -> set[Positions]:
    choices = (dict(zip(members, chosen, strict=True)) for chosen in product(*members.values()))
    told = (chosen for chosen in choices if rules.allow(chosen) and rules.is_told(chosen))
    every = {tuple(member.position for member in chosen.values()) for chosen in told}
    return {each for each in every if where is None or bool(where(np.array([each], dtype=np.int64))[0])}


def _maximal_sets(members: Mapping[str, Sequence[Member]], rules: Rules, m: int | AtLeast) -> set[Positions]:
    """Grow compatible sets stream by stream: each is compatible without its last member too."""
    if isinstance(m, AtLeast):
        return _maximal_with_required(members, rules, m)
    compatible: list[dict[str, Member]] = [{}]
    for stream, events in members.items():
        grown = [{**chosen, stream: event} for chosen in compatible for event in events]
        compatible += [chosen for chosen in grown if rules.allow(chosen)]

    def is_maximal(chosen: Mapping[str, Member]) -> bool:
        others = ((stream, event) for stream, events in members.items() if stream not in chosen for event in events)
        return not any(rules.allow({**chosen, stream: event}) for stream, event in others)

    maximal = [chosen for chosen in compatible if len(chosen) >= m and is_maximal(chosen)]
    return {tuple(chosen[name].position if name in chosen else ABSENT for name in members) for chosen in maximal}


def _maximal_with_required(members: Mapping[str, Sequence[Member]], rules: Rules, at_least: AtLeast) -> set[Positions]:
    """Try every choice of an event or nobody for each role; keep those that are in no other one."""
    optional = [role for role in members if at_least.of is None or role in at_least.of]
    choices = product(*([*events, None] if role in optional else events for role, events in members.items()))
    compatible = []
    for chosen in choices:
        present = {role: event for role, event in zip(members, chosen, strict=True) if event is not None}
        enough = sum(role in present for role in optional) >= at_least.count
        if enough and rules.allow(present):
            compatible.append({(role, event.position) for role, event in present.items()})
    maximal = [dict(each) for each in compatible if not any(each < other for other in compatible)]
    return {tuple(each.get(role, ABSENT) for role in members) for each in maximal}
