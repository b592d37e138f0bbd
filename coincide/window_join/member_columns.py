"""MemberColumns: the events that make up tuples, and how probable each tuple's edges are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coincide.arrays import BoolArray, CodeArray, FloatArray, Int64Array
from coincide.histogram import Histogram
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.joint import joint_at_least, joint_probabilities
from coincide.window_join.joint.bounds import edge_probabilities
from coincide.window_join.joint.checks import checked_tuples


@dataclass(frozen=True, eq=False)
class MemberColumns:
    """Members of n tuples, stream by stream in the graph's order.

    Attributes
    ----------
    templates : sequence of k sequences of Histogram
    template_index : ndarray of int64, shape (k, n)
        Which of its stream's templates each member has.
    detected_at_us : ndarray of int64, shape (k, n)
    """

    templates: Sequence[Sequence[Histogram]]
    template_index: CodeArray | Int64Array
    detected_at_us: Int64Array

    def probabilities(self, graph: ConstraintGraph) -> FloatArray:
        """Return the joint probability of each tuple, float64 (n,)."""
        return joint_probabilities(graph, self.templates, self.template_index, self.detected_at_us).value

    def at_least(self, graph: ConstraintGraph, threshold: float) -> BoolArray:
        """Whether each tuple's joint probability reaches the threshold, bool (n,)."""
        return joint_at_least(graph, self.templates, self.template_index, self.detected_at_us, threshold)

    def edge_probabilities(self, graph: ConstraintGraph) -> FloatArray:
        """Return P(lo <= Xb - Xa <= hi) of each edge, float64 (n, edges)."""
        tuples = checked_tuples(graph, self.templates, self.template_index, self.detected_at_us)
        return edge_probabilities(graph, tuples).T
