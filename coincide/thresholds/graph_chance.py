"""Graph chance rate: how often detections that have nothing to do with each other match a graph of any form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray
from coincide.constraints.conditions import SensorRule, checked_sensor_rule
from coincide.constraints.graph import ConstraintGraph, Edge, checked_graph
from coincide.constraints.interchange import Interchange
from coincide.constraints.window import checked_threshold
from coincide.errors import GraphError, WindowError
from coincide.probability.joint.probability import joint_at_least
from coincide.templates.template_columns import TemplatePairs
from coincide.thresholds.chance import SensorRate, allowed_pairs
from coincide.thresholds.edge_offsets import ROTATIONS, GraphOffsets, even_points


@dataclass(frozen=True)
class EstimatedRate:
    """A rate in matches per second, and its standard error: 0 where the rate is exact."""

    rate_hz: float
    error_hz: float


def graph_chance_rate(
    rates: Mapping[str, Sequence[SensorRate]],
    graph: ConstraintGraph,
    threshold: float | None = None,
    *,
    sensors: SensorRule = "different",
    streams: Mapping[str, str] | None = None,
    points: int = 16_384,
) -> EstimatedRate:
    """Estimate the expected number of matches per second between streams that have nothing to do with each other.

    Points that fill space evenly (a Kronecker sequence in several random rotations, always the same ones) choose a
    sensor for each role by its rate, and an offset for each edge of a spanning tree among those that satisfy it. The
    rate is the product of all rates and of the lengths of these offsets, times the share of points at which the sensors
    are allowed, the other edges hold and the joint threshold is reached. What `chance_rate` says of its assumptions
    holds here, too.

    Parameters
    ----------
    rates : mapping of str to sequence of SensorRate
        The sensors of each role, once for each of their templates.
    graph : ConstraintGraph
        Windows closed at both ends.
    threshold : float, optional
        In (0, 1]: the least joint probability.
    sensors : {"different", "same", "any"}
        Which sensors the members of a match may come from.
    streams : mapping of str to str, optional
        The stream of each role. Roles of one stream that can be swapped make each set of detections one match.
    points : int
        How many points are tried; the error falls faster than with the root of their number.

    Raises
    ------
    GraphError, WindowError, ThresholdError, SensorRuleError

    Examples
    --------
    Three exact clocks with a detection every 10 s each. In 4 s of offsets two agree, and at three quarters of these
    pairs of offsets the third edge holds:

    >>> from coincide.constraints.window import Window
    >>> from coincide.templates.histogram import Histogram
    >>> clocks = {role: [SensorRate(role, Histogram.point(), 0.1)] for role in "abc"}
    >>> estimate = graph_chance_rate(clocks, ConstraintGraph.clique("abc", Window(2), 1.0))
    >>> round(estimate.rate_hz, 3), estimate.error_hz < 1e-4
    (0.012, True)
    """
    rule, joint = checked_sensor_rule(sensors), None if threshold is None else checked_threshold(threshold)
    if set(rates) != set(checked_graph(graph).roles):
        raise GraphError("rates", sorted(rates), f"those of the graph's roles: {list(graph.roles)}")
    thresholds = [_threshold_of(edge, joint) for edge in graph.edges]
    if not all(any(each.rate_hz > 0 for each in rates[role]) for role in graph.roles):
        return EstimatedRate(0.0, 0.0)
    chosen = _Choices(graph, rates, max(1, points // ROTATIONS))
    offsets = GraphOffsets(graph, [edge.window for edge in graph.edges], chosen.pairs(), np.array(thresholds)[:, None])
    rows = np.flatnonzero((offsets.tree_lengths() > 0) & chosen.are_allowed(rule))
    times_us = offsets.times_us(rows, chosen.along[:, rows])
    holds = offsets.hold_beside_tree(rows, times_us)
    rows, times_us = rows[holds], times_us[:, holds]
    if joint is not None and len(graph.edges) > 1 and len(rows):
        index = np.array([chosen.at[role][rows] for role in graph.roles])
        templates = [chosen.templates[role] for role in graph.roles]
        rows = rows[joint_at_least(graph, templates, index, times_us, joint)]
    counted = np.zeros(chosen.along.shape[1])
    counted[rows] = offsets.tree_lengths()[rows]
    kinds = [streams[role] if streams else role for role in graph.roles]
    ways = Interchange.of(graph, thresholds, kinds).ways(range(len(kinds)))
    means = counted.reshape(ROTATIONS, -1).mean(axis=1) * prod(chosen.totals) / ways
    return EstimatedRate(float(means.mean()), float(means.std(ddof=1) / np.sqrt(ROTATIONS)))


class _Choices:
    """Points, and what each chooses: of every role a sensor, and of every edge of a spanning tree a place."""

    def __init__(self, graph: ConstraintGraph, rates: Mapping[str, Sequence[SensorRate]], points: int) -> None:
        self.graph, self.rates = graph, rates
        self.templates = {role: [each.template for each in rates[role]] for role in graph.roles}
        self.totals = [sum(each.rate_hz for each in rates[role]) for role in graph.roles]
        dimensions = 2 * len(graph.roles) - 1
        of_roles, self.along = np.split(even_points(dimensions, points), [len(graph.roles)])
        self.at = {role: self._sensor(role, of_roles[nth]) for nth, role in enumerate(graph.roles)}

    def pairs(self) -> list[TemplatePairs]:
        """Return the templates of each edge at each point."""
        ends = [(edge.a, edge.b) for edge in self.graph.edges]
        return [TemplatePairs(self.templates[a], self.templates[b], self.at[a], self.at[b]) for a, b in ends]

    def are_allowed(self, rule: SensorRule) -> BoolArray:
        """Whether the sensors of each point may match, shape (n,)."""
        allowed: BoolArray = np.ones(self.along.shape[1], np.bool_)
        for one, other in combinations(self.graph.roles, 2) if rule != "any" else ():
            a, b = self.rates[one], self.rates[other]
            allowed &= allowed_pairs(rule, a, b).reshape(len(a), len(b))[self.at[one], self.at[other]]
        return allowed

    def _sensor(self, role: str, along: FloatArray) -> IndexArray:
        rate = np.cumsum([each.rate_hz for each in self.rates[role]])
        at: IndexArray = np.minimum(np.searchsorted(rate, along * rate[-1], side="right"), len(rate) - 1)
        return at


def _threshold_of(edge: Edge, joint: float | None) -> float:
    if edge.window.is_open:
        raise WindowError("window", edge.window, "a window with two ends: without end so is the rate")
    if edge.threshold is None and joint is None:
        raise GraphError("threshold", None, f"one for edge {edge.a!r} - {edge.b!r} or for all of them")
    return max(edge.threshold or 0.0, joint or 0.0)
