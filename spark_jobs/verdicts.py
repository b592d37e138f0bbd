"""Verdicts: what is said of tuples found: how probable, all together and edge by edge, and when it happened."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.arrays import PositionArray
from coincide.occurrences import Occurrences, occurrences
from coincide.query import Query
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.member_columns import MemberColumns
from spark_jobs.events import EventColumns
from spark_jobs.matches import EdgeProbability, WhenOccurred
from spark_jobs.members import by_present_roles, columns_of, graph_of
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
        for present, which in by_present_roles(members):
            graph = graph_of(self.query, present)
            columns = columns_of(members[which][:, present], self.rows, self.templates)
            of_edges = _edges(graph, columns)
            of_all = columns.probabilities(graph).round(DECIMALS).tolist()
            when = _when(graph, columns)
            for nth, at in enumerate(which.tolist()):
                probability[at], edges[at], occurred[at] = of_all[nth], of_edges[nth], when[nth]
        return Verdicts(probability, occurred, [None] * len(members), edges)


def as_recorded(when: Occurrences) -> list[WhenOccurred]:
    """Return when each match occurred as its record says it."""
    std_s = when.std_s.round(NANOSECOND_DECIMALS)
    columns = (when.mean_us, std_s, when.p05_us, when.p95_us)
    return [WhenOccurred(*fields) for fields in zip(*(column.tolist() for column in columns), strict=True)]


def _edges(graph: ConstraintGraph, columns: MemberColumns) -> list[list[EdgeProbability]]:
    between = [(edge.a, edge.b) for edge in graph.edges]
    probability = columns.edge_probabilities(graph).round(DECIMALS).tolist()
    return [[EdgeProbability(*fields) for fields in zip(between, each, strict=True)] for each in probability]


def _when(graph: ConstraintGraph, columns: MemberColumns) -> list[WhenOccurred | None]:
    """Return the onset, which only a clique of one symmetric window has."""
    window = graph.uniform_window
    if window is None:
        return [None] * columns.detected_at_us.shape[1]
    return [*as_recorded(occurrences(columns.templates, columns.template_index, columns.detected_at_us, window))]
