"""Verdicts: what is said of tuples found: how probable, all together and edge by edge, and when it happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coincide.arrays import PositionArray
from coincide.occurrences import Occurrences, occurrences
from coincide.query import Query
from spark_jobs.events import EventColumns
from spark_jobs.matches import EdgeProbability, WhenOccurred
from spark_jobs.members import AlikeTuples, alike_tuples
from spark_jobs.templates import Templates

DECIMALS = 12  # the accuracy promised; beyond it a digit could depend on what else is computed in the same batch
NANOSECOND_DECIMALS = 9


@dataclass(frozen=True)
class Verdicts:
    """One entry for each tuple."""

    probability: list[float]
    occurred: list[WhenOccurred | None]
    chance_rate_hz: list[float | None]
    edges: list[list[EdgeProbability]]


@dataclass(frozen=True)
class TupleJudge:
    """Judges the tuples that a query of more than two roles found in a batch."""

    query: Query
    rows: EventColumns
    templates: Templates

    def verdicts(self, members: PositionArray) -> Verdicts:
        """Return what is said of each tuple, (n, roles); none of it depends on the other tuples."""
        probability = [0.0] * len(members)
        occurred: list[WhenOccurred | None] = [None] * len(members)
        edges: list[list[EdgeProbability]] = [[]] * len(members)
        for alike in alike_tuples(self.query, members, self.rows, self.templates):
            of_all, when = _of_all(alike)
            of_edges = self._edges(alike)
            for nth, at in enumerate(alike.at.tolist()):
                probability[at], occurred[at], edges[at] = of_all[nth], when[nth], of_edges[nth]
        return Verdicts(probability, occurred, [None] * len(members), edges)

    def _edges(self, alike: AlikeTuples) -> list[list[EdgeProbability]]:
        """Return each tuple's edges in the order of the query's, named as it names them."""
        names = [role for role, _ in self.query.roles]
        between = {edge.pair: (nth, (edge.a, edge.b)) for nth, edge in enumerate(self.query.graph.edges)}
        ends = [[alike.graph.streams.index(name) for name in (edge.a, edge.b)] for edge in alike.graph.edges]
        found = []
        probabilities = alike.columns.edge_probabilities(alike.graph).round(DECIMALS).tolist()
        for roles, of_edges in zip(alike.roles.tolist(), probabilities, strict=True):
            pairs = (frozenset(names[roles[end]] for end in each) for each in ends)
            in_order = sorted((*between[pair], each) for pair, each in zip(pairs, of_edges, strict=True))
            found.append([EdgeProbability(named, each) for _, named, each in in_order])
        return found


def _of_all(alike: AlikeTuples) -> tuple[list[float], Sequence[WhenOccurred | None]]:
    """Return the joint probability, and the onset that only a clique of one symmetric window has: its mass is it."""
    graph, columns = alike.graph, alike.columns
    window = graph.uniform_window
    if window is None:
        return columns.probabilities(graph).round(DECIMALS).tolist(), [None] * len(alike.at)
    when = occurrences(columns.templates, columns.template_index, columns.detected_at_us, window)
    return when.probability.round(DECIMALS).tolist(), as_recorded(when)


def as_recorded(when: Occurrences) -> list[WhenOccurred]:
    """Return when each match occurred as its record says it."""
    std_s = when.std_s.round(NANOSECOND_DECIMALS)
    columns = (when.mean_us, std_s, when.p05_us, when.p95_us)
    return [WhenOccurred(*fields) for fields in zip(*(column.tolist() for column in columns), strict=True)]
