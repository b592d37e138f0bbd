"""How slow the clock of a sensor was, by matches with sensors that are not on it: as a line in time, and in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nicegui import ui

from services.console.pages.clock_words import clock_sentence, slow
from services.console.pages.number_words import counted
from services.console.pages.shell import Words, figure
from services.console.pages.time_words import TimeWords
from services.console.pages.viewer import Viewer
from services.console.rest.documents import ClockAnswer, MatchAnswer, PageAnswer
from services.console.rest.services import Parameters, RestError

MOST_MATCHES, MOST_POINTS = 500, 200
WIDE, TALL, EDGE = 320, 96, 3


class TellingMatch(NamedTuple):
    """What one match says of a clock, and when it happened."""

    at_us: int
    clock: ClockAnswer


async def show_clock(viewer: Viewer, sensor: str, clock: str) -> None:
    """Show what the newest matches of a sensor say of its clock."""
    asked: Parameters = {"sensor": sensor, "limit": MOST_MATCHES}
    with ui.element("section").classes("card stack").props('aria-label="Its clock"'):
        Words("h2", f"The clock {clock}")
        try:
            page = await viewer.rest.get(PageAnswer[MatchAnswer], "alerting", "/v1/matches", asked)
        except RestError as error:
            Words("p", f"How slow it was is not known: {error}").classes("soft small")
            return
        _draw(clock_line(page.items, clock), len(page.items), viewer.times)


def clock_line(matches: Iterable[MatchAnswer], clock: str) -> list[TellingMatch]:
    """Return what matches say of a clock in the order of time, each time once, and at most `MOST_POINTS`, evenly."""
    told = {
        match.occurred.mean_us: each
        for match in matches
        if match.occurred is not None
        for each in match.occurred.clocks
        if each.id == clock
    }
    line = [TellingMatch(at_us, told[at_us]) for at_us in sorted(told)]
    step = -(-len(line) // MOST_POINTS)
    return line[::-step][::-1] if step else []  # the newest is among them


def _draw(line: Sequence[TellingMatch], matches: int, times: TimeWords) -> None:
    if not line:
        Words("p", f"None of the {counted(matches, 'newest match', 'newest matches')} tells how slow it was.")
        Words("p", "That takes a match with a sensor that is on another clock, or on none.").classes("soft small")
        return
    last = line[-1]
    said = Words("p", clock_sentence(last.clock))
    said.props["title"] = f"{times.exact(last.at_us)}; standard deviation {last.clock.std_s} s"
    least = min(0.0, *(each.clock.p05_s for each in line))
    most = max(0.0, *(each.clock.p95_s for each in line))
    with ui.element("div").classes("row spread small"):
        Words("strong", f"How slow it was, by {counted(len(line), 'match', 'matches')}")
        figure(f"{slow(least)} to {slow(most)}", f"{least!r} to {most!r} s")
    _picture(line, least, most, f"{clock_sentence(last.clock)} {counted(len(line), 'match', 'matches')} in all.")
    with ui.element("div").classes("row spread soft small"):
        for each in (line[0], last):
            figure(times.instant(each.at_us), times.exact(each.at_us))


def _picture(line: Sequence[TellingMatch], least: float, most: float, said: str) -> None:
    """Draw the mean as a line, and its central 90 % as a band around it."""
    begin_us, wide_us = line[0].at_us, max(line[-1].at_us - line[0].at_us, 1)
    tall = most - least or 1.0

    def point(at_us: int, seconds: float) -> str:
        x = EDGE + (at_us - begin_us) / wide_us * (WIDE - 2 * EDGE)
        return f"{x:.1f} {EDGE + (most - seconds) / tall * (TALL - 2 * EDGE):.1f}"

    if len(line) == 1:  # a point has no width: it stands over all of it
        line = [line[0], TellingMatch(begin_us + wide_us, line[0].clock)]
    upper = [point(each.at_us, each.clock.p95_s) for each in line]
    lower = [point(each.at_us, each.clock.p05_s) for each in reversed(line)]
    picture = ui.element("svg").classes("reading-curve").props(f'viewBox="0 0 {WIDE} {TALL}" role=img')
    picture.props["aria-label"] = said
    with picture:
        ui.element("path").classes("clock-band").props["d"] = f"M{' L'.join([*upper, *lower])} Z"
        right = f"M{point(begin_us, 0.0)} L{point(begin_us + wide_us, 0.0)}"
        ui.element("path").classes("fit-diagonal").props["d"] = right
        ui.element("path").classes("fit-errors").props["d"] = "M" + " L".join(
            point(each.at_us, each.clock.mean_s) for each in line
        )
