"""The events that make up tuples: in columns with how probable each tuple's edges are, and in lexicographic order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, FloatArray, Int64Array
from coincide.constraints.graph import ConstraintGraph
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
