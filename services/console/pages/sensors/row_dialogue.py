"""RowDialogue: the form that is open in a table, one at a time, with a change and why somebody makes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from nicegui import ui

from services.console.pages.field_faults import FieldFaults
from services.console.pages.shell import button, change_button, text_field
from services.console.pages.viewer import Viewer
from services.console.rest.services import ChangeRequest


class RowDialogue:
    """Whoever opens one closes the one before; nothing is drawn over it while it `is_open`."""

    def __init__(self, viewer: Viewer, when_done: Callable[[], Awaitable[object]]) -> None:
        self._viewer, self._when_done = viewer, when_done
        self._place: ui.element | None = None
        self.faults = FieldFaults()

    @property
    def is_open(self) -> bool:
        """Whether somebody fills one in."""
        return self._place is not None

    def open(self, place: ui.element) -> ui.element:
        """Return where the fields go, with a line below them that says why a change was refused."""
        self.close()
        self._place = place
        with place:
            fields = ui.element("div").classes("stack")
            self.faults = FieldFaults()
            self.faults.below()
        return fields

    def close(self) -> None:
        """Leave it."""
        if self._place is not None:
            self._place.clear()
        self.forget()

    def forget(self) -> None:
        """Take note that the table was drawn anew, and what was open with it."""
        self._place = None

    def offer_acts(self, name: str, edit: Callable[[ui.element], None], path: str, version: int) -> None:
        """Show what may be done about what a row names, and below it the place for its form."""
        if self._viewer.may("admin"):
            with ui.element("div").classes("row"):
                button("Change", lambda: edit(place), label=name)
                button("Remove", lambda: self._ask_removal(place, path, version), label=name)
        place = ui.element("div").classes("stack")

    def _ask_removal(self, place: ui.element, path: str, version: int) -> None:
        said, seen = {"why": ""}, {"If-Match": f'"{version}"'}

        def change() -> ChangeRequest:
            return ChangeRequest("DELETE", "ingest", path, None, seen, said["why"])

        with self.open(place), ui.element("div").classes("row"):
            self.offer("Remove it for good", change, said)

    def offer(self, words: str, change: Callable[[], ChangeRequest], said: dict[str, Any]) -> None:
        """Offer to make the change, which says `why`, and to leave it."""

        async def done(_answer: Any) -> None:
            self.close()
            await self._when_done()

        text_field("Why (for the audit trail)", "", partial(said.__setitem__, "why"))
        change_button(self._viewer, words, change, done, self.faults, kind="strong")
        button("Leave it", self.close)
