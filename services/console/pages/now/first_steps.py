"""What to do first on a system that has seen nothing yet."""

from __future__ import annotations

import time
from typing import Any

from nicegui import ui

from services.common.instants import in_rfc_3339
from services.console.pages.shell import Words, button, choice, copy_button, empty_state
from services.console.pages.viewer import Viewer
from services.console.rest.answers import SensorAnswer
from services.console.rest.services import RestError

OFFERED = 50


def show_first_steps(viewer: Viewer, sensors: list[SensorAnswer]) -> None:
    """Explain what is missing, and offer to post a detection."""
    with empty_state("Nothing has been seen yet"):
        Words("p", "This page shows what sensors report, and what of it happened together. No sensor has reported yet.")
        with ui.element("ol").classes("steps"):
            with ui.element("li"):
                Words("strong", "See it work. ")
                Words("span", "Stop the system and run make demo: it plays the neutrinos of 1987 and a harbour of now.")
            with ui.element("li"):
                Words("strong", "Post a detection. ")
                _offer_post(viewer, sensors)
            with ui.element("li"):
                Words("strong", "Bring your own sensors. ")
                Words("span", "Each needs an area, a stream and a template, which says how late it reports. ")
                Words("code", "config/sensors.yaml")
                Words("span", " declares them; PUT /v1/sensors/{id} adds one while the system runs.")


def _offer_post(viewer: Viewer, sensors: list[SensorAnswer]) -> None:
    if not sensors:
        Words("span", "There is no sensor yet that could report: declare one first.")
        return
    if not viewer.may("ingest"):
        Words("span", "Your key may not post detections; one with the scope ingest may.")
        return
    chosen = {"sensor": sensors[0].id}
    said = Words("span", "")

    async def post() -> None:
        try:
            await viewer.rest.send("POST", "ingest", "/v1/detections", _body(chosen["sensor"], sensors))
            said.set_text("Accepted: it appears in its lane within a second.")
        except RestError as error:
            said.set_text(str(error))

    with ui.element("div").classes("row"):
        offered = {each.id: f"{each.id} ({each.area})" for each in sensors[:OFFERED]}
        choice("Sensor", offered, chosen["sensor"], lambda value: chosen.update(sensor=value))
        button("Report something of now", post, kind="strong")
        copy_button(lambda: viewer.rest.curl("POST", "ingest", "/v1/detections", body=_body(chosen["sensor"], sensors)))
    said.props("role=status")


def _body(sensor: str, sensors: list[SensorAnswer]) -> list[dict[str, Any]]:
    streams = next(each.streams for each in sensors if each.id == sensor)
    return [{"sensor": sensor, "stream": min(streams), "detected_at": in_rfc_3339(time.time_ns() // 1000)}]
