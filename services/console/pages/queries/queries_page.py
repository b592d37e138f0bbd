"""The page Queries: all of them, one of them, or a new one, as its address says."""

from __future__ import annotations

from nicegui import ui

from services.console.pages.queries.draft import Draft
from services.console.pages.queries.editor import QueryEditor
from services.console.pages.queries.examples import document_of, show_examples
from services.console.pages.queries.known_names import read_known_names
from services.console.pages.queries.query_table import QueryTable, address_of
from services.console.pages.queries.query_view import QueryView
from services.console.pages.shell import ConsolePage, Words, page_head
from services.console.pages.shown_range import NAME_CHARACTERS
from services.console.pages.viewer import Viewer
from services.console.rest.query_answers import QueryAnswer
from services.console.rest.services import path_of

LOOK_EVERY_S, FIGURE_EVERY_S = 3.0, 0.5


async def show_queries(viewer: Viewer) -> None:
    """Fill the page."""
    asked = viewer.request.query_params
    if "new" in asked:
        await _show_new(viewer, asked["new"])
    elif asked.get("query"):
        path = path_of("v1", "queries", asked["query"][:NAME_CHARACTERS])
        query = await viewer.rest.get(QueryAnswer, "alerting", path)
        await QueryView(viewer, query, await read_known_names(viewer)).draw()
    else:
        await _show_all(viewer)


async def _show_all(viewer: Viewer) -> None:
    with page_head("Queries"):
        if viewer.may("queries"):
            with ui.element("a").classes("quiet").props('href="/queries?new="'):
                ui.label("New query")
    table = QueryTable(viewer)
    await table.load()
    ui.timer(LOOK_EVERY_S, table.load)
    ui.timer(FIGURE_EVERY_S, table.next_figure)


async def _show_new(viewer: Viewer, example: str) -> None:
    page_head("New query")
    Words("p", "Say which streams play, and how near in time they have to be. Nothing is asked before you save it.")
    known = await read_known_names(viewer)
    with ui.element("details").classes("card"):
        Words("summary", "Begin with an example")
        show_examples()
    draft = Draft("", document_of(example, known))

    async def saved(id_: str) -> None:
        ui.navigate.to(address_of(id_))

    QueryEditor(viewer, draft, known, saved)


QUERIES = ConsolePage("/queries", "Queries", show_queries)
