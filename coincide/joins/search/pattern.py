"""Pattern: what a query asks of events, whatever names its streams and sensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

from coincide.constraints.at_least import AtLeast, checked_at_least
from coincide.constraints.conditions import MemberRules, SensorRule
from coincide.constraints.graph import ConstraintGraph, WindowByDistance, refuse_by_distance
from coincide.constraints.interchange import Interchange
from coincide.constraints.window import Window, checked_threshold
from coincide.errors import GraphError
from coincide.joins.stream_buffers import SourceName
from coincide.joins.tuples.maximal_sets import MOST_CANDIDATES
from coincide.joins.tuples.set_plan import SetPlan


@dataclass(frozen=True)
class RoleEdge:
    """P(X of role `second` - X of role `first` lies in `window`) >= `threshold`.

    If it `is_unordered`, nothing tells the roles apart, and the member that was reported first plays the first one.
    """

    first: int
    second: int
    window: Window
    threshold: float
    is_unordered: bool
    by_distance: WindowByDistance | None = None


@dataclass(frozen=True)
class Pattern:
    """Tuples of one event a role that satisfy every edge of a graph; `thresholds` are those of its edges.

    Every role has a source, the buffer of the events that may play it, and a stream. One stream may have several
    sources, whose events overlap.

    Attributes
    ----------
    joint_threshold : float or None
        The least joint probability; None if the edges decide alone.
    at_least : AtLeast or None
        So many members are enough. The answer is then the largest sets.
    max_candidates : int
        With `at_least`: how many sets of three and more events, the last of them one row, a search may look at.
    """

    graph: ConstraintGraph
    thresholds: tuple[float, ...]
    sources: tuple[SourceName, ...]
    streams: tuple[SourceName, ...]
    joint_threshold: float | None = None
    sensors: SensorRule = "different"
    at_least: AtLeast | None = None
    max_candidates: int = MOST_CANDIDATES

    @classmethod
    def of(
        cls,
        graph: ConstraintGraph,
        sources: tuple[SourceName, ...],
        streams: tuple[SourceName, ...],
        exact: Mapping[str, bool],
        joint: float | None,
        rule: SensorRule,
        at_least: int | AtLeast | None,
        max_candidates: int,
    ) -> Pattern:
        """Return the pattern of a window join; `exact` tells of each role whether all its times are.

        Raises
        ------
        GraphError
            A threshold that is missing or cannot be used, or `at_least` for a graph that it does not fit.
        """
        refuse_by_distance(graph)
        thresholds = tuple(with_thresholds(graph, joint, exact))
        decides = len(graph.edges) > 1 and not all(exact.values())
        least = None if at_least is None else checked_at_least(at_least, graph)
        return cls(graph, thresholds, sources, streams, joint if decides else None, rule, least, max_candidates)

    @cached_property
    def interchange(self) -> Interchange:
        """The roles that can be swapped without changing anything."""
        required = self.graph.roles if self.at_least is None else self.at_least.required(self.graph.roles)
        kinds = [(source, role in required) for role, source in zip(self.graph.roles, self.sources, strict=True)]
        return Interchange.of(self.graph, self.thresholds, kinds)

    @cached_property
    def plan(self) -> SetPlan | None:
        """How sets are searched; None where no member may be absent."""
        return None if self.at_least is None else SetPlan.of(self.graph, self.at_least, self.interchange.groups)

    @cached_property
    def edges(self) -> tuple[RoleEdge, ...]:
        """The graph's edges, in their order."""
        at = self.graph.roles.index
        ends = [(at(edge.a), at(edge.b), edge.window, edge.by_distance) for edge in self.graph.edges]
        alike = {frozenset(pair) for pair in self.interchange.pairs}
        return tuple(
            RoleEdge(first, second, window, threshold, frozenset((first, second)) in alike, by_distance)
            for (first, second, window, by_distance), threshold in zip(ends, self.thresholds, strict=True)
        )

    @property
    def judged_graph(self) -> ConstraintGraph:
        """The graph, each edge with the threshold that it is judged by."""
        pairs = zip(self.graph.edges, self.thresholds, strict=True)
        return ConstraintGraph(self.graph.roles, tuple(replace(edge, threshold=least) for edge, least in pairs))

    @cached_property
    def twins(self) -> tuple[tuple[int, int], ...]:
        """Pairs of roles that one stream plays, the first before the second."""
        numbered = enumerate(self.streams)
        return tuple((i, j) for (i, one), (j, other) in combinations(numbered, 2) if one == other)

    def rules(self, root: int, since_ref: int, *, root_arrived_last: bool) -> MemberRules:
        """Return the rules for members where `root` arrives last: it differs from the others, whose order counts."""
        twins = tuple(pair for pair in self.twins if root not in pair)
        in_order = tuple(pair for pair in self.interchange.pairs if root not in pair)
        return MemberRules(self.sensors, since_ref, twins, in_order, root_arrived_last)


def with_thresholds(graph: ConstraintGraph, joint: float | None, exact: Mapping[str, bool]) -> list[float]:
    """Return the threshold of each edge: its own, and at least the joint one, which no edge's probability is below.

    `exact` tells of each role whether all its times are. An edge needs a threshold where they are not.
    """
    least = 0.0 if joint is None else checked_threshold(joint)
    thresholds = [max(edge.threshold or 0.0, least) for edge in graph.edges]
    for edge, threshold in zip(graph.edges, thresholds, strict=True):
        if threshold == 0.0 and not (exact[edge.a] and exact[edge.b]):
            between = f"edge {edge.a!r} - {edge.b!r}"
            raise GraphError("threshold", None, f"one for {between} or for all of them, since its times are not exact")
    return [threshold or 1.0 for threshold in thresholds]
