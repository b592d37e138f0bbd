"""ConstraintGraph: which roles a window join has, and how near in time their members must be."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import Int64Array
from coincide.constraints.window import Window, checked_threshold, checked_window
from coincide.errors import GraphError

UNBOUNDED_US = 2**60  # no bound; the sum of two stays inside int64


class WindowByDistance(Protocol):
    """Gives each two sensors a symmetric window of their own, as `coincide.places.DistanceWindow` does."""

    @property
    def widest(self) -> Window:
        """None is wider."""

    def half_width_ms(self, distance_m: npt.ArrayLike) -> Any:
        """Half of the window at each distance in whole milliseconds, below 0 where two sensors are too far apart."""


@dataclass(frozen=True)
class Edge:
    """P(lo <= Xb - Xa <= hi) >= threshold for the member from `a` and the member from `b`, two different roles.

    Without a threshold the joint threshold alone decides, or where times are exact the window alone. With `by_distance`
    each two sensors have a window of their own, and `window` is the widest.

    Raises
    ------
    GraphError, WindowError, ThresholdError
    """

    a: str
    b: str
    window: Window
    threshold: float | None = None
    by_distance: WindowByDistance | None = None

    def __post_init__(self) -> None:
        if self.a == self.b:
            raise GraphError("edges", (self.a, self.b), "two different roles")
        checked_window(self.window)
        if self.by_distance is not None and self.window != self.by_distance.widest:
            raise GraphError("window", self.window, f"the widest by distance, {self.by_distance.widest!r}")
        if self.threshold is not None:
            checked_threshold(self.threshold)

    @property
    def pair(self) -> frozenset[str]:
        """The two roles, in no order."""
        return frozenset((self.a, self.b))


def refuse_bad_roles(roles: tuple[str, ...]) -> None:
    """Raise GraphError unless they are two or more, each named once."""
    if len(roles) < 2:
        raise GraphError("roles", roles, "two or more")
    twice = [name for at, name in enumerate(roles) if name in roles[:at]]
    if twice:
        raise GraphError("roles", twice[0], "each named once")


def refuse_bad_edges(roles: tuple[str, ...], edges: tuple[Edge, ...]) -> None:
    """Raise GraphError unless each edge is the only one between two of the roles."""
    pairs = set()
    for edge in edges:
        for name in (edge.a, edge.b):
            if name not in roles:
                raise GraphError("edges", name, f"one of the roles {list(roles)}")
        if edge.pair in pairs:
            raise GraphError("edges", (edge.a, edge.b), "one edge for each pair of roles: this is the second")
        pairs.add(edge.pair)


EdgeLike = Edge | tuple[str, str, Window] | tuple[str, str, Window, float | None]


@dataclass(frozen=True)
class ConstraintGraph:
    """Roles, and time constraints between pairs of them that hold all roles together.

    There are two or more roles, in the order of a result's members, and at most one edge for each pair of them.

    Raises
    ------
    GraphError
        Fewer than two roles, one named twice, an edge to an unknown role, two edges between the same roles,
        roles that no chain of edges connects, or windows that no times can satisfy all at once.

    Examples
    --------
    >>> graph = ConstraintGraph.path(["gate", "bridge", "tower"], Window(lo_s=0, hi_s=60), 0.5)
    >>> [(edge.a, edge.b) for edge in graph.edges], graph.form
    ([('gate', 'bridge'), ('bridge', 'tower')], 'path')
    """

    roles: tuple[str, ...]
    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        refuse_bad_roles(self.roles)
        refuse_bad_edges(self.roles, self.edges)
        apart = roles_apart(self, self.roles)
        if apart:
            raise GraphError("edges", sorted(apart), f"chains of edges from every role to {self.roles[0]!r}")
        if (np.diagonal(self.window_bounds_us) < -len(self.edges)).any():  # each window is rounded to a microsecond
            raise GraphError("edges", self._windows(), "windows that some times satisfy together: these contradict")

    @classmethod
    def binary(cls, a: str, b: str, window: Window, threshold: float | None = None) -> ConstraintGraph:
        """Return the graph of one edge: a timing join."""
        return cls((a, b), (Edge(a, b, window, threshold),))

    @classmethod
    def path(
        cls,
        roles: Sequence[str],
        window: Window | Sequence[Window],
        threshold: float | Sequence[float | None] | None = None,
    ) -> ConstraintGraph:
        """Return the graph that constrains each role and the next.

        The window, of the later role minus the earlier, and the threshold are one for all, or one for each step.
        """
        steps = list(pairwise(roles))
        windows = [window] * len(steps) if isinstance(window, Window) else list(window)
        thresholds = list(threshold) if isinstance(threshold, Sequence) else [threshold] * len(steps)
        for field, given in (("window", windows), ("threshold", thresholds)):
            if len(given) != len(steps):
                raise GraphError(field, given, f"one, or {len(steps)}: one for each step of the path")
        edges = (Edge(a, b, each, least) for (a, b), each, least in zip(steps, windows, thresholds, strict=True))
        return cls(tuple(roles), tuple(edges))

    @classmethod
    def clique(
        cls, roles: Sequence[str], window: Window | Mapping[tuple[str, str], Window], threshold: float | None = None
    ) -> ConstraintGraph:
        """Return the graph that constrains every pair of roles.

        There is one symmetric window for all (a uniform clique), or one for each pair, of the second minus the first.
        """
        if isinstance(window, Mapping):
            graph = cls.graph([(a, b, each, threshold) for (a, b), each in window.items()], roles)
            if not graph.is_clique:
                missing = {frozenset(pair) for pair in combinations(roles, 2)} - {edge.pair for edge in graph.edges}
                raise GraphError("window", sorted(map(sorted, missing)), "a window for every pair: these have none")
            return graph
        if not (isinstance(window, Window) and window.is_symmetric):
            raise GraphError("window", window, "symmetric if it is one for all pairs; else one for each pair")
        return cls(tuple(roles), tuple(Edge(a, b, window, threshold) for a, b in combinations(roles, 2)))

    @classmethod
    def graph(cls, edges: Iterable[EdgeLike], roles: Sequence[str] | None = None) -> ConstraintGraph:
        """Return the graph of any edges (Edge, or a, b, window and perhaps threshold) that connect all roles.

        The roles' order is that in which members come; by default as the edges name them.
        """
        made = tuple(edge if isinstance(edge, Edge) else Edge(*edge) for edge in edges)
        named = dict.fromkeys(name for edge in made for name in (edge.a, edge.b))
        return cls(tuple(named if roles is None else roles), made)

    @property
    def form(self) -> str:
        """The paper's name for the graph: binary, path, clique or graph."""
        degrees = sorted(len(self.neighbours(role)) for role in self.roles)
        if len(self.roles) == 2:
            return "binary"
        if self.is_tree and degrees[-1] == 2:
            return "path"
        return "clique" if self.is_clique else "graph"

    @property
    def is_tree(self) -> bool:
        """Whether no edges form a cycle."""
        return len(self.edges) == len(self.roles) - 1

    @property
    def is_clique(self) -> bool:
        """Whether every pair of roles has an edge."""
        return len(self.edges) == len(self.roles) * (len(self.roles) - 1) // 2

    @property
    def uniform_window(self) -> Window | None:
        """The one symmetric window of a uniform clique; None for every other graph."""
        windows = {edge.window for edge in self.edges}
        if self.is_by_distance or not self.is_clique or len(windows) > 1 or not self.edges[0].window.is_symmetric:
            return None
        return next(iter(windows))

    @property
    def is_by_distance(self) -> bool:
        """Whether some edge's window follows from the distance of two sensors."""
        return any(edge.by_distance is not None for edge in self.edges)

    def at_widths(self, half_width_ms: Sequence[int]) -> ConstraintGraph:
        """Return the graph of members at known places: each edge by distance with its window, half of which is given.

        These windows may contradict others: then no times satisfy all.

        Examples
        --------
        >>> from coincide.places import DistanceWindow
        >>> sound = DistanceWindow(343, up_to_m=1000)
        >>> graph = ConstraintGraph(("a", "b"), (Edge("a", "b", sound.widest, 0.5, sound),))
        >>> graph.at_widths([1200]).edges[0].window
        Window(lo_s=-1.2, hi_s=1.2)
        """
        pairs = zip(self.edges, half_width_ms, strict=True)
        graph = object.__new__(ConstraintGraph)
        object.__setattr__(graph, "roles", self.roles)
        object.__setattr__(graph, "edges", tuple(_at_width(edge, width_ms) for edge, width_ms in pairs))
        return graph

    def neighbours(self, role: str) -> list[str]:
        """Roles that share an edge with this one, in their order."""
        return [other for other in self.roles if any(edge.pair == {role, other} for edge in self.edges)]

    @property
    def window_bounds_us(self) -> Int64Array:
        """Greatest time from occurrence to occurrence of each pair, int64 (k, k), see `implied_bounds`."""
        return implied_bounds(self.upper_us([(edge.window.lo_us, edge.window.hi_us) for edge in self.edges]))

    def upper_us(self, edge_bounds_us: Iterable[tuple[int, int]]) -> Int64Array:
        """Write bounds (lo, hi) of t_b - t_a, one for each edge, as the matrix that `implied_bounds` takes."""
        upper = np.full((len(self.roles),) * 2, UNBOUNDED_US)
        np.fill_diagonal(upper, 0)
        for edge, (lo_us, hi_us) in zip(self.edges, edge_bounds_us, strict=True):
            a, b = self.roles.index(edge.a), self.roles.index(edge.b)
            upper[a, b], upper[b, a] = hi_us, -lo_us
        return upper

    def _windows(self) -> list[str]:
        return [f"{edge.a}-{edge.b}: {edge.window.lo_s} to {edge.window.hi_s} s" for edge in self.edges]


def _at_width(edge: Edge, half_width_ms: int) -> Edge:
    if edge.by_distance is None:
        return edge
    return replace(edge, window=Window(half_width_ms / 1000), by_distance=None)


def refuse_by_distance(graph: ConstraintGraph) -> None:
    """Raise GraphError if some window follows from distances: for whoever has detections without places."""
    if graph.is_by_distance:
        raise GraphError("graph", "of windows by distance", "fixed windows: these detections have no places")


def roles_apart(graph: ConstraintGraph, roles: Sequence[str]) -> set[str]:
    """Return those of some roles that no chain of edges between them connects with the first."""
    reached, waiting = set(), [roles[0]]
    while waiting:
        role = waiting.pop()
        if role not in reached:
            reached.add(role)
            waiting += [other for other in graph.neighbours(role) if other in roles]
    return set(roles) - reached


def implied_bounds(upper_us: Int64Array) -> Int64Array:
    """Tighten bounds by the shortest paths between all members (Floyd and Warshall); below 0 on the diagonal none fit.

    `upper_us[i, j]` is the greatest t_j - t_i that a constraint allows, UNBOUNDED_US where there is none; the least is
    ``-upper_us[j, i]``. The paper bounds a pair without a constraint so (section 5, LCA); here every pair is.
    """
    bounds: Int64Array = np.minimum(upper_us, UNBOUNDED_US)
    for through in range(len(bounds)):
        bounds = np.minimum(bounds, bounds[:, through, None] + bounds[through])
    return np.minimum(bounds, UNBOUNDED_US)


def checked_graph(graph: object) -> ConstraintGraph:
    """Return `graph` if it is a ConstraintGraph, else raise GraphError."""
    if not isinstance(graph, ConstraintGraph):
        raise GraphError("graph", graph, "a ConstraintGraph, such as ConstraintGraph.binary('a', 'b', Window(5))")
    return graph


def induced(graph: ConstraintGraph, roles: Collection[str]) -> ConstraintGraph:
    """Return the graph of these roles, in their order in `graph`, and of all edges between them."""
    kept = tuple(role for role in graph.roles if role in roles)
    return ConstraintGraph(kept, tuple(edge for edge in graph.edges if edge.pair <= set(kept)))
