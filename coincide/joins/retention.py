"""Retention: how long an event may still find partners that are not late."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from coincide.arrays.kinds import Int64Array
from coincide.constraints.graph import UNBOUNDED_US, ConstraintGraph, implied_bounds
from coincide.constraints.window import Window
from coincide.joins.tuples.set_plan import SetPlan
from coincide.stream import Stream

ROUNDING_US = 2  # earliest is rounded down, latest up and the window to the nearest: all that together is below this


def latest_apart_us(a: Stream, b: Stream, window: Window) -> tuple[int, int]:
    """Least and greatest latest_b - latest_a of a pair: latest_b - pi_b <= X_b <= X_a + hi <= latest_a + hi."""
    return (
        window.lo_us - a.longest_template_us - ROUNDING_US,
        window.hi_us + b.longest_template_us + ROUNDING_US,
    )


def reach_us(stream: Stream, streams: Mapping[str, Stream], joins: Iterable[tuple[str, str, Window]]) -> int:
    """How far behind the watermark events of a stream are needed: keep while ``latest >= watermark + this``.

    An event of the partner that is on time has latest >= watermark - its delay. So the farthest of all joins (names
    of a and b, window) that name the stream counts. It is never nearer than the stream's own delay, within which a
    repeated detection must still be known as one.
    """
    reaches = [-stream.max_delay_us]
    for a, b, window in joins:
        lo_us, hi_us = latest_apart_us(streams[a], streams[b], window)
        if a == stream.name:
            reaches.append(-streams[b].max_delay_us - hi_us)
        if b == stream.name:
            reaches.append(-streams[a].max_delay_us + lo_us)
    return min(reaches)


def reaches_us(graph: ConstraintGraph, streams: Mapping[str, Stream]) -> Int64Array:
    """How far behind the watermark events of each role are needed, int64 (k,).

    They are kept while ``latest >= watermark + this``. `streams` declares the stream of each role.

    An event of role j that is on time has latest >= W - D_j, and the edges on any chain from i to j bound
    latest_j - latest_i: such an event may still complete a tuple with one of i. The reach is never nearer than the
    role's own delay, within which a repeated detection must still be known as one.
    """
    apart_us = implied_bounds(_latest_bounds_us(graph, streams))
    np.fill_diagonal(apart_us, 0)  # its own delay
    return _reaches(apart_us, graph, streams)


def set_reaches_us(graph: ConstraintGraph, streams: Mapping[str, Stream], plan: SetPlan | None = None) -> Int64Array:
    """`reaches_us` of a graph whose members may be absent, to know which sets were maximal before an event.

    In a clique an event decides about a set that it fits into, and one more event may join that set later. Two edges
    lie between those two events, which may have the same role. An absent member bounds nothing. `plan` says which
    members are required, if some are.

    Examples
    --------
    >>> from coincide.constraints.window import Window
    >>> graph = ConstraintGraph.clique("abc", {("a", "b"): Window(1), ("b", "c"): Window(1), ("a", "c"): Window(9)})
    >>> declared = {name: Stream(name, max_delay_s=10, longest_template_s=2) for name in "abc"}
    >>> reaches_us(graph, declared).tolist(), set_reaches_us(graph, declared).tolist()
    ([-16000004, -13000002, -16000004], [-32000004, -24000004, -32000004])
    """
    if plan is not None and plan.any_required:
        return _required_reaches_us(graph, streams, plan)
    edge_us = _latest_bounds_us(graph, streams)
    apart_us, roles = edge_us.copy(), np.arange(len(edge_us))
    for through in roles:
        others = roles[roles != through]
        at = np.ix_(others, others)
        apart_us[at] = np.maximum(apart_us[at], edge_us[others, through, None] + edge_us[through, others])
    return _reaches(apart_us, graph, streams)


def _required_reaches_us(graph: ConstraintGraph, streams: Mapping[str, Stream], plan: SetPlan) -> Int64Array:
    """`set_reaches_us` where some roles are required: as far as the search goes from an event that is on time.

    The search goes along edges by way of required members alone, which no set goes without. It meets every member of
    a set so, and every event that decides whether the set was maximal without its last member.
    """
    edge_us = _latest_bounds_us(graph, streams)
    apart_us = np.full_like(edge_us, -UNBOUNDED_US)
    np.fill_diagonal(apart_us, 0)  # its own delay
    for first, arriving in enumerate(plan.kinds):
        met = [(first, 0)]  # the kind of each member that is met, and how much later the arriving one may be
        for place, kind in plan.reaching(first):
            near, later_us = met[place]
            one, other = plan.kinds[kind][0], plan.kinds[near][-1]  # of one kind, two different roles
            met.append((kind, later_us + int(edge_us[one, other])))
            at = np.ix_(plan.kinds[kind], arriving)
            apart_us[at] = np.maximum(apart_us[at], met[-1][1])
    return _reaches(apart_us, graph, streams)


def farthest_by_stream(reach_us: Int64Array, streams: Sequence[str]) -> dict[str, int]:
    """Return the farthest reach of each stream, whose name stands once for each role that it has."""
    farthest: dict[str, int] = {}
    for name, reach in zip(streams, reach_us.tolist(), strict=True):
        farthest[name] = min(farthest.get(name, reach), reach)
    return farthest


def _latest_bounds_us(graph: ConstraintGraph, streams: Mapping[str, Stream]) -> Int64Array:
    """Greatest latest_j - latest_i of every two roles, by each edge alone."""
    return graph.upper_us(latest_apart_us(streams[edge.a], streams[edge.b], edge.window) for edge in graph.edges)


def _reaches(apart_us: Int64Array, graph: ConstraintGraph, streams: Mapping[str, Stream]) -> Int64Array:
    delay_us = np.array([streams[name].max_delay_us for name in graph.roles])
    reaches: Int64Array = np.minimum(-delay_us, -(apart_us + delay_us).max(axis=1))
    return reaches
