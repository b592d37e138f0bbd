"""The form that asks for a run: which query, which time, and how the past is to answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from nicegui import ui

from services.common.instants import in_rfc_3339
from services.console.pages.history.run_words import PATH, address_of
from services.console.pages.shell import Words, button, choice, copy_button
from services.console.pages.viewer import Viewer
from services.console.rest.services import RestError

SPANS_S = {"3600": "the last hour", "86400": "the last day", "604800": "the last week", "": "from … to …"}
KINDS = {"": "complete: nobody is late", "live": "as live: what was said then"}
SOURCES = {"": "what there is", "archive": "the archive", "topic": "Kafka"}
_VALUE = "(event) => emit(event.target.value)"
_CHECKED = "(event) => emit(event.target.checked)"


class AskForm:
    """What is asked, as it is filled in."""

    def __init__(self, viewer: Viewer, queries: Sequence[str], *, is_open: bool) -> None:
        self._viewer = viewer
        self._query = queries[0] if queries else ""
        self._span_s, self._kind, self._source, self._least, self._counts_only = "3600", "", "", "", False
        now_us = time.time_ns() // 1000
        self._from, self._to = (self._shown(at_us) for at_us in (now_us - 3_600_000_000, now_us))
        with ui.element("details").classes("card ask") as details:
            details.props["open"] = is_open
            Words("summary", "Ask for a run")
            if queries:
                self._fields(queries)
            else:
                Words("p", "There is no query yet: write one first.")

    def _shown(self, at_us: int) -> str:
        return f"{self._viewer.times.moment(at_us):%Y-%m-%dT%H:%M:%S}"

    def _fields(self, queries: Sequence[str]) -> None:
        with ui.element("div").classes("row tools"):
            choice("Query", {each: each for each in queries}, self._query, lambda value: self._set("_query", value))
            choice("Range", SPANS_S, self._span_s, self._choose_span)
            self._own = ui.element("div").classes("row")
            self._own.set_visibility(False)
            zone = self._viewer.times.name
            with self._own:
                self._time(f"From ({zone})", self._from, lambda value: self._set("_from", value))
                self._time(f"To ({zone})", self._to, lambda value: self._set("_to", value))
        with ui.element("div").classes("row tools"):
            choice("Answer", KINDS, "", lambda value: self._set("_kind", value))
            choice("Read", SOURCES, "", lambda value: self._set("_source", value))
            self._number("Curve from threshold", lambda value: self._set("_least", value))
            self._check("Count only: the curve without the matches", lambda value: self._set("_counts_only", value))
        with ui.element("div").classes("row"):
            button("Ask", self._ask, kind="strong")
            copy_button(lambda: self._viewer.rest.curl("POST", "alerting", PATH, body=self.body()))
        self._fault = Words("p", "").props("role=alert")

    def _set(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def _choose_span(self, value: str) -> None:
        self._span_s = value
        self._own.set_visibility(value == "")

    @staticmethod
    def _time(label: str, value: str, on_change: Callable[[str], Any]) -> None:
        with ui.element("label").classes("choice"):
            Words("span", label).classes("choice-label")
            field = ui.element("input").props('type="datetime-local" step=1')
            field.props["defaultValue"] = value
            field.on("change", lambda event: on_change(str(event.args)), js_handler=_VALUE)

    @staticmethod
    def _number(label: str, on_change: Callable[[str], Any]) -> None:
        with ui.element("label").classes("choice"):
            Words("span", label).classes("choice-label")
            field = ui.element("input").props('type=number min=0 max=1 step=any placeholder="its own"')
            field.on("input", lambda event: on_change(str(event.args)), js_handler=_VALUE)

    @staticmethod
    def _check(label: str, on_change: Callable[[bool], Any]) -> None:
        with ui.element("label").classes("choice"):
            field = ui.element("input").props("type=checkbox")
            field.on("change", lambda event: on_change(bool(event.args)), js_handler=_CHECKED)
            Words("span", label)

    def body(self) -> dict[str, Any]:
        """Return the request as it is filled in."""
        begin, end = self._range()
        asked: dict[str, Any] = {"query": self._query, "from": begin, "to": end}
        if self._kind == "live":
            asked |= {"as_live": True, "source": "topic"}
        elif self._source:
            asked["source"] = self._source
        if self._least:
            asked["min_threshold"] = float(self._least)
        return asked | ({"keeps_matches": False} if self._counts_only else {})

    def _range(self) -> tuple[str, str]:
        if self._span_s:
            now_us = time.time_ns() // 1000
            return in_rfc_3339(now_us - int(self._span_s) * 1_000_000) or "", in_rfc_3339(now_us) or ""
        return self._instant(self._from), self._instant(self._to)

    def _instant(self, text: str) -> str:
        """Return the time of a field as RFC 3339; what cannot be read goes as it is, and the answer says so."""
        try:
            moment = datetime.fromisoformat(text).replace(tzinfo=self._viewer.times.zone)
        except ValueError:
            return text
        return moment.isoformat()

    async def _ask(self) -> None:
        self._fault.set_text("")
        try:
            run = await self._viewer.rest.send("POST", "alerting", PATH, self.body())
        except RestError as error:
            self._fault.set_text(str(error))
        else:
            ui.navigate.to(address_of(str(run["run"])))
