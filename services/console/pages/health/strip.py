"""The line as a strip: a box for each station, from the gateways to people. Drawn once; then only its words change."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from services.console.pages.health.fault_list import HealthFault
from services.console.pages.health.stations import StationKind, StationView
from services.console.pages.number_words import UNKNOWN
from services.console.pages.shell import Words, copy_button
from services.console.pages.viewer import Viewer
from services.console.rest.line_watch import LineReading

SIGNS = {"well": "✓", "wrong": "✕", "unknown": "?"}
STATE_WORDS = {"well": "Well", "wrong": "Wrong", "unknown": "Unknown"}


class StationBox:
    """One station: sign and word of its state, why, and its figures."""

    def __init__(self, kind: StationKind, line: LineReading) -> None:
        self._kind = kind
        view = kind.view(line, ())
        with ui.element("li").classes("station") as self._box:
            Words("h3", kind.name)
            with ui.element("p").classes("station-state"):
                self._sign = Words("span", "").classes("station-sign").props("aria-hidden=true")
                self._word = Words("strong", "")
            self._why = Words("p", "").classes("soft small")
            with ui.element("dl"):
                self._figures = [self._figure(each.name) for each in view.figures]
        self.show(line, ())

    @staticmethod
    def _figure(name: str) -> Words:
        with ui.element("div"):
            Words("dt", name)
            return Words("dd", "").classes("number")

    def show(self, line: LineReading, faults: Sequence[HealthFault]) -> None:
        """Say what is known now."""
        view = self._kind.view(line, faults)
        self._say_state(view)
        for shown, figure in zip(self._figures, view.figures, strict=True):
            shown.set_text(figure.words)
            shown.classes(**{"add" if figure.words == UNKNOWN else "remove": "soft"})
            if shown.props.get("title") != figure.exact:
                shown.props["title"] = figure.exact
                shown.update()

    def _say_state(self, view: StationView) -> None:
        if self._box.props.get("data-state") != view.state:
            self._box.props["data-state"] = view.state
            self._box.update()
        self._sign.set_text(SIGNS[view.state])
        self._word.set_text(STATE_WORDS[view.state])
        self._why.set_text(view.why)


class Strip:
    """Some stations in their order."""

    def __init__(self, label: str, kinds: Sequence[StationKind], line: LineReading, look: str = "strip") -> None:
        with ui.element("ol").classes(look) as strip:
            strip.props["aria-label"] = label
            self._boxes = [StationBox(each, line) for each in kinds]

    def show(self, line: LineReading, faults: Sequence[HealthFault]) -> None:
        """Say what is known now."""
        for box in self._boxes:
            box.show(line, faults)


def offer_questions(viewer: Viewer) -> None:
    """Show how to ask for the same with curl."""
    with ui.element("details").classes("small"):
        Words("summary", "Ask the same with curl")
        with ui.element("ul").classes("questions"):
            for component in viewer.rest.services.urls:
                for path in ("/readyz", "/metrics"):
                    _question(viewer.rest.curl("GET", component, path), f"{path} of {component}")
            asked = {"kind": "system", "state": "firing"}
            _question(viewer.rest.curl("GET", "alerting", "/v1/alerts", asked), "alerts of the system that fire")


def _question(curl: str, words: str) -> None:
    with ui.element("li"):
        copy_button(curl, f"Copy as curl: {words}")
