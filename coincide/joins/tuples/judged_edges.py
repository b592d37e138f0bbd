"""Judged edges: for each edge of a graph, which offsets of its templates qualify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coincide.constraints.graph import ConstraintGraph, Edge
from coincide.constraints.window import checked_threshold
from coincide.errors import GraphError
from coincide.joins.detections import Detections
from coincide.joins.probe_bounds import ProbeBounds
from coincide.offsets.judge import judge_of
from coincide.offsets.satisfaction_table import SatisfactionTable
from coincide.templates.codes import TemplatesInOrder
from coincide.templates.histogram import Histogram


def with_thresholds(graph: ConstraintGraph, joint: float | None, exact: Mapping[str, bool]) -> list[float]:
    """Return the threshold of each edge: its own, and at least the joint one, which no edge's probability is below.

    Parameters
    ----------
    graph : ConstraintGraph
    joint : float or None
    exact : mapping of stream to bool
        Whether all its times are exact.

    Raises
    ------
    ThresholdError
        The joint threshold is outside (0, 1].
    GraphError
        An edge without a threshold, no joint one either, and times that are not exact.
    """
    least = 0.0 if joint is None else checked_threshold(joint)
    return [_threshold(edge, least, is_exact=exact[edge.a] and exact[edge.b]) for edge in graph.edges]


def are_exact(templates: Sequence[Histogram]) -> bool:
    """Whether all templates are single points in time, so that every probability is 0 or 1."""
    return all(template.length_s == 0.0 for template in templates)


def bounds_of_edges(
    graph: ConstraintGraph, batches: Mapping[str, Detections], thresholds: Sequence[float]
) -> list[tuple[ProbeBounds, ProbeBounds]]:
    """Return the bounds of each edge for events of its a and for events of its b, by the batches' own templates."""
    return [
        _judged(edge, batches[edge.a].templates, batches[edge.b].templates, threshold)
        for edge, threshold in zip(graph.edges, thresholds, strict=True)
    ]


def _threshold(edge: Edge, least: float, *, is_exact: bool) -> float:
    threshold = max(edge.threshold or 0.0, least)
    if threshold > 0.0:
        return threshold
    if not is_exact:
        between = f"edge {edge.a!r} - {edge.b!r}"
        raise GraphError("threshold", None, f"one for {between} or for all of them, since its times are not exact")
    return 1.0


def _judged(
    edge: Edge, us: Sequence[Histogram], vs: Sequence[Histogram], threshold: float
) -> tuple[ProbeBounds, ProbeBounds]:
    judge = judge_of(edge.window, threshold, TemplatesInOrder(us), TemplatesInOrder(vs))
    if isinstance(judge, SatisfactionTable):
        return ProbeBounds.of_a(judge), ProbeBounds.of_b(judge)
    return ProbeBounds.possible_of_a(judge), ProbeBounds.possible_of_b(judge)
