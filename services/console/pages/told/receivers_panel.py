"""Who is told: each receiver, what waits for it and what it was told; a test message, and changes of receivers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from nicegui import ui

from services.console.pages.plain_table import plain_table
from services.console.pages.shell import Words, button, change_button, text_field
from services.console.pages.told.deliveries import DeliveryTable
from services.console.pages.told.receiver_form import ReceiverForm
from services.console.pages.viewer import Viewer
from services.console.rest.documents import WAYS, ReceiverAnswer, ReceiverListAnswer
from services.console.rest.services import ChangeRequest, RestError, path_of


class ReceiverTable:
    """Every receiver, and below them what somebody has opened: a form, or the deliveries to one."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._shown: list[ReceiverAnswer] | None = None
        self._deliveries: DeliveryTable | None = None
        with ui.element("section").classes("card stack").props('aria-label="Receivers"') as self._section:
            with ui.element("div").classes("row spread"):
                Words("h2", "Receivers")
                if viewer.may("admin"):
                    button("New receiver", partial(self._open_form, None))
            self._box = ui.element("div").classes("stack")
            self._panel = ui.element("div").classes("stack")
        self._section.set_visibility(False)

    async def load(self) -> None:
        """Ask, and draw anew what has changed."""
        try:
            listed = await self._viewer.rest.get(ReceiverListAnswer, "alerting", "/v1/receivers")
        except RestError:
            return  # the list of alerts says so
        if listed.items != self._shown:
            self._shown = listed.items
            self._draw(listed.items)
        if self._deliveries is not None:
            await self._deliveries.load()

    def _draw(self, receivers: Sequence[ReceiverAnswer]) -> None:
        self._box.clear()
        self._section.set_visibility(True)
        with self._box:
            if not receivers:
                ways = " or ".join(way.choice for way in WAYS.values())
                Words("p", f"Nobody is told of alerts yet. A receiver is {ways}.")
                if not self._viewer.may("admin"):
                    Words("p", "It takes a key with the scope admin to make one.").classes("soft")
                return
            with plain_table(("Who", "How", "Waits", "Do")):
                for each in receivers:
                    self._row(each)
            Words("p", "A query with an alert rule rings them: its form has the field “Tell somebody”.").classes("soft")

    def _row(self, receiver: ReceiverAnswer) -> None:
        with ui.element("tr"):
            with ui.element("td"):
                Words("strong", receiver.id)
                if not receiver.system:
                    Words("p", "hears of alerts only").classes("soft small")
            Words("td", receiver.told_by)
            with ui.element("td"):
                waits = Words("span", self._waits(receiver))
                if receiver.waiting_since_us is not None:
                    waits.props["title"] = self._viewer.times.exact(receiver.waiting_since_us)
            with ui.element("td"):
                self._offer(receiver)

    def _waits(self, receiver: ReceiverAnswer) -> str:
        if receiver.waiting_since_us is None:
            return "nothing"
        return f"{receiver.waiting} since {self._viewer.times.instant(receiver.waiting_since_us)}"

    def _offer(self, receiver: ReceiverAnswer) -> None:
        row = ui.element("div").classes("row")
        if receiver.declared:
            Words("p", "It stands in the file of receivers: change it there.").classes("soft small")
        said = Words("span", "").props("role=status")

        async def taken(_answer: Any) -> None:
            said.set_text("It was taken.")

        with row:
            if self._viewer.may("admin"):
                test = ChangeRequest("POST", "alerting", path_of("v1", "receivers", receiver.id, "test"))
                words, meanwhile = "Send a test", "It is being sent."
                change_button(self._viewer, words, lambda: test, taken, said, label=receiver.id, meanwhile=meanwhile)
            button("Deliveries", partial(self._open_deliveries, receiver), label=receiver.id)
            if self._viewer.may("admin") and not receiver.declared:
                button("Change", partial(self._open_form, receiver), label=receiver.id)
                button("Remove", partial(self._ask_removal, receiver), label=receiver.id)

    def _close(self) -> None:
        self._deliveries = None
        self._panel.clear()

    def _open_form(self, receiver: ReceiverAnswer | None) -> None:
        self._close()
        with self._panel:
            ReceiverForm(self._viewer, receiver, self.load, self._close)

    async def _open_deliveries(self, receiver: ReceiverAnswer) -> None:
        self._close()
        with self._panel:
            self._deliveries = DeliveryTable(self._viewer, receiver.id, self._close)
        await self._deliveries.load()

    def _ask_removal(self, receiver: ReceiverAnswer) -> None:
        self._close()
        path, why = path_of("v1", "receivers", receiver.id), {"": ""}
        seen = {"If-Match": f'"{receiver.version}"'}

        def removal() -> ChangeRequest:
            return ChangeRequest("DELETE", "alerting", path, headers=seen, why=why[""])

        async def done(_answer: Any) -> None:
            self._close()
            await self.load()

        with self._panel:
            Words("p", f"{receiver.id} is told nothing more, and what waits for it is given up.")
            row = ui.element("div").classes("row")
            refused = Words("p", "").classes("field-fault").props("role=alert")
            with row:
                text_field("Why (for the audit trail)", "", lambda text: why.update({"": text}))
                change_button(self._viewer, "Remove it for good", removal, done, refused, kind="strong")
                button("Leave it", self._close)
