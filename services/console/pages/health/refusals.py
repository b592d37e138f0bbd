"""What was refused or came too late: dead letters by reason, each with how often and the newest one as an example."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from nicegui import ui

from services.common.clock import system_clock_us
from services.console.pages.number_words import counted
from services.console.pages.plain_table import plain_table
from services.console.pages.shell import Words, choice, copy_button, empty_state, text_field
from services.console.pages.time_words import duration
from services.console.pages.viewer import Viewer
from services.console.rest.documents import DeadLetterAnswer, PageAnswer
from services.console.rest.services import RestError

SHOWN = 200
LONGEST_SHOWN = 400
SOURCES = {"": "all", "ingest": "ingest", "fusion": "fusion"}
SPANS_S = {"3600": "the last hour", "86400": "the last day", "604800": "the last week"}
PATH = "/v1/dead-letters"


class RefusalTable:
    """The newest dead letters that pass the filters, by reason."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._wanted = {"source": "", "sensor": "", "span_s": "3600"}
        self._shown: Sequence[DeadLetterAnswer] | None = None
        self._open: set[str] = set()
        with ui.element("section").classes("card").props('aria-label="Refused and too late"'):
            Words("h2", "Refused and too late")
            with ui.element("div").classes("row tools"):
                choice("Within", SPANS_S, "3600", lambda value: self._choose("span_s", value))
                choice("Refused by", SOURCES, "", lambda value: self._choose("source", value))
                text_field("Sensor", "", lambda value: self._choose("sensor", value))
                copy_button(lambda: viewer.rest.curl("GET", "alerting", PATH, self._asked()))
            self._said = Words("p", "Loading …").classes("soft small").props("role=status")
            self._box = ui.element("div")

    async def _choose(self, name: str, value: str) -> None:
        self._wanted[name] = value
        self._shown = None
        await self.load()

    def _asked(self, reason: str | None = None) -> dict[str, Any]:
        since_us = system_clock_us() - int(self._wanted["span_s"]) * 1_000_000
        asked = {"reason": reason, "source": self._wanted["source"], "sensor": self._wanted["sensor"]}
        return {**{name: value for name, value in asked.items() if value}, "from": since_us, "limit": SHOWN}

    async def load(self) -> None:
        """Ask, and draw anew what has changed."""
        wanted = dict(self._wanted)
        try:
            letters = (await self._viewer.rest.get(PageAnswer[DeadLetterAnswer], "alerting", PATH, self._asked())).items
        except RestError as error:
            self._said.set_text(f"{error} What is shown is old." if self._shown else str(error))
            return
        if wanted != self._wanted:
            return  # somebody has chosen something else meanwhile
        if letters != self._shown:
            self._shown = letters
            self._draw(letters)

    def _draw(self, letters: Sequence[DeadLetterAnswer]) -> None:
        full = len(letters) >= SHOWN
        of = f"the newest {SHOWN}" if full else counted(len(letters), "dead letter")
        self._said.set_text(f"By reason, of {of}." if letters else "")
        self._box.clear()
        with self._box:
            if not letters:
                with empty_state("Nothing was refused"):
                    Words("p", "Every detection in this time could be used, as far as these filters show.")
                return
            with plain_table(("Reason", "How many", "The newest one", "Ask"), "told refusals"):
                for reason, number in Counter(each.reason for each in letters).most_common():
                    self._row(reason, number, next(each for each in letters if each.reason == reason))

    def _row(self, reason: str, number: int, newest: DeadLetterAnswer) -> None:
        with ui.element("tr"):
            with ui.element("td"):
                Words("strong", reason)
            Words("td", str(number)).classes("number")
            with ui.element("td"):
                self._example(newest)
            with ui.element("td"):
                asked = self._asked(reason)
                copy_button(self._viewer.rest.curl("GET", "alerting", PATH, asked), f"Copy as curl: {reason}")

    def _example(self, letter: DeadLetterAnswer) -> None:
        Words("p", (letter.detail or "No more is known.")[:LONGEST_SHOWN])
        late = "" if letter.late_by_us is None else f"late by {duration(letter.late_by_us / 1e6)}"
        told = [letter.source, letter.sensor, letter.stream, letter.area, late]
        said = Words("p", ", ".join(each for each in told if each)).classes("soft small")
        if letter.received_at_us is not None:
            said.set_text(f"{self._viewer.times.instant(letter.received_at_us)}, {said.text}")
            said.props["title"] = self._viewer.times.exact(letter.received_at_us)
        if letter.record is not None:
            self._record(letter)

    def _record(self, letter: DeadLetterAnswer) -> None:
        def note(is_open: bool) -> None:
            (self._open.add if is_open else self._open.discard)(letter.reason)

        with ui.element("details") as details:
            details.props["open"] = letter.reason in self._open
            details.on("toggle", lambda event: note(bool(event.args)), js_handler="(e) => emit(e.target.open)")
            Words("summary", "Record").props["aria-label"] = f"Record of {letter.reason}"
            Words("pre", shown_record(letter.record)).props("tabindex=0")


def shown_record(record: Any) -> str:
    """Return the record as text, its beginning where it is long."""
    text = record if isinstance(record, str) else json.dumps(record, ensure_ascii=False)
    return text if len(text) <= LONGEST_SHOWN * 4 else f"{text[: LONGEST_SHOWN * 4]} …"
