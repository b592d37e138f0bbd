"""Retention: how long an event may still find partners that are not late."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from coincide.arrays.kinds import Int64Array
from coincide.constraints.graph import ConstraintGraph
from coincide.constraints.implied import implied_bounds
from coincide.constraints.window import Window
from coincide.errors import StreamError
from coincide.stream import Stream
from coincide.templates.bucket_checks import is_whole

ROUNDING_US = 2  # earliest is rounded down, latest up and the window to the nearest: all that together is below this


def a_reach_us(b: Stream, window: Window) -> int:
    """Keep a while ``latest_a >= watermark + this``.

    A b that is on time has latest_b >= W - D_b, hence earliest_b >= W - D_b - pi_b, and X_a >= X_b - hi.
    """
    return -b.max_delay_us - window.hi_us - b.longest_template_us - ROUNDING_US


def b_reach_us(a: Stream, window: Window) -> int:
    """Keep b while ``latest_b >= watermark + this``.

    An a that is on time has latest_a >= W - D_a, hence earliest_a >= W - D_a - pi_a, and X_b >= X_a + lo.
    """
    return -a.max_delay_us + window.lo_us - a.longest_template_us - ROUNDING_US


def reach_us(stream: Stream, streams: Mapping[str, Stream], joins: Iterable[tuple[str, str, Window]]) -> int:
    """How far behind the watermark events of a stream are needed: keep while ``latest >= watermark + this``.

    The farthest of all joins (names of a and b, window) that name the stream; never nearer than the stream's own
    delay, within which a repeated detection must still be known as one.

    Examples
    --------
    >>> p, s = Stream("p", max_delay_s=10, longest_template_s=2), Stream("s", max_delay_s=20, longest_template_s=3)
    >>> reach_us(p, {"p": p, "s": s}, [("p", "s", Window(lo_s=0, hi_s=5))])
    -28000002
    >>> reach_us(s, {"p": p, "s": s}, [("p", "s", Window(lo_s=0, hi_s=5))])
    -20000000
    """
    reaches = [-stream.max_delay_us]
    for a, b, window in joins:
        if a == stream.name:
            reaches.append(a_reach_us(streams[b], window))
        if b == stream.name:
            reaches.append(b_reach_us(streams[a], window))
    return min(reaches)


def checked_bound(max_buffered: int | None) -> int | None:
    """Return the hard bound on a stream's buffer if it is one, else raise StreamError."""
    if max_buffered is not None and (not is_whole(max_buffered) or max_buffered < 1):
        raise StreamError("max_buffered", max_buffered, "a whole number of events, at least 1, or None")
    return max_buffered


def reaches_us(graph: ConstraintGraph, streams: Mapping[str, Stream]) -> Int64Array:
    """How far behind the watermark events of each role are needed: keep while ``latest >= watermark + this``.

    An event of role j that is on time has latest >= W - D_j, and the edges on any chain from i to j bound
    latest_j - latest_i: one that is later may still complete a tuple with i. Never nearer than the role's own delay,
    within which a repeated detection must still be known as one.

    Parameters
    ----------
    graph : ConstraintGraph
    streams : mapping of str to Stream
        What is declared of each of the graph's streams (roles).

    Returns
    -------
    ndarray of int64, shape (k,)
        Negative, in the order of the graph's streams.

    Examples
    --------
    >>> from coincide.constraints.window import Window
    >>> graph = ConstraintGraph.path("abc", Window(lo_s=0, hi_s=5))
    >>> declared = {name: Stream(name, max_delay_s=10, longest_template_s=2) for name in "abc"}
    >>> reaches_us(graph, declared).tolist()
    [-24000004, -17000002, -14000004]
    """
    apart_us = implied_bounds(_latest_bounds_us(graph, streams))
    np.fill_diagonal(apart_us, 0)  # its own delay
    return _reaches(apart_us, graph, streams)


def edge_reaches_us(graph: ConstraintGraph, streams: Mapping[str, Stream]) -> Int64Array:
    """`reaches_us` of a clique whose members may be absent: what is absent bounds nothing, so each edge counts alone.

    Parameters are those of `reaches_us`.

    Examples
    --------
    >>> from coincide.constraints.window import Window
    >>> graph = ConstraintGraph.clique("abc", {("a", "b"): Window(1), ("b", "c"): Window(1), ("a", "c"): Window(9)})
    >>> declared = {name: Stream(name, max_delay_s=10, longest_template_s=2) for name in "abc"}
    >>> reaches_us(graph, declared).tolist(), edge_reaches_us(graph, declared).tolist()
    ([-16000004, -13000002, -16000004], [-21000002, -13000002, -21000002])
    """
    return _reaches(_latest_bounds_us(graph, streams), graph, streams)


def set_reaches_us(graph: ConstraintGraph, streams: Mapping[str, Stream]) -> Int64Array:
    """`reaches_us` of a clique whose members may be absent, for whoever asks which sets were maximal before an event.

    An event decides about a set that it fits into, and the set's members may be joined by one to come: two edges lie
    between those two events, which may play the same role. What is absent bounds nothing.

    Parameters are those of `reaches_us`.

    Examples
    --------
    >>> from coincide.constraints.window import Window
    >>> graph = ConstraintGraph.clique("abc", Window(5))
    >>> declared = {name: Stream(name, max_delay_s=10, longest_template_s=2) for name in "abc"}
    >>> set_reaches_us(graph, declared).tolist()
    [-24000004, -24000004, -24000004]
    """
    edge_us = _latest_bounds_us(graph, streams)
    apart_us, roles = edge_us.copy(), np.arange(len(edge_us))
    for through in roles:
        others = roles[roles != through]
        at = np.ix_(others, others)
        apart_us[at] = np.maximum(apart_us[at], edge_us[others, through, None] + edge_us[through, others])
    return _reaches(apart_us, graph, streams)


def _latest_bounds_us(graph: ConstraintGraph, streams: Mapping[str, Stream]) -> Int64Array:
    """Greatest latest_j - latest_i by each edge alone: latest_b - pi_b <= X_b <= X_a + hi <= latest_a + hi."""
    length_us = {name: streams[name].longest_template_us + ROUNDING_US for name in graph.roles}
    return graph.upper_us(
        (edge.window.lo_us - length_us[edge.a], edge.window.hi_us + length_us[edge.b]) for edge in graph.edges
    )


def _reaches(apart_us: Int64Array, graph: ConstraintGraph, streams: Mapping[str, Stream]) -> Int64Array:
    delay_us = np.array([streams[name].max_delay_us for name in graph.roles])
    reaches: Int64Array = np.minimum(-delay_us, -(apart_us + delay_us).max(axis=1))
    return reaches
