"""Learnt templates of a sensor, which somebody accepts or rejects; nothing changes before."""

from __future__ import annotations

from nicegui import ui

from services.console.drawing.template_picture import draw_template
from services.console.drawing.template_words import said_of
from services.console.pages.shell import Words, button, copy_button
from services.console.pages.viewer import Viewer
from services.console.rest.answers import PageAnswer, TemplateAnswer
from services.console.rest.sensor_answers import ProposalAnswer
from services.console.rest.services import Parameters, RestError, path_of

MOST = 1000
PROPOSALS = "/v1/template-proposals"


async def proposals_of(viewer: Viewer, sensor: str | None = None) -> list[ProposalAnswer]:
    """Return what waits for somebody to decide, of all or of one; none where proposals cannot be read."""
    try:
        asked: Parameters = {"state": "open", "limit": MOST, "sensor": sensor}
        return (await viewer.rest.get(PageAnswer[ProposalAnswer], "ingest", PROPOSALS, asked)).items
    except RestError:
        return []


async def show_proposals(viewer: Viewer, sensor: str) -> None:
    """Show what was learnt for a sensor, and waits."""
    waiting = await proposals_of(viewer, sensor)
    if not waiting:
        return
    with ui.element("section").classes("card stack").props('aria-label="Learnt templates"'):
        Words("h2", "Learnt, and not decided yet")
        for each in waiting:
            _show(viewer, each)


def _show(viewer: Viewer, proposal: ProposalAnswer) -> None:
    template = TemplateAnswer(proposal.id, proposal.edges_s, proposal.mass)
    said = f"{proposal.stream}: what it reports {said_of(template)}."
    with ui.element("div").classes("row template-row"):
        draw_template(proposal.edges_s, proposal.mass, said)
        with ui.element("div").classes("stack"):
            Words("p", said)
            Words("p", f"Learnt from {proposal.errors} errors ({proposal.pool}), {_judged(proposal)}").classes("small")
            if viewer.may("admin"):
                _offer(viewer, proposal)


def _judged(proposal: ProposalAnswer) -> str:
    if proposal.score is None or proposal.present_score is None:
        return "and not judged on later errors."
    gain = proposal.score - proposal.present_score
    better = "better" if gain > 0 else "worse"
    return f"{abs(gain):.2g} nats an error {better} than the present template on later errors."


def _offer(viewer: Viewer, proposal: ProposalAnswer) -> None:
    path = path_of("v1", "template-proposals", proposal.id)

    async def decide(verb: str) -> None:
        try:
            await viewer.rest.send("POST", "ingest", f"{path}/{verb}")
        except RestError as error:
            said.set_text(str(error))
        else:
            ui.navigate.reload()

    with ui.element("div").classes("row"):
        button("Accept", lambda: decide("accept"), kind="strong", label=proposal.stream)
        button("Reject", lambda: decide("reject"), label=proposal.stream)
        copy_button(lambda: viewer.rest.curl("POST", "ingest", f"{path}/accept"))
    said = Words("p", "").classes("field-fault").props("role=alert")
