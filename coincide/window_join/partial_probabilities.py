"""PartialProbabilities: how probable sets of members are of which some are absent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays import FloatArray, IndexArray
from coincide.histogram import Histogram
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.joint import induced
from coincide.window_join.member_columns import MemberColumns


@dataclass(frozen=True)
class MemberEvent:
    """What is known of an event that is a member of some set.

    Attributes
    ----------
    role : int
    template : Histogram
    detected_at_us : int
    """

    role: int
    template: Histogram
    detected_at_us: int


def columns_of(members: Sequence[Sequence[MemberEvent]]) -> MemberColumns:
    """Return tuples whose members are all present, each a list of events by role, as columns."""
    templates = [list(dict.fromkeys(event.template for event in role)) for role in zip(*members, strict=True)]
    code_of = [{template: code for code, template in enumerate(side)} for side in templates]
    index = [[code_of[at][event.template] for at, event in enumerate(each)] for each in members]
    times_us = [[event.detected_at_us for event in each] for each in members]
    return MemberColumns(templates, np.array(index, np.int64).T, np.array(times_us, np.int64).T)


@dataclass(frozen=True)
class PartialProbabilities:
    """Sets of members of a clique.

    Attributes
    ----------
    graph : ConstraintGraph
    members : sequence of sequences of MemberEvent or None
        For each set the member of each role; None if it is absent.
    """

    graph: ConstraintGraph
    members: Sequence[Sequence[MemberEvent | None]]

    def joint(self) -> FloatArray:
        """Return the joint probability of the members present, float64 (n,)."""
        probability = np.empty(len(self.members))
        for rows, graph, columns in self._alike():
            probability[rows] = columns.probabilities(graph)
        return probability

    def of_edges(self) -> FloatArray:
        """Return the probability of each edge, NaN where a member is absent; float64 (n, edges)."""
        probability = np.full((len(self.members), len(self.graph.edges)), np.nan)
        for rows, graph, columns in self._alike():
            at = np.array([nth for nth, edge in enumerate(self.graph.edges) if edge in graph.edges])
            probability[rows[:, None], at] = columns.edge_probabilities(graph)
        return probability

    def _alike(self) -> Iterator[tuple[IndexArray, ConstraintGraph, MemberColumns]]:
        """Yield the sets that have the same roles present: which, their graph and their columns."""
        rows_of: dict[tuple[str, ...], list[int]] = {}
        for row, each in enumerate(self.members):
            present = tuple(role for role, event in zip(self.graph.streams, each, strict=True) if event is not None)
            rows_of.setdefault(present, []).append(row)
        for present, rows in rows_of.items():
            chosen = [[event for event in self.members[row] if event is not None] for row in rows]
            yield np.array(rows), induced(self.graph, present), columns_of(chosen)
