"""What to do first on a system that has seen nothing yet."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from services.common.clock import in_rfc_3339, system_clock_us
from services.console.pages.now import demo_note
from services.console.pages.queries.examples import show_examples
from services.console.pages.shell import Words, button, change_button, choice, copy_button, empty_state
from services.console.pages.viewer import Viewer
from services.console.rest.documents import SensorAnswer
from services.console.rest.services import ChangeRequest, RestError

OFFERED = 50


def show_first_steps(viewer: Viewer, sensors: list[SensorAnswer]) -> None:
    """Explain what is missing, and offer what leads to something to see."""
    with empty_state("Nothing has been seen yet"):
        Words("p", "This page shows what sensors report, and what of it happened together. No sensor has reported yet.")
        with ui.element("ol").classes("steps"):
            with ui.element("li"):
                Words("strong", "See it work. ")
                _offer_demo(viewer)
            with ui.element("li"):
                Words("strong", "Define a sensor. ")
                Words("span", "It needs an area, a stream and a template, which says how late it reports. ")
                _link("/sensors?new=", "Define a sensor")
            with ui.element("li"):
                Words("strong", "Post a detection. ")
                _offer_post(viewer, sensors)
            with ui.element("li"):
                Words("strong", "Ask what belongs together. ")
                Words("span", "Begin with an example:")
                show_examples()
            with ui.element("li"):
                Words("strong", "Be told. ")
                Words("span", "A webhook, an Alertmanager or people hear of each alert that a query makes. ")
                _link("/alerts", "Make a receiver")


def _link(address: str, words: str) -> None:
    with ui.element("a").props(f'href="{address}"'):
        ui.label(words)


def _offer_demo(viewer: Viewer) -> None:
    Words("span", "Three detectors saw the neutrinos of a supernova in 1987, with clocks that did not agree. ")
    if not viewer.may("admin") or not demo_note.is_there():
        Words(
            "span", "A key with the scope admin may load what they saw." if demo_note.is_there() else "Run make demo."
        )
        return

    async def load() -> None:
        try:
            await demo_note.load_demo(viewer.rest, said.set_text)
        except RestError as error:
            said.set_text(str(error))

    with ui.element("div").classes("row"):
        button("Load what they saw", load, kind="strong")
        copy_button(lambda: demo_note.commands(viewer.rest), does="Load what they saw")
    said = Words("span", "").props("role=status")


def _offer_post(viewer: Viewer, sensors: list[SensorAnswer]) -> None:
    if not sensors:
        Words("span", "There is no sensor yet that could report: define one first.")
        return
    if not viewer.may("ingest"):
        Words("span", "Your key may not post detections; one with the scope ingest may.")
        return
    chosen = {"sensor": sensors[0].id}

    def change() -> ChangeRequest:
        return ChangeRequest("POST", "ingest", "/v1/detections", _body(chosen["sensor"], sensors))

    async def done(_answer: Any) -> None:
        said.set_text("Accepted: it appears in its lane within a second.")

    row = ui.element("div").classes("row")
    said = Words("span", "").props("role=status")
    with row:
        offered = {each.id: f"{each.id} ({each.area})" for each in sensors[:OFFERED]}
        choice("Sensor", offered, chosen["sensor"], lambda value: chosen.update(sensor=value))
        change_button(viewer, "Report something of now", change, done, said, kind="strong")


def _body(sensor: str, sensors: list[SensorAnswer]) -> list[dict[str, Any]]:
    streams = next(each.streams for each in sensors if each.id == sensor)
    return [{"sensor": sensor, "stream": min(streams), "detected_at": in_rfc_3339(system_clock_us())}]
