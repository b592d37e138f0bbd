"""InstalledGraph: a graph at work on streams, with all their templates judged as they become known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coincide.arrays import CodeArray
from coincide.errors import GraphError
from coincide.histogram_checks import is_whole
from coincide.offset_cache import LookUps
from coincide.template_registry import TemplateRegistry
from coincide.timing_join.condition import JoinCondition
from coincide.timing_join.installed_join import InstalledJoin
from coincide.timing_join.pair_limits import PairLimits
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.reach import Reach


class InstalledGraph:
    """The edges of a graph, each with what is known of its template pairs.

    Parameters
    ----------
    graph : ConstraintGraph
    players : mapping of str to str
        Name of the stream that plays each role.
    thresholds : sequence of float
        Of each edge.
    limits : PairLimits

    Attributes
    ----------
    edges : list of InstalledJoin
    players : list of str
        Names of the streams in the order of their roles.
    are_roles_alike : bool
        Whether roles that one stream plays may be swapped: each set of events then counts once.
    """

    def __init__(
        self, graph: ConstraintGraph, players: Mapping[str, str], thresholds: Sequence[float], limits: PairLimits
    ) -> None:
        self.graph = graph
        self._names = dict(players)
        self.players = [players[role] for role in graph.streams]
        self.are_roles_alike = graph.uniform_window is not None and len(set(thresholds)) == 1
        conditions = [
            JoinCondition(edge.a, edge.b, edge.window, threshold, "any")
            for edge, threshold in zip(graph.edges, thresholds, strict=True)
        ]
        self.edges = [InstalledJoin.install(condition, 0, limits) for condition in conditions]
        self._reach = self._reach_of_edges()
        self._sizes: list[int] = []  # how many templates of each role are judged

    def reach(self, templates: Mapping[str, TemplateRegistry]) -> Reach:
        """Return how far members may lie from each other, with every template known that is registered by now."""
        sizes = [len(templates[name]) for name in self.players]
        if sizes == self._sizes:
            return self._reach
        self._sizes = sizes
        known = [edge.knowing(*self._registries(edge, templates)) for edge in self.edges]
        if any(new is not old for new, old in zip(known, self.edges, strict=True)):
            self.edges = known
            self._reach = self._reach_of_edges()
        return self._reach

    def recode(self, templates: Mapping[str, TemplateRegistry], new_codes: Mapping[str, CodeArray]) -> None:
        """Follow a change of template codes: the new ones by old code, of each stream where they changed."""
        if not new_codes:
            return
        self._sizes = []
        renewed = []
        for edge in self.edges:
            codes = [new_codes.get(self._names[role]) for role in (edge.condition.a, edge.condition.b)]
            changed = any(each is not None for each in codes)
            renewed.append(edge.renewed(*self._registries(edge, templates), *codes) if changed else edge)
        self.edges = renewed
        self._reach = self._reach_of_edges()

    @property
    def look_ups(self) -> LookUps:
        """What the caches of template pairs have done so far, all edges together; nothing while tables will do."""
        total = LookUps()
        for edge in self.edges:
            total = total.plus(edge.look_ups)
        return total

    def _registries(
        self, edge: InstalledJoin, templates: Mapping[str, TemplateRegistry]
    ) -> tuple[TemplateRegistry, TemplateRegistry]:
        return templates[self._names[edge.condition.a]], templates[self._names[edge.condition.b]]

    def _reach_of_edges(self) -> Reach:
        return Reach.of(self.graph, [(edge.as_a, edge.as_b) for edge in self.edges])


def checked_at_least(at_least: int, installed: InstalledGraph) -> int:
    """Return a least number of members that the graph can have, else raise GraphError."""
    graph = installed.graph
    if not graph.is_clique:
        raise GraphError(
            "at_least", at_least, f"None for a {graph.form}: only a clique's members are all tied together"
        )
    if not is_whole(at_least) or not 2 <= at_least <= len(graph.streams):
        raise GraphError("at_least", at_least, f"a whole number from 2 to {len(graph.streams)}")
    if len(set(installed.players)) < len(installed.players):
        raise GraphError("at_least", at_least, "None where one stream plays several roles")
    return at_least
