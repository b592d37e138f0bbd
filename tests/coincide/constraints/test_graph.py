from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given

from coincide import CoincideError, ConstraintGraph, Edge, Window
from coincide.errors import GraphError, ThresholdError
from tests.reference.constraint_graphs import CLIQUES, constraint_graphs

WINDOW = Window(5)
AFTER = Window(lo_s=0, hi_s=60)
ABC = ["a", "b", "c"]
TWO = {("b", "a"): WINDOW, ("b", "c"): WINDOW}


def edges_of(graph: ConstraintGraph) -> list[tuple[str, str, Window, float | None]]:
    return [(edge.a, edge.b, edge.window, edge.threshold) for edge in graph.edges]


def tied(*pairs: str, roles: list[str] | None = None) -> ConstraintGraph:
    return ConstraintGraph.graph([(pair[0], pair[1], WINDOW) for pair in pairs], roles)


def test_one_edge_is_a_timing_join() -> None:
    graph = ConstraintGraph.binary("p", "s", AFTER, 0.6)
    assert graph.roles == ("p", "s")
    assert edges_of(graph) == [("p", "s", AFTER, 0.6)]
    assert graph.form == "binary"
    assert graph.is_tree
    assert graph.is_clique
    assert graph.uniform_window is None  # not symmetric
    assert ConstraintGraph.binary("p", "s", WINDOW).uniform_window == WINDOW


def test_a_path_constrains_each_stream_and_the_next() -> None:
    one_for_all = ConstraintGraph.path(ABC, AFTER, 0.5)
    assert edges_of(one_for_all) == [("a", "b", AFTER, 0.5), ("b", "c", AFTER, 0.5)]
    each = ConstraintGraph.path(ABC, [AFTER, WINDOW], [None, 0.2])
    assert edges_of(each) == [("a", "b", AFTER, None), ("b", "c", WINDOW, 0.2)]
    assert (each.form, each.is_tree, each.is_clique, each.uniform_window) == ("path", True, False, None)


def test_a_clique_constrains_every_pair() -> None:
    uniform = ConstraintGraph.clique(["a", "b", "c", "d"], WINDOW, 0.3)
    assert edges_of(uniform) == [(a, b, WINDOW, 0.3) for a, b in combinations("abcd", 2)]
    assert (uniform.form, uniform.is_tree, uniform.is_clique, uniform.uniform_window) == ("clique", False, True, WINDOW)
    windows = {("a", "b"): WINDOW, ("c", "b"): AFTER, ("a", "c"): Window(3)}
    each = ConstraintGraph.clique(ABC, windows)
    assert {(a, b): window for a, b, window, _ in edges_of(each)} == windows
    assert each.roles == ("a", "b", "c")
    assert (each.form, each.uniform_window) == ("clique", None)


def test_a_graph_is_named_by_what_it_is() -> None:
    assert tied("ab").form == "binary"
    assert tied("bc", "ab", "cd").form == "path"  # whatever the order of its edges
    assert tied("ab", "ac", "ad").form == "graph"  # a star: a tree, but no path
    assert tied("ab", "bc", "cd", "da").form == "graph"  # a cycle
    assert tied("ab", "bc", "ca").form == "clique"


def test_streams_come_as_edges_name_them_or_as_told() -> None:
    edges: list[tuple[str, str, Window]] = [("c", "a", WINDOW), ("a", "b", WINDOW)]
    assert ConstraintGraph.graph(edges).roles == ("c", "a", "b")
    told = ConstraintGraph.graph([Edge(*edge) for edge in edges], roles=ABC)
    assert told.roles == ("a", "b", "c")
    assert told.neighbours("a") == ["b", "c"]
    assert told.neighbours("b") == ["a"]


def test_the_papers_gas_sensors_and_the_barrier_between_two_of_them() -> None:
    """Gas reaches the next sensor of a ring within 10, 20, 30 and 40 s; barriers stand across both diagonals."""
    seconds = {("s1", "s2"): 10, ("s2", "s3"): 20, ("s3", "s4"): 30, ("s4", "s1"): 40}
    graph = ConstraintGraph.graph([(a, b, Window(reach)) for (a, b), reach in seconds.items()])
    assert graph.form == "graph"
    assert graph.roles == ("s1", "s2", "s3", "s4")
    bounds_s = graph.window_bounds_us // 1_000_000
    assert bounds_s[0, 2] == bounds_s[2, 0] == 30  # over s2: 10 + 20, not over s4
    assert bounds_s[1, 3] == bounds_s[3, 1] == 50  # over s1 or s3, both 50
    assert bounds_s[0, 3] == 40  # its own window, though 10 + 20 + 30 lies beyond


@pytest.mark.parametrize(
    ("build", "field", "value", "allowed"),
    [
        (lambda: ConstraintGraph.path(["a"], WINDOW), "roles", ("a",), "two or more"),
        (lambda: ConstraintGraph.graph([]), "roles", (), "two or more"),
        (lambda: ConstraintGraph.path(["a", "b", "a"], WINDOW), "roles", "a", "each named once"),
        (lambda: ConstraintGraph.binary("a", "a", WINDOW), "edges", ("a", "a"), "two different roles"),
        (lambda: tied("ab", "bx", roles=["a", "b"]), "edges", "x", "one of the roles ['a', 'b']"),
        (lambda: tied("ab", "ba"), "edges", ("b", "a"), "one edge for each pair of roles"),
        (lambda: tied("ab", "cd", "de"), "edges", ["c", "d", "e"], "chains of edges from every role to 'a'"),
        (lambda: tied("ab", roles=ABC), "edges", ["c"], "chains of edges from every role to 'a'"),
        (lambda: ConstraintGraph.path(ABC, [WINDOW]), "window", [WINDOW], "one, or 2: one for each step"),
        (lambda: ConstraintGraph.path(ABC, WINDOW, [0.5]), "threshold", [0.5], "one, or 2: one for each step"),
        (lambda: ConstraintGraph.clique(ABC, AFTER), "window", AFTER, "symmetric if it is one for all pairs"),
        (lambda: ConstraintGraph.clique(ABC, TWO), "window", [["a", "c"]], "a window for every pair: these have none"),
    ],
)
def test_what_is_no_graph_is_refused_by_name(
    build: Callable[[], ConstraintGraph], field: str, value: object, allowed: str
) -> None:
    with pytest.raises(GraphError) as refusal:
        build()
    assert (refusal.value.field, refusal.value.value) == (field, value)
    assert allowed in refusal.value.allowed
    assert isinstance(refusal.value, CoincideError)


def test_windows_that_no_times_satisfy_are_refused() -> None:
    step = Window(lo_s=5, hi_s=6)
    chain: list[tuple[str, str, Window]] = [("a", "b", step), ("b", "c", step)]
    with pytest.raises(GraphError, match="these contradict") as refusal:
        ConstraintGraph.graph([*chain, ("a", "c", Window(lo_s=12.001, hi_s=20))])
    assert refusal.value.field == "edges"
    assert refusal.value.value == ["a-b: 5.0 to 6.0 s", "b-c: 5.0 to 6.0 s", "a-c: 12.001 to 20.0 s"]
    with pytest.raises(GraphError, match="these contradict"):
        ConstraintGraph.graph([*chain, ("c", "a", Window(lo_s=-9.999, hi_s=0))])  # c at most 9.999 s after a
    for touching in (Window(lo_s=12, hi_s=20), Window(lo_s=0, hi_s=10)):
        assert ConstraintGraph.graph([*chain, ("a", "c", touching)]).is_clique


@pytest.mark.parametrize("threshold", [0, 1.1, float("nan"), "0.5", True])
def test_a_threshold_is_above_0_and_at_most_1(threshold: Any) -> None:
    with pytest.raises(ThresholdError) as refusal:
        ConstraintGraph.clique(ABC, WINDOW, threshold)
    assert refusal.value.field == "threshold"


def test_equal_graphs_are_equal_and_survive_pickling() -> None:
    graph = ConstraintGraph.path(ABC, AFTER, 0.5)
    assert graph == pickle.loads(pickle.dumps(graph))
    assert hash(graph) == hash(ConstraintGraph.path(ABC, AFTER, 0.5))
    assert graph != ConstraintGraph.path(ABC, AFTER, 0.4)


@given(graph=constraint_graphs(CLIQUES, fewest=3))
def test_every_clique_is_one_and_without_an_edge_it_is_none(graph: ConstraintGraph) -> None:
    assert graph.is_clique
    assert graph.form == "clique"
    less = ConstraintGraph(graph.roles, graph.edges[1:])
    assert not less.is_clique
    assert less.uniform_window is None
