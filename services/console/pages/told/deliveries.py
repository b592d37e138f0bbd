"""What one receiver was told and what not, newest first; each can be sent again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from services.console.pages.number_words import counted
from services.console.pages.plain_table import plain_table
from services.console.pages.shell import Words, button, change_button, choice
from services.console.pages.viewer import Viewer
from services.console.rest.documents import AlertAnswer, DeliveryAnswer, PageAnswer
from services.console.rest.services import ChangeRequest, Parameters, RestError, path_of

SHOWN = 50
STATES = {"": "all", "waiting": "waiting", "dead": "given up", "delivered": "delivered"}
CHANGES = {"firing": "fired", "escalated": "got worse", "acknowledged": "was taken over", "resolved": "ended"}


class DeliveryTable:
    """The newest deliveries to one receiver; `load` asks again."""

    def __init__(self, viewer: Viewer, receiver: str, close: Callable[[], None]) -> None:
        self._viewer, self._receiver, self._state = viewer, receiver, ""
        self._path = path_of("v1", "receivers", receiver, "deliveries")
        self._shown: PageAnswer[DeliveryAnswer] | None = None
        self._titles = dict[str, str]()
        with ui.element("div").classes("row spread"):
            Words("h3", f"What {receiver} was told")
            with ui.element("div").classes("row"):
                choice("Show", STATES, "", self._choose)
                button("Close", close)
        self._fault = Words("p", "").classes("field-fault").props("role=alert")
        self._box = ui.element("div")

    async def load(self) -> None:
        """Ask, and draw anew what has changed."""
        asked: Parameters = {"state": self._state or None, "limit": SHOWN}
        try:
            page = await self._viewer.rest.get(PageAnswer[DeliveryAnswer], "alerting", self._path, asked)
            if page == self._shown:
                return
            if any(each.alert not in self._titles for each in page.items):
                self._titles = await self._read_titles()
        except RestError as error:
            self._fault.set_text(str(error))
            return
        self._shown = page
        self._draw(page)

    async def _read_titles(self) -> dict[str, str]:
        alerts = await self._viewer.rest.get(PageAnswer[AlertAnswer], "alerting", "/v1/alerts", {"limit": 2 * SHOWN})
        return {each.id: each.title for each in alerts.items}

    async def _choose(self, state: str) -> None:
        self._state, self._shown = state, None
        await self.load()

    def _draw(self, page: PageAnswer[DeliveryAnswer]) -> None:
        self._box.clear()
        with self._box:
            if not page.items:
                Words("p", "Nothing. It is told when an alert fires that is for it.").classes("soft")
                return
            with plain_table(("What", "State", "Since", "Do")):
                for each in page.items:
                    self._row(each)
            if page.next_cursor is not None:
                Words("p", f"The newest {SHOWN}: GET {self._path} lists all.").classes("soft small")

    def _row(self, delivery: DeliveryAnswer) -> None:
        times = self._viewer.times
        with ui.element("tr"):
            with ui.element("td"):
                title = self._titles.get(delivery.alert, delivery.alert)
                Words("span", f"{title} {CHANGES.get(delivery.change, delivery.change)}").props["title"] = delivery.key
            with ui.element("td"):
                Words("span", STATES.get(delivery.state, delivery.state))
                if delivery.reason:
                    Words("p", delivery.reason).classes("soft small")
                elif delivery.attempts > 1:
                    Words("p", counted(delivery.attempts, "attempt")).classes("soft small")
            Words("td", times.instant(delivery.since_us)).props["title"] = times.exact(delivery.since_us)
            with ui.element("td"):
                if self._viewer.may("admin") and delivery.state != "waiting":
                    self._offer_again(delivery)

    def _offer_again(self, delivery: DeliveryAnswer) -> None:
        resending = ChangeRequest("POST", "alerting", f"{self._path}{path_of(delivery.key, 'resend')}")

        async def done(_answer: Any) -> None:
            await self.load()

        with ui.element("div").classes("row"):
            change_button(self._viewer, "Send again", lambda: resending, done, self._fault, label=delivery.change)
