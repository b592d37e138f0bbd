from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise, permutations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from coincide import ConstraintGraph, Window
from coincide.constraints.graph import UNBOUNDED_US, implied_bounds
from coincide.errors import GraphError
from tests.reference.constraint_graphs import STREAMS, constraint_graphs

Steps = Mapping[tuple[str, str], int]
"""Greatest time from the first stream to the second, by both."""


def steps_of(graph: ConstraintGraph) -> Steps:
    forth = {(edge.a, edge.b): edge.window.hi_us for edge in graph.edges}
    back = {(edge.b, edge.a): -edge.window.lo_us for edge in graph.edges}
    return {**forth, **back}


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
    steps, bounds = steps_of(graph), graph.window_bounds_us
    for i, first in enumerate(graph.roles):
        assert bounds[i, i] == 0
        for j, last in enumerate(graph.roles):
            if i != j:
                reached = [longest_us(steps, chain) for chain in chains(graph.roles, first, last)]
                assert bounds[i, j] == min(each for each in reached if each is not None)


@given(graph=constraint_graphs(), data=st.data())
def test_times_at_a_bound_satisfy_every_window(graph: ConstraintGraph, data: st.DataObject) -> None:
    """As late after one stream as the bounds allow, all at once: so no bound could be tighter."""
    bounds = graph.window_bounds_us
    start = data.draw(st.integers(0, len(graph.roles) - 1))
    for time_us in (bounds[start], -bounds[:, start]):
        at_us = dict(zip(graph.roles, time_us.tolist(), strict=True))
        for edge in graph.edges:
            assert edge.window.lo_us <= at_us[edge.b] - at_us[edge.a] <= edge.window.hi_us


EdgeTimes = tuple[tuple[str, str], tuple[int, int]]


@st.composite
def connected_edges(draw: st.DrawFn) -> list[EdgeTimes]:
    """Pairs that connect 3 or 4 streams, and any bounds in seconds: often contradictory."""
    streams = STREAMS[: draw(st.integers(3, 4))]
    pairs = {(streams[draw(st.integers(0, at - 1))], streams[at]) for at in range(1, len(streams))}
    pairs |= {pair for pair in zip(streams, streams[2:], strict=False) if draw(st.booleans())}
    bounds = st.tuples(st.integers(-3, 3), st.integers(-3, 3)).map(lambda ends: (min(ends), max(ends)))
    return [(pair, draw(bounds)) for pair in sorted(pairs)]


@given(edges=connected_edges())
def test_a_graph_is_refused_if_and_only_if_some_chain_comes_back_before_it_left(edges: list[EdgeTimes]) -> None:
    built = [(a, b, Window(lo_s=lo, hi_s=hi)) for (a, b), (lo, hi) in edges]
    steps = {pair: hi for pair, (_, hi) in edges} | {(b, a): -lo for (a, b), (lo, _) in edges}
    streams = tuple(dict.fromkeys(stream for pair, _ in edges for stream in pair))
    round_trips = [
        longest_us(steps, (*chain, first))
        for first, last in permutations(streams, 2)
        for chain in chains(streams, first, last)
    ]
    contradicts = any(trip is not None and trip < 0 for trip in round_trips)
    try:
        ConstraintGraph.graph(built)
    except GraphError:
        assert contradicts
    else:
        assert not contradicts


def test_what_no_chain_connects_stays_unbounded() -> None:
    far = UNBOUNDED_US
    upper = np.array([[0, 5, far, far], [5, 0, far, far], [far, far, 0, -2], [far, far, 4, 0]])
    bounds = implied_bounds(upper)
    assert bounds[:2, :2].tolist() == [[0, 5], [5, 0]]
    assert bounds[2:, 2:].tolist() == [[0, -2], [4, 0]]
    assert (bounds[:2, 2:] >= far - 2).all()


def test_open_windows_bound_one_side_only() -> None:
    """A deadline and a delay: what they leave open stays beyond all times there are."""
    graph = ConstraintGraph.graph([("a", "b", Window.deadline(5)), ("b", "c", Window.delay(2))])
    bounds = graph.window_bounds_us
    assert bounds[0, 1] == 5_000_000
    assert bounds[2, 1] == -2_000_000
    longest_us_there_is = 7 * 10**15  # 1898 to 2112
    open_ends = [bounds[1, 0], bounds[1, 2], bounds[0, 2]]
    assert all(longest_us_there_is < end < UNBOUNDED_US for end in open_ends)


def test_bounds_are_not_written_into_what_was_given() -> None:
    upper: npt.NDArray[np.int64] = np.array([[0, 1, 9], [1, 0, 1], [9, 1, 0]])
    assert implied_bounds(upper)[0, 2] == 2
    assert upper[0, 2] == 9
