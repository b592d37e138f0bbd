"""When a match happened: in a sentence, with how slow clocks were, and as a picture of what each report allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nicegui import ui

from services.console.drawing.density import DensityLane, draw_densities
from services.console.drawing.table_columns import template_id
from services.console.pages.clock_words import clock_sentence
from services.console.pages.now.evidence.onset_sentence import OnsetBar
from services.console.pages.shell import Words, figure
from services.console.pages.time_words import TimeWords
from services.console.rest.documents import MatchAnswer, TemplateAnswer


def draw_when(
    match: MatchAnswer, templates: Mapping[str, TemplateAnswer], onset: Sequence[OnsetBar], times: TimeWords
) -> None:
    """Say and draw when it happened, as well as that is known."""
    Words("h3", "When")
    if match.occurred is None:
        why = (match.unknown or {}).get("occurred", "it is not computed for this form of query")
        Words(
            "p",
            f"Between {times.instant(match.earliest_us)} and {times.instant(match.latest_us)}; "
            f"more is not known ({why.replace('_', ' ')}).",
        )
    else:
        mean, low, high = match.occurred.mean_us, match.occurred.p05_us, match.occurred.p95_us
        between = f"with 90 % between {times.clock(low)} and {times.clock(high)}"
        said = Words("p", f"About {times.day(mean)} {times.clock(mean)}; {between}.")
        said.props["title"] = f"{times.exact(mean)}, standard deviation {match.occurred.std_s} s"
    say_clocks(match)
    _draw_lanes(match, templates, onset, times)


def say_clocks(match: MatchAnswer) -> None:
    """Say how slow the clocks of its members were, a sentence each."""
    for clock in () if match.occurred is None else match.occurred.clocks:
        Words("p", clock_sentence(clock)).props["title"] = f"standard deviation {clock.std_s} s"


def _draw_lanes(
    match: MatchAnswer, templates: Mapping[str, TemplateAnswer], onset: Sequence[OnsetBar], times: TimeWords
) -> None:
    lanes = [DensityLane(each.sensor, each.detected_at_us, templates.get(template_id(each))) for each in match.members]
    room_us = max(1, (match.latest_us - match.earliest_us) // 20)
    begin_us, end_us = match.earliest_us - room_us, match.latest_us + room_us
    with ui.element("div").classes("density-rows"):
        with ui.element("div").classes("density-names"):
            for name in [lane.name for lane in lanes] + (["together"] if onset else []):
                Words("span", name)
        with ui.element("div").classes("density-picture"):
            draw_densities(match, lanes, onset, begin_us, end_us)
            with ui.element("div").classes("row spread soft small"):
                for at_us in (begin_us, (begin_us + end_us) // 2, end_us):
                    figure(times.clock(at_us), times.exact(at_us))
