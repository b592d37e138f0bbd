"""The declared streams: how late detections may come, who uses each, and changes of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from nicegui import ui

from services.console.pages.number_words import counted
from services.console.pages.plain_table import plain_table
from services.console.pages.sensors.row_dialogue import RowDialogue
from services.console.pages.shell import Words, button, text_field
from services.console.pages.time_words import duration
from services.console.pages.viewer import Viewer
from services.console.rest.sensor_answers import StreamAnswer, StreamListAnswer
from services.console.rest.services import UNFIT, ChangeRequest, RestError, path_of

ECHO = "echo_s"
FIELDS = {
    "max_delay_s": "May come late by, s",
    "longest_template_s": "Longest template, s",
    ECHO: "Echo within, s (may stay empty)",
}
NEW = StreamAnswer(name="", max_delay_s=120.0, longest_template_s=300.0)


class StreamTable:
    """The streams, each with a form to change it."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._shown: list[StreamAnswer] | None = None
        self._dialogue = RowDialogue(viewer, self.load)
        self._box = ui.element("section").classes("card stack").props('aria-label="Streams"')

    async def look(self) -> None:
        """Ask again, unless somebody fills in a form of it."""
        if not self._dialogue.is_open:
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
        self._dialogue.forget()
        self._box.clear()
        with self._box:
            Words("h2", "Streams")
            Words(
                "p", "A stream is one kind of report, such as noise. The form of a sensor says which ones it reports."
            )
            with plain_table(("Stream", "May come late by", "Longest template", "Echo within", "Used by", "Do")):
                for each in streams:
                    self._row(each)
            if self._viewer.may("admin"):
                button("New stream", lambda: self._edit(NEW, place))
            place = ui.element("div").classes("stack")

    def _row(self, stream: StreamAnswer) -> None:
        with ui.element("tr"):
            Words("td", stream.name)
            for seconds in (stream.max_delay_s, stream.longest_template_s, stream.echo_s):
                if seconds is None:
                    Words("td", "no echoes")
                else:
                    Words("td", duration(seconds)).classes("number").props["title"] = f"{seconds:g} s"
            users = counted(stream.sensors, "sensor") + (
                f", queries {', '.join(stream.queries)}" if stream.queries else ""
            )
            Words("td", users)
            with ui.element("td"):
                edit = partial(self._edit, stream)
                self._dialogue.offer_acts(stream.name, edit, _path(stream.name), stream.version)

    def _edit(self, stream: StreamAnswer, place: ui.element) -> None:
        body: dict[str, Any] = {name: getattr(stream, name) for name in FIELDS}
        said = {"name": stream.name, "why": ""}
        seen = {"If-Match": f'"{stream.version}"'} if stream.name else {"If-None-Match": "*"}

        def change() -> ChangeRequest:
            if not said["name"].strip():
                raise RestError("Give the stream a name.", UNFIT)
            return ChangeRequest("PUT", "ingest", _path(said["name"].strip()), body, seen, said["why"])

        with self._dialogue.open(place), ui.element("div").classes("row"):
            if not stream.name:
                with self._dialogue.faults.at("Name", "name|a name"):
                    text_field("Name", "", partial(said.__setitem__, "name"))
            for name, words in FIELDS.items():
                with self._dialogue.faults.at(words, name):
                    present = body[name]
                    text_field(words, "" if present is None else f"{present:g}", partial(_put, body, name))
            self._dialogue.offer("Save", change, said)


def _path(name: str) -> str:
    return path_of("v1", "streams", name)


def _put(body: dict[str, Any], name: str, text: str) -> None:
    try:
        body[name] = None if name == ECHO and not text.strip() else float(text)
    except ValueError:
        body[name] = text
