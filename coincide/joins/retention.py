"""Retention: how long an event may still find partners that are not late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from coincide.arrays.kinds import Int64Array
from coincide.constraints.graph import UNBOUNDED_US, ConstraintGraph, implied_bounds
from coincide.constraints.window import Window
from coincide.joins.tuples.set_plan import SetPlan
from coincide.offsets.pair_work import TABLE_WORK, table_work
from coincide.offsets.satisfaction_table import SatisfactionTable
from coincide.stream import Stream
from coincide.templates.codes import TemplatesInOrder
from coincide.templates.histogram import Histogram

ROUNDING_US = 2  # earliest is rounded down, latest up and the window to the nearest: all that together is below this


def latest_apart_us(a: Stream, b: Stream, window: Window, threshold: float | None = None) -> tuple[int, int]:
    """Least and greatest latest_b - latest_a of a pair: latest_b - pi_b <= X_b <= X_a + hi <= latest_a + hi.

    Where both streams declare their templates, no pair of these satisfies the threshold beyond its satisfaction
    offsets. These bounds are those of PTJoin (Theorem 4). A pair of streams whose offsets would take too long to
    compute, or that never match, keeps to the window.
    """
    lo_us, hi_us = (
        window.lo_us - a.longest_template_us - ROUNDING_US,
        window.hi_us + b.longest_template_us + ROUNDING_US,
    )
    if threshold is None or a.templates is None or b.templates is None:
        return lo_us, hi_us
    hull_us = _satisfying_us(tuple(a.templates), tuple(b.templates), window, threshold)
    return (lo_us, hi_us) if hull_us is None else (max(lo_us, hull_us[0]), min(hi_us, hull_us[1]))


@lru_cache(maxsize=256)  # many edges of a graph often ask the same
def _satisfying_us(
    us: tuple[Histogram, ...], vs: tuple[Histogram, ...], window: Window, threshold: float
) -> tuple[int, int] | None:
    """Least and greatest latest_v - latest_u at which templates match; None if none do, or it is too much work."""
    if table_work(us, vs, window) > TABLE_WORK:
        return None
    table = SatisfactionTable.build(us, vs, window, threshold)
    matches = table.lo_us <= table.hi_us
    if not matches.any():
        return None
    to_latest_us = TemplatesInOrder(vs).latest_us - TemplatesInOrder(us).latest_us[:, None]
    return int((table.lo_us + to_latest_us)[matches].min()), int((table.hi_us + to_latest_us)[matches].max())


def reaches_us(graph: ConstraintGraph, streams: Mapping[str, Stream]) -> Int64Array:
    """How far behind the watermark events of each role are needed, int64 (k,).

    They are kept while ``latest >= watermark + this``. `streams` declares the stream of each role.

    An event of role j that is on time has latest >= W - D_j, and the edges on any chain from i to j bound
    latest_j - latest_i: such an event may still complete a tuple with one of i. The reach is never nearer than the
    role's own delay, within which a repeated detection must still be known as one.

    Examples
    --------
    Two streams of clocks that are 1 s wrong at most, and pairs that are within 5 s for sure: the offset is 3 s at most.

    >>> from coincide.constraints.window import Window
    >>> graph = ConstraintGraph.binary("a", "b", Window(5), 1.0)
    >>> clocks = [Histogram.uniform(-1, 1)]
    >>> reaches_us(graph, {name: Stream(name, 10, 2) for name in "ab"}).tolist()
    [-17000002, -17000002]
    >>> reaches_us(graph, {name: Stream(name, 10, templates=clocks) for name in "ab"}).tolist()
    [-13000000, -13000000]
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
    return graph.upper_us(
        latest_apart_us(streams[edge.a], streams[edge.b], edge.window, edge.threshold) for edge in graph.edges
    )


def _reaches(apart_us: Int64Array, graph: ConstraintGraph, streams: Mapping[str, Stream]) -> Int64Array:
    delay_us = np.array([streams[name].max_delay_us for name in graph.roles])
    reaches: Int64Array = np.minimum(-delay_us, -(apart_us + delay_us).max(axis=1))
    return reaches
