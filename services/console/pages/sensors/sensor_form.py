"""The form of a sensor: area, model, place, labels, and a template for each stream it reports."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from nicegui import ui

from services.console.pages.field_faults import FieldFaults
from services.console.pages.sensors.place_fields import PlaceFields
from services.console.pages.sensors.template_field import TemplateField
from services.console.pages.shell import Words, button, change_button, choice, number_field, text_field
from services.console.pages.viewer import Viewer
from services.console.rest.services import UNFIT, ChangeRequest, RestError, path_of


class SensorForm:
    """A sensor as it shall be; `when_saved` is called with its id once ingest has it. Version None: it is new."""

    def __init__(
        self,
        viewer: Viewer,
        document: dict[str, Any],
        version: int | None,
        streams: Sequence[str],
        when_saved: Callable[[str], Awaitable[None]],
    ) -> None:
        self._viewer, self._document, self._version = viewer, document, version
        self._streams, self._when_saved = streams, when_saved
        self._id, self._why = str(document.pop("id", "")), ""
        self._faults = FieldFaults()
        self._draw()

    def _draw(self) -> None:
        document = self._document
        with ui.element("div").classes("stack"):
            with ui.element("div").classes("row"):
                if self._version is None:
                    with self._faults.at("Name", r"id|path\.sensor_id|a name(?! in)"):
                        text_field("Name", self._id, lambda text: setattr(self, "_id", text.strip()))
                self._text("Area", "area")
                self._text("Model", "model")
                self._text("Clock", "clock")
            self._reported = ui.element("div").classes("stack")
            self._draw_streams()
            self._particulars(document)
            self._foot()

    def _draw_streams(self) -> None:
        """Draw what it reports; the other fields stay as somebody fills them."""
        reported: dict[str, Any] = self._document["streams"]
        self._reported.clear()
        with self._reported:
            for stream, template in reported.items():
                self._stream(stream, template)
            more = {"": "a stream ...", **{each: each for each in self._streams if each not in reported}}
            if len(more) > 1:
                with self._faults.at("Reports", "“Reports”|streams"):
                    choice("Reports", more, "", self._add_stream)

    def _particulars(self, document: dict[str, Any]) -> None:
        PlaceFields(document.get("place") or {}, self._faults, partial(self._document.__setitem__, "place"))
        with ui.element("div").classes("row"):
            labels = ", ".join(f"{name}={value}" for name, value in (document.get("labels") or {}).items())
            with self._faults.at("Labels", "labels"):
                text_field("Labels (name=value, ...)", labels, self._put_labels)
            with self._faults.at("Tell somebody after a silence of, s", "expect_every_s"):
                number_field("Tell somebody after a silence of, s", document.get("expect_every_s"), self._put_every)

    def _stream(self, stream: str, template: Any) -> None:
        with ui.element("div").classes("query-edge stack"):
            with ui.element("div").classes("row spread"):
                Words("strong", stream)
                button("✕", partial(self._drop_stream, stream), label=f"No longer reports {stream}")
            words, named = f"Template of {stream}", re.escape(stream)
            with self._faults.at(words, rf"streams\.{named}|stream '?{named}'?|template of {named}"):
                TemplateField(words, template, partial(self._document["streams"].__setitem__, stream))

    def _foot(self) -> None:
        row = ui.element("div").classes("row")
        self._faults.below()
        with row:
            text_field("Why (for the audit trail)", "", lambda text: setattr(self, "_why", text))
            change_button(self._viewer, "Save", self._change, self._saved, self._faults, kind="strong")

    def _text(self, words: str, name: str) -> None:
        with self._faults.at(words, name):
            text_field(words, self._document.get(name) or "", partial(self._put, name))

    def _put(self, name: str, text: str) -> None:
        self._document[name] = text.strip() or None

    def _put_labels(self, text: str) -> None:
        pairs = (each.partition("=") for each in text.split(",") if each.strip())
        self._document["labels"] = {name.strip(): value.strip() for name, _, value in pairs}

    def _put_every(self, every_s: float | str | None) -> None:
        self._document["expect_every_s"] = every_s

    def _add_stream(self, stream: str) -> None:
        if stream:
            self._document["streams"][stream] = None  # nobody knows yet how late it reports
            self._draw_streams()

    def _drop_stream(self, stream: str) -> None:
        del self._document["streams"][stream]
        self._draw_streams()

    @property
    def _path(self) -> str:
        return path_of("v1", "sensors", self._id or "new")

    @property
    def _seen(self) -> dict[str, str]:
        return {"If-None-Match": "*"} if self._version is None else {"If-Match": f'"{self._version}"'}

    def _body(self) -> dict[str, Any]:
        return {name: value for name, value in self._document.items() if value not in (None, {}, "")}

    def _change(self) -> ChangeRequest:
        """Return the request that saves the sensor; a `RestError` says what it lacks."""
        if not self._id:
            raise RestError("Give the sensor a name.", UNFIT)
        if "/" in self._id or self._id in {".", ".."}:  # no path could name it
            raise RestError("Give the sensor a name without “/” that is not just “.” or “..”.", UNFIT)
        if not self._document.get("area"):
            raise RestError("Give the sensor an area: sensors of one area may see the same event.", UNFIT)
        if not self._document["streams"]:
            raise RestError("Choose at “Reports” a stream that the sensor reports.", UNFIT)
        if open_ := [stream for stream, template in self._document["streams"].items() if template is None]:
            raise RestError(f"Choose how late or wrong its reports are: the template of {open_[0]}.", UNFIT)
        return ChangeRequest("PUT", "ingest", self._path, self._body(), self._seen, self._why)

    async def _saved(self, _answer: Any) -> None:
        await self._when_saved(self._id)
