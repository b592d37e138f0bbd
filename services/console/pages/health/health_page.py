"""The page Health: the line from gateways to people, what is wrong now in one sentence, and what was refused."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from services.console.pages.docs_link import docs_link
from services.console.pages.health.fault_list import HealthFault, faults_of
from services.console.pages.health.refusals import RefusalTable
from services.console.pages.health.stations import BESIDE, LINE, StationKind, quiet_s
from services.console.pages.health.strip import SIGNS, Strip, offer_questions
from services.console.pages.shell import ConsolePage, Words, hold_while_open, page_head
from services.console.pages.viewer import Viewer
from services.console.rest.line_watch import LineReading

SHOW_EVERY_S = 1.0
REFUSALS_EVERY_S = 5.0
OTHERS = 10


class LineVerdict:
    """What is wrong now: the most upstream fault in one sentence, the others below it."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._faults: Sequence[HealthFault] | None = None
        with ui.element("section").classes("verdict").props('aria-label="What is wrong now"') as self._box:
            with ui.element("p").classes("verdict-words").props("role=status"):
                self._sign = Words("span", "").classes("station-sign").props("aria-hidden=true")
                self._said = Words("span", "Looking at every part of the line …")
            self._advice = ui.element("p").classes("soft small")
            self._others = ui.element("div")

    def show(self, faults: Sequence[HealthFault], line: LineReading, kinds: Sequence[StationKind]) -> None:
        """Say it; nothing is well before everything was looked at."""
        untold = [
            each.told_by for each in kinds if (new := line.of(each.told_by).newest) is None or new.samples is None
        ]
        if faults:
            state, sentence = "wrong", faults[0].sentence
        elif any(line.of(each).newest is None for each in line.trends):
            state, sentence = "unknown", "Looking at every part of the line …"
        elif untold:
            names = ", ".join(dict.fromkeys(untold))
            state, sentence = "unknown", f"Nothing is known to be wrong, but not everything can be seen: {names}."
        else:
            quiet = "" if quiet_s(line) is None else " Nobody posts detections now."
            state, sentence = "well", f"Every part answers, and no alert of the system fires.{quiet}"
        self._say(state, sentence)
        if faults != self._faults:
            self._faults = list(faults)
            self._draw(faults)

    def _say(self, state: str, sentence: str) -> None:
        if self._box.props.get("data-state") != state:
            self._box.props["data-state"] = state
            self._box.update()
        self._sign.set_text(SIGNS[state])
        self._said.set_text(sentence)

    def _draw(self, faults: Sequence[HealthFault]) -> None:
        self._advice.clear()
        self._others.clear()
        if faults:
            with self._advice:
                Words("span", "What to do: ")
                docs_link(self._viewer, faults[0].page, faults[0].section)
        if len(faults) < 2:
            return
        with self._others:
            Words("p", "Further down the line, perhaps because of it:").classes("soft small")
            with ui.element("ul"):
                for each in faults[1 : OTHERS + 1]:
                    with ui.element("li"):
                        Words("span", f"{each.sentence} ")
                        with ui.element("span").classes("soft small"):
                            docs_link(self._viewer, each.page, each.section)
            if len(faults) > OTHERS + 1:
                Words("p", f"And {len(faults) - OTHERS - 1} more.")


async def show_health(viewer: Viewer) -> None:
    """Fill the page."""
    page_head("Health")
    line = viewer.line.reading()
    beside = [each for each in BESIDE if each.told_by in viewer.rest.services.urls]
    verdict = LineVerdict(viewer)
    Words("h2", "The line").classes("beside-head")
    strips = [Strip("The line", LINE, line)]
    if beside:
        Words("h2", "Beside the line").classes("beside-head")
        strips.append(Strip("Beside the line", beside, line, "strip beside"))
    offer_questions(viewer)
    refusals = RefusalTable(viewer)

    def show() -> None:
        now = viewer.line.reading()
        faults = faults_of(now)
        verdict.show(faults, now, [*LINE, *beside])
        for strip in strips:
            strip.show(now, faults)

    hold_while_open(viewer.line)
    await refusals.load()
    ui.timer(SHOW_EVERY_S, show)
    ui.timer(REFUSALS_EVERY_S, refusals.load)


HEALTH = ConsolePage("/health", "Health", show_health)
