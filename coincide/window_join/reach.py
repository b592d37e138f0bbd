"""Reach: how far from an event of one role those of every other role may lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays import Int64Array
from coincide.timing_join.probe_bounds import ProbeBounds
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.implied_bounds import UNBOUNDED_US, implied_bounds


@dataclass(frozen=True, eq=False)
class Reach:
    """Bounds of reported time between every two roles: of their own edge, and implied by all others.

    Attributes
    ----------
    edges : dict of (probing role, other role) to ProbeBounds
        Both ways for each edge of the graph.
    implied_us : ndarray of int64, shape (k, k)
        Greatest reported t_j - t_i, by the offset hulls of the templates in hand: see `implied_bounds`. Windows alone
        would be too narrow where templates are wide.
    """

    edges: dict[tuple[int, int], ProbeBounds]
    implied_us: Int64Array

    @classmethod
    def of(cls, graph: ConstraintGraph, bounds: Sequence[tuple[ProbeBounds, ProbeBounds]]) -> Reach:
        """Combine the bounds of all edges: of each those for events of its a, and those for events of its b."""
        edges = {}
        for edge, (as_a, as_b) in zip(graph.edges, bounds, strict=True):
            a, b = graph.streams.index(edge.a), graph.streams.index(edge.b)
            edges[a, b], edges[b, a] = as_a, as_b
        hulls = np.clip([as_a.outer_us for as_a, _ in bounds], -UNBOUNDED_US, UNBOUNDED_US)
        return cls(edges, implied_bounds(graph.upper_us((lo, hi) for lo, hi in hulls.tolist())))

    @property
    def is_empty(self) -> bool:
        """Whether no events at all can satisfy every edge."""
        return bool((np.diagonal(self.implied_us) < 0).any()) or any(
            bounds.outer_us[0] > bounds.outer_us[1] for bounds in self.edges.values()
        )

    def span_us(self, probing: int, other: int) -> tuple[int, int]:
        """Return the closed range of other minus probing time, whatever the templates."""
        return -int(self.implied_us[other, probing]), int(self.implied_us[probing, other])

    def bounds_us(self, probing: int, other: int) -> tuple[Int64Array, Int64Array]:
        """Return the closed range of other minus probing time by probing template, or one for all."""
        lo_us, hi_us = self.span_us(probing, other)
        edge = self.edges.get((probing, other))
        if edge is None:
            return np.array([lo_us]), np.array([hi_us])
        return np.maximum(edge.outer_lo_us, lo_us), np.minimum(edge.outer_hi_us, hi_us)

    def test(self, role: int, other: int) -> ProbeBounds | None:
        """Return what is left to ask of two events in each other's bounds, probing with `role`; None if nothing."""
        edge = self.edges.get((role, other))
        return None if edge is None or edge.is_sharp else edge
