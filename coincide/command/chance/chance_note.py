"""How many matches chance alone would give: said beside an answer, so that its threshold can be judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod

import numpy as np

from coincide.arrays.kinds import CodeArray, Int64Array
from coincide.arrays.spoken import about_s, spoken
from coincide.command.faults import note
from coincide.constraints.conditions import SensorRule
from coincide.constraints.graph import ConstraintGraph
from coincide.joins.detections import Detections
from coincide.slides.area_times import area_times
from coincide.thresholds.chance import SensorRate, chance_rate
from coincide.thresholds.graph_chance import graph_chance_rate
from coincide.thresholds.recorded_times import PAUSE, RecordedTime

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
    areas = _area_chances(batches, graph, joint, sensors, sources)
    expected = sum(recorded.seconds * rate_hz for recorded, rate_hz in areas or [])
    if expected:
        note_pauses(recorded for recorded, _ in areas or [])
        matches = "1 match" if count == 1 else f"{count:,} matches" if count else "no match"
        note(f"{matches}; chance alone would give about {spoken(expected)}, if nothing belonged together")


def note_pauses(areas: Iterable[RecordedTime]) -> None:
    """Say how much of the time between the first report of each area and its last does not count, if some does not."""
    paused = [recorded for recorded in areas if recorded.pauses]
    pauses = sum(recorded.pauses for recorded in paused)
    if pauses:
        recorded_s, whole_s = (sum(getattr(each, name) for each in paused) for name in ("seconds", "span_s"))
        many = "1 pause" if pauses == 1 else f"{pauses:,} pauses"
        note(
            f"rates and chance are those of {about_s(recorded_s)} of {about_s(whole_s)}: in {many} nobody reported for "
            f"more than {PAUSE} times the mean time between reports of the busiest sensor"
        )


def _area_chances(
    batches: Mapping[str, Detections],
    graph: ConstraintGraph,
    joint: float | None,
    sensors: SensorRule,
    sources: Mapping[str, str],
) -> list[tuple[RecordedTime, float]] | None:
    """Return for each area when something was recorded and how many matches a second chance gives then.

    None where that is much work, or says little; `sources` names that of each role.
    """
    if any(edge.window.is_open for edge in graph.edges) or any(len(batch) == 0 for batch in batches.values()):
        return None
    areas: list[tuple[RecordedTime, float]] = []
    for recorded, rates in rates_by_area(batches):
        if len(areas) >= MOST_AREAS or not rates or recorded.seconds < LONG * reach_s(batches, graph):
            return None
        if prod(map(len, rates.values())) > MOST_PAIRS:
            return None
        areas.append((recorded, _rate_hz(rates, graph, joint, sensors, sources)))
    return areas


def rates_by_area(batches: Mapping[str, Detections]) -> Iterator[tuple[RecordedTime, dict[str, list[SensorRate]]]]:
    """Yield, for each area, when something was recorded, and how often each sensor of each role reports in that time.

    A sensor counts once for each of its templates; detections without a sensor count as one, different from itself.
    Detections of one moment say nothing about rates, so there are none.
    """
    for area in area_times([*batches.values()]):
        span_s = area.recorded.seconds
        of_roles = zip(batches.items(), area.rows, area.sensors, strict=True) if span_s > 0 else ()
        yield area.recorded, {role: _rates(batch, codes, at, span_s) for (role, batch), at, codes in of_roles}


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


def reach_s(batches: Mapping[str, Detections], graph: ConstraintGraph) -> float:
    """Return how far apart in seconds the reports of two members may lie."""
    longest_s = {role: max(template.length_s for template in batch.templates) for role, batch in batches.items()}
    windows_s = [(edge.window.hi_us - edge.window.lo_us) / 1e6 for edge in graph.edges]
    lengths_s = [longest_s[edge.a] + longest_s[edge.b] for edge in graph.edges]
    return max(window_s + length_s for window_s, length_s in zip(windows_s, lengths_s, strict=True))


def _rates(batch: Detections, sensor: CodeArray, at: Int64Array, span_s: float) -> list[SensorRate]:
    """Return how often each sensor reports with each template; a detection without a sensor has its own."""
    pairs = np.stack((sensor, batch.template_index[at]), axis=1)
    kinds, counts = np.unique(pairs, axis=0, return_counts=True)
    return [
        SensorRate(None if code < 0 else str(code), batch.templates[template], count / span_s)
        for (code, template), count in zip(kinds.tolist(), counts.tolist(), strict=True)
    ]
