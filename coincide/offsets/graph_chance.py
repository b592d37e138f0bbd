"""Graph chance rate: how often detections that have nothing to do with each other match a graph of any form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial, prod

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array
from coincide.constraints.conditions import SensorRule, checked_sensor_rule
from coincide.constraints.graph import ConstraintGraph, Edge, checked_graph
from coincide.constraints.interchange import Interchange
from coincide.constraints.window import MICROSECONDS_PER_SECOND, checked_threshold
from coincide.errors import GraphError, WindowError
from coincide.offsets.chance import SensorRate, allowed_pairs
from coincide.offsets.long_windows import least_probability
from coincide.offsets.satisfying import offset_ranges
from coincide.probability.difference import match_probabilities
from coincide.probability.joint.probability import joint_at_least
from coincide.templates.template_columns import TemplatePairs

ROTATIONS = 16  # independent shifts of the same points: their spread is the error
SEED = 20160824


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
    chosen = _Choices(graph, thresholds, rates, max(1, points // ROTATIONS))
    weights, times_us = chosen.trees()
    alive = np.flatnonzero((weights > 0) & chosen.are_allowed(rule))
    alive = alive[chosen.hold_beside_tree(alive, times_us)]
    if joint is not None and len(graph.edges) > 1 and len(alive):
        index = np.array([chosen.at[role][alive] for role in graph.roles])
        templates = [chosen.templates[role] for role in graph.roles]
        alive = alive[joint_at_least(graph, templates, index, times_us[:, alive], joint)]
    counted = np.zeros(len(weights))
    counted[alive] = weights[alive]
    means = counted.reshape(ROTATIONS, -1).mean(axis=1) * prod(chosen.totals) / _ways(graph, thresholds, streams)
    return EstimatedRate(float(means.mean()), float(means.std(ddof=1) / np.sqrt(ROTATIONS)))


class _Choices:
    """Points, and what each chooses: of every role a sensor, and of every edge of a spanning tree an offset."""

    def __init__(
        self,
        graph: ConstraintGraph,
        thresholds: Sequence[float],
        rates: Mapping[str, Sequence[SensorRate]],
        points: int,
    ) -> None:
        self.graph, self.thresholds, self.rates = graph, thresholds, rates
        self.templates = {role: [each.template for each in rates[role]] for role in graph.roles}
        self.totals = [sum(each.rate_hz for each in rates[role]) for role in graph.roles]
        self.tree = _spanning_tree(graph)
        dimensions = len(graph.roles) + len(self.tree)
        of_roles, self._of_edges = np.split(_points(dimensions, points), [len(graph.roles)])
        self.at = {role: self._sensor(role, of_roles[nth]) for nth, role in enumerate(graph.roles)}

    def trees(self) -> tuple[FloatArray, Int64Array]:
        """Return the product of the lengths of the tree's offsets in seconds, (n,), and the roles' times, (k, n)."""
        roles, count = self.graph.roles, self._of_edges.shape[1]
        weights, times_us = np.ones(count), np.zeros((len(roles), count), np.int64)
        for (parent, nth), along in zip(self.tree, self._of_edges, strict=True):
            edge = self.graph.edges[nth]
            lengths_s, offset_us = self._offsets(edge, self.thresholds[nth], along)
            weights *= lengths_s
            child = edge.b if edge.a == parent else edge.a
            forward = offset_us if edge.a == parent else -offset_us
            times_us[roles.index(child)] = times_us[roles.index(parent)] + forward
        return weights, times_us

    def are_allowed(self, rule: SensorRule) -> BoolArray:
        """Whether the sensors of each point may match, shape (n,)."""
        allowed: BoolArray = np.ones(self._of_edges.shape[1], np.bool_)
        for one, other in combinations(self.graph.roles, 2) if rule != "any" else ():
            a, b = self.rates[one], self.rates[other]
            allowed &= allowed_pairs(rule, a, b).reshape(len(a), len(b))[self.at[one], self.at[other]]
        return allowed

    def hold_beside_tree(self, rows: IndexArray, times_us: Int64Array) -> BoolArray:
        """Whether every edge outside the tree qualifies at each of these points, shape (n,)."""
        holds: BoolArray = np.ones(len(rows), np.bool_)
        in_tree = {nth for _, nth in self.tree}
        for nth, edge in enumerate(self.graph.edges):
            if nth in in_tree or len(rows) == 0:
                continue
            a, b = self.graph.roles.index(edge.a), self.graph.roles.index(edge.b)
            offset_us = times_us[b, rows] - times_us[a, rows]
            sides = self.templates[edge.a], self.templates[edge.b]
            index = self.at[edge.a][rows], self.at[edge.b][rows]
            probability = match_probabilities(*sides, *index, offset_us, edge.window)
            holds &= probability >= least_probability(self.thresholds[nth])
        return holds

    def _sensor(self, role: str, along: FloatArray) -> IndexArray:
        rate = np.cumsum([each.rate_hz for each in self.rates[role]])
        at: IndexArray = np.minimum(np.searchsorted(rate, along * rate[-1], side="right"), len(rate) - 1)
        return at

    def _offsets(self, edge: Edge, threshold: float, along: FloatArray) -> tuple[FloatArray, Int64Array]:
        """Return how long the offsets of each point's templates are, and the one that it chooses among them."""
        us, vs = self.templates[edge.a], self.templates[edge.b]
        pairs, nth = np.unique(self.at[edge.a] * len(vs) + self.at[edge.b], return_inverse=True)
        ranges = offset_ranges(TemplatePairs(us, vs, *np.divmod(pairs, len(vs))), edge.window, threshold)
        lengths = ranges.right - ranges.left + 1
        ends, of_pair = np.cumsum(lengths), np.bincount(ranges.pair, weights=lengths, minlength=len(pairs))
        before = np.cumsum(of_pair) - of_pair
        if len(lengths) == 0:
            return np.zeros(len(along)), np.zeros(len(along), np.int64)
        place = (before[nth] + along * of_pair[nth]).astype(np.int64)
        at = np.minimum(np.searchsorted(ends, place, side="right"), len(ends) - 1)
        offset_us: Int64Array = ranges.left[at] + place - (ends[at] - lengths[at])
        return of_pair[nth] / MICROSECONDS_PER_SECOND, offset_us


def _threshold_of(edge: Edge, joint: float | None) -> float:
    if edge.window.is_open:
        raise WindowError("window", edge.window, "a window with two ends: without end so is the rate")
    if edge.threshold is None and joint is None:
        raise GraphError("threshold", None, f"one for edge {edge.a!r} - {edge.b!r} or for all of them")
    return max(edge.threshold or 0.0, joint or 0.0)


def _spanning_tree(graph: ConstraintGraph) -> list[tuple[str, int]]:
    """Return edges that reach every role from the first, nearest first: the role each starts from, and its number."""
    reached, tree = {graph.roles[0]}, list[tuple[str, int]]()
    while len(reached) < len(graph.roles):
        for nth, edge in enumerate(graph.edges):
            known = edge.pair & reached
            if len(known) == 1:
                [parent] = known
                tree.append((parent, nth))
                reached |= edge.pair
    return tree


def _ways(graph: ConstraintGraph, thresholds: Sequence[float], streams: Mapping[str, str] | None) -> int:
    """In how many ways the same detections can play the roles."""
    kinds = [streams[role] if streams else role for role in graph.roles]
    interchange = Interchange.of(graph, thresholds, kinds)
    return prod(factorial(len(group)) for group in interchange.groups) * (1 + len(interchange.symmetries))


def _points(dimensions: int, count: int) -> FloatArray:
    """Return a Kronecker sequence of the generalised golden ratio in `ROTATIONS` shifts, shape (dimensions, n)."""
    ratio = 2.0
    for _ in range(64):
        ratio = (1 + ratio) ** (1 / (dimensions + 1))  # the root of x**(d + 1) = x + 1
    steps = (1 / ratio) ** np.arange(1, dimensions + 1)
    shifts = np.random.default_rng(SEED).random((ROTATIONS, dimensions, 1))
    along = (shifts + steps[:, None] * np.arange(1, count + 1)) % 1.0
    return np.concatenate(list(along), axis=1)
