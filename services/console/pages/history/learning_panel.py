"""Learning templates from the past: the form that asks for it, and what a run has learnt, sensor by sensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import ui

from services.console.pages.clock_words import shared_in_words
from services.console.pages.history.asked_range import AskedRange
from services.console.pages.history.run_words import (
    LEARNING_PATH,
    OF_LEARNING,
    exact_learnt,
    exact_range_of,
    learning_of,
    learnt_by,
    range_of,
    reference_of,
    state_of,
)
from services.console.pages.number_words import counted
from services.console.pages.plain_table import plain_table
from services.console.pages.sensors.sensor_table import address_of
from services.console.pages.shell import Words, change_button, choice, copy_button, figure, number_field, text_field
from services.console.pages.viewer import Viewer
from services.console.rest.run_answers import LearningAnswer, LearntAnswer, LearntFitAnswer
from services.console.rest.sensor_answers import StreamListAnswer
from services.console.rest.services import ChangeRequest, RestError, path_of, read_answer

TOGETHER = "what the sensors of an area say together"
PROMISE = (
    "What fits later errors better than the present template is proposed on the page Sensors. "
    "Nothing changes before somebody accepts it."
)
SHOWN = 200


class LearnForm:
    """What is to be learnt, as it is filled in."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._reference, self._why = "", ""
        self._longest_s: float | int | str | None = 60

    async def draw(self) -> None:
        """Ask which streams there are, and show the fields."""
        with ui.element("details").classes("card ask").props('aria-label="Learn templates"'):
            Words("summary", "Learn templates")
            try:
                listed = await self._viewer.rest.get(StreamListAnswer, "ingest", "/v1/streams")
            except RestError as error:
                Words("p", f"Which streams there are is not known: {error}").classes("soft small")
                listed = StreamListAnswer([])
            self._fields([each.name for each in listed.items])

    def _fields(self, streams: Sequence[str]) -> None:
        Words("p", PROMISE).classes("soft small")
        with ui.element("div").classes("row tools"):
            references = {"": TOGETHER, **{each: f"the stream {each}" for each in streams}}
            choice("Taken to be right", references, "", lambda value: setattr(self, "_reference", value))
            self._range = AskedRange(self._viewer.times, "86400")
            number_field("Longest error in s", self._longest_s, lambda value: setattr(self, "_longest_s", value))
        refused = Words("p", "").classes("field-fault").props("role=alert")
        with ui.element("div").classes("row"):
            text_field("Why (for the audit trail)", "", lambda text: setattr(self, "_why", text))
            change_button(self._viewer, "Learn", self._asked, _open, refused, kind="strong")

    def _asked(self) -> ChangeRequest:
        begin, end = self._range.bounds()
        longest_s = self._longest_s
        within = [-longest_s, longest_s] if isinstance(longest_s, int | float) else longest_s
        body = {"from": begin, "to": end, "within": within, "reference_stream": self._reference or None}
        return ChangeRequest("POST", "alerting", LEARNING_PATH, body, why=self._why)


async def _open(run: Any) -> None:
    ui.navigate.to(OF_LEARNING.address(str(run["run"])))


class LearntTable:
    """The run that is looked at: what it learnt of each sensor and stream; asked for again as long as it goes on."""

    def __init__(self, viewer: Viewer, run: str) -> None:
        self._viewer, self._path = viewer, LEARNING_PATH + path_of(run)
        self._is_over = False
        with ui.element("section").classes("card").props('aria-label="What was learnt"'):
            with ui.element("div").classes("row spread"):
                Words("h2", "What was learnt")
                copy_button(viewer.rest.curl("GET", "alerting", f"{self._path}/templates"))
            self._said = Words("p", "Loading …").props("role=status")
            self._box = ui.element("div")

    async def load(self) -> None:
        """Ask unless it has ended, and draw what it learnt."""
        if self._is_over:
            return
        try:
            run = await self._viewer.rest.get(LearningAnswer, "alerting", self._path)
            lines = await self._lines() if run.state == "done" else []
        except RestError as error:
            self._said.set_text(str(error))
            return
        self._is_over = run.is_over
        self._said.set_text(self._sentence(run))
        exact = exact_range_of(run.request, self._viewer.times), exact_learnt(run)
        self._said.props["title"] = "; ".join(filter(None, exact))
        if lines:
            self._draw(run, lines)

    async def _lines(self) -> list[LearntAnswer]:
        rest, found = self._viewer.rest, list[LearntAnswer]()
        async for line in rest.services.lines(rest.request("GET", "alerting", f"{self._path}/templates"), "alerting"):
            found.append(read_answer(LearntAnswer, line, "alerting"))
            if len(found) == SHOWN:
                break
        return found

    def _sentence(self, run: LearningAnswer) -> str:
        asked = f"Against {reference_of(run)}: {learning_of(run)}; {range_of(run.request, self._viewer.times)}."
        looked = "" if run.looked_at is None else f" for {counted(run.looked_at, 'sensor and stream', MANY)}"
        learnt = f" There are {learnt_by(run)}{looked}." if run.templates is not None else ""
        return f"{asked} It is {state_of(run)}.{learnt}" + (f" {run.error}" if run.error else "")

    def _draw(self, run: LearningAnswer, lines: Sequence[LearntAnswer]) -> None:
        self._box.clear()
        with self._box:
            if run.proposed:
                with ui.element("a").props('href="/sensors"'):
                    ui.label("Accept or reject what is proposed")
            with plain_table(("Sensor", "Stream", "Errors", "Beside the present template", "Then")):
                for each in lines:
                    _row(each)
                if (left := (run.looked_at or 0) - len(lines)) > 0:
                    with ui.element("tr"):
                        Words("td", f"{counted(left, 'line')} more").props("colspan=5").classes("soft")


MANY = "sensors and streams"


def _row(each: LearntAnswer) -> None:
    with ui.element("tr"):
        with ui.element("td"):
            link = ui.element("a")
            link.props["href"] = address_of(each.sensor)
            with link:
                Words("span", each.sensor)
        Words("td", each.stream)
        counts = ("errors", "ambiguous", "unmatched", "blurred", "echoes")
        exact = ", ".join(f"{name} {getattr(each, name)}" for name in counts)
        figure(counted(each.errors, "error"), exact, "td")
        with ui.element("td"):
            _fit(each.learnt)
        Words("td", "proposed" if each.is_proposed else "the present one stays")


def _fit(learnt: LearntFitAnswer | None) -> None:
    if learnt is None:
        Words("span", "nothing learnt: too few errors, or nothing stands out of chance").classes("soft")
    elif learnt.score is None or learnt.present_score is None:
        Words("span", f"not judged on later errors; {_source(learnt)}").classes("soft")
    else:
        gain = learnt.score - learnt.present_score
        exact = f"{learnt.score!r} against {learnt.present_score!r} nats an error"
        figure(f"{abs(gain):.2g} nats an error {'better' if gain > 0 else 'worse'}", exact)
        Words("p", _source(learnt)).classes("soft small")
    if learnt is not None and learnt.shared is not None:
        Words("p", shared_in_words(learnt.shared)).classes("small")


def _source(learnt: LearntFitAnswer) -> str:
    whose = "its own" if learnt.pool == "own" else f"those of its {learnt.pool}"
    return f"from {counted(learnt.errors, 'error')}, {whose}"
