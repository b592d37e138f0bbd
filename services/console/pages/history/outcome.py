"""One run: what it found, and its curve, which says what another threshold would have given."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from services.console.drawing.run_charts import RunCurve
from services.console.pages.history.run_words import (
    exact_counts,
    exact_range_of,
    found_by,
    kind_of,
    no_numbers_of,
    no_such_run,
    range_of,
    state_of,
)
from services.console.pages.number_words import amount, counted
from services.console.pages.plain_table import plain_table
from services.console.pages.shell import Words, copy_button, figure
from services.console.pages.slide_words import chance_by_slides, exact_slides
from services.console.pages.viewer import Viewer
from services.console.rest.run_answers import CurvePointAnswer, RunAnswer
from services.console.rest.services import RestError, path_of


class RunOutcome:
    """The run that is looked at; asked for again as long as it goes on."""

    def __init__(self, viewer: Viewer, run: str) -> None:
        self._viewer, self._path = viewer, path_of("v1", "history-runs", run)
        self.run: RunAnswer | None = None
        with ui.element("section").classes("card").props('aria-label="The chosen run"'):
            with ui.element("div").classes("row spread"):
                self._title = Words("h2", "")
                copy_button(viewer.rest.curl("GET", "alerting", self._path))
            self._said = Words("p", "Loading …").props("role=status")
            self._box = ui.element("div")

    async def load(self) -> None:
        """Ask unless it has ended, and draw what it found."""
        if self.run is not None and self.run.is_over:
            return
        try:
            self.run = await self._viewer.rest.get(RunAnswer, "alerting", self._path)
        except RestError as error:
            self._said.set_text(no_such_run(error) or str(error))
            return
        self._title.set_text(self.run.request.query_id)
        self._said.set_text(self._sentence(self.run))
        exact = exact_range_of(self.run.request, self._viewer.times), exact_counts(self.run)
        self._said.props["title"] = "; ".join(filter(None, exact))
        if self.run.is_over:
            self._draw(self.run)

    def _sentence(self, run: RunAnswer) -> str:
        asked = f"{kind_of(run.request)}; {range_of(run.request, self._viewer.times)}."
        looked = "" if run.detections is None else f" in {counted(run.detections, 'detection')}"
        found = f" It found {found_by(run)}{looked}." if run.matches is not None else ""
        return " ".join(filter(None, (f"{asked} It is {state_of(run)}.{found}", no_numbers_of(run), run.error)))

    def _draw(self, run: RunAnswer) -> None:
        self._box.clear()
        if not run.curve:
            return
        with self._box:
            Words("h3", "What another threshold would give").classes("chart-title")
            if run.curve_of:
                Words("p", run.curve_of).classes("soft small")
            if len(run.curve) > 1:
                RunCurve(run.curve, run.own_threshold, run.slides_at)
            if any(each.chance_is_upper_bound for each in run.curve):
                Words("p", "By chance there are fewer matches than the figure says.").classes("soft small")
            if said := chance_by_slides(run):
                Words("p", said).props["title"] = exact_slides(run)
            with ui.element("details") as details:
                details.props["open"] = len(run.curve) < 2
                Words("summary", "As a table")
                _table(run.curve)


def _table(points: Sequence[CurvePointAnswer]) -> None:
    columns: dict[str, list[float | None]] = {
        "Matches": [each.matches for each in points],
        "Episodes": [each.episodes for each in points],
        "By chance": [each.chance for each in points],
    }
    told = {name: values for name, values in columns.items() if any(value is not None for value in values)}
    with plain_table(("Threshold", *told), ""):
        for at, each in enumerate(points):
            with ui.element("tr"):
                figure(f"{each.threshold:.3g}", repr(each.threshold), "td")
                for values in told.values():
                    _cell(values[at])


def _cell(value: float | None) -> None:
    cell = Words("td", "–" if value is None else amount(value)).classes("number")
    if value is not None:
        cell.props["title"] = f"{value:.10g}"
