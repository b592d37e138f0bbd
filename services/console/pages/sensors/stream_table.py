"""The declared streams: how late detections may come, who uses each, and changes of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from nicegui import ui

from services.console.pages.plain_table import plain_table
from services.console.pages.shell import Words, button, copy_button, text_field
from services.console.pages.time_words import duration
from services.console.pages.viewer import Viewer
from services.console.rest.sensor_answers import StreamAnswer, StreamListAnswer
from services.console.rest.services import RestError, path_of

FIELDS = {"max_delay_s": "May come late by, s", "longest_template_s": "Longest template, s"}
NEW = StreamAnswer(name="", max_delay_s=120.0, longest_template_s=300.0)


class StreamTable:
    """The streams, each with a form to change it."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._known = set[str]()
        self._shown: list[StreamAnswer] | None = None
        self._is_open = False
        self._box = ui.element("section").classes("card stack").props('aria-label="Streams"')

    async def look(self) -> None:
        """Ask again, unless somebody fills in a form of it."""
        if not self._is_open:
            await self.load()

    async def load(self) -> None:
        """Ask, and draw anew what has changed."""
        try:
            streams = (await self._viewer.rest.get(StreamListAnswer, "ingest", "/v1/streams")).items
        except RestError:
            return  # the table above says so
        if streams != self._shown:
            self._shown = streams
            self._draw(streams)

    def _draw(self, streams: Sequence[StreamAnswer]) -> None:
        self._is_open = False
        self._known = {each.name for each in streams}
        self._box.clear()
        with self._box:
            Words("h2", "Streams")
            with plain_table(("Stream", "May come late by", "Longest template", "Used by", "Do")):
                for each in streams:
                    self._row(each)
            if self._viewer.may("admin"):
                button("New stream", lambda: self._edit(NEW, place))
            place = ui.element("div").classes("stack")

    def _row(self, stream: StreamAnswer) -> None:
        with ui.element("tr"):
            Words("td", stream.name)
            for seconds in (stream.max_delay_s, stream.longest_template_s):
                Words("td", duration(seconds)).classes("number").props["title"] = f"{seconds:g} s"
            users = f"{stream.sensors} sensors" + (f", queries {', '.join(stream.queries)}" if stream.queries else "")
            Words("td", users)
            with ui.element("td"):
                if self._viewer.may("admin"):
                    with ui.element("div").classes("row"):
                        button("Change", lambda: self._edit(stream, place), label=stream.name)
                        button("Remove", lambda: self._send("DELETE", stream, {}, place), label=stream.name)
                place = ui.element("div").classes("stack")

    def _edit(self, stream: StreamAnswer, place: ui.element) -> None:
        body: dict[str, Any] = {name: getattr(stream, name) for name in FIELDS}
        named = {"name": stream.name}
        self._close(place)
        self._is_open = True
        with place, ui.element("div").classes("row"):
            if not stream.name:
                text_field("Name", "", partial(named.__setitem__, "name"))
            for name, words in FIELDS.items():
                text_field(words, f"{body[name]:g}", partial(_put, body, name))

            async def save() -> None:
                await self._send("PUT", StreamAnswer(name=named["name"].strip(), version=stream.version), body, place)

            button("Save", save, kind="strong")
            button("Leave it", lambda: self._close(place))
            copy_button(lambda: self._viewer.rest.curl("PUT", "ingest", _path(named["name"]), body=body))

    def _close(self, place: ui.element) -> None:
        place.clear()
        self._is_open = False

    async def _send(self, method: str, stream: StreamAnswer, body: dict[str, Any], place: ui.element) -> None:
        is_new = method == "PUT" and stream.name not in self._known
        seen = {"If-None-Match": "*"} if is_new else {"If-Match": f'"{stream.version}"'}
        try:
            await self._viewer.rest.send(method, "ingest", _path(stream.name), body or None, seen)
        except RestError as error:
            with place:
                Words("p", str(error)).classes("field-fault").props("role=alert")
        else:
            self._close(place)
            await self.load()


def _path(name: str) -> str:
    return path_of("v1", "streams", name or "new")


def _put(body: dict[str, Any], name: str, text: str) -> None:
    try:
        body[name] = float(text)
    except ValueError:
        body[name] = text
