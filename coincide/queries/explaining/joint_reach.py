"""Joint reach: what some sensors attain when all windows of a query are to hold at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from coincide.constraints.graph import ConstraintGraph
from coincide.offsets.long_windows import least_probability
from coincide.offsets.pair_work import offsets_work
from coincide.probability.difference import match_probability
from coincide.queries.explaining.known_sensors import KnownSensor
from coincide.queries.joins.join_query import Query
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import TemplatePairs
from coincide.thresholds.joint_peaks import STARTS, JointlyAttainable, attainable_jointly, joint_work

MOST_AREAS = 4  # in which a joint probability is looked for: those with the most exact sensors

Chosen = dict[str, Histogram]
"""The template of a sensor for each role."""


def joint_reach(
    query: Query, played: Mapping[str, Sequence[KnownSensor]], most_work: float
) -> list[tuple[Chosen, JointlyAttainable]]:
    """Return what the most exact sensors of some areas reach jointly; of areas with the same templates one counts."""
    chosen = {tuple(each.values()): each for each in _most_exact_by_area(query, played)}
    listed = sorted(chosen.values(), key=lambda each: sum(one.std_s for one in each.values()))[:MOST_AREAS]
    work = max((_least_work(query.graph, each) for each in listed), default=0.0)
    few = listed[: int(min(MOST_AREAS, most_work / max(work, 1.0)))]
    return [(each, attainable_jointly(each, query.graph, most_work=most_work / len(few))) for each in few]


def reaches_all(query: Query, templates: Chosen, found: JointlyAttainable) -> bool:
    """Whether every edge and all of them at once reach their thresholds at the times found."""
    at_s = {role: time_us / 1e6 for role, time_us in zip(query.graph.roles, found.times_us, strict=True)}
    return found.at_least >= (query.joint_threshold or 0.0) and all(
        match_probability(templates[edge.a], templates[edge.b], at_s[edge.b] - at_s[edge.a], edge.window)
        >= (least_probability(edge.threshold) if edge.threshold else 0.0)
        for edge in query.graph.edges
    )


def _most_exact_by_area(query: Query, played: Mapping[str, Sequence[KnownSensor]]) -> Iterator[Chosen]:
    """Yield the templates of the most exact sensors of each area in which all roles can be played."""
    by_area: dict[str, dict[str, list[KnownSensor]]] = {}
    for role, sensors in played.items():
        for each in sensors:
            by_area.setdefault(each.area, {}).setdefault(role, []).append(each)
    for _, here in sorted(by_area.items()):
        chosen = _most_exact(query, here) if len(here) == len(played) else None
        if chosen is not None:
            yield chosen


def _most_exact(query: Query, played: Mapping[str, Sequence[KnownSensor]]) -> Chosen | None:
    """Return the template of a sensor for each role, all different unless the rule says otherwise."""
    used: set[str] = set()
    chosen: Chosen = {}
    for role in query.graph.roles:
        allowed = [each for each in played[role] if _may_join(query, each.sensor, used)]
        if not allowed:
            return None
        best = min(allowed, key=lambda each: each.template.std_s)
        chosen[role] = best.template
        used |= {best.sensor} if best.sensor is not None else set()
    return chosen


def _may_join(query: Query, sensor: str | None, used: set[str]) -> bool:
    if query.sensors == "different":
        return sensor is None or sensor not in used
    return query.sensors == "any" or not used or sensor in used


def _least_work(graph: ConstraintGraph, templates: Chosen) -> float:
    """Work of `attainable_jointly` at least."""
    first = np.zeros(1, np.int64)
    of_edges = (
        (TemplatePairs([templates[edge.a]], [templates[edge.b]], first, first), edge.window) for edge in graph.edges
    )
    edges_work = sum(float(offsets_work(*each)[0]) for each in of_edges)
    return edges_work + STARTS * joint_work(graph, [templates[role] for role in graph.roles])
