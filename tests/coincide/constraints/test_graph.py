import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import CoincideError, ConstraintGraph, Edge, Window
from coincide.constraints.graph import UNBOUNDED_US, implied_bounds
from coincide.errors import GraphError, ThresholdError
from tests.reference.constraint_graphs import CLIQUES, STREAMS, constraint_graphs

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
    assert (graph.roles, edges_of(graph)) == (("p", "s"), [("p", "s", AFTER, 0.6)])
    assert (graph.form, graph.is_tree, graph.is_clique, graph.uniform_window) == ("binary", True, True, None)
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
    assert tied("bc", "ab", "cd").form == "path"  # whatever the order of its edges
    assert tied("ab", "ac", "ad").form == "graph"  # a star: a tree, but no path
    assert tied("ab", "bc", "cd", "da").form == "graph"  # a cycle
    assert tied("ab", "bc", "ca").form == "clique"


def test_roles_come_as_edges_name_them_or_in_the_order_given() -> None:
    edges: list[tuple[str, str, Window]] = [("c", "a", WINDOW), ("a", "b", WINDOW)]
    assert ConstraintGraph.graph(edges).roles == ("c", "a", "b")
    ordered = ConstraintGraph.graph([Edge(*edge) for edge in edges], roles=ABC)
    assert ordered.roles == ("a", "b", "c")
    assert (ordered.neighbours("a"), ordered.neighbours("b")) == (["b", "c"], ["a"])


def test_the_papers_gas_sensors_and_the_barrier_between_two_of_them() -> None:
    """Gas reaches the next sensor of a ring within 10, 20, 30 and 40 s; barriers stand across both diagonals."""
    seconds = {("s1", "s2"): 10, ("s2", "s3"): 20, ("s3", "s4"): 30, ("s4", "s1"): 40}
    graph = ConstraintGraph.graph([(a, b, Window(reach)) for (a, b), reach in seconds.items()])
    assert (graph.form, graph.roles) == ("graph", ("s1", "s2", "s3", "s4"))
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
    windows = ["a-b: 5.0 to 6.0 s", "b-c: 5.0 to 6.0 s", "a-c: 12.001 to 20.0 s"]
    assert (refusal.value.field, refusal.value.value) == ("edges", windows)
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
    less = ConstraintGraph(graph.roles, graph.edges[1:])
    assert (graph.form, graph.is_clique, less.is_clique, less.uniform_window) == ("clique", True, False, None)


Steps = Mapping[tuple[str, str], int]  # greatest time from the first stream to the second, by both


def steps_of(edges: Iterable[Edge]) -> Steps:
    bounds = ((edge.a, edge.b, edge.window) for edge in edges)
    return {step: us for a, b, own in bounds for step, us in (((a, b), own.hi_us), ((b, a), -own.lo_us))}


def chains(streams: tuple[str, ...], first: str, last: str) -> Iterator[tuple[str, ...]]:
    """Every way from first to last that visits no stream twice."""
    between = [stream for stream in streams if stream not in {first, last}]
    for length in range(len(between) + 1):
        for inner in permutations(between, length):
            yield (first, *inner, last)


def longest_us(steps: Steps, chain: tuple[str, ...]) -> int | None:
    """Greatest time from the chain's first stream to its last; None if a step has no edge."""
    taken = [steps.get(step) for step in pairwise(chain)]
    return None if None in taken else sum(step for step in taken if step is not None)


@given(graph=constraint_graphs())
def test_a_bound_is_the_tightest_over_all_chains_of_edges(graph: ConstraintGraph) -> None:
    steps, bounds = steps_of(graph.edges), graph.window_bounds_us
    for i, first in enumerate(graph.roles):
        assert bounds[i, i] == 0
        for j, last in enumerate(graph.roles):
            if i != j:
                longest = [longest_us(steps, chain) for chain in chains(graph.roles, first, last)]
                assert bounds[i, j] == min(each for each in longest if each is not None)


@given(graph=constraint_graphs(), data=st.data())
def test_times_at_a_bound_satisfy_every_window(graph: ConstraintGraph, data: st.DataObject) -> None:
    """As late after one stream as the bounds allow, all at once: so no bound could be tighter."""
    bounds = graph.window_bounds_us
    start = data.draw(st.integers(0, len(graph.roles) - 1))
    for time_us in (bounds[start], -bounds[:, start]):
        at_us = dict(zip(graph.roles, time_us.tolist(), strict=True))
        for edge in graph.edges:
            assert edge.window.lo_us <= at_us[edge.b] - at_us[edge.a] <= edge.window.hi_us


@st.composite
def connected_edges(draw: st.DrawFn) -> list[Edge]:
    """Pairs that connect 3 or 4 streams, and any bounds in seconds: often contradictory."""
    streams = STREAMS[: draw(st.integers(3, 4))]
    pairs = {(streams[draw(st.integers(0, at - 1))], streams[at]) for at in range(1, len(streams))}
    pairs |= {pair for pair in zip(streams, streams[2:], strict=False) if draw(st.booleans())}
    ends_s = st.tuples(st.integers(-3, 3), st.integers(-3, 3)).map(sorted)
    own = ends_s.map(lambda ends: Window(lo_s=ends[0], hi_s=ends[1]))
    return [Edge(*pair, draw(own)) for pair in sorted(pairs)]


@given(edges=connected_edges())
def test_a_graph_is_refused_if_and_only_if_some_chain_comes_back_before_it_left(edges: list[Edge]) -> None:
    steps = steps_of(edges)
    streams = tuple(dict.fromkeys(stream for edge in edges for stream in (edge.a, edge.b)))
    ways = [(*chain, first) for first, last in permutations(streams, 2) for chain in chains(streams, first, last)]
    if any(trip < 0 for trip in (longest_us(steps, way) for way in ways) if trip is not None):
        with pytest.raises(GraphError):
            ConstraintGraph.graph(edges)
    else:
        ConstraintGraph.graph(edges)


def test_what_no_chain_connects_stays_unbounded_and_what_was_given_stays() -> None:
    far = UNBOUNDED_US
    upper = np.array([[0, 5, far, far], [5, 0, far, far], [far, far, 0, -2], [far, far, 4, 0]])
    given_upper = upper.copy()
    bounds = implied_bounds(upper)
    assert np.array_equal(upper, given_upper)
    assert bounds[:2, :2].tolist() == [[0, 5], [5, 0]]
    assert bounds[2:, 2:].tolist() == [[0, -2], [4, 0]]
    assert (bounds[:2, 2:] >= far - 2).all()


def test_open_windows_bound_one_side_only() -> None:
    graph = ConstraintGraph.graph([("a", "b", Window.deadline(5)), ("b", "c", Window.delay(2))])
    bounds = graph.window_bounds_us
    assert (bounds[0, 1], bounds[2, 1]) == (5_000_000, -2_000_000)
    # what they leave open stays beyond all times there are, 1898 to 2112
    assert all(7 * 10**15 < end < UNBOUNDED_US for end in (bounds[1, 0], bounds[1, 2], bounds[0, 2]))
