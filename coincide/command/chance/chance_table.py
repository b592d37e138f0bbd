"""``coincide chance``: how many matches chance alone would give, by threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from coincide.command.answer_files import Stages, advance_of, check_paths, opened_answer, shown_stages
from coincide.command.arguments.chance_arguments import ChanceRequest, GivenRate
from coincide.command.arguments.template_arguments import FileTemplates, load_templates, parse_template
from coincide.command.chance.chance_note import LONG, note_pauses, rates_by_area, reach_s
from coincide.command.faults import CommandError, note, report_bad_rows
from coincide.command.input.formats import bad_rows_of
from coincide.command.join import detections_of, read_side
from coincide.constraints.graph import ConstraintGraph
from coincide.joins.detections import Detections
from coincide.thresholds.chance import SensorRate, chance_rate

SCHEMA = pa.schema([("threshold", pa.float64()), ("chance_rate_hz", pa.float64()), ("a_day", pa.float64())])
EXPECTED = pa.field("in_the_files", pa.float64())
DAY_S = 86_400
DIGITS = 6  # that count
MOST_PAIRS = 1_000_000  # of sensors and their templates, in all areas: about half a minute a threshold

AreaRates = tuple[float, Mapping[str, Sequence[SensorRate]]]
"""For how many seconds something was recorded, and how often each sensor reports in that time."""


def run_chance(request: ChanceRequest) -> int:
    """Read rates or count them, and write a row for each threshold; return how many rows."""
    join = request.join
    check_paths(join.out, [each.path for each in join.inputs])
    named = load_templates(join.templates)
    with shown_stages(join.out) as stages:
        areas = _given_rates(request, named) if request.rates else _seen_rates(request, named, stages)
        return _write_rows(request, areas, stages)


def _write_rows(request: ChanceRequest, areas: Sequence[AreaRates], stages: Stages | None) -> int:
    advance = advance_of(stages, "weighing")
    schema = SCHEMA if request.rates else SCHEMA.append(EXPECTED)
    with opened_answer(request.join.out, schema) as answer:
        for number, threshold in enumerate(request.thresholds, 1):
            rates_hz = [_rate_hz(request, rates, threshold) for _, rates in areas]
            total_hz = sum(rates_hz)
            expected = sum(span_s * rate_hz for (span_s, _), rate_hz in zip(areas, rates_hz, strict=True))
            figures = [float(f"{each:.{DIGITS}g}") for each in (total_hz, total_hz * DAY_S, expected)]
            row = [threshold, *figures][: len(schema)]
            answer.write(answer.part(pa.Table.from_arrays([pa.array([each]) for each in row], schema=schema)))
            advance(number / len(request.thresholds))
    return len(request.thresholds)


def _rate_hz(request: ChanceRequest, rates: Mapping[str, Sequence[SensorRate]], threshold: float) -> float:
    join = request.join
    return chance_rate(rates["a"], rates.get("b"), join.window, threshold, sensors=join.sensors)


def _given_rates(request: ChanceRequest, named: FileTemplates) -> list[AreaRates]:
    """Return the rates that the user says; a sensor without a name differs from every other and from itself."""

    def sensor(given: GivenRate) -> SensorRate:
        return SensorRate(None, parse_template(given.uncertainty, named), given.rate_hz)

    return [(0.0, {role: [sensor(given)] for role, given in zip("ab", request.rates, strict=False)})]


def _seen_rates(request: ChanceRequest, named: FileTemplates, stages: Stages | None) -> list[AreaRates]:
    """Return how often each sensor of the files reports in each area."""
    join = request.join
    bad = [bad_rows_of(each.path) for each in join.inputs]
    sides = [read_side(join, each, named, rows, stages) for each, rows in zip(join.inputs, bad, strict=True)]
    report_bad_rows(bad, skip=join.skip_bad)
    batches = dict(zip("ab", detections_of(sides), strict=False))
    recorded = [each for each in rates_by_area(batches) if each[1]] if all(map(len, batches.values())) else []
    areas: list[AreaRates] = [(time.seconds, rates) for time, rates in recorded]
    if not areas:
        raise CommandError("there are no events, or all are of one moment: they say nothing about rates")
    _check_work(areas)
    note_pauses(time for time, _ in recorded)
    _note_short(request, batches, areas)
    return areas


def _check_work(areas: Sequence[AreaRates]) -> None:
    pairs = sum(len(rates["a"]) * len(rates.get("b", rates["a"])) for _, rates in areas)
    if pairs > MOST_PAIRS:
        raise CommandError(f"{pairs} pairs of sensors and templates would take too long: at most {MOST_PAIRS}")


def _note_short(request: ChanceRequest, batches: Mapping[str, Detections], areas: Sequence[AreaRates]) -> None:
    window = request.join.window
    roles = {"a": batches["a"], "b": batches.get("b", batches["a"])}
    reach = reach_s(roles, ConstraintGraph.binary("a", "b", window, request.thresholds[0]))
    if min(span_s for span_s, _ in areas) < LONG * reach:
        note("some area has events for less than ten times as long as a match reaches, so its rates say little")
