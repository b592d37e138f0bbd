"""How far apart the reported times of two members of an answer can lie: so far a chunk has to see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from coincide.constraints.at_least import AtLeast
from coincide.constraints.graph import UNBOUNDED_US, ConstraintGraph, implied_bounds
from coincide.constraints.window import Window, checked_window
from coincide.joins.probe_bounds import ProbeBounds
from coincide.joins.search.pattern import with_thresholds
from coincide.offsets.cache import judge_of
from coincide.templates.codes import TemplatesInOrder
from coincide.templates.histogram import Histogram


def pair_offsets_us(
    window: Window, threshold: float, us: Sequence[Histogram], vs: Sequence[Histogram]
) -> tuple[int, int] | None:
    """Return the least and greatest tb - ta of any pair that may match; None if none does.

    Examples
    --------
    >>> clock = [Histogram.uniform(-1, 1)]
    >>> pair_offsets_us(Window(5), 1.0, clock, clock)
    (-3000000, 3000000)
    """
    judge = judge_of(checked_window(window), threshold, TemplatesInOrder(us), TemplatesInOrder(vs))
    lo_us, hi_us = ProbeBounds.of_a(judge).outer_us
    return (lo_us, hi_us) if lo_us <= hi_us else None


def graph_reach_us(
    graph: ConstraintGraph,
    threshold: float | None,
    templates: Mapping[str, Sequence[Histogram]],
    at_least: int | AtLeast | None = None,
) -> int:
    """Return the most that the reported times of two members of one tuple lie apart, microseconds.

    `templates` are those of each role. With `at_least` a member may be absent, and what it would bound is not bounded:
    then every chain of edges counts in full.

    Examples
    --------
    >>> clocks = {role: [Histogram.point()] for role in "abc"}
    >>> graph_reach_us(ConstraintGraph.path("abc", Window(lo_s=0, hi_s=5)), None, clocks)
    10000000
    >>> graph_reach_us(ConstraintGraph.clique("abc", Window(5)), None, clocks)
    5000000
    """
    exact = {role: all(u.length_s == 0.0 for u in of_role) for role, of_role in templates.items()}
    offsets_us = [
        pair_offsets_us(edge.window, least, templates[edge.a], templates[edge.b]) or (0, 0)  # then there is no tuple
        for edge, least in zip(graph.edges, with_thresholds(graph, threshold, exact), strict=True)
    ]
    if at_least is None:
        return _within_reach(int(np.abs(implied_bounds(graph.upper_us(offsets_us))).max()))
    farthest = sorted((max(abs(lo), abs(hi)) for lo, hi in offsets_us), reverse=True)
    return _within_reach(sum(farthest[: len(graph.roles) - 1]))


def _within_reach(reach_us: int) -> int:
    return min(reach_us, UNBOUNDED_US)
