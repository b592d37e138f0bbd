"""Retention: how long an event may still become a member of a tuple that is not complete."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from coincide.arrays import Int64Array
from coincide.stream import Stream
from coincide.timing_join.retention import ROUNDING_US
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.implied_bounds import implied_bounds


def latest_bounds_us(graph: ConstraintGraph, streams: Mapping[str, Stream]) -> Int64Array:
    """Return the greatest latest_j - latest_i of two members of a tuple, int64 (k, k).

    An edge holds with some probability only if earliest_b <= latest_a + hi, and latest_b is at most the longest
    template later; what that implies for the other pairs, `implied_bounds` tells.

    Parameters
    ----------
    graph : ConstraintGraph
    streams : mapping of str to Stream
        The stream that plays each of the graph's roles.
    """
    edges = []
    for edge in graph.edges:
        a, b = streams[edge.a], streams[edge.b]
        lo_us = edge.window.lo_us - a.longest_template_us - ROUNDING_US
        edges.append((lo_us, edge.window.hi_us + b.longest_template_us + ROUNDING_US))
    return implied_bounds(graph.upper_us(edges))


def reach_us(graph: ConstraintGraph, streams: Mapping[str, Stream], *, at_least: bool = False) -> dict[str, int]:
    """How far behind the watermark events of each role are needed: keep while ``latest >= watermark + this``.

    A member of j that is on time has latest_j >= W - D_j, and latest_i >= latest_j - bound(i, j). Never nearer than the
    role's own delay, within which a repeated detection must still be known as one.

    Parameters
    ----------
    graph : ConstraintGraph
    streams : mapping of str to Stream
    at_least : bool
        Keep twice as far: long enough to tell, from what is kept alone, whether a set of members could grow.

    Examples
    --------
    >>> from coincide.window import Window
    >>> p, s = Stream("p", max_delay_s=10, longest_template_s=2), Stream("s", max_delay_s=20, longest_template_s=3)
    >>> reach_us(ConstraintGraph.binary("p", "s", Window(lo_s=0, hi_s=5)), {"p": p, "s": s})
    {'p': -28000002, 's': -20000000}
    """
    bounds = latest_bounds_us(graph, streams) * (2 if at_least else 1)
    delays_us = np.array([streams[role].max_delay_us for role in graph.streams])
    reach = -delays_us - bounds
    np.fill_diagonal(reach, -delays_us)
    return dict(zip(graph.streams, reach.min(axis=1).tolist(), strict=True))


def reach_by_stream(graph: ConstraintGraph, streams: Mapping[str, Stream]) -> dict[str, int]:
    """Return `reach_us` by name of stream: the farthest of the roles that it plays."""
    reach = reach_us(graph, streams)
    names = {stream.name for stream in streams.values()}
    return {name: min(reach[role] for role, stream in streams.items() if stream.name == name) for name in names}
