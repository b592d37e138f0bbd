"""The page History: runs over the past, what they found or learnt, and how they differ from others and what is live."""

from __future__ import annotations

from nicegui import ui

from services.console.pages.docs_link import docs_link
from services.console.pages.history.asking import AskForm
from services.console.pages.history.learning_panel import LearnForm, LearntTable
from services.console.pages.history.outcome import RunOutcome
from services.console.pages.history.run_difference import DifferenceView
from services.console.pages.history.run_list import RunList
from services.console.pages.history.run_words import LEARNING_PATH, OF_LEARNING, OF_QUERIES, PATH
from services.console.pages.shell import ConsolePage, Words, copy_button, empty_state, open_anew_when, page_head
from services.console.pages.viewer import Viewer
from services.console.rest.documents import PageAnswer
from services.console.rest.query_answers import QueryListAnswer
from services.console.rest.run_answers import LearningAnswer, RunAnswer
from services.console.rest.services import RestError

LOOK_EVERY_S = 2.0
START = "COINCIDE_ARCHIVE_PATH=.local/archive make up"
UNAVAILABLE = 503


async def show_history(viewer: Viewer) -> None:
    """Fill the page."""
    page_head("History")
    try:
        runs = (await viewer.rest.get(PageAnswer[RunAnswer], "alerting", PATH)).items
        learning = (await viewer.rest.get(PageAnswer[LearningAnswer], "alerting", LEARNING_PATH)).items
    except RestError as error:
        if error.status != UNAVAILABLE:
            raise
        _say_how_to_start(viewer, str(error))
        open_anew_when(viewer, ("alerting", PATH))
        return
    await _show_forms(viewer, is_open=not runs)
    await _show_runs(viewer, runs)
    await _show_learning(viewer, learning)


async def _show_forms(viewer: Viewer, *, is_open: bool) -> None:
    if viewer.may("queries"):
        queries = (await viewer.rest.get(QueryListAnswer, "alerting", "/v1/queries")).items
        AskForm(viewer, sorted(each.id for each in queries), is_open=is_open)
        await LearnForm(viewer).draw()


async def _show_runs(viewer: Viewer, runs: list[RunAnswer]) -> None:
    asked = viewer.request.query_params
    chosen, other = asked.get("run", "")[:64], asked.get("with", "")[:64]
    outcome = RunOutcome(viewer, chosen) if chosen else None
    beside = ui.element("div").classes("beside-run")
    listed = RunList(viewer, OF_QUERIES, PageAnswer[RunAnswer], chosen)
    listed.show(runs)
    is_compared = [False]

    async def look() -> None:
        await listed.load()
        if outcome is not None:
            await outcome.load()
            await compare(outcome)

    async def compare(outcome: RunOutcome) -> None:
        run = outcome.run
        if is_compared[0] or run is None or not run.has_matches:
            return
        is_compared[0] = True
        with beside:
            view = DifferenceView(viewer, run, listed.runs, other)
        await view.load()

    if outcome is not None:
        await outcome.load()
        await compare(outcome)
    ui.timer(LOOK_EVERY_S, look)


async def _show_learning(viewer: Viewer, runs: list[LearningAnswer]) -> None:
    chosen = viewer.request.query_params.get("learning", "")[:64]
    table = LearntTable(viewer, chosen) if chosen else None
    listed = RunList(viewer, OF_LEARNING, PageAnswer[LearningAnswer], chosen)
    listed.show(runs)

    async def look() -> None:
        await listed.load()
        if table is not None:
            await table.load()

    if table is not None:
        await table.load()
    ui.timer(LOOK_EVERY_S, look)


def _say_how_to_start(viewer: Viewer, why: str) -> None:
    with empty_state("Runs over history cannot be asked for"):
        Words("p", f"{why[:1].upper()}{why[1:]}.")
        Words("p", "Keep an archive, and the history process runs beside it:")
        Words("pre", START).props("tabindex=0")
        copy_button(START, "Copy the command")
        with ui.element("p").classes("soft small"):
            docs_link(viewer, "docs/how-to/ask-the-past.md")
            Words("span", " says more.")


HISTORY = ConsolePage("/history", "History", show_history)
