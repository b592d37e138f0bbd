"""The runs that there are: what was asked, how far each has come, and a way to cancel or remove it."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from services.console.pages.history.run_words import PATH, address_of, found_by, kind_of, range_of, state_of
from services.console.pages.plain_table import plain_table
from services.console.pages.shell import Words, button, copy_button, empty_state
from services.console.pages.viewer import Viewer
from services.console.rest.run_answers import RunAnswer, RunListAnswer
from services.console.rest.services import RestError, path_of


class RunList:
    """All runs, the newest first; only the words of one that goes on change, so that nobody loses the focus."""

    def __init__(self, viewer: Viewer, chosen: str) -> None:
        self._viewer, self._chosen = viewer, chosen
        self._drawn: list[tuple[str, bool]] | None = None
        self._states: dict[str, tuple[Words, ui.element, Words]] = {}
        self.runs: Sequence[RunAnswer] = ()
        with ui.element("section").classes("card").props('aria-label="Runs"'):
            with ui.element("div").classes("row spread"):
                Words("h2", "Runs")
                copy_button(viewer.rest.curl("GET", "alerting", PATH))
            self._fault = Words("p", "").classes("soft").props("role=status")
            self._box = ui.element("div")

    async def load(self) -> None:
        """Ask, and draw what has changed."""
        try:
            listed = await self._viewer.rest.get(RunListAnswer, "alerting", PATH)
        except RestError as error:
            self._fault.set_text(f"{error} What is shown is old.")
            return
        self._fault.set_text("")
        self.show(listed.items)

    def show(self, runs: Sequence[RunAnswer]) -> None:
        """Show these runs."""
        self.runs = runs
        drawn = [(each.run, each.is_over) for each in runs]
        if drawn != self._drawn:
            self._drawn = drawn
            self._draw(runs)
        for each in runs:
            self._say(each)

    def _say(self, run: RunAnswer) -> None:
        state, bar, found = self._states[run.run]
        state.set_text(state_of(run))
        found.set_text(found_by(run))
        value = str(run.progress)
        if bar.props.get("value") != value:
            bar.props["value"] = value
            bar.update()

    def _draw(self, runs: Sequence[RunAnswer]) -> None:
        self._box.clear()
        self._states.clear()
        with self._box:
            if not runs:
                with empty_state("No run yet"):
                    Words("p", "Ask for a run to see what a query would have found, or what it did find.")
                return
            with plain_table(("Query", "Range", "How far", "Found", "Do")):
                for each in runs:
                    self._row(each)

    def _row(self, run: RunAnswer) -> None:
        with ui.element("tr") as row:
            if run.run == self._chosen:
                row.props('aria-current="true"')
            with ui.element("td"):
                link = ui.element("a")
                link.props["href"] = address_of(run.run)
                with link:
                    Words("strong", run.request.query_id)
                Words("p", kind_of(run.request)).classes("soft small")
            Words("td", range_of(run.request, self._viewer.times))
            with ui.element("td"):
                state = Words("span", "")
                bar = ui.element("progress").props("max=1")
                bar.props["aria-label"] = f"Progress of {run.request.query_id}"
                bar.set_visibility(not run.is_over)
            found = Words("td", "")
            self._states[run.run] = state, bar, found
            with ui.element("td"):
                self._offer(run)

    def _offer(self, run: RunAnswer) -> None:
        if not self._viewer.may("queries"):
            return
        words = "Remove" if run.is_over else "Cancel"
        asked = [False]

        async def remove() -> None:
            if not asked[0]:
                asked[0] = True
                said.set_text("Its results are deleted. Press again to do so.")
                return
            try:
                await self._viewer.rest.send("DELETE", "alerting", path_of("v1", "history-runs", run.run))
            except RestError as error:
                said.set_text(str(error))
            else:
                await self.load()

        button(words, remove, label=f"the run of {run.request.query_id} from {run.request.from_us}")
        said = Words("p", "").classes("soft small").props("role=status")
