"""The runs that there are: what was asked, how far each has come, and a way to cancel or remove it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic

from nicegui import ui

from services.console.pages.history.run_words import R, RunKind, exact_range_of, range_of, state_of
from services.console.pages.plain_table import plain_table
from services.console.pages.shell import Words, button, change_button, copy_button, empty_state, figure
from services.console.pages.viewer import Viewer
from services.console.rest.documents import PageAnswer
from services.console.rest.services import ChangeRequest, RestError, path_of


class RunList(Generic[R]):
    """Runs of a kind, the newest first; only the words of one that goes on change, so that nobody loses the focus."""

    def __init__(self, viewer: Viewer, kind: RunKind[R], answer: type[PageAnswer[R]], chosen: str) -> None:
        self._viewer, self._chosen = viewer, chosen
        self._kind: RunKind[R] = kind
        self._answer: type[PageAnswer[R]] = answer
        self._drawn: list[tuple[str, bool]] | None = None
        self._states: dict[str, tuple[Words, ui.element, Words]] = {}
        self.runs: Sequence[R] = ()
        with ui.element("section").classes("card").props(f'aria-label="{kind.title}"'):
            with ui.element("div").classes("row spread"):
                Words("h2", kind.title)
                copy_button(viewer.rest.curl("GET", "alerting", kind.path))
            self._fault = Words("p", "").classes("soft").props("role=status")
            self._box = ui.element("div")

    async def load(self) -> None:
        """Ask, and draw what has changed."""
        try:
            listed = await self._viewer.rest.get(self._answer, "alerting", self._kind.path)
        except RestError as error:
            self._fault.set_text(f"{error} What is shown is old.")
            return
        self._fault.set_text("")
        self.show(listed.items)

    def show(self, runs: Sequence[R]) -> None:
        """Show these runs."""
        self.runs = runs
        drawn = [(each.run, each.is_over) for each in runs]
        if drawn != self._drawn:
            self._drawn = drawn
            self._draw(runs)
        for each in runs:
            self._say(each)

    def _say(self, run: R) -> None:
        state, bar, found = self._states[run.run]
        state.set_text(state_of(run))
        found.set_text(self._kind.found(run))
        found.props["title"] = self._kind.exact(run)
        value = str(run.progress)
        if bar.props.get("value") != value:
            bar.props["value"] = value
            bar.update()

    def _draw(self, runs: Sequence[R]) -> None:
        self._box.clear()
        self._states.clear()
        with self._box:
            if not runs:
                with empty_state(self._kind.none):
                    Words("p", self._kind.what_to_do)
                return
            asked, found = self._kind.columns
            with plain_table((asked, "Range", "How far", found, "Do")):
                for each in runs:
                    self._row(each)

    def _row(self, run: R) -> None:
        with ui.element("tr") as row:
            if run.run == self._chosen:
                row.props('aria-current="true"')
            with ui.element("td"):
                link = ui.element("a")
                link.props["href"] = self._kind.address(run.run)
                with link:
                    Words("strong", self._kind.name(run))
                Words("p", self._kind.asked(run)).classes("soft small")
            times = self._viewer.times
            figure(range_of(run.request, times), exact_range_of(run.request, times), "td")
            with ui.element("td"):
                state = Words("span", "")
                bar = ui.element("progress").props("max=1")
                bar.props["aria-label"] = f"Progress of {self._kind.name(run)}"
                bar.set_visibility(not run.is_over)
            found = Words("td", "").classes("number")
            self._states[run.run] = state, bar, found
            with ui.element("td"):
                self._offer(run)

    def _offer(self, run: R) -> None:
        if not self._viewer.may("queries"):
            return
        words = "Remove" if run.is_over else "Cancel"
        change = ChangeRequest("DELETE", "alerting", self._kind.path + path_of(run.run))
        offer, place = ui.element("div"), ui.element("div").classes("stack")

        async def done(_answer: Any) -> None:
            await self.load()

        def ask() -> None:
            place.clear()
            with place:
                Words("p", "Its results are deleted.").classes("soft small")
                row = ui.element("div").classes("row")
                refused = Words("p", "").classes("field-fault").props("role=alert")
                with row:
                    change_button(self._viewer, f"{words} it for good", lambda: change, done, refused, kind="strong")
                    button("Leave it", place.clear)

        with offer:
            button(words, ask, label=f"the run of {self._kind.name(run)} from {run.request.from_us}")
