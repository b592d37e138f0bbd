"""Sensors in a table and on a map, page by page; filters stand in the address."""

from __future__ import annotations

from functools import partial
from urllib.parse import urlencode

import msgspec
from nicegui import ui

from services.console.drawing.sensor_map import MappedSensor, draw_sensor_maps
from services.console.pages.plain_table import plain_table
from services.console.pages.sensors.heard import HeardCells, is_silent
from services.console.pages.shell import Words, button, choice, empty_state, text_field
from services.console.pages.shown_range import NAME_CHARACTERS
from services.console.pages.viewer import Viewer
from services.console.rest.documents import PageAnswer, SensorAnswer
from services.console.rest.services import Parameters, RestError

AT_ONCE, MOST_MAPPED, MOST_AGAIN = 100, 2000, 1000
SETTLED_S = 0.4
SILENCES = {"": "all", "60": "silent for a minute", "3600": "silent for an hour", "86400": "silent for a day"}
FILTERS = ("area", "stream", "model", "silent_for_s")


def address_of(id_: str) -> str:
    """Return the address of the page of a sensor."""
    return f"/sensors?{urlencode({'sensor': id_})}"


class SensorTable:
    """The sensors that pass the filters; more come when somebody asks for them."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        asked = viewer.request.query_params
        self._filters = {name: asked.get(name, "")[:NAME_CHARACTERS] for name in FILTERS}
        self._shown: list[SensorAnswer] = []
        self._next: str | None = None
        self._cells: list[HeardCells] = []
        self._mapped: list[MappedSensor] = []
        self._settling: ui.timer | None = None
        with ui.element("div").classes("row tools"):
            for name in ("area", "stream", "model"):
                text_field(name.capitalize(), self._filters[name], partial(self._filter, name))
            choice("Show", SILENCES, self._filters["silent_for_s"], partial(self._filter, "silent_for_s"))
        self._fault = Words("p", "").classes("field-fault").props("role=status")
        self._map = ui.element("section").classes("card").props('aria-label="Map"')
        self._map.set_visibility(False)
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

    async def look(self) -> None:
        """Ask again for what is listed; only what is heard changes in rows that stay, so nobody loses the focus."""
        if len(self._shown) > MOST_AGAIN:
            return
        page = await self._ask(None, max(AT_ONCE, len(self._shown)))
        if page is None:
            return
        are_same = [_declared(each) for each in page.items] == [_declared(each) for each in self._shown]
        self._shown, self._next = page.items, page.next_cursor
        if are_same and self._cells:
            self._say()
        else:
            self._draw()

    async def _more(self) -> None:
        page = await self._ask(self._next)
        if page is not None:
            self._shown, self._next = [*self._shown, *page.items], page.next_cursor
            self._draw()

    async def _ask(self, cursor: str | None, limit: int = AT_ONCE) -> PageAnswer[SensorAnswer] | None:
        asked: Parameters = {"limit": limit, "cursor": cursor, **{k: v for k, v in self._filters.items() if v}}
        try:
            page = await self._viewer.rest.get(PageAnswer[SensorAnswer], "ingest", "/v1/sensors", asked)
        except RestError as error:
            self._fault.set_text(str(error))
            return None
        self._fault.set_text("")
        return page

    def _draw(self) -> None:
        self._draw_rows()
        self._say()

    def _draw_rows(self) -> None:
        self._box.clear()
        self._cells.clear()
        with self._box:
            if not self._shown:
                with empty_state("No sensor is here"):
                    Words("p", "None passes the filters, or none is registered. A new one needs an area and a stream.")
                return
            with plain_table(("Sensor", "Area", "Streams", "Heard of", "Rate", "Late", "Template fits")):
                for each in self._shown:
                    self._row(each)
            if self._next is not None:
                button("Show more", self._more)

    def _row(self, sensor: SensorAnswer) -> None:
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
            self._cells.append(HeardCells(self._viewer.times))

    def _say(self) -> None:
        """Say what is heard now of the sensors that are listed."""
        for cells, sensor in zip(self._cells, self._shown, strict=True):
            cells.say(sensor)
        placed = [_mapped(each) for each in self._shown if each.place is not None][:MOST_MAPPED]
        if placed != self._mapped:
            self._mapped = placed
            self._map.clear()
            self._map.set_visibility(bool(placed))
            with self._map:
                draw_sensor_maps(placed)


def _declared(sensor: SensorAnswer) -> SensorAnswer:
    """Return the sensor without what is heard of it."""
    return msgspec.structs.replace(sensor, health={})


def _mapped(sensor: SensorAnswer) -> MappedSensor:
    return MappedSensor(sensor.id, sensor.area, sensor.place or {}, address_of(sensor.id), is_silent(sensor))
