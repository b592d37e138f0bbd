"""The frame of the panel: its title, the ways that lead on from it, and how what it shows is read."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import msgspec
from nicegui import ui

from services.console.pages.now.context import NowContext
from services.console.pages.shell import Words, button, copy_button
from services.console.pages.shown_range import around
from services.console.rest.services import path_of, read_answer

COLLECTIONS = {"match": "matches", "episode": "episodes", "alert": "alerts"}
T = TypeVar("T")
Wanted = dict[str, str | int | None]


class EvidenceFrame:
    """What all kinds of evidence have; `show` goes to another thing, by its kind and id, and `close` shows nothing."""

    def __init__(
        self, view: NowContext, show: Callable[[str, str], Awaitable[None]], close: Callable[[], None]
    ) -> None:
        self.view = view
        self._show, self._close = show, close
        self.panel = ui.element("aside").classes("evidence card").props('aria-label="Evidence" tabindex="-1"')
        self.panel.set_visibility(False)

    def begin(self, title: str) -> ui.element:
        """Show an empty panel with a title, and return it to be filled."""
        self.panel.clear()
        self.panel.set_visibility(True)
        with self.panel, ui.element("div").classes("evidence-head"):
            Words("h2", title)
            button("✕", self._close, label="Close the evidence")
        return self.panel

    async def read(self, kind: type[T], *parts: str) -> tuple[T, Any]:
        """Return what alerting has at a path, and its JSON as it is."""
        raw = await self.view.viewer.rest.get(msgspec.Raw, "alerting", path_of("v1", *parts))
        return read_answer(kind, bytes(raw), "alerting"), msgspec.json.decode(raw)

    def go(self, words: str, kind: str, id_: str) -> None:
        """Offer to show another thing."""

        async def show() -> None:
            await self._show(kind, id_)

        button(words, show, kind="quiet wide")

    def ways(self, kind: str, id_: str, raw: Any, begin_us: int, end_us: int) -> None:
        """Offer what leads on: to its times, a link to share, the command, and the record as it is."""
        view = self.view
        from_us, to_us = around(begin_us, end_us)
        there = replace(view.shown, from_us=from_us, to_us=to_us, follows=False, chosen=(kind, id_), query="")
        address = there.address()

        def go() -> None:
            view.on_follow(False)
            view.timeline.follow(False)
            view.timeline.go_to(from_us, to_us)

        with ui.element("div").classes("row"):
            button("Show these times", go)
            share = button(
                "Copy link",
                lambda: ui.run_javascript(f"navigator.clipboard.writeText(location.origin + {json.dumps(address)})"),
            )
            share.props["data-address"] = address
            copy_button(view.viewer.rest.curl("GET", "alerting", path_of("v1", COLLECTIONS[kind], id_)))
        with ui.element("details"):
            Words("summary", "Raw record")
            Words("pre", json.dumps(raw, indent=2, ensure_ascii=False)).props("tabindex=0")
