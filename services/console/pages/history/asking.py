"""The form that asks for a run: which query, which time, and how the past is to answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nicegui import ui

from services.console.pages.history.asked_range import AskedRange
from services.console.pages.history.run_words import PATH, address_of
from services.console.pages.shell import VALUE, Words, change_button, choice
from services.console.pages.viewer import Viewer
from services.console.rest.services import ChangeRequest

KINDS = {"": "complete: nobody is late", "live": "as live: what was said then"}
SOURCES = {"": "what there is", "archive": "the archive", "topic": "Kafka"}
_CHECKED = "(event) => emit(event.target.checked)"


class AskForm:
    """What is asked, as it is filled in."""

    def __init__(self, viewer: Viewer, queries: Sequence[str], *, is_open: bool) -> None:
        self._viewer = viewer
        self._query = queries[0] if queries else ""
        self._kind, self._source, self._least, self._counts_only = "", "", "", False
        self._slides = ""
        with ui.element("details").classes("card ask").props('aria-label="Ask for a run"') as details:
            details.props["open"] = is_open
            Words("summary", "Ask for a run")
            if queries:
                self._fields(queries)
            else:
                Words("p", "There is no query yet: write one first.")

    def _fields(self, queries: Sequence[str]) -> None:
        with ui.element("div").classes("row tools"):
            choice("Query", {each: each for each in queries}, self._query, lambda value: self._set("_query", value))
            self._range = AskedRange(self._viewer.times, "3600")
        with ui.element("div").classes("row tools"):
            choice("Answer", KINDS, "", lambda value: self._set("_kind", value))
            choice("Read", SOURCES, "", lambda value: self._set("_source", value))
            of_threshold, of_slides = "min=0 max=1 step=any", "min=1 max=1000 step=1"
            self._number("Curve from threshold", of_threshold, "its own", lambda value: self._set("_least", value))
            self._number("Time slides", of_slides, "none", lambda value: self._set("_slides", value))
            self._check("Count only: the curve without the matches", lambda value: self._set("_counts_only", value))
        row = ui.element("div").classes("row")
        refused = Words("p", "").props("role=alert")
        with row:
            change_button(self._viewer, "Ask", self._change, self._asked, refused, kind="strong")

    def _set(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    @staticmethod
    def _number(label: str, allowed: str, without: str, on_change: Callable[[str], Any]) -> None:
        with ui.element("label").classes("choice"):
            Words("span", label).classes("choice-label")
            field = ui.element("input").props(f'type=number {allowed} placeholder="{without}"')
            field.on("input", lambda event: on_change(str(event.args)), js_handler=VALUE)

    @staticmethod
    def _check(label: str, on_change: Callable[[bool], Any]) -> None:
        with ui.element("label").classes("choice"):
            field = ui.element("input").props("type=checkbox")
            field.on("change", lambda event: on_change(bool(event.args)), js_handler=_CHECKED)
            Words("span", label)

    def body(self) -> dict[str, Any]:
        """Return the request as it is filled in."""
        begin, end = self._range.bounds()
        asked: dict[str, Any] = {"query": self._query, "from": begin, "to": end}
        if self._kind == "live":
            asked |= {"as_live": True, "source": "topic"}
        elif self._source:
            asked["source"] = self._source
        if self._least:
            asked["min_threshold"] = float(self._least)
        if self._slides:
            asked["slides"] = int(self._slides) if self._slides.isdecimal() else float(self._slides)
        return asked | ({"keeps_matches": False} if self._counts_only else {})

    def _change(self) -> ChangeRequest:
        return ChangeRequest("POST", "alerting", PATH, self.body())

    async def _asked(self, run: Any) -> None:
        ui.navigate.to(address_of(str(run["run"])))
