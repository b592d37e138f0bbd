"""The story: in a sentence for each area, what happened there last, and the way to it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from nicegui import ui
from nicegui.events import GenericEventArguments

from services.common.clock import system_clock_us
from services.console.pages.now.context import NowContext
from services.console.pages.now.moments import Moment, last_moments
from services.console.pages.number_words import counted
from services.console.pages.shell import Words
from services.console.rest.documents import EpisodeAnswer, MatchAnswer, PageAnswer
from services.console.rest.services import Parameters, Rest, RestError

LOOKED_AT = 200
SHOWN, MOST_AREAS = 2, 50  # sentences above the timeline, which stays in the first screen; and with those that fold
ASKED_BY_NAME = 20  # areas that are not among the newest of all
_IS_OPEN = "(event) => emit(event.target.open)"


async def read_last(rest: Rest, areas: Sequence[str]) -> tuple[list[EpisodeAnswer], list[MatchAnswer]]:
    """Return what happened last anywhere, and last in areas where it was long ago; may raise `RestError`."""
    episodes, matches = await _newest(rest, {"limit": LOOKED_AT})
    heard = {each.area for each in episodes} | {each.area for each in matches}
    others = [area for area in areas if area not in heard][:ASKED_BY_NAME]
    for more_episodes, more_matches in await asyncio.gather(
        *(_newest(rest, {"limit": 1, "area": area}) for area in others)
    ):
        episodes += more_episodes
        matches += more_matches
    return episodes, matches


async def _newest(rest: Rest, asked: Parameters) -> tuple[list[EpisodeAnswer], list[MatchAnswer]]:
    episodes = await rest.get(PageAnswer[EpisodeAnswer], "alerting", "/v1/episodes", asked)
    matches = await rest.get(PageAnswer[MatchAnswer], "alerting", "/v1/matches", asked)
    return episodes.items, matches.items


class Story:
    """The sentences at the top of the page; their words change in place, so that nobody loses the focus."""

    def __init__(self, view: NowContext) -> None:
        self._view = view
        self._moments: dict[str, Moment] = {}
        self._words: dict[tuple[str, bool], Words] = {}
        self._is_following = False
        self._is_unfolded = False
        self._box = ui.element("section").classes("story").props('aria-label="What happened last"')

    @property
    def is_empty(self) -> bool:
        """Whether nothing ever happened."""
        return not self._moments

    async def load(self) -> None:
        """Ask what happened last."""
        try:
            last = await read_last(self._view.viewer.rest, sorted({each.area for each in self._view.sensors}))
        except RestError:
            return  # the banner says so
        self.note(*last)

    def note(self, episodes: list[EpisodeAnswer], matches: list[MatchAnswer]) -> None:
        """Take over what has come."""
        coalesced = {each.area for each in episodes} | {each.area for each in self._moments.values() if each.count > 1}
        alone = [each for each in matches if each.area not in coalesced]
        for moment in last_moments(episodes, alone):
            known = self._moments.get(moment.area)
            if known is None or moment.renews(known) or moment.is_told_rather_than(known):
                self._moments[moment.area] = moment
        self.refresh()

    def refresh(self) -> None:
        """Say it as it is now: time goes on."""
        now_us = system_clock_us()
        newest = sorted(self._moments.values(), key=lambda each: -each.to_us)[:MOST_AREAS]
        shown = [(each.area, each.is_old(now_us)) for each in newest]
        if (shown, self._view.shown.follows) != (list(self._words), self._is_following):
            self._rebuild(newest, now_us)
        for moment in newest:
            times, words = self._view.viewer.times, self._words[moment.area, moment.is_old(now_us)]
            words.set_text(moment.sentence(times, now_us))
            words.props["title"] = moment.exact(times)

    def _rebuild(self, newest: list[Moment], now_us: int) -> None:
        self._box.clear()
        self._words.clear()
        self._is_following = self._view.shown.follows
        with self._box:
            for moment in newest[:SHOWN]:
                self._draw(moment, now_us)
            if rest := newest[SHOWN:]:
                self._fold(rest, now_us)

    def _fold(self, rest: list[Moment], now_us: int) -> None:
        """Draw what is less new where it takes no room until somebody wants it."""
        with ui.element("details").classes("more-moments") as details:
            details.props["open"] = self._is_unfolded
            details.on("toggle", self._unfold, js_handler=_IS_OPEN)
            Words("summary", f"{counted(len(rest), 'more area')}, {self._back_to(rest[-1])}")
            with ui.element("div").classes("story"):
                for moment in rest:
                    self._draw(moment, now_us)

    def _unfold(self, event: GenericEventArguments) -> None:
        self._is_unfolded = bool(event.args)

    def _back_to(self, oldest: Moment) -> str:
        return f"back to {self._view.viewer.times.day(oldest.from_us)}"

    def _draw(self, moment: Moment, now_us: int) -> None:
        with ui.element("div").classes("moment"):
            Words("strong", moment.area).classes("moment-area")
            self._words[moment.area, moment.is_old(now_us)] = Words("span", "").classes("moment-words")
            self._way_to(moment, now_us)

    def _way_to(self, moment: Moment, now_us: int) -> None:
        view = self._view
        if moment.is_old(now_us):
            from_us, to_us = moment.range()
            query = moment.query if moment.one_event else ""
            there = replace(view.shown, from_us=from_us, to_us=to_us, follows=False, area=moment.area, query=query)
            link = Words("a", f"Show {view.viewer.times.day(moment.from_us)}").classes("quiet")
            link.props["href"] = replace(there, chosen=None).address()
        elif not view.shown.follows:
            Words("a", "Show now").classes("quiet").props["href"] = "/"
