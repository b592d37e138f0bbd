"""Who is told: each receiver, what waits for it, and a test message."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from services.console.pages.shell import Words, button
from services.console.pages.viewer import Viewer
from services.console.rest.answers import ReceiverAnswer, ReceiverListAnswer
from services.console.rest.services import RestError, path_of


class ReceiverTable:
    """Every receiver; who may not read them sees none."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._shown: list[ReceiverAnswer] | None = None
        self._box = ui.element("section").classes("card").props('aria-label="Receivers"')
        self._box.set_visibility(False)

    async def load(self) -> None:
        """Ask, and draw anew what has changed."""
        try:
            listed = await self._viewer.rest.get(ReceiverListAnswer, "alerting", "/v1/receivers")
        except RestError:
            return  # the list of alerts says so
        if listed.items != self._shown:
            self._shown = listed.items
            self._draw(listed.items)

    def _draw(self, receivers: Sequence[ReceiverAnswer]) -> None:
        self._box.clear()
        self._box.set_visibility(True)
        with self._box:
            Words("h2", "Receivers")
            if not receivers:
                Words(
                    "p",
                    "Nobody is told of alerts yet. PUT /v1/receivers/{id} sets a webhook, an Alertmanager or people.",
                )
                return
            with ui.element("table").classes("plain told"):
                with ui.element("thead"), ui.element("tr"):
                    for name in ("Who", "How", "Waits", "Try it"):
                        Words("th", name).props("scope=col")
                with ui.element("tbody"):
                    for each in receivers:
                        self._row(each)

    def _row(self, receiver: ReceiverAnswer) -> None:
        with ui.element("tr"):
            Words("td", receiver.id)
            Words("td", receiver.way)
            Words("td", self._waits(receiver))
            with ui.element("td"):
                if self._viewer.may("admin"):
                    self._offer_test(receiver)

    def _waits(self, receiver: ReceiverAnswer) -> str:
        if receiver.waiting_since_us is None:
            return "nothing"
        return f"{receiver.waiting} since {self._viewer.times.instant(receiver.waiting_since_us)}"

    def _offer_test(self, receiver: ReceiverAnswer) -> None:
        async def test() -> None:
            said.set_text("is sent")
            try:
                await self._viewer.rest.send("POST", "alerting", path_of("v1", "receivers", receiver.id, "test"))
            except RestError as error:
                said.set_text(str(error))
            else:
                said.set_text("It was taken.")

        button("Send a test", test, label=receiver.id)
        said = Words("span", "").props("role=status")
