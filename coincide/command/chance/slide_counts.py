"""``coincide slides``: from a query and files to what chance gives, counted by time slides, beside the formula."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from coincide.arrays.spoken import about_s, spoken
from coincide.command.answer_files import Stages, advance_of, check_place, shown_stages, write_sentences
from coincide.command.arguments.slides_arguments import SlidesRequest
from coincide.command.chance.chance_note import note_pauses
from coincide.command.explain import seen_sensors
from coincide.command.faults import CommandError
from coincide.command.query_files import read_queries
from coincide.command.query_join import PlayedRoles, read_played
from coincide.queries.explaining import ChanceFigures, ExplainedQuery
from coincide.slides import TimeSlides
from coincide.slides.sliding import COVERAGE

DAY_S, DAY_H = 86_400, 24
DIGITS = 6  # that count


def run_slides(request: SlidesRequest) -> int:
    """Read, shift, join and write; return the number of matches by chance in all slides."""
    check_place(request.out, [request.query, *request.inputs])
    [query] = read_queries([request.query])
    with shown_stages(request.out) as stages:
        played = read_played(query, request.inputs, [request.reading] * len(request.inputs), stages)
        _refuse_some_unnamed(played)
        found = _slid(request, played, stages)
        figures = _figures(request, found, played)
    note_pauses(found.recorded)
    write_sentences(request.out, {**figures, "sentences": [*_sentences(figures)]})
    return int(found.counts.sum())


def _refuse_some_unnamed(played: PlayedRoles) -> None:
    """Refuse rows without a sensor beside rows with one: each would be a sensor of its own, to be shifted alone."""
    unknown = played.arrivals.rows["sensor"] == ""
    if unknown.any() and not unknown.all():
        row, file = (played.arrivals.rows[name][np.flatnonzero(unknown)[0]] for name in ("row", "file"))
        raise CommandError(f"{file}: row {row} names no sensor, and others do: sensors are shifted against each other")


def _slid(request: SlidesRequest, played: PlayedRoles, stages: Stages | None) -> TimeSlides:
    query = played.query
    if query.at_least is not None and played.may_meet_themselves:
        raise CommandError(f"query {query.id}: at_least with filters that overlap: coincide slides cannot answer it")
    progress = advance_of(stages, "sliding")
    return played.joined.slides(request.slides, progress, least_step_s=request.least_step_s)


def _figures(request: SlidesRequest, found: TimeSlides, played: PlayedRoles) -> dict[str, Any]:
    low, high = found.interval_hz
    formula = _formula(found, played)
    return {
        "slides": request.slides,
        "chance_per_day": _rounded(found.rate_hz * DAY_S),
        "interval_per_day": [_rounded(low * DAY_S), _rounded(high * DAY_S)],
        "coverage": COVERAGE,
        "formula_per_day": None if formula is None else _rounded(formula.per_hour * DAY_H),
        "formula_is_upper_bound": formula is not None and formula.is_upper_bound,
        "chance_in_the_files": _rounded(found.expected),
        "matches_in_the_files": found.unshifted,
        "recorded_s": [area.seconds for area in found.recorded],
        "sensors": [*found.sensors],
        "areas_left_out": found.left_out,
        "least_shift_s": found.least_step_us / 1e6,
        "clumping": _rounded(found.clumping),
        "slides_overlap": found.overlaps,
        "counts": found.counts.sum(axis=1).tolist(),
    }


def _formula(found: TimeSlides, played: PlayedRoles) -> ChanceFigures | None:
    """Return what coincide explain says of the same areas; None where it cannot tell in short."""
    if found.left_out:
        return None
    seen = seen_sensors([played.arrivals] if len(played.arrivals) else [], played.query)
    return ExplainedQuery(played.query, seen.every, passing=seen.passing).explanation().chance


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _sentences(figures: dict[str, Any]) -> Iterator[str]:
    chance, (low, high), formula = (figures[f"{name}_per_day"] for name in ("chance", "interval", "formula"))
    slides = "1 time slide" if figures["slides"] == 1 else f"{figures['slides']:,} time slides"
    yield f"Chance gives {spoken(chance)} matches a day by {slides}: {spoken(low)} to {spoken(high)} with 90 %."
    if formula is None:
        yield "The formula of coincide explain tells nothing of these files."
    else:
        at_most = "at most " if figures["formula_is_upper_bound"] else ""
        yield f"The formula of coincide explain says {at_most}{spoken(formula)} a day."
    recorded_s = figures["recorded_s"]
    areas = f" in {len(recorded_s):,} areas, their times together" if len(recorded_s) > 1 else ""
    expected, matches = spoken(figures["chance_in_the_files"]), f"{figures['matches_in_the_files']:,}"
    yield f"In the {about_s(sum(recorded_s))} recorded{areas} that is {expected} matches; the query finds {matches}."
    shift = f"by at least {spoken(figures['least_shift_s'])} s"
    yield f"{_many_sensors(figures['sensors'])} were shifted against each other {shift}, round the recorded time."
    if figures["clumping"] > 1:
        clump = spoken(figures["clumping"], 2)
        yield f"Matches vary {clump} times as much as if they came one by one; the interval allows for it."
    if figures["slides_overlap"]:
        yield "The files are short for so many slides: they are not independent, and the interval is rather too narrow."
    if figures["areas_left_out"]:
        yield f"Left out: {figures['areas_left_out']:,} areas that were recorded for too short a time."


def _many_sensors(sensors: list[int]) -> str:
    if len(sensors) == 1:
        return f"{sensors[0]:,} sensors"
    return f"In {len(sensors):,} areas {sum(sensors):,} sensors"
