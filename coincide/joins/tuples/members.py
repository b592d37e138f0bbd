"""The events that make up tuples: in columns with how probable each tuple's edges are, and in lexicographic order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, FloatArray, IndexArray, Int64Array, LabelArray, PositionArray
from coincide.constraints.graph import ConstraintGraph, induced
from coincide.joins.answers import Tuples
from coincide.joins.detections import Detections
from coincide.probability.joint.probability import checked_tuples, joint_at_least, joint_probabilities
from coincide.probability.joint.refinement import JointProbability, edge_probabilities
from coincide.templates.histogram import Histogram


@dataclass(frozen=True, eq=False)
class MemberColumns:
    """Members of n tuples, role by role in the graph's order; both arrays of shape (k, n).

    `templates` are by role, and `template_index` says which of its role's each member has.
    """

    templates: Sequence[Sequence[Histogram]]
    template_index: CodeArray | Int64Array
    detected_at_us: Int64Array

    def joint(self, graph: ConstraintGraph, threshold: float | None = None) -> JointProbability:
        """Return the joint probability of each tuple, as near as it takes to tell whether it reaches the threshold."""
        return joint_probabilities(graph, self.templates, self.template_index, self.detected_at_us, threshold)

    def at_least(self, graph: ConstraintGraph, threshold: float) -> BoolArray:
        """Whether each tuple's joint probability reaches the threshold, bool (n,)."""
        return joint_at_least(graph, self.templates, self.template_index, self.detected_at_us, threshold)

    def edge_probabilities(self, graph: ConstraintGraph) -> FloatArray:
        """Return P(lo <= Xb - Xa <= hi) of each edge, float64 (n, edges)."""
        tuples = checked_tuples(graph, self.templates, self.template_index, self.detected_at_us)
        return edge_probabilities(graph, tuples).T


@dataclass(frozen=True, eq=False)
class MemberRows:
    """Members as rows of their roles' batches, shape (n, k); pickled, they are columns of those rows alone."""

    batches: Sequence[Detections]
    members: Int64Array

    def columns(self) -> MemberColumns:
        """Look the rows up."""
        rows = list(zip(self.batches, self.members.T, strict=True))
        return MemberColumns(
            [batch.templates for batch in self.batches],
            np.array([batch.template_index[at] for batch, at in rows]),
            np.array([batch.detected_at_us[at] for batch, at in rows]),
        )

    def joint(self, graph: ConstraintGraph, threshold: float | None) -> JointProbability:
        """Return what `MemberColumns` does."""
        return self.columns().joint(graph, threshold)

    def edge_probabilities(self, graph: ConstraintGraph) -> FloatArray:
        """Return what `MemberColumns` does."""
        return self.columns().edge_probabilities(graph)

    def __reduce__(self) -> tuple[Any, ...]:
        columns = self.columns()
        return MemberColumns, (columns.templates, columns.template_index, columns.detected_at_us)


@dataclass(frozen=True, eq=False)
class PartialColumns:
    """Tuples of a clique some of whose members are absent; arrays of shape (k, n), `template` a position.

    With windows by distance `half_width_ms`, shape (edges, n), has half of each tuple's windows.
    """

    graph: ConstraintGraph
    templates: Sequence[Histogram]
    present: BoolArray
    template: IndexArray
    detected_at_us: Int64Array
    half_width_ms: Int64Array | None = None

    def at_least(self, threshold: float) -> BoolArray:
        """Whether the joint probability of the members present reaches the threshold, bool (n,)."""
        reaches = np.empty(self.present.shape[1], np.bool_)
        for at, graph, columns in self._alike(self.graph.uniform_window is not None):
            reaches[at] = columns.at_least(graph, threshold)
        return reaches

    def joint(self, threshold: float | None) -> JointProbability:
        """Return the joint probability of the members present, as well as the threshold needs."""
        joint = JointProbability.unset(self.present.shape[1])
        for at, graph, columns in self._alike(self.graph.uniform_window is not None):
            joint.put(at, columns.joint(graph, threshold))
        return joint

    def of_edges(self) -> FloatArray:
        """Return the probability of each edge, NaN where a member is absent; float64 (n, edges)."""
        probability = np.full((self.present.shape[1], len(self.graph.edges)), np.nan)
        for at, graph, columns in self._alike(by_size=False):
            pairs = {edge.pair for edge in graph.edges}
            edges = np.array([nth for nth, edge in enumerate(self.graph.edges) if edge.pair in pairs])
            probability[at[:, None], edges] = columns.edge_probabilities(graph)
        return probability

    def tuples(self, names: LabelArray, threshold: float | None) -> Tuples:
        """Return them as an answer, members by name; `threshold` is the joint one."""
        roles = self.graph.roles
        return Tuples(names, partial(self.joint, threshold), self.of_edges, self.present.T, threshold, roles)

    def _alike(self, by_size: bool) -> Iterator[tuple[PositionArray, ConstraintGraph, MemberColumns]]:
        """Yield the tuples that have the same roles present, or as many, and the same windows.

        That is which they are, their graph and their columns.
        """
        kind = self.present.sum(axis=0)[None] if by_size else self.present
        if self.half_width_ms is not None:
            kind = np.concatenate((kind, self.half_width_ms))
        kinds, of = np.unique(kind, axis=1, return_inverse=True)
        for nth in range(kinds.shape[1]):
            at = np.flatnonzero(of.ravel() == nth)
            present = self.present[:, at].T
            roles = np.flatnonzero(present[0])
            template, time_us = (
                column[:, at].T[present].reshape(len(at), -1).T for column in (self.template, self.detected_at_us)
            )
            graph = (
                self.graph
                if self.half_width_ms is None
                else self.graph.at_widths(self.half_width_ms[:, at[0]].tolist())
            )
            graph = induced(graph, [self.graph.roles[role] for role in roles])
            yield at, graph, MemberColumns([self.templates] * len(roles), template, time_us)


KEY_BITS = 63


def in_order(members: Int64Array) -> Int64Array:
    """Return rows of positions of at least 0, shape (n, k), sorted by the first column, then the second and so on.

    Positions are packed into one number a row where they fit: sorting that is several times faster.
    """
    if len(members) == 0:
        return members
    bits = [int(column.max()).bit_length() for column in members.T]
    if sum(bits) > KEY_BITS:
        ordered: Int64Array = members[np.lexsort(members.T[::-1])]
        return ordered
    keys = members[:, 0].copy()
    for column, width in zip(members.T[1:], bits[1:], strict=True):
        keys <<= width
        keys |= column
    if (keys[1:] >= keys[:-1]).all():
        return members
    keys.sort()
    unpacked = np.empty((members.shape[1], len(members)), np.int64)
    for column in range(len(unpacked) - 1, 0, -1):
        np.bitwise_and(keys, (1 << bits[column]) - 1, out=unpacked[column])
        keys >>= bits[column]
    unpacked[0] = keys
    return unpacked.T
