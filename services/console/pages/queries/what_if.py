"""The threshold slider: what another threshold would have given over the past, before anybody changes it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from nicegui import ui

from services.common.clock import system_clock_us
from services.console.drawing.run_charts import RunCurve
from services.console.pages.queries.past_runs import PastMatch, PastRuns, what_if_path
from services.console.pages.queries.threshold_words import (
    changes,
    count_of_thresholds,
    exact_of,
    sentence_of,
    threshold_of,
)
from services.console.pages.shell import VALUE, Words, button, change_button, choice, copy_button, figure, text_field
from services.console.pages.shown_range import ShownRange, around
from services.console.pages.slide_words import chance_by_slides, exact_slides
from services.console.pages.time_words import probability
from services.console.pages.viewer import Viewer
from services.console.rest.documents import MatchAnswer, PageAnswer
from services.console.rest.query_answers import QueryAnswer
from services.console.rest.run_answers import RunAnswer
from services.console.rest.services import ChangeRequest, RestError, path_of

HOUR_US = 3_600_000_000
SPANS_US = {"hour": HOUR_US, "day": 24 * HOUR_US, "week": 7 * 24 * HOUR_US}
RANGES = {
    "hour": "the last hour",
    "day": "the last 24 hours",
    "week": "the last week",
    "newest": "its newest matches",
    "other": "other times",
}
CHANCE_BY = {"": "the formula", "100": "also 100 time slides"}
LEAST = 0.02  # where the curve begins
EXAMPLES = 4
RUN_IS_OFF = "Start the archive and the history process (make up COINCIDE_ARCHIVE_PATH=..., make demo has both)."


class ThresholdSlider:
    """Thresholds over the curve of a run; `when_applied` is called once the system has another one."""

    def __init__(self, viewer: Viewer, query: QueryAnswer, when_applied: Callable[[], Awaitable[None]]) -> None:
        self._viewer, self._query, self._when_applied = viewer, query, when_applied
        self._range, self._why, self._slides = "day", "", ""
        self._other = {"from": "", "to": ""}
        self._run: RunAnswer | None = None
        self._runs = PastRuns(viewer.rest, may_remove=viewer.may("queries"))
        self._looks = 0
        self._comparing = asyncio.Lock()
        self._at_present: list[PastMatch] | None = None
        self._times_last: Mapping[str, int | str] = {}
        self._span_us = SPANS_US["day"]
        self._present = threshold_of(query.query) or 0.5
        self._chosen = self._present
        with ui.element("section").classes("card stack").props('aria-label="Threshold"'):
            Words("h2", "What would another threshold give?")
            with ui.element("div").classes("row"):
                choice("Over", RANGES, self._range, self._choose_range)
                self._times = ui.element("div").classes("row")
                self._times.set_visibility(False)
                with self._times:
                    for name in ("from", "to"):
                        text_field(f"{name.capitalize()} (RFC 3339)", "", partial(self._other.__setitem__, name))
                choice("Chance by", CHANCE_BY, self._slides, lambda slides: setattr(self, "_slides", slides))
                button("Look", self.look, kind="strong")
                copy_button(self._command, does="Look")
            self._said = Words("p", "").props("role=status")
            self._box = ui.element("div").classes("stack")

    @property
    def _has_one(self) -> bool:
        """Whether the query has one threshold, which a slider can move."""
        return count_of_thresholds(self._query.query) == 1

    def _choose_range(self, name: str) -> None:
        self._range = name
        self._times.set_visibility(name == "other")

    def _asked(self, times: Mapping[str, int | str]) -> dict[str, int | float | str]:
        asked = {**times, **({"min_threshold": min(LEAST, self._present)} if self._has_one else {})}
        return asked | ({"slides": int(self._slides)} if self._slides else {})

    async def _asked_times(self) -> Mapping[str, int | str]:
        if self._range == "other":
            return dict(self._other)
        now_us = system_clock_us()
        usual = now_us - SPANS_US.get(self._range, SPANS_US["day"]), now_us
        from_us, to_us = (await self._newest() if self._range == "newest" else None) or usual
        return {"from": from_us, "to": to_us}

    async def _command(self) -> str:
        asked = self._asked(await self._asked_times())
        return self._viewer.rest.curl("POST", "alerting", what_if_path(self._query.id), body=asked)

    async def look(self) -> None:
        """Have a run done over the range, and show what it says."""
        self._box.clear()
        self._looks += 1
        look = self._looks
        try:
            self._times_last = await self._asked_times()
            run = await self._runs.what_if(self._query.id, self._asked(self._times_last), self._said.set_text)
        except RestError as error:
            if look == self._looks:  # else the next look has replaced its run
                self._said.set_text(f"{error}. {RUN_IS_OFF}" if error.status == 503 else str(error))
            return
        if look != self._looks:
            return
        self._run, self._at_present = run, None
        self._span_us = run.request.to_us - run.request.from_us
        if run.state != "done":
            self._said.set_text(run.error or f"The run was {run.state}.")
            return
        self._said.set_text(f"{run.detections or 0:,} detections were looked at.")
        self._draw(run)

    async def _newest(self) -> tuple[int, int] | None:
        """Return times around the newest matches that are kept; None where there are none."""
        page = await self._viewer.rest.get(
            PageAnswer[MatchAnswer], "alerting", "/v1/matches", {"query": self._query.id, "limit": 50}
        )
        if not page.items:
            return None
        newest = max(each.latest_us for each in page.items)
        near = [each for each in page.items if newest - each.earliest_us < SPANS_US["day"]]
        from_us, to_us = around(min(each.earliest_us for each in near), newest)
        return from_us - HOUR_US // 6, to_us + HOUR_US // 6

    def _draw(self, run: RunAnswer) -> None:
        self._box.clear()
        with self._box:
            self._curve = RunCurve(run.curve, self._present, run.slides_at)
            if said := chance_by_slides(run):
                Words("p", said).props["title"] = exact_slides(run)
            with ui.element("label").classes("choice wide"):
                ui.label("Threshold").classes("choice-label")
                slider = ui.element("input").props(f"type=range min={LEAST} max=1 step=0.01")
                slider.props["defaultValue"] = f"{self._present:g}"
                slider.on("input", lambda event: self._choose(float(event.args)), js_handler=VALUE)
                slider.on("change", self._show_examples)
            self._sentence = Words("p", "").classes("slider-sentence").props("role=status")
            self._listed = ui.element("div").classes("stack")
            self._offer()
        self._choose(self._present)

    def _offer(self) -> None:
        if not self._has_one:
            Words("p", "Its windows have different thresholds: change each below, and save.").classes("soft")
            return
        if not self._viewer.may("queries"):
            Words("p", "It takes a key with the scope queries to apply another threshold.").classes("soft")
            return
        row = ui.element("div").classes("row")
        refused = Words("p", "").classes("field-fault").props("role=alert")
        with row:
            text_field("Why (for the audit trail)", "", lambda text: setattr(self, "_why", text))
            words, done = "Apply this threshold", self._applied
            change_button(self._viewer, words, self._application, done, refused, kind="strong")

    @property
    def _seen(self) -> dict[str, str]:
        return {"If-Match": f'"{self._query.version}"'}

    def _change(self) -> dict[str, float]:
        name = "joint_threshold" if "joint_threshold" in self._query.query else "threshold"
        return {name: round(self._chosen, 6)}

    def _application(self) -> ChangeRequest:
        path = path_of("v1", "queries", self._query.id, "threshold")
        return ChangeRequest("PATCH", "alerting", path, self._change(), self._seen, self._why)

    async def _applied(self, _answer: Any) -> None:
        await self._when_applied()

    def _choose(self, threshold: float) -> None:
        """Say what a threshold gives, beside what the present one does."""
        self._chosen = threshold
        run = self._run
        if run is None:
            return
        self._curve.choose(threshold)
        self._sentence.set_text(sentence_of(run.curve, self._present, threshold, self._span_us))
        self._sentence.props["title"] = exact_of(run.curve, threshold, self._span_us)
        self._listed.clear()

    async def _show_examples(self) -> None:
        """List some of the matches that would come or go, if the key may have a run done that keeps matches."""
        if not self._viewer.may("queries") or not self._has_one:
            return
        chosen = self._chosen
        try:
            async with self._comparing:  # a step that is replaced while it waits has no run done at all
                now, then = await self._compared(chosen)
        except RestError:
            return  # the curve stays; the next look says what is wrong
        if self._is_wanted(chosen):
            come, go = changes(now, then, chosen)
            self._listed.clear()
            with self._listed:
                self._list("These would come", come)
                self._list("These would go", go)

    def _is_wanted(self, chosen: float) -> bool:
        """Whether somebody still looks at what this threshold gives."""
        return chosen == self._chosen and not self._listed.is_deleted

    async def _compared(self, chosen: float) -> tuple[list[PastMatch], list[PastMatch]]:
        """Return the matches of the present threshold and of another one, as far as they are still wanted."""
        if not self._is_wanted(chosen):
            return [], []
        if self._at_present is None:
            self._at_present = await self._examples_at(self._present, lambda: not self._listed.is_deleted)
        return self._at_present, await self._examples_at(chosen, partial(self._is_wanted, chosen))

    async def _examples_at(self, threshold: float, is_wanted: Callable[[], bool]) -> list[PastMatch]:
        name, query = next(iter(self._change())), {**self._query.query, "id": self._query.id}
        edges = [{**each, name: threshold} for each in query["within"]]
        query |= {name: threshold} if name in query else {"within": edges}
        return await self._runs.examples({**self._times_last, "query": query}, is_wanted)

    def _list(self, title: str, examples: Sequence[PastMatch]) -> None:
        if not examples:
            return
        Words("h3", f"{title}, such as" if len(examples) > EXAMPLES else title)
        with ui.element("ul").classes("members"):
            for each in examples[:EXAMPLES]:
                with ui.element("li"):
                    shown = ShownRange(*around(each.earliest_us, each.latest_us), follows=False, area=each.area)
                    link = ui.element("a")
                    link.props["href"] = shown.address()
                    times = self._viewer.times
                    with link:
                        figure(times.instant(each.earliest_us), times.exact(each.earliest_us))
                    Words("span", f" in {each.area}, ")
                    figure(probability(each.probability), repr(each.probability))
