"""The timeline's element: what Python tells the canvas, and what the canvas tells Python."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui.element import Element
from nicegui.events import GenericEventArguments

Told = Callable[[Any], Awaitable[None] | None]


class TimelineElement(Element, component="timeline.js", esm={"coincide-timeline": "timeline"}):
    """Lanes over time on a canvas; `options` are those of the module timeline/index.js."""

    def __init__(self, options: dict[str, Any], *, on_range: Told, on_pick: Told, on_follow: Told) -> None:
        super().__init__()
        self._props["options"] = options
        for name, told in (("range", on_range), ("pick", on_pick), ("follow", on_follow)):
            self.on(name, _passing(told))

    def merge(self, change: dict[str, Any]) -> None:
        """Draw what has come: see `Scene.merge` in timeline/scene.js."""
        self.run_method("merge", change)

    def show(self, **view: str) -> None:
        """Narrow to an area, a query or sure matches, or order the lanes by name or place."""
        self.run_method("show", view)

    def choose(self, id_: str | None) -> None:
        """Stress one match, episode or detection."""
        self.run_method("choose", id_)

    def follow(self, follows: bool) -> None:
        """Go on with the present, or stand."""
        self.run_method("follow", follows)

    def go_to(self, from_us: int, to_us: int) -> None:
        """Show these times."""
        self.run_method("range", from_us, to_us)

    def set_span(self, span_us: int) -> None:
        """Show so much time."""
        self.run_method("span", span_us)

    def zoom(self, factor: float) -> None:
        """Show `factor` times as much time."""
        self.run_method("zoom", factor)

    def pan(self, share: float) -> None:
        """Move by a share of what is shown."""
        self.run_method("pan", share)


def _passing(told: Told) -> Callable[[GenericEventArguments], Any]:
    return lambda event: told(event.args)
