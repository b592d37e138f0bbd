"""What a person does about an alert: take it over, silence it, see how it came to be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from services.common.clock import system_clock_us
from services.console.pages.shell import Words, button, change_button, choice, text_field
from services.console.pages.told.deliveries import CHANGES
from services.console.pages.viewer import Viewer
from services.console.rest.documents import AlertAnswer, PageAnswer, TransitionAnswer
from services.console.rest.services import ChangeRequest, RestError, path_of

SILENCES_S = {"3600": "an hour", "28800": "8 hours", "86400": "a day", "604800": "a week"}


class ActPanel:
    """The one form that is open on the page, beside the alert that it is about."""

    def __init__(self, viewer: Viewer, when_done: Callable[[], Awaitable[None]]) -> None:
        self._viewer, self._when_done = viewer, when_done
        self._open: ui.element | None = None

    @property
    def is_open(self) -> bool:
        """Whether a form is open; what is around it is left as it is then."""
        return self._open is not None

    def close(self) -> None:
        """Close the form."""
        if self._open is not None:
            self._open.clear()
        self._open = None

    def offer(self, alert: AlertAnswer) -> None:
        """Show what may be done about an alert."""
        with ui.element("div").classes("row"):
            if self._viewer.may("alerts") and alert.state != "resolved":
                if alert.state == "firing":
                    button("Take over", lambda: self._take_over(alert, place), label=alert.title)
                button("Silence", lambda: self._silence(alert, place), label=alert.title)
            button("History", lambda: self._history(alert, place), label=alert.title)
        place = ui.element("div").classes("stack")

    def _begin(self, place: ui.element) -> ui.element:
        self.close()
        self._open = place
        return place

    def _take_over(self, alert: AlertAnswer, place: ui.element) -> None:
        body = {"by": self._name, "why": ""}
        path = path_of("v1", "alerts", alert.id, "acknowledge")
        with self._begin(place):
            text_field("Who", body["by"], lambda value: body.update(by=value))
            text_field("What you do about it", "", lambda value: body.update(why=value))
            self._send("Take it over", path, lambda: dict(body))

    def _silence(self, alert: AlertAnswer, place: ui.element) -> None:
        said = {"by": self._name, "why": "", "for_s": "3600"}
        matchers = matchers_of(alert)
        with self._begin(place):
            Words("p", "Rings nobody: " + ", ".join(f"{name} {value}" for name, value in matchers.items()))
            choice("For", SILENCES_S, said["for_s"], lambda value: said.update(for_s=value))
            text_field("Who", said["by"], lambda value: said.update(by=value))
            text_field("Why", "", lambda value: said.update(why=value))

            def body() -> dict[str, Any]:
                until_us = system_clock_us() + int(said["for_s"]) * 1_000_000
                return {"matchers": matchers, "until": until_us, "by": said["by"], "why": said["why"]}

            self._send("Silence it", "/v1/silences", body)

    def _send(self, words: str, path: str, body: Callable[[], dict[str, Any]]) -> None:
        async def done(_answer: Any) -> None:
            self.close()
            await self._when_done()

        row, refused = ui.element("div").classes("row"), Words("p", "").props("role=alert")
        with row:
            change_button(
                self._viewer,
                words,
                lambda: ChangeRequest("POST", "alerting", path, body()),
                done,
                refused,
                kind="strong",
            )
            button("Leave it", self.close)

    async def _history(self, alert: AlertAnswer, place: ui.element) -> None:
        path = path_of("v1", "alerts", alert.id, "history")
        with self._begin(place):
            try:
                steps = await self._viewer.rest.get(PageAnswer[TransitionAnswer], "alerting", path)
            except RestError as error:
                Words("p", str(error)).props("role=alert")
            else:
                with ui.element("ol").props("reversed"):
                    for each in steps.items:
                        at, times = each.changed_at_us, self._viewer.times
                        said = Words("li", f"{times.instant(at)} {CHANGES.get(each.change, each.change)}")
                        said.props["title"] = times.exact(at)
            button("Close", self.close)

    @property
    def _name(self) -> str:
        return "" if self._viewer.session.key is None else self._viewer.session.caller.name


def matchers_of(alert: AlertAnswer) -> dict[str, str]:
    """Return the matchers of a silence of this alert and of those like it: of its sensor, or its query and area."""
    of_sensor = {name: value for name, value in alert.labels.items() if name in ("sensor", "stream")}
    of_place = {name: value for name, value in (("query", alert.query), ("area", alert.area)) if value}
    return of_sensor or of_place or {"kind": alert.kind, "severity": alert.severity}
