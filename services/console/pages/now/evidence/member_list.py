"""Who reported: each member with its template, and how probably it belongs; and what a sensor read of late."""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec
from nicegui import ui

from services.console.drawing.table_columns import spread_of, template_id
from services.console.drawing.template_words import said_of
from services.console.pages.now.evidence.reading_curve import draw_readings, readings_of
from services.console.pages.now.history_of_range import read_recent
from services.console.pages.one_event_words import STRANGER_BELOW
from services.console.pages.shell import Words, figure
from services.console.pages.time_words import probability
from services.console.pages.viewer import Viewer
from services.console.rest.documents import MemberAnswer, TemplateAnswer
from services.console.rest.evidence_answers import EvidenceAnswer


async def templates_of(viewer: Viewer, members: list[MemberAnswer]) -> dict[str, TemplateAnswer]:
    """Return the templates that the members used, by their ids."""
    ids = {template_id(member) for member in members} - {""}
    found = await viewer.templates.find(viewer.rest, ids)
    return found | {
        id_: made for each in members if (id_ := template_id(each)) not in found and (made := spread_of(each))
    }


def list_members(
    viewer: Viewer,
    title: str,
    members: list[MemberAnswer],
    templates: Mapping[str, TemplateAnswer],
    evidence: EvidenceAnswer | None = None,
) -> None:
    """List members below a title."""
    Words("h3", title)
    with ui.element("ul").classes("members"):
        for member in members:
            template = templates.get(template_id(member))
            with ui.element("li"):
                Words("strong", member.sensor)
                said = "" if template is None else f", {said_of(template)}"
                when = Words("span", f" seen {viewer.times.clock(member.detected_at_us)}{said}")
                when.props["title"] = viewer.times.exact(member.detected_at_us)
                belongs = None if evidence is None else evidence.belongs(member.sensor, member.id)
                if belongs is not None:
                    figure(belonging(belongs), repr(belongs)).classes("soft small block")
                if attributes := msgspec.json.decode(member.attributes):
                    Words("code", json.dumps(attributes, ensure_ascii=False)).classes("block")


def belonging(belongs: float) -> str:
    """Say how probable it is that a detection belongs to the event of a match."""
    if belongs < STRANGER_BELOW:
        return f"perhaps a stranger: it belongs with {probability(belongs)}"
    return f"belongs with {probability(belongs)}"


async def show_curve(viewer: Viewer, sensor: str, stream: str) -> None:
    """Draw what the sensor read of late, if it reads numbers."""
    recent = await read_recent(viewer)
    if readings := readings_of(recent.items, sensor, stream):
        Words("h3", f"What {sensor} read of late")
        draw_readings(readings, viewer.times)
