"""Chance: how many matches a query gives although nothing belongs together, and the threshold that gives few."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import hypot, prod

import numpy as np

from coincide.constraints.graph import ConstraintGraph, induced
from coincide.offsets.chance import SensorRate
from coincide.offsets.edge_offsets import ROTATIONS
from coincide.offsets.graph_chance import graph_chance_rate
from coincide.offsets.offset_volumes import GraphRows
from coincide.offsets.pair_work import offsets_work
from coincide.queries.explaining.edge_reach import EdgeReach
from coincide.queries.explaining.figures import ChanceFigures
from coincide.queries.explaining.sensor_pairs import KnownSensor
from coincide.queries.join_query import Query
from coincide.templates.histogram import Histogram

MOST_AREAS = 2  # worked out; the others in proportion to the products of their rates
MOST_SENSORS = 256  # of a role in an area; beyond it those of one template are one
MOST_GRAPHS = 16  # of the smallest sets of a query with `at_least`, one for each kind
FEWEST_POINTS, MOST_POINTS = 3 * ROTATIONS, 128 * ROTATIONS
MOST_WORK = 2.0**26  # bucket pairs of all areas: one to three seconds
UNALIKE = 5.0  # times the work of a joint probability among hundreds alike

Rates = Mapping[str, Sequence[SensorRate]]


@dataclass(frozen=True)
class AreaChance:
    """Chance matches a second of an area, their standard error, and whether they are rather fewer."""

    rate_hz: float
    error_hz: float = 0.0
    is_upper_bound: bool = False

    @classmethod
    def sum_of(cls, parts: Iterable[AreaChance], share: float = 1.0) -> AreaChance:
        """Add up estimates that do not depend on each other; return a share of the sum."""
        listed = list(parts)
        error_hz = hypot(*(each.error_hz for each in listed))
        is_upper_bound = any(each.is_upper_bound for each in listed)
        return cls(share * sum(each.rate_hz for each in listed), share * error_hz, is_upper_bound)


def chance_by_area(
    query: Query, played: Mapping[str, Sequence[KnownSensor]], reach: EdgeReach | None, *, is_coarse: bool = False
) -> dict[str, AreaChance] | None:
    """Return the rate of chance matches of each area; None where that would take too long.

    `played` has the sensors of each role, `reach` what they attain in a query of two roles. A coarse estimate is
    several times cheaper where there are more roles.
    """
    if reach is not None:
        ways = 2 if query.interchange.swaps else 1
        by_area = reach.chance_hz(query.graph.edges[0].threshold or 1.0)
        return {area: AreaChance(rate_hz / ways) for area, rate_hz in by_area.items()}
    of_area, graphs = _rates_by_area(query, played), _smallest_graphs(query)
    if len(graphs) > MOST_GRAPHS:
        return None
    products = {area: _product(query, rates) for area, rates in of_area.items()}
    busiest = sorted(products, key=products.__getitem__, reverse=True)
    worked_out = busiest[: 1 if is_coarse else MOST_AREAS]
    found: dict[str, AreaChance] = {}
    for area in worked_out:
        chance = _chance_in(query, graphs, of_area[area], is_coarse=is_coarse)
        if chance is None:
            return None
        found[area] = chance
    whole, parts = sum(products[area] for area in found) or 1.0, list(found.values())
    rest = busiest[len(worked_out) :]
    return found | {area: AreaChance.sum_of(parts, products[area] / whole) for area in rest}


def chance_figures(query: Query, by_area: Mapping[str, AreaChance], *, is_of_one_area: bool) -> ChanceFigures:
    """Add up what all areas give; or take the area that gives most, where rates are those of the busiest area."""
    area = max(by_area, key=lambda name: by_area[name].rate_hz, default=None) if is_of_one_area else None
    chance = AreaChance.sum_of([each for name, each in by_area.items() if area in (None, name)])
    is_less = query.equal is not None or any(source.filter.where for source in query.sources)
    return ChanceFigures(3600 * chance.rate_hz, 3600 * chance.error_hz, area, chance.is_upper_bound or is_less)


def with_threshold(query: Query, threshold: float) -> Query:
    """Return the query with another threshold: the joint one if it has one, else that of every edge."""
    if query.joint_threshold is not None:
        return replace(query, joint_threshold=threshold)
    return replace(query, within=tuple(replace(edge, threshold=threshold) for edge in query.within))


def _smallest_graphs(query: Query) -> list[ConstraintGraph]:
    """Return the graph of the query; with `at_least` those of the smallest sets of roles, of alike sets one."""
    if query.at_least is None:
        return [query.graph]
    roles, required, optional = query.graph.roles, query.required, query.at_least.optional(query.graph.roles)
    kind = {roles[at]: nth for nth, group in enumerate(query.interchange.groups) for at in group}
    graphs: dict[tuple[int, ...], ConstraintGraph] = {}
    for chosen in combinations(optional, max(query.at_least.count, 2 - len(required))):
        alike = tuple(sorted(kind[role] for role in chosen))
        if alike not in graphs:
            graphs[alike] = induced(query.graph, {*required, *chosen})
    return list(graphs.values())


def _chance_in(query: Query, graphs: Sequence[ConstraintGraph], rates: Rates, *, is_coarse: bool) -> AreaChance | None:
    """Estimate the chance matches of an area; without the joint threshold where that would take too long."""
    sources = zip(query.graph.roles, query.sources, strict=True)
    streams = {role: str(query.sources.index(source)) for role, source in sources}
    most_work, found = MOST_WORK / MOST_AREAS / len(graphs), []
    for graph in graphs:
        joint = query.joint_threshold if len(graph.edges) > 1 else None
        points = _points(graph, rates, most_work, is_joint=joint is not None)
        if joint is not None and points < FEWEST_POINTS:
            joint, points = None, _points(graph, rates, most_work, is_joint=False)
        if points < FEWEST_POINTS:
            return None
        points = max(FEWEST_POINTS, points // 4) if is_coarse else points
        of_roles = {role: rates[role] for role in graph.roles}
        rate = graph_chance_rate(of_roles, graph, joint, sensors=query.sensors, streams=streams, points=points)
        is_upper_bound = joint is None and query.joint_threshold is not None and len(graph.edges) > 1
        found.append(AreaChance(rate.rate_hz, rate.error_hz, is_upper_bound))
    return AreaChance.sum_of(found)


def _points(graph: ConstraintGraph, rates: Rates, most_work: float, *, is_joint: bool) -> int:
    """How many points may be tried: a joint probability at each is work, and so are the offsets of its templates."""
    if not all(rates[role] for role in graph.roles):
        return FEWEST_POINTS
    most = [[max((each.template for each in rates[role]), key=lambda each: len(each.mass))] for role in graph.roles]
    first = np.zeros((len(graph.roles), 1), np.int64)
    one = GraphRows(graph, most, first, np.ones((len(graph.edges), 1)))
    work = UNALIKE * float(one.joint_work()[0]) if is_joint else 1.0
    for edge, pair in zip(graph.edges, one.pairs(), strict=True):
        if len(rates[edge.a]) * len(rates[edge.b]) > FEWEST_POINTS:
            work += float(offsets_work(pair, edge.window)[0])
    return int(min(MOST_POINTS, most_work // work))


def _product(query: Query, rates: Rates) -> float:
    return prod(sum(each.rate_hz for each in rates[role]) for role in query.graph.roles)


def _rates_by_area(query: Query, played: Mapping[str, Sequence[KnownSensor]]) -> dict[str, Rates]:
    areas = dict.fromkeys(each.area for sensors in played.values() for each in sensors)
    of_area: dict[str, dict[str, list[SensorRate]]] = {area: {role: [] for role in query.graph.roles} for area in areas}
    for role, sensors in played.items():
        for each in sensors:
            of_area[each.area][role].append(SensorRate(each.sensor, each.template, each.rate_hz))
    return {area: {role: _merged(each) for role, each in rates.items()} for area, rates in of_area.items()}


def _merged(rates: list[SensorRate]) -> list[SensorRate]:
    """Return the rates; of very many sensors those of one template as one, and some templates for all."""
    if len(rates) <= MOST_SENSORS:
        return rates
    of_template: dict[Histogram, float] = {}
    for each in rates:
        of_template[each.template] = of_template.get(each.template, 0.0) + each.rate_hz
    every = -(-len(of_template) // MOST_SENSORS)
    some = list(of_template.items())[::every]
    share = sum(of_template.values()) / (sum(rate_hz for _, rate_hz in some) or 1.0)
    return [SensorRate(None, template, share * rate_hz) for template, rate_hz in some]
