"""The page Sensors: all of them, one of them, or a new one, as its address says."""

from __future__ import annotations

from nicegui import ui

from services.console.pages.sensors.learnt import show_sensors_with_proposals
from services.console.pages.sensors.sensor_form import SensorForm
from services.console.pages.sensors.sensor_table import SensorTable, address_of
from services.console.pages.sensors.sensor_view import LOOK_EVERY_S, SensorView
from services.console.pages.sensors.stream_table import StreamTable
from services.console.pages.sensors.template_table import TemplateTable
from services.console.pages.shell import ConsolePage, Words, page_head
from services.console.pages.shown_range import NAME_CHARACTERS
from services.console.pages.viewer import Viewer
from services.console.rest.documents import SensorAnswer
from services.console.rest.sensor_answers import StreamListAnswer
from services.console.rest.services import path_of


async def show_sensors(viewer: Viewer) -> None:
    """Fill the page."""
    asked = viewer.request.query_params
    if asked.get("sensor"):
        path = path_of("v1", "sensors", asked["sensor"][:NAME_CHARACTERS])
        sensor = await viewer.rest.get(SensorAnswer, "ingest", path)
        await SensorView(viewer, sensor, await _streams(viewer)).draw()
    elif "new" in asked:
        await _show_new(viewer)
    else:
        await _show_all(viewer)


async def _show_all(viewer: Viewer) -> None:
    with page_head("Sensors"):
        if viewer.may("admin"):
            link = ui.element("a").classes("quiet").props('href="/sensors?new="')
            with link:
                ui.label("New sensor")
    await show_sensors_with_proposals(viewer)
    table = SensorTable(viewer)
    templates, streams = TemplateTable(viewer), StreamTable(viewer)
    await table.load()
    await templates.load()
    await streams.load()

    async def look() -> None:
        await table.look()
        await templates.look()
        await streams.look()

    ui.timer(LOOK_EVERY_S, look, immediate=False)


async def _show_new(viewer: Viewer) -> None:
    page_head("New sensor")
    Words("p", "Sensors of one area may see the same event. A stream is one kind of report, such as noise.")
    Words("p", "A template says how many seconds what happened lies from the report: a time before it is negative.")

    async def saved(id_: str) -> None:
        ui.navigate.to(address_of(id_))

    with ui.element("section").classes("card stack").props('aria-label="The sensor"'):
        SensorForm(viewer, {"streams": {}}, None, await _streams(viewer), saved)


async def _streams(viewer: Viewer) -> list[str]:
    return [each.name for each in (await viewer.rest.get(StreamListAnswer, "ingest", "/v1/streams")).items]


SENSORS = ConsolePage("/sensors", "Sensors", show_sensors)
