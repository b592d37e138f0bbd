from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import ConstraintGraph, Edge, Window
from coincide.constraints.interchange import Interchange
from coincide.errors import GraphError

WINDOWS = [Window(1), Window(2), Window(lo_s=0, hi_s=3), Window(lo_s=-3, hi_s=0)]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[ConstraintGraph, list[float], list[str]]:
    """Return a connected graph of 2 to 5 roles whose times can be equal, the thresholds of its edges, and streams."""
    roles = "abcde"[: draw(st.integers(2, 5))]
    tree = [(roles[draw(st.integers(0, at - 1))], roles[at]) for at in range(1, len(roles))]
    more = [pair for pair in combinations(roles, 2) if pair not in tree and draw(st.booleans())]
    edges = [Edge(a, b, draw(st.sampled_from(WINDOWS))) for a, b in tree + more]
    thresholds = [draw(st.sampled_from([0.5, 0.5, 0.7])) for _ in edges]
    return ConstraintGraph.graph(edges, roles), thresholds, [draw(st.sampled_from("xxy")) for _ in roles]


def automorphisms(graph: ConstraintGraph, thresholds: list[float], kinds: list[str]) -> set[tuple[int, ...]]:
    """Return every way to rename the roles that gives the same graph, tried one by one."""
    edges = {}
    for edge, threshold in zip(graph.edges, thresholds, strict=True):
        a, b = graph.roles.index(edge.a), graph.roles.index(edge.b)
        edges[a, b], edges[b, a] = (edge.window, threshold), (edge.window.swapped(), threshold)
    return {
        place
        for place in permutations(range(len(kinds)))
        if {(place[a], place[b]): tie for (a, b), tie in edges.items()} == edges
        and [kinds[at] for at in place] == kinds
    }


@given(graphs())
def test_groups_and_symmetries_make_every_automorphism_once(
    drawn: tuple[ConstraintGraph, list[float], list[str]],
) -> None:
    interchange = Interchange.of(*drawn)
    identity = tuple(range(len(drawn[2])))
    made = []
    for symmetry in [identity, *interchange.symmetries]:
        swapped = [identity]
        for group in interchange.groups:
            swapped = [
                tuple(dict(zip(group, order, strict=True)).get(place, place) for place in each)
                for each in swapped
                for order in permutations(group)
            ]
        made += [tuple(each[place] for place in symmetry) for each in swapped]
    assert len(made) == len(set(made))
    assert set(made) == automorphisms(*drawn)


@given(graphs(), st.data())
def test_present_members_take_their_roles_in_as_many_ways_as_swaps_keep_them(
    drawn: tuple[ConstraintGraph, list[float], list[str]], data: st.DataObject
) -> None:
    present = sorted(data.draw(st.sets(st.sampled_from(range(len(drawn[2]))), min_size=1)))
    images = {tuple(place[role] for role in present) for place in automorphisms(*drawn)}
    ways = [image for image in images if sorted(image) == present]
    assert Interchange.of(*drawn).ways(present) == len(ways)


def test_too_many_symmetries_are_refused() -> None:
    edges = [Edge("hub", f"{near}{n}", Window(1)) for n in range(7) for near in "a"]
    edges += [Edge(f"a{n}", f"b{n}", Window(2)) for n in range(7)]
    graph = ConstraintGraph.graph(edges)
    with pytest.raises(GraphError, match="at most 1000 ways"):
        Interchange.of(graph, [0.5] * len(edges), ["x"] * len(graph.roles))
