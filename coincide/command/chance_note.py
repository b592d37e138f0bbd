"""How many matches chance alone would give: said beside an answer, so that its threshold can be judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from coincide.arrays.kinds import CodeArray, Int64Array
from coincide.arrays.spoken import spoken
from coincide.command.faults import note
from coincide.constraints.conditions import SensorRule
from coincide.constraints.graph import ConstraintGraph
from coincide.joins.detections import Detections
from coincide.joins.labels import area_codes, sensor_codes
from coincide.thresholds.chance import SensorRate, chance_rate
from coincide.thresholds.graph_chance import graph_chance_rate

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
    if expected:
        matches = "1 match" if count == 1 else f"{count:,} matches" if count else "no match"
        note(f"{matches}; chance alone would give about {spoken(expected)}, if nothing belonged together")


def _expected(
    batches: Mapping[str, Detections],
    graph: ConstraintGraph,
    joint: float | None,
    sensors: SensorRule,
    sources: Mapping[str, str],
) -> float | None:
    if any(edge.window.is_open for edge in graph.edges) or any(len(batch) == 0 for batch in batches.values()):
        return None
    total = 0.0
    for number, (span_s, rates) in enumerate(rates_by_area(batches)):
        if number >= MOST_AREAS or not rates or span_s < LONG * reach_s(batches, graph):
            return None
        if prod(map(len, rates.values())) > MOST_PAIRS:
            return None
        total += span_s * _rate_hz(rates, graph, joint, sensors, sources)
    return total


def rates_by_area(batches: Mapping[str, Detections]) -> Iterator[tuple[float, dict[str, list[SensorRate]]]]:
    """Yield, for each area, for how many seconds there are detections, and how often each sensor of each role reports.

    A sensor counts once for each of its templates; detections without a sensor count as one, different from itself.
    Detections of one moment say nothing about rates, so there are none.
    """
    areas = dict(zip(batches, area_codes(list(batches.values())), strict=True))
    sensor = dict(zip(batches, sensor_codes(list(batches.values())), strict=True))
    for code in np.unique(np.concatenate([np.unique(each) for each in areas.values()])).tolist():
        at = {role: np.flatnonzero(areas[role] == code) for role in batches}
        span_s = _span_s(batches, at)
        seen = batches if span_s > 0 else []
        yield span_s, {role: _rates(batches[role], sensor[role], at[role], span_s) for role in seen}


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


def reach_s(batches: Mapping[str, Detections], graph: ConstraintGraph) -> float:
    """Return how far apart in seconds the reports of two members may lie."""
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
