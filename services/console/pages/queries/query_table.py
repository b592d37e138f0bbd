"""All queries in a table: what each asks, in which state it is, and how much it finds."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from nicegui import ui

from services.common.clock import system_clock_us
from services.console.pages.plain_table import plain_table
from services.console.pages.queries.examples import show_examples
from services.console.pages.queries.query_words import asked, state_of, suspensions
from services.console.pages.shell import Words, empty_state
from services.console.pages.time_words import rate
from services.console.pages.viewer import Viewer
from services.console.rest.documents import MatchAnswer, PageAnswer
from services.console.rest.query_answers import ExplainAnswer, QueryAnswer, QueryListAnswer
from services.console.rest.services import Parameters, RestError, path_of

HOUR_US = 3_600_000_000
COUNTED = 500  # of the matches of an hour
FIGURES_FOR = 30  # queries; explaining one takes up to some tenths of a second
SHOWN = 500


def address_of(id_: str, **more: str) -> str:
    """Return the address of the page of a query."""
    return f"/queries?{urlencode({'query': id_, **more})}"


class QueryTable:
    """The table; its figures come one by one, so that nobody waits for them."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._shown: list[QueryAnswer] | None = None
        self._figures: dict[str, tuple[Words, Words]] = {}
        self._waiting: list[str] = []
        self._fault = Words("p", "").classes("soft").props("role=status")
        self._box = ui.element("section").classes("card").props('aria-label="Queries"')

    async def load(self) -> None:
        """Ask, and draw anew what has changed."""
        try:
            listed = await self._viewer.rest.get(QueryListAnswer, "alerting", "/v1/queries")
        except RestError as error:
            self._fault.set_text(str(error))
            return
        self._fault.set_text("")
        if listed.items != self._shown:
            self._shown = listed.items
            self._draw(sorted(listed.items, key=lambda each: (not each.suspended, each.id)))

    async def next_figure(self) -> None:
        """Ask for the figures of one query more."""
        if not self._waiting:
            return
        id_ = self._waiting.pop(0)
        matches, chance = self._figures[id_]
        if not matches.is_deleted:
            matches.set_text(await self._found(id_))
        is_join = any(each.id == id_ and each.is_join for each in self._shown or [])
        by_chance, exact = await self._by_chance(id_) if is_join else ("does not apply", "")
        if not chance.is_deleted:
            chance.set_text(by_chance)
            chance.props["title"] = exact

    def _draw(self, queries: Sequence[QueryAnswer]) -> None:
        self._box.clear()
        self._figures, self._waiting = {}, []
        with self._box:
            if not queries:
                with empty_state("Nothing is asked yet"):
                    Words("p", "A query says which detections belong together. Begin with an example:")
                    show_examples()
                return
            with plain_table(("Query", "State", "Last hour", "By chance", "Changed")):
                for nth, each in enumerate(queries[:SHOWN]):
                    self._row(each, "…" if nth < FIGURES_FOR else "not counted")
            if len(queries) > SHOWN:
                Words("p", f"{len(queries) - SHOWN} more: GET /v1/queries lists all.").classes("soft small")
            if len(queries) > FIGURES_FOR:
                Words("p", f"The first {FIGURES_FOR} are counted. The page of a query says more.").classes("soft small")
        self._waiting = [each.id for each in queries[:FIGURES_FOR]]

    def _row(self, query: QueryAnswer, figures: str) -> None:
        with ui.element("tr"):
            with ui.element("td"):
                link = ui.element("a")
                link.props["href"] = address_of(query.id)
                with link:
                    Words("strong", query.id)
                Words("p", asked(query.id, query.query)).classes("soft small")
            with ui.element("td"):
                Words("span", state_of(query)).classes("state-word").props["data-state"] = state_of(query)
                for sentence in suspensions(query):
                    Words("p", sentence).classes("soft small")
            matches, chance = Words("td", figures), Words("td", figures)
            self._figures[query.id] = (matches.classes("number"), chance.classes("number"))
            changed = Words("td", self._viewer.times.instant(query.changed_at_us)).classes("number")
            changed.props["title"] = f"version {query.version}, {self._viewer.times.exact(query.changed_at_us)}"

    async def _found(self, id_: str) -> str:
        asked_for: Parameters = {"query": id_, "from": system_clock_us() - HOUR_US, "limit": COUNTED}
        try:
            page = await self._viewer.rest.get(PageAnswer[MatchAnswer], "alerting", "/v1/matches", asked_for)
        except RestError:
            return "unknown"
        more = "more than " if page.next_cursor else ""
        return f"{more}{len(page.items)} {'match' if len(page.items) == 1 else 'matches'}"

    async def _by_chance(self, id_: str) -> tuple[str, str]:
        """Return how often chance alone gives a match, in words and as it is."""
        path = path_of("v1", "queries", id_, "explain")
        try:
            explained = await self._viewer.rest.get(ExplainAnswer, "alerting", path)
        except RestError:
            return "unknown", ""
        chance = explained.explanation.chance
        if chance is None:
            return "not known yet", ""
        return rate(chance.per_hour / 3600), f"{chance.per_hour!r} an hour"
