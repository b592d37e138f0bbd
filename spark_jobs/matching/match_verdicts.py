"""What is said of tuples that match: how probable, all together and edge by edge, and when it happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from msgspec import UnsetType

from coincide import ConstraintGraph
from coincide.arrays.kinds import PositionArray
from coincide.constraints.graph import induced
from coincide.joins.tuples.members import MemberColumns
from coincide.joins.tuples.set_order import ABSENT
from coincide.probability import JointProbability, OccurrenceColumns, occurrence_columns
from coincide.queries import Query
from spark_jobs.records.match_records import (
    GRAPH,
    EdgeRecord,
    JointRecord,
    OccurrenceRecord,
    Unknown,
    unknown_because,
)
from spark_jobs.rows.event_table import EventColumns, VerifiedTemplates


@dataclass(frozen=True)
class MatchTuples:
    """Tuples that one query found in a batch, intp (n, roles); where a role has no member it is `ABSENT`."""

    members: PositionArray
    supersedes: PositionArray | None = None  # the tuple that each one enlarges, if there is one
    skipped: tuple[int, ...] = ()  # sequence numbers of new rows that had too many candidates to be looked at

    @classmethod
    def none(cls, roles: int) -> MatchTuples:
        """Return no tuples."""
        return cls(np.empty((0, roles), np.intp))

    def in_order(self) -> MatchTuples:
        """Sort by the arrival of the last member, then of the one before it and so on, then by role."""
        if len(self.members) < 2:
            return self
        by_arrival = np.sort(self.members, axis=1)[:, ::-1]
        order = np.lexsort([*self.members.T[::-1], *by_arrival.T[::-1]])  # its last key is the first to count
        supersedes = None if self.supersedes is None else self.supersedes[order]
        return MatchTuples(self.members[order], supersedes, self.skipped)


_induced = lru_cache(maxsize=1024)(induced)


@dataclass(frozen=True, eq=False)
class AlikeTuples:
    """Tuples with the same constraint graph between present members; in a uniform clique its roles stand for any."""

    at: PositionArray  # which of the tuples in question they are
    graph: ConstraintGraph
    roles: PositionArray  # the role of each member, (n, m)
    columns: MemberColumns


def alike_tuples(
    query: Query, members: PositionArray, rows: EventColumns, templates: VerifiedTemplates
) -> Iterator[AlikeTuples]:
    """Part tuples, (n, roles), by their constraint graph: the fewer parts, the faster they are judged."""
    is_present = members != ABSENT
    is_uniform = query.graph.uniform_window is not None
    kinds, kind = np.unique(is_present.sum(axis=1)[:, None] if is_uniform else is_present, axis=0, return_inverse=True)
    for nth in range(len(kinds)):
        at = np.flatnonzero(kind.ravel() == nth)
        present = is_present[at]
        roles = np.nonzero(present)[1].reshape(len(at), -1)
        named = range(roles.shape[1]) if is_uniform else roles[0].tolist()
        graph = _induced(query.graph, tuple(query.roles[role][0] for role in named))
        yield AlikeTuples(at, graph, roles, _columns_of(members[at][present].reshape(roles.shape), rows, templates))


def _columns_of(members: PositionArray, rows: EventColumns, templates: VerifiedTemplates) -> MemberColumns:
    codes, index = np.unique(rows.template[members], return_inverse=True)
    histograms = [templates.histogram(code) for code in codes.tolist()]
    return MemberColumns(
        [histograms] * members.shape[1], index.reshape(members.shape).T, rows.detected_at_us[members].T
    )


DECIMALS = 12  # the accuracy promised; beyond it a digit could depend on what else is computed in the same batch
NANOSECOND_DECIMALS = 9


@dataclass(frozen=True)
class Verdicts:
    """One entry for each tuple."""

    probability: list[float]
    occurred: list[OccurrenceRecord | None]
    chance_rate_hz: list[float | None]
    edges: list[list[EdgeRecord]]
    unknown: list[Unknown | UnsetType]  # why one of the others is None
    joint: list[JointRecord] = field(default_factory=list)  # none for pairs


NOTHING = JointRecord(0.0, 0.0, 0.0, certain=True)


@dataclass(frozen=True)
class TupleJudge:
    """Judges the tuples that a query of more than two roles found in a batch."""

    query: Query
    rows: EventColumns
    templates: VerifiedTemplates

    def verdicts(self, members: PositionArray) -> Verdicts:
        """Return what is said of each tuple, (n, roles); none of it depends on the other tuples."""
        probability = [0.0] * len(members)
        occurred: list[OccurrenceRecord | None] = [None] * len(members)
        edges: list[list[EdgeRecord]] = [[]] * len(members)
        joint = [NOTHING] * len(members)
        for alike in alike_tuples(self.query, members, self.rows, self.templates):
            of_all, when = _of_all(alike, self.query.joint_threshold)
            of_edges = self._edges(alike)
            for nth, at in enumerate(alike.at.tolist()):
                joint[at], occurred[at], edges[at] = of_all[nth], when[nth], of_edges[nth]
                probability[at] = self._thresholded(joint[at], edges[at])
        unknown = [unknown_because(None if when else GRAPH, GRAPH) for when in occurred]
        return Verdicts(probability, occurred, [None] * len(members), edges, unknown, joint)

    def _thresholded(self, joint: JointRecord, edges: Sequence[EdgeRecord]) -> float:
        """Return the probability that the query has a threshold for."""
        return joint.probability if self.query.joint_threshold is not None else min(each.probability for each in edges)

    def _edges(self, alike: AlikeTuples) -> list[list[EdgeRecord]]:
        """Return each tuple's edges in the order of the query's, named as it names them."""
        names = [role for role, _ in self.query.roles]
        between = {edge.pair: (nth, (edge.a, edge.b)) for nth, edge in enumerate(self.query.graph.edges)}
        ends = [[alike.graph.roles.index(name) for name in (edge.a, edge.b)] for edge in alike.graph.edges]
        records = []
        probabilities = alike.columns.edge_probabilities(alike.graph).round(DECIMALS).tolist()
        for roles, of_edges in zip(alike.roles.tolist(), probabilities, strict=True):
            pairs = (frozenset(names[roles[end]] for end in each) for each in ends)
            in_order = sorted((*between[pair], each) for pair, each in zip(pairs, of_edges, strict=True))
            records.append([EdgeRecord(named, each) for _, named, each in in_order])
        return records


def _of_all(alike: AlikeTuples, threshold: float | None) -> tuple[list[JointRecord], Sequence[OccurrenceRecord | None]]:
    """Return the joint probability, and the onset that only a clique of one symmetric window has: its mass is it."""
    graph, columns = alike.graph, alike.columns
    window = graph.uniform_window
    if window is None:
        return _joint_records(columns.joint(graph, threshold), threshold), [None] * len(alike.at)
    when = occurrence_columns(columns.templates, columns.template_index, columns.detected_at_us, window)
    return _joint_records(JointProbability.exactly(when.probability), threshold), as_recorded(when)


def _joint_records(joint: JointProbability, threshold: float | None) -> list[JointRecord]:
    certain = [True] * len(joint) if threshold is None else joint.is_certain(threshold).tolist()
    columns = (each.round(DECIMALS).tolist() for each in (joint.value, joint.lower, joint.upper))
    return [JointRecord(*fields) for fields in zip(*columns, certain, strict=True)]


def as_recorded(when: OccurrenceColumns) -> list[OccurrenceRecord]:
    """Return when each match occurred as its record says it."""
    std_s = when.std_s.round(NANOSECOND_DECIMALS)
    columns = (when.mean_us, std_s, when.p05_us, when.p95_us)
    return [OccurrenceRecord(*fields) for fields in zip(*(column.tolist() for column in columns), strict=True)]
