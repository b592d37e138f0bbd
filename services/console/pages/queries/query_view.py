"""One query: its state, what another threshold would give, its editor and its versions."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from services.console.pages.queries.draft import Draft
from services.console.pages.queries.editor import QueryEditor
from services.console.pages.queries.known_names import KnownNames
from services.console.pages.queries.query_table import address_of
from services.console.pages.queries.query_words import asked, state_of, suspensions
from services.console.pages.queries.versions import show_versions
from services.console.pages.queries.what_if import ThresholdSlider
from services.console.pages.shell import Words, button, change_button, page_head, text_field
from services.console.pages.shown_range import ShownRange
from services.console.pages.viewer import Viewer
from services.console.rest.query_answers import QueryAnswer
from services.console.rest.services import ChangeRequest, RestError, path_of

LOOK_EVERY_S = 2.0


class QueryView:
    """The page of one query; its state is asked for again and again, the rest when somebody has changed it."""

    def __init__(self, viewer: Viewer, query: QueryAnswer, known: KnownNames) -> None:
        self._viewer, self._query, self._known = viewer, query, known
        self._path = path_of("v1", "queries", query.id)
        self._why = ""

    async def draw(self) -> None:
        """Build the page."""
        with page_head(f"Query {self._query.id}"):
            back = ui.element("a").classes("quiet").props('href="/queries"')
            with back:
                ui.label("All queries")
        with ui.element("section").classes("card stack").props('aria-label="State"'):
            self._state_box = ui.element("div").classes("stack")
            self._offer()
        self._say_state()
        if self._query.is_join:
            ThresholdSlider(self._viewer, self._query, self._reload)
        document = {name: each for name, each in self._query.query.items() if name != "id"}
        draft = Draft(self._query.id, document, self._query.version)
        QueryEditor(self._viewer, draft, self._known, self._saved)
        await show_versions(self._viewer, self._query.id)
        ui.timer(LOOK_EVERY_S, self._look)

    def _say_state(self) -> None:
        query = self._query
        self._state_box.clear()
        with self._state_box:
            with ui.element("div").classes("row"):
                Words("strong", state_of(query)).classes("state-word").props["data-state"] = state_of(query)
                Words("span", asked(query.id, query.query))
            for sentence in [*suspensions(query), *query.warnings]:
                Words("p", sentence).classes("field-fault")
            with ui.element("div").classes("row"):
                for words, span in (("See what it finds now", "600"), ("and over a day", "86400")):
                    shown = ShownRange.of_address({"query": query.id, "span": span})
                    link = ui.element("a")
                    link.props["href"] = shown.address()
                    with link:
                        ui.label(words)

    def _offer(self) -> None:
        """Show what may be done about the query as a whole."""
        if not self._viewer.may("queries"):
            return
        with ui.element("div").classes("row"):
            text_field("Why (for the audit trail)", "", lambda text: setattr(self, "_why", text))
            self._acts = ui.element("div").classes("row")
        self._confirm = ui.element("div").classes("row")
        self._refused = Words("p", "").classes("field-fault").props("role=alert")
        self._offer_acts()

    def _offer_acts(self) -> None:
        self._acts.clear()
        with self._acts:
            for words in self._offered():
                change = partial(self._change, "POST", f"/{words.lower()}")
                change_button(self._viewer, words, change, self._reload, self._refused)
            button("Remove", self._ask_removal)

    def _offered(self) -> list[str]:
        """Return what would change something: a query that is suspended in one area still runs in the others."""
        query = self._query
        return ["Resume"] if query.paused else ["Pause", "Resume"] if query.suspended else ["Pause"]

    def _ask_removal(self) -> None:
        self._confirm.clear()
        with self._confirm:
            Words("span", "Its matches stay. Nobody is told of new ones.")
            removal = partial(self._change, "DELETE", "")
            change_button(self._viewer, "Remove it for good", removal, self._leave, self._refused, kind="strong")
            button("Leave it", self._confirm.clear)

    @property
    def _seen(self) -> dict[str, str]:
        return {"If-Match": f'"{self._query.version}"'}

    def _change(self, method: str, part: str) -> ChangeRequest:
        return ChangeRequest(method, "alerting", f"{self._path}{part}", None, self._seen, self._why)

    async def _look(self) -> None:
        """Ask how the query is."""
        try:
            now = await self._viewer.rest.get(QueryAnswer, "alerting", self._path)
        except RestError:
            return  # the banner says so, or somebody has removed it
        if now != self._query:
            offered, self._query = self._offered(), now
            self._say_state()
            if self._viewer.may("queries") and self._offered() != offered:
                self._offer_acts()

    async def _reload(self, _answer: Any = None) -> None:
        ui.navigate.to(address_of(self._query.id))

    async def _saved(self, id_: str) -> None:
        ui.navigate.to(address_of(id_))

    async def _leave(self, _answer: Any) -> None:
        ui.navigate.to("/queries")
