"""Sensors in a table and on a map, page by page; filters stand in the address."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

import msgspec
from nicegui import ui

from services.console.drawing.sensor_map import MappedSensor, draw_sensor_map
from services.console.pages.shell import Words, button, choice, empty_state, text_field
from services.console.pages.shown_range import NAME_CHARACTERS
from services.console.pages.time_words import duration, probability, rate
from services.console.pages.viewer import Viewer
from services.console.rest.answers import PageAnswer, SensorAnswer
from services.console.rest.sensor_answers import HeardAnswer
from services.console.rest.services import Parameters, RestError

AT_ONCE, MOST_MAPPED = 100, 2000
SETTLED_S = 0.4
SILENCES = {"": "all", "60": "silent for a minute", "3600": "silent for an hour", "86400": "silent for a day"}
FILTERS = ("area", "stream", "model", "silent_for_s")
SILENT_AFTER_S = 3600.0


def address_of(id_: str) -> str:
    """Return the address of the page of a sensor."""
    return f"/sensors?{urlencode({'sensor': id_})}"


def heard_of(sensor: SensorAnswer) -> dict[str, HeardAnswer]:
    """Return what is heard of each of a sensor's streams."""
    return {stream: msgspec.convert(each, HeardAnswer) for stream, each in sensor.health.items()}


class SensorTable:
    """The sensors that pass the filters; more come when somebody asks for them."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        asked = viewer.request.query_params
        self._filters = {name: asked.get(name, "")[:NAME_CHARACTERS] for name in FILTERS}
        self._shown: list[SensorAnswer] = []
        self._next: str | None = None
        self._settling: ui.timer | None = None
        with ui.element("div").classes("row tools"):
            for name in ("area", "stream", "model"):
                text_field(name.capitalize(), self._filters[name], partial(self._filter, name))
            choice("Show", SILENCES, self._filters["silent_for_s"], partial(self._filter, "silent_for_s"))
        self._fault = Words("p", "").classes("field-fault").props("role=status")
        self._map = ui.element("section").classes("card").props('aria-label="Map"')
        self._box = ui.element("section").classes("card").props('aria-label="Sensors"')

    def _filter(self, name: str, value: str) -> None:
        """Take over a filter, and ask once nobody has typed for a moment."""
        self._filters[name] = value.strip()
        if self._settling is not None:
            self._settling.cancel()
        self._settling = ui.timer(SETTLED_S, self._filtered, once=True)

    async def _filtered(self) -> None:
        chosen = {name: value for name, value in self._filters.items() if value}
        ui.navigate.history.replace(f"/sensors?{urlencode(chosen)}" if chosen else "/sensors")
        await self.load()

    async def load(self) -> None:
        """Ask for the first page, and draw it."""
        page = await self._ask(None)
        if page is not None:
            self._shown, self._next = page.items, page.next_cursor
            self._draw()

    async def _more(self) -> None:
        page = await self._ask(self._next)
        if page is not None:
            self._shown, self._next = [*self._shown, *page.items], page.next_cursor
            self._draw()

    async def _ask(self, cursor: str | None) -> PageAnswer[SensorAnswer] | None:
        asked: Parameters = {"limit": AT_ONCE, "cursor": cursor, **{k: v for k, v in self._filters.items() if v}}
        try:
            page = await self._viewer.rest.get(PageAnswer[SensorAnswer], "ingest", "/v1/sensors", asked)
        except RestError as error:
            self._fault.set_text(str(error))
            return None
        self._fault.set_text("")
        return page

    def _draw(self) -> None:
        self._draw_map()
        self._box.clear()
        with self._box:
            if not self._shown:
                with empty_state("No sensor is here"):
                    Words("p", "None passes the filters, or none is registered. A new one needs an area and a stream.")
                return
            with ui.element("table").classes("plain told"):
                with ui.element("thead"), ui.element("tr"):
                    for name in ("Sensor", "Area", "Streams", "Heard of", "Rate", "Late", "Template fits"):
                        Words("th", name).props("scope=col")
                with ui.element("tbody"):
                    for each in self._shown:
                        self._row(each)
            if self._next is not None:
                button("Show more", self._more)

    def _row(self, sensor: SensorAnswer) -> None:
        heard = heard_of(sensor)
        with ui.element("tr"):
            with ui.element("td"):
                link = ui.element("a")
                link.props["href"] = address_of(sensor.id)
                with link:
                    Words("strong", sensor.id)
                if sensor.model:
                    Words("p", sensor.model).classes("soft small")
            Words("td", sensor.area)
            Words("td", ", ".join(sensor.streams))
            with ui.element("td"):
                last_us = max((each.last_seen_us for each in heard.values()), default=None)
                ago = Words("span", since(last_us))
                ago.props["title"] = "never" if last_us is None else self._viewer.times.exact(last_us)
            _numbers([rate_of(each) for each in heard.values()])
            _numbers([probability(each.late_share) for each in heard.values()])
            Words("td", "; ".join(fit_of(each) for each in heard.values()) or "not known")

    def _draw_map(self) -> None:
        placed = [each for each in self._shown if each.place is not None][:MOST_MAPPED]
        self._map.clear()
        self._map.set_visibility(bool(placed))
        if placed:
            with self._map:
                draw_sensor_map([_mapped(each) for each in placed])


def since(last_us: int | None) -> str:
    """Return how long ago something was heard, in words."""
    return "never" if last_us is None else f"{duration(max(0.0, time.time() - last_us / 1e6))} ago"


def rate_of(heard: HeardAnswer) -> str:
    """Return how often something comes, in words."""
    return "not known yet" if heard.rate_hz is None else rate(heard.rate_hz)


def fit_of(heard: HeardAnswer) -> str:
    """Return whether recent errors fit the template, in words."""
    drift = heard.drift
    if drift is None or drift.errors < 20:
        return "not known"
    if drift.distance < 0.1 or drift.p_value > 1e-4:
        return "yes"
    return f"no: off by {drift.distance:.2g}"


def _numbers(words: Sequence[str]) -> None:
    with ui.element("td"):
        for each in words or ["not known"]:
            Words("div", each).classes("number")


def _mapped(sensor: SensorAnswer) -> MappedSensor:
    place: Mapping[str, Any] = sensor.place or {}
    last_us = max((each.last_seen_us for each in heard_of(sensor).values()), default=None)
    allowed_s = sensor.expect_every_s or SILENT_AFTER_S
    is_silent = last_us is None or time.time() - last_us / 1e6 > allowed_s
    return MappedSensor(sensor.id, float(place["lat"]), float(place["lon"]), address_of(sensor.id), is_silent)
