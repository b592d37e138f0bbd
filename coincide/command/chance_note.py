"""How many matches chance alone would give: said beside an answer, so that its threshold can be judged."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from coincide.arrays.kinds import CodeArray, Int64Array
from coincide.command.faults import note
from coincide.constraints.conditions import SensorRule
from coincide.constraints.graph import ConstraintGraph
from coincide.joins.detections import Detections
from coincide.joins.labels import area_codes, sensor_codes
from coincide.offsets.chance import SensorRate, chance_rate
from coincide.offsets.graph_chance import graph_chance_rate

MOST_AREAS = 50
MOST_PAIRS = 4_096  # of sensors and their templates in one area
LONG = 10  # times the reach of a match: in a shorter time rates say little


def note_chance(
    count: int,
    batches: Mapping[str, Detections],
    graph: ConstraintGraph,
    joint: float | None,
    sensors: SensorRule,
    sources: Mapping[str, str],
) -> None:
    """Say how many matches there are and how many chance would give; nothing where that cannot be told in short."""
    expected = _expected(batches, graph, joint, sensors, sources)
    if expected is not None:
        matches = "1 match" if count == 1 else f"{count} matches"
        note(f"{matches}; chance alone would give about {expected:.3g}, if nothing belonged together")


def _expected(
    batches: Mapping[str, Detections],
    graph: ConstraintGraph,
    joint: float | None,
    sensors: SensorRule,
    sources: Mapping[str, str],
) -> float | None:
    if any(edge.window.is_open for edge in graph.edges) or any(len(batch) == 0 for batch in batches.values()):
        return None
    areas = dict(zip(batches, area_codes(list(batches.values())), strict=True))
    codes = np.unique(np.concatenate([np.unique(each) for each in areas.values()])).tolist()
    if len(codes) > MOST_AREAS:
        return None
    sensor = dict(zip(batches, sensor_codes(list(batches.values())), strict=True))
    total = 0.0
    for code in codes:
        at = {role: np.flatnonzero(areas[role] == code) for role in batches}
        span_s = _span_s(batches, at)
        if span_s < LONG * _reach_s(batches, graph):
            return None
        rates = {role: _rates(batches[role], sensor[role], at[role], span_s) for role in batches}
        if prod(map(len, rates.values())) > MOST_PAIRS:
            return None
        total += span_s * _rate_hz(rates, graph, joint, sensors, sources)
    return total


def _rate_hz(
    rates: Mapping[str, list[SensorRate]],
    graph: ConstraintGraph,
    joint: float | None,
    sensors: SensorRule,
    sources: Mapping[str, str],
) -> float:
    if len(graph.edges) > 1:
        return graph_chance_rate(rates, graph, joint, sensors=sensors, streams=sources).rate_hz
    [edge] = graph.edges
    others = None if sources[edge.a] == sources[edge.b] else rates[edge.b]
    return chance_rate(rates[edge.a], others, edge.window, edge.threshold or joint or 1.0, sensors=sensors)


def _span_s(batches: Mapping[str, Detections], at: Mapping[str, Int64Array]) -> float:
    times_us = np.concatenate([batches[role].detected_at_us[rows] for role, rows in at.items()])
    return float(times_us.max() - times_us.min()) / 1e6


def _reach_s(batches: Mapping[str, Detections], graph: ConstraintGraph) -> float:
    longest_s = {role: max(template.length_s for template in batch.templates) for role, batch in batches.items()}
    windows_s = [(edge.window.hi_us - edge.window.lo_us) / 1e6 for edge in graph.edges]
    lengths_s = [longest_s[edge.a] + longest_s[edge.b] for edge in graph.edges]
    return max(window_s + length_s for window_s, length_s in zip(windows_s, lengths_s, strict=True))


def _rates(batch: Detections, sensor: CodeArray, at: Int64Array, span_s: float) -> list[SensorRate]:
    """Return how often each sensor reports with each template; a detection without a sensor has its own."""
    pairs = np.stack((sensor[at], batch.template_index[at]), axis=1)
    kinds, counts = np.unique(pairs, axis=0, return_counts=True)
    return [
        SensorRate(None if code < 0 else str(code), batch.templates[template], count / span_s)
        for (code, template), count in zip(kinds.tolist(), counts.tolist(), strict=True)
    ]
