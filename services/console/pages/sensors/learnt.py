"""Learnt templates of a sensor, which somebody accepts or rejects; nothing changes before."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from nicegui import ui

from services.console.drawing.template_picture import draw_template
from services.console.drawing.template_words import said_of
from services.console.pages.clock_words import shared_in_words
from services.console.pages.sensors.sensor_table import address_of
from services.console.pages.shell import Words, change_button, text_field
from services.console.pages.viewer import Viewer
from services.console.rest.documents import PageAnswer, TemplateAnswer
from services.console.rest.sensor_answers import ProposalAnswer, SharedAnswer
from services.console.rest.services import ChangeRequest, Parameters, RestError, path_of

MOST, LINKED = 1000, 20
PROPOSALS = "/v1/template-proposals"


async def _waiting(viewer: Viewer, sensor: str | None = None) -> list[ProposalAnswer]:
    """Return what waits for somebody to decide, of all or of one; where it cannot be read, say why."""
    asked: Parameters = {"state": "open", "sensor": sensor, "limit": MOST}
    try:
        return (await viewer.rest.get(PageAnswer[ProposalAnswer], "ingest", PROPOSALS, asked)).items
    except RestError as error:
        Words("p", f"Whether templates were learnt is not known: {error}").classes("soft small")
        return []


async def show_sensors_with_proposals(viewer: Viewer) -> None:
    """Show links to the sensors for which something was learnt, and waits."""
    sensors = sorted({each.sensor for each in await _waiting(viewer)})
    if not sensors:
        return
    with ui.element("p").classes("row"):
        Words("span", "Templates were learnt, and wait for somebody to decide:")
        for sensor in sensors[:LINKED]:
            link = ui.element("a")
            link.props["href"] = address_of(sensor)
            with link:
                Words("span", sensor)
        if len(sensors) > LINKED:
            Words("span", f"and {len(sensors) - LINKED} more")


async def show_proposals(viewer: Viewer, sensor: str, present: Mapping[str, TemplateAnswer]) -> None:
    """Show what was learnt for a sensor, and waits, beside the `present` template of each stream."""
    waiting = await _waiting(viewer, sensor)
    if not waiting:
        return
    with ui.element("section").classes("card stack").props('aria-label="Learnt templates"'):
        Words("h2", "Learnt, and not decided yet")
        for each in waiting:
            _show(viewer, each, present.get(each.stream))


def _show(viewer: Viewer, proposal: ProposalAnswer, present: TemplateAnswer | None) -> None:
    learnt = TemplateAnswer(proposal.id, proposal.edges_s, proposal.mass)
    with ui.element("div").classes("row template-row"):
        if present is not None:
            _picture("Now", present)
        _picture("Learnt", learnt)
        with ui.element("div").classes("stack"):
            Words("p", f"{proposal.stream}: by what was learnt, what it reports {said_of(learnt)}.")
            Words("p", f"Learnt from {proposal.errors} errors ({proposal.pool}), {_judged(proposal)}").classes("small")
            if proposal.shared is not None:
                Words("p", f"{shared_in_words(proposal.shared)} {_advice(proposal.shared)}").classes("small")
            if viewer.may("admin"):
                _offer(viewer, proposal)
            else:
                Words("p", "It takes a key with the scope admin to accept or reject it.").classes("soft small")


def _picture(title: str, template: TemplateAnswer) -> None:
    with ui.element("div").classes("stack"):
        Words("h3", title)
        draw_template(template.edges_s, template.mass, f"{title}: what it reports {said_of(template)}.")


def _judged(proposal: ProposalAnswer) -> str:
    if proposal.score is None or proposal.present_score is None:
        return "and not judged on later errors."
    gain = proposal.score - proposal.present_score
    better = "better" if gain > 0 else "worse"
    return f"{abs(gain):.2g} nats an error {better} than the present template on later errors."


def _advice(shared: SharedAnswer) -> str:
    if shared.clock is None:
        return "Declare a clock for them, with that error, and what is its own for each."
    return f"To accept it sets what is its own, too. The error of {shared.clock} is changed where the clock is."


def _offer(viewer: Viewer, proposal: ProposalAnswer) -> None:
    path, why = path_of("v1", "template-proposals", proposal.id), [""]

    def decision(verb: str) -> ChangeRequest:
        return ChangeRequest("POST", "ingest", f"{path}/{verb}", why=why[0])

    async def done(_answer: Any) -> None:
        ui.navigate.reload()

    row, refused = ui.element("div").classes("row"), Words("p", "").classes("field-fault").props("role=alert")
    with row:
        text_field("Why (for the audit trail)", "", lambda text: why.__setitem__(0, text))
        for words, kind in (("Accept", "strong"), ("Reject", "quiet")):
            decide = partial(decision, words.lower())
            change_button(viewer, words, decide, done, refused, kind=kind, label=proposal.stream)
