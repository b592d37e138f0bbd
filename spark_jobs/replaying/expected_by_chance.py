"""How many matches chance alone would give in the range of a run, at each threshold of its curve."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from coincide import Histogram
from coincide.arrays.kinds import FloatArray, IndexArray
from coincide.queries import Query
from coincide.templates.template_columns import TemplatePairs
from coincide.thresholds.chance import SensorRate, offset_lengths_s
from coincide.thresholds.graph_chance import EstimatedRate, graph_chance_rate
from spark_jobs.replaying.match_curves import at_threshold, own_threshold, rounded, some_of
from spark_jobs.replaying.played_rows import PlayedRows

GROUPS_AT_ONCE = 1_024
MOST_LENGTHS = 200_000  # template pairs times thresholds: a few seconds
LENGTHS_AT_ONCE = 4_096
MOST_ESTIMATES = 100  # areas times thresholds, of queries of more than two roles: a tenth of a second each
POINTS = 1_024
KIND = ("area", "sensor_id", "template")


class ExpectedMatches(NamedTuple):
    """Matches that chance alone would give, and the standard error of that: 0 where it is exact."""

    matches: float
    error: float

    def to_json(self) -> dict[str, float]:
        """Return the fields of a curve's point."""
        return {"chance": self.matches} | ({"chance_error": self.error} if self.error else {})


def role_counts(played: PlayedRows) -> list[pa.Table]:
    """Return for each role how many of the chunk's own rows may play it, by area, sensor and template."""
    counts = {}
    for source, at in played.of_source.items():
        own = played.rows.take(pa.array(at[played.is_own[at]])).select(list(KIND))
        counts[source] = own.group_by(list(KIND)).aggregate([([], "count_all")])
    return [counts[source] for source in played.query.sources]


def chance_matches(
    query: Query,
    counts: Sequence[Sequence[pa.Table]],
    templates: Mapping[str, Histogram],
    thresholds: Sequence[float],
    span_s: float,
) -> dict[float, ExpectedMatches]:
    """Return what chance would give at thresholds; those at which it is not told are left out.

    It is the law of `coincide.chance_rate`, and for more than two roles that of `coincide.graph_chance_rate` at a few
    thresholds, with the rates of the run's own detections, constant over the range. It is not told of queries with
    `equal` or `at_least`, nor of windows without end, nor where there are too many templates or areas.

    `counts` are those of `role_counts`, chunk by chunk.
    """
    if query.equal is not None or query.at_least is not None or any(edge.window.is_open for edge in query.graph.edges):
        return {}
    roles = [_Played.of(tables, templates) for tables in zip(*counts, strict=True)]
    if not roles or not all(len(role.count) for role in roles):  # no chunk at all, or none of a role
        return dict.fromkeys(thresholds, ExpectedMatches(0.0, 0.0))
    if len(roles) == 2:
        return _of_pairs(query, roles, thresholds, span_s)
    return _of_graph(query, roles, thresholds, span_s)


@dataclass(frozen=True, eq=False)
class _Played:
    """What may play one role: how many detections of each area, sensor and template; columns of shape (n,)."""

    area: Sequence[str]
    sensor: Sequence[str]
    template: IndexArray
    count: FloatArray
    templates: Sequence[Histogram]

    @classmethod
    def of(cls, tables: Iterable[pa.Table], templates: Mapping[str, Histogram]) -> _Played:
        all_rows = pa.concat_tables(tables).group_by(list(KIND)).aggregate([("count_all", "sum")])
        all_rows = all_rows.sort_by([(name, "ascending") for name in KIND])  # the estimate depends on the order
        names = sorted(set(all_rows["template"].to_pylist()))
        at = {name: nth for nth, name in enumerate(names)}
        template = np.array([at[name] for name in all_rows["template"].to_pylist()], np.intp)
        count = all_rows["count_all_sum"].to_numpy().astype(np.float64)
        area, sensor = (all_rows[name].to_pylist() for name in ("area", "sensor_id"))
        return cls(area, sensor, template, count, [templates[name] for name in names])

    def rates(self, area: str, span_s: float) -> list[SensorRate]:
        """Return the rates in one area."""
        rows = [nth for nth, each in enumerate(self.area) if each == area]
        return [
            SensorRate(self.sensor[nth], self.templates[self.template[nth]], self.count[nth] / span_s) for nth in rows
        ]


def _of_pairs(
    query: Query, roles: Sequence[_Played], thresholds: Sequence[float], span_s: float
) -> dict[float, ExpectedMatches]:
    a, b = roles
    meetings = _meetings(a, b, query.sensors) / span_s
    if query.sources[0] == query.sources[1] and query.window.is_symmetric:
        meetings /= 2  # each pair has been counted in both orders
    u_index, v_index = np.nonzero(meetings)
    if len(u_index) * len(thresholds) > MOST_LENGTHS:
        return {}
    pairs = TemplatePairs(list(a.templates), list(b.templates), u_index, v_index)
    told: dict[float, ExpectedMatches] = {}
    for some in np.array_split(thresholds, -(-len(u_index) * len(thresholds) // LENGTHS_AT_ONCE)):
        least = [at_threshold(query, threshold).graph.edges[0].threshold for threshold in some.tolist()]
        several = pairs.take(np.tile(np.arange(len(pairs)), len(some)))
        lengths_s = offset_lengths_s(several, query.window, np.repeat(np.array(least, np.float64), len(pairs)))
        expected = lengths_s.reshape(len(some), -1) @ meetings[u_index, v_index]
        told |= {at: ExpectedMatches(rounded(each), 0.0) for at, each in zip(some.tolist(), expected, strict=True)}
    return told


def _of_graph(
    query: Query, roles: Sequence[_Played], thresholds: Sequence[float], span_s: float
) -> dict[float, ExpectedMatches]:
    """Estimate it at as many thresholds as may be, area by area."""
    areas = sorted(set.intersection(*(set(role.area) for role in roles)))
    few = MOST_ESTIMATES // max(len(areas), 1)
    told = {}
    for threshold in some_of(thresholds, few, own_threshold(query)):
        parts = [_in_area(at_threshold(query, threshold), roles, area, span_s) for area in areas]
        matches, variance = sum(each.rate_hz for each in parts), sum(each.error_hz**2 for each in parts)
        told[threshold] = ExpectedMatches(rounded(matches * span_s), rounded(variance**0.5 * span_s))
    return told


def _in_area(query: Query, roles: Sequence[_Played], area: str, span_s: float) -> EstimatedRate:
    rates = {role: played.rates(area, span_s) for (role, _), played in zip(query.roles, roles, strict=True)}
    sources = {role: repr(source) for (role, _), source in zip(query.roles, query.sources, strict=True)}
    joint = query.joint_threshold
    return graph_chance_rate(rates, query.graph, joint, sensors=query.sensors, streams=sources, points=POINTS)


def _meetings(a: _Played, b: _Played, rule: str) -> FloatArray:
    """Return how many pairs of an a and a b there are in one area, by their templates, (m, n)."""
    areas = _codes([*a.area, *b.area])
    if rule == "any":
        return _products(areas, a, b)
    sensors = _codes([*zip(a.area, a.sensor, strict=True), *zip(b.area, b.sensor, strict=True)])
    return _products(sensors, a, b) if rule == "same" else _products(areas, a, b) - _products(sensors, a, b)


def _codes(labels: Sequence[Hashable]) -> IndexArray:
    codes = {label: code for code, label in enumerate(dict.fromkeys(labels))}
    return np.array([codes[label] for label in labels], np.intp)


def _products(group: IndexArray, a: _Played, b: _Played) -> FloatArray:
    """Return how many pairs have equal labels, by templates: a sum over labels of products of counts."""
    products = np.zeros((len(a.templates), len(b.templates)))
    sides = [(group[: len(a.count)], a), (group[len(a.count) :], b)]
    for first in range(0, int(group.max(initial=-1)) + 1, GROUPS_AT_ONCE):
        of_a, of_b = (_counts(each, side, first) for each, side in sides)
        products += of_a.T @ of_b
    return products


def _counts(group: IndexArray, side: _Played, first: int) -> FloatArray:
    """Return how many detections each group from the `first` on has with each template, (groups, templates)."""
    width = len(side.templates)
    rows = np.flatnonzero((group >= first) & (group < first + GROUPS_AT_ONCE))
    at = (group[rows] - first) * width + side.template[rows]
    return np.bincount(at, side.count[rows], GROUPS_AT_ONCE * width).astype(np.float64).reshape(-1, width)
