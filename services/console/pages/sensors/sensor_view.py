"""One sensor: what is heard of it, its templates, what was learnt for it, and a form to change it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from nicegui import ui

from services.console.drawing.template_picture import draw_template
from services.console.drawing.template_words import said_of
from services.console.pages.sensors.clock_line import show_clock
from services.console.pages.sensors.heard import heard_of, show_heard
from services.console.pages.sensors.learnt import show_proposals
from services.console.pages.sensors.place_fields import place_words
from services.console.pages.sensors.sensor_form import SensorForm
from services.console.pages.sensors.sensor_table import address_of
from services.console.pages.sensors.template_table import find_named, show_followed
from services.console.pages.shell import Words, button, change_button, page_head, text_field
from services.console.pages.shown_range import ShownRange
from services.console.pages.viewer import Viewer
from services.console.rest.documents import SensorAnswer
from services.console.rest.services import ChangeRequest, RestError, path_of

LOOK_EVERY_S = 3.0


class SensorView:
    """The page of one sensor."""

    def __init__(self, viewer: Viewer, sensor: SensorAnswer, streams: Sequence[str]) -> None:
        self._viewer, self._sensor, self._streams = viewer, sensor, streams
        self._path = path_of("v1", "sensors", sensor.id)
        self._heard: dict[str, ui.element] = {}
        self._why = ""

    async def draw(self) -> None:
        """Build the page."""
        sensor = self._sensor
        with page_head(f"Sensor {sensor.id}"):
            back = ui.element("a").classes("quiet").props('href="/sensors"')
            with back:
                ui.label("All sensors")
        with ui.element("section").classes("card stack").props('aria-label="What it is"'):
            self._particulars()
        templates = await self._viewer.templates.find(self._viewer.rest, map(str, sensor.streams.values()))
        named = await find_named(self._viewer, sensor)
        for stream, id_ in sensor.streams.items():
            with ui.element("section").classes("card stack") as box:
                box.props["aria-label"] = f"Stream {stream}"
                Words("h2", stream)
                with ui.element("div").classes("row template-row"):
                    if str(id_) in templates:
                        template = templates[str(id_)]
                        said = f"What it reports {said_of(template)}."
                        draw_template(template.edges_s, template.mass, said)
                        with ui.element("div").classes("stack"):
                            Words("p", said)
                            if stream in named:
                                show_followed(named[stream])
                            Words("p", f"Template {id_}").classes("soft small")
                    self._heard[stream] = ui.element("div").classes("row template-row")
        self._say_heard()
        ui.timer(LOOK_EVERY_S, self._look, immediate=False)
        if sensor.clock is not None:
            await show_clock(self._viewer, sensor.id, sensor.clock)
        present = {stream: templates[str(id_)] for stream, id_ in sensor.streams.items() if str(id_) in templates}
        await show_proposals(self._viewer, sensor.id, present)
        self._change()

    def _particulars(self) -> None:
        sensor = self._sensor
        words = [f"in the area {sensor.area}"]
        words += [f"on the clock {sensor.clock}"] if sensor.clock else []
        words += [f"model {sensor.model}"] if sensor.model else []
        if sensor.place is not None:
            words.append(f"at {place_words(sensor.place)}")
        words += [f"{name}: {value}" for name, value in sensor.labels.items()]
        Words("p", ", ".join(words))
        shown = ShownRange.of_address({"area": sensor.area, "span": "600"})
        link = ui.element("a")
        link.props["href"] = shown.address()
        with link:
            ui.label("See its area now")

    def _say_heard(self) -> None:
        heard = heard_of(self._sensor)
        for stream, box in self._heard.items():
            box.clear()
            with box:
                show_heard(self._viewer.times, heard.get(stream))

    async def _look(self) -> None:
        """Ask what is heard of it now."""
        try:
            now = await self._viewer.rest.get(SensorAnswer, "ingest", self._path)
        except RestError:
            return  # the banner says so, or somebody has removed it
        self._sensor = msgspec.structs.replace(self._sensor, health=now.health)
        self._say_heard()

    def _change(self) -> None:
        if not self._viewer.may("admin"):
            return
        sensor = self._sensor
        document: dict[str, Any] = {
            "id": sensor.id,
            "area": sensor.area,
            "clock": sensor.clock,
            "streams": declared_streams(sensor),
            "model": sensor.model,
            "place": sensor.place and dict(sensor.place),
            "labels": dict(sensor.labels),
            "expect_every_s": sensor.expect_every_s,
        }
        with ui.element("section").classes("card stack").props('aria-label="Change it"'):
            Words("h2", "Change it")
            SensorForm(self._viewer, document, sensor.version, self._streams, self._saved)
            with ui.element("div").classes("row"):
                button("Remove this sensor", self._ask_removal)
            self._confirm = ui.element("div").classes("row").props('role=group aria-label="Removal"')
            self._refused = Words("p", "").classes("field-fault").props("role=alert")

    def _ask_removal(self) -> None:
        self._confirm.clear()
        self._why = ""  # as the field, which is drawn anew
        with self._confirm:
            Words("span", "What it reports from then on is refused.")
            text_field("Why (for the audit trail)", "", lambda text: setattr(self, "_why", text))
            words, done = "Remove it for good", self._removed
            change_button(self._viewer, words, self._removal, done, self._refused, kind="strong")
            button("Leave it", self._confirm.clear)

    @property
    def _seen(self) -> dict[str, str]:
        return {"If-Match": f'"{self._sensor.version}"'}

    def _removal(self) -> ChangeRequest:
        return ChangeRequest("DELETE", "ingest", self._path, None, self._seen, self._why)

    async def _removed(self, _answer: Any) -> None:
        ui.navigate.to("/sensors")

    async def _saved(self, id_: str) -> None:
        ui.navigate.to(address_of(id_))


def declared_streams(sensor: SensorAnswer) -> dict[str, Any]:
    """Return the templates as its document says them, so that what it follows by name it goes on to follow."""
    if sensor.clock is None:
        return {**sensor.streams, **sensor.templates}
    return {stream: {k: v for k, v in said.items() if v is not None} for stream, said in sensor.beside_clock.items()}
