"""The tools around the timeline: moving, zooming, filters, the legend, and the lists of what happened."""

from __future__ import annotations

from dataclasses import replace

from nicegui import ui

from services.console.pages.now.context import NowContext
from services.console.pages.now.history_of_range import KeptThings
from services.console.pages.shell import Words, button, choice, text_field
from services.console.pages.shown_range import SPANS_US, ShownRange, probability_in
from services.console.pages.time_words import probability

SURE = (0.5, 0.9, 0.99)


def sure_choices(chosen: float) -> dict[str, str]:
    """Return from how sure on matches may be shown, in words, and what is chosen; 0 for all."""
    sure = {f"{each:g}": f"{probability(each)} sure of one event, at least" for each in sorted({*SURE, chosen} - {0.0})}
    return {"0": "all"} | sure


class NowTools:
    """What stands around the timeline of `view`."""

    def __init__(self, view: NowContext, areas: list[str]) -> None:
        self._view = view
        with ui.element("div").classes("row tools").props('role=toolbar aria-label="What the timeline shows"'):
            with ui.element("div").classes("row group"):
                self._follow = button("Follow", self._toggle_follow, label="go on with the present")
                self._pause = button("Pause", self._toggle_pause, label="draw nothing new for a while")
            with ui.element("div").classes("row group"):
                button("◀", lambda: view.timeline.pan(-0.5), label="Earlier")
                button("▶", lambda: view.timeline.pan(0.5), label="Later")
                button("+", lambda: view.timeline.zoom(0.5), label="Zoom in")
                button("−", lambda: view.timeline.zoom(2.0), label="Zoom out")
            spans = {"": "as it is", **{str(span_us): words for words, span_us in SPANS_US.items()}}
            shown = str(view.shown.span_us) if view.shown.follows else ""
            choice("Span", spans, shown if shown in spans else "", self._set_span)
            choice("Area", {"": "all", **{area: area for area in areas}}, view.shown.area, self._set_area)
            choice("Query", {"": "all", **{id_: id_ for id_ in view.queries}}, view.shown.query, self._set_query)
            text_field("Sensor", view.shown.sensor, self._set_sensor)
            orders = {"name": "name", "place": "place"}
            choice("Order", orders, view.shown.order, self._set_order)
            choice("Matches", sure_choices(view.shown.min_posterior), f"{view.shown.min_posterior:g}", self._set_sure)
        self._part = Words("p", "").classes("soft small")
        self._part.set_visibility(False)
        self._lanes = Words("p", "").classes("soft small")
        self.say_lanes()
        self.say_follow(view.shown.follows)
        self._say_pause()

    def say_follow(self, follows: bool) -> None:
        """Show whether the page follows the present."""
        self._follow.props["aria-pressed"] = "true" if follows else "false"

    def _say_pause(self) -> None:
        self._pause.props["aria-pressed"] = "true" if self._view.is_paused else "false"

    def say_lanes(self) -> None:
        """Say where there are more sensors than lanes."""
        count = len(self._view.sensors)
        self._lanes.set_text(f"The first {count:,} sensors have a lane, others once they report: choose an area.")
        self._lanes.set_visibility(self._view.has_more_sensors)

    def say_part(self, kept: KeptThings) -> None:
        """Say where the range has more than is drawn."""
        most = self._view.viewer.settings.drawn_matches_max
        self._part.set_text(f"There is more in these times than is drawn: the newest {most:,} of each kind. Zoom in.")
        self._part.set_visibility(kept.is_part)

    def _toggle_follow(self) -> None:
        self._view.on_follow(not self._view.shown.follows)
        if not self._view.shown.follows:
            self._view.timeline.follow(False)

    async def _toggle_pause(self) -> None:
        view = self._view
        view.is_paused = not view.is_paused
        self._say_pause()
        if view.is_paused:
            view.timeline.follow(False)
        else:
            view.timeline.follow(view.shown.follows)
            await view.load()

    def _set_span(self, value: str) -> None:
        if value:
            self._view.timeline.set_span(int(value))

    async def _set_area(self, value: str) -> None:
        await self._narrow(replace(self._view.shown, area=value))
        await self._view.load_lanes()

    async def _set_query(self, value: str) -> None:
        await self._narrow(replace(self._view.shown, query=value))

    async def _set_sure(self, value: str) -> None:
        self._view.timeline.show(surest=value)
        await self._narrow(replace(self._view.shown, min_posterior=probability_in(value) or 0.0))

    async def _set_sensor(self, value: str) -> None:
        self._view.shown = replace(self._view.shown, sensor=value.strip())
        self._view.timeline.show(sensor=value.strip())
        self._view.put_address()

    async def _set_order(self, value: str) -> None:
        self._view.shown = replace(self._view.shown, order=value)
        self._view.timeline.show(order=value)
        self._view.put_address()

    async def _narrow(self, shown: ShownRange) -> None:
        self._view.shown = shown
        self._view.timeline.show(area=shown.area, query=shown.query)
        self._view.put_address()
        await self._view.load()

    def legend(self) -> None:
        """Explain the signs of the picture."""
        with ui.element("ul").classes("legend"):
            for sign, words in (
                ("ribbon", "when it may have happened: the darker, the more probable"),
                ("tick", "when the sensor reported it"),
                ("arc", "times that fit; the stronger the colour, the better they fit"),
                ("bar", "an episode: matches that follow each other"),
                ("mark", "an alert"),
            ):
                with ui.element("li"):
                    ui.element("span").classes(f"sign sign-{sign}").props("aria-hidden=true")
                    Words("span", words)
