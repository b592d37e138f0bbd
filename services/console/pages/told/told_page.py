"""The page Alerts: what fires, who took it over, what is silenced, and whether receivers were told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import ui

from services.console.pages.plain_table import plain_table
from services.console.pages.shell import (
    ConsolePage,
    Words,
    button,
    change_button,
    choice,
    empty_state,
    figure,
    page_head,
)
from services.console.pages.told.alert_acts import ActPanel
from services.console.pages.told.receivers_panel import ReceiverTable
from services.console.pages.viewer import Viewer
from services.console.rest.documents import AlertAnswer, PageAnswer, SilenceAnswer, SilenceListAnswer
from services.console.rest.services import ChangeRequest, Parameters, RestError, path_of

LOOK_EVERY_S = 3.0
SHOWN_AT_ONCE, SHOWN_MOST = 100, 1000
STATES = {"active": "not over", "firing": "firing", "acknowledged": "taken over", "resolved": "over", "all": "all"}
_STATES_OF: dict[str, tuple[str, ...]] = {
    "active": ("firing", "acknowledged"),
    "all": ("firing", "acknowledged", "resolved"),
}
_STATE_WORDS = {"firing": "Firing", "acknowledged": "Taken over", "resolved": "Over"}
_WITHHELD = {"silence": "silenced", "max_per_hour": "nobody was told: too many in this hour"}


class AlertList:
    """The alerts of one state, newest first and those that fire before all others; asked for again and again."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer, self._state = viewer, "active"
        self._shown: list[AlertAnswer] | None = None
        self._most = SHOWN_AT_ONCE
        self._acts = ActPanel(viewer, self.load)
        with page_head("Alerts"):
            choice("Show", STATES, self._state, self._choose)
        self._fault = Words("p", "").classes("soft").props("role=status")
        self._box = ui.element("section").classes("card").props('aria-label="Alerts"')

    async def load(self) -> None:
        """Ask, and draw anew what has changed, so that nobody loses the focus without need."""
        try:
            alerts = await self._read()
        except RestError as error:
            self._fault.set_text(str(error))
            return
        self._fault.set_text("")
        if alerts != self._shown and not self._acts.is_open:
            self._shown = alerts
            self._draw(alerts[: self._most], has_more=len(alerts) > self._most)

    async def _read(self) -> list[AlertAnswer]:
        """Return those of the chosen states, one more than is shown if there are more."""
        found: list[AlertAnswer] = []
        for state in _STATES_OF.get(self._state, (self._state,)):
            cursor: str | None = None
            while (left := self._most + 1 - len(found)) > 0:
                asked: Parameters = {"state": state, "limit": min(left, SHOWN_MOST), "cursor": cursor}
                page = await self._viewer.rest.get(PageAnswer[AlertAnswer], "alerting", "/v1/alerts", asked)
                found += page.items
                cursor = page.next_cursor
                if cursor is None:
                    break
        return found

    async def _show_more(self) -> None:
        self._most, self._shown = self._most + SHOWN_AT_ONCE, None
        await self.load()

    async def _choose(self, state: str) -> None:
        self._state, self._shown, self._most = state, None, SHOWN_AT_ONCE
        self._acts.close()
        await self.load()

    def _draw(self, alerts: Sequence[AlertAnswer], *, has_more: bool) -> None:
        self._box.clear()
        with self._box:
            if not alerts:
                with empty_state("Nothing to tell"):
                    Words("p", "No alert is in this state. The system's faults make alerts, and so do queries.")
                    Words("p", "A query makes them if its form says so at “Tell somebody”.")
                return
            with plain_table(("What", "How bad", "Since", "State", "Do")):
                for each in alerts:
                    self._row(each)
            if has_more and len(alerts) < SHOWN_MOST:
                button("Show more", self._show_more)
            elif has_more:
                Words("p", f"There are more than {SHOWN_MOST:,}: GET /v1/alerts lists all.").classes("soft small")

    def _row(self, alert: AlertAnswer) -> None:
        with ui.element("tr") as row:
            row.props["data-key"] = alert.id  # titles are alike
            with ui.element("td"):
                Words("strong", alert.title)
                if alert.text:
                    Words("p", alert.text).classes("soft small")
            Words("td", alert.severity)
            with ui.element("td"):
                since = Words("span", self._viewer.times.instant(alert.fired_at_us))
                since.props["title"] = self._viewer.times.exact(alert.fired_at_us)
            with ui.element("td"):
                Words("span", _STATE_WORDS.get(alert.state, alert.state))
                for words in _said(alert):
                    Words("p", words).classes("soft small")
            with ui.element("td"):
                self._acts.offer(alert)


def _said(alert: AlertAnswer) -> list[str]:
    said = [] if alert.withheld is None else [_WITHHELD.get(alert.withheld, alert.withheld)]
    if alert.acknowledged is not None:
        why = f": {alert.acknowledged.why}" if alert.acknowledged.why else ""
        said.append(f"by {alert.acknowledged.by}{why}")
    return [*said, alert.resolved_because] if alert.resolved_because else said


class SilenceTable:
    """The silences that hold now, each with a way to end it."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer, self._shown = viewer, list[SilenceAnswer]()
        self._box = ui.element("section").classes("card").props('aria-label="Silences"')
        self._box.set_visibility(False)

    async def load(self) -> None:
        """Ask, and draw anew what has changed."""
        try:
            listed = await self._viewer.rest.get(SilenceListAnswer, "alerting", "/v1/silences")
        except RestError:
            return  # the list above says so
        active = [each for each in listed.items if each.active]
        if active != self._shown:
            self._shown = active
            self._draw(active)

    def _draw(self, silences: Sequence[SilenceAnswer]) -> None:
        self._box.clear()
        self._box.set_visibility(bool(silences))
        with self._box:
            Words("h2", "Silences")
            with plain_table(("Silent", "How long", "Who and why", "Do")):
                for each in silences:
                    with ui.element("tr"):
                        Words("td", ", ".join(f"{name} {glob}" for name, glob in sorted(each.matchers.items())))
                        times = self._viewer.times
                        figure(f"until {times.instant(each.until_us)}", times.exact(each.until_us), "td")
                        Words("td", f"{each.by}: {each.why}")
                        with ui.element("td"):
                            self._offer_end(each)

    def _offer_end(self, silence: SilenceAnswer) -> None:
        seen = {"If-Match": f'"{silence.version}"'}
        end = ChangeRequest("DELETE", "alerting", path_of("v1", "silences", silence.id), headers=seen)

        async def done(_answer: Any) -> None:
            await self.load()

        row, refused = ui.element("div").classes("row"), Words("span", "").props("role=status")
        if self._viewer.may("alerts"):
            with row:
                words = f"end the silence of {silence.by}"
                change_button(self._viewer, "End it", lambda: end, done, refused, label=words)


async def show_alerts(viewer: Viewer) -> None:
    """Fill the page."""
    alerts = AlertList(viewer)
    silences = SilenceTable(viewer)
    receivers = ReceiverTable(viewer)

    async def look() -> None:
        for load in (alerts.load, silences.load, receivers.load):
            await load()

    await look()
    ui.timer(LOOK_EVERY_S, look)


ALERTS = ConsolePage("/alerts", "Alerts", show_alerts)
