"""The newest episodes and matches of the view as a table, for those who do not see the picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from msgspec import structs
from nicegui import ui

from services.console.pages.now.context import NowContext
from services.console.pages.one_event_words import one_event, surest_first
from services.console.pages.plain_table import plain_table
from services.console.pages.shell import Words, button
from services.console.pages.shown_range import ShownRange
from services.console.pages.time_words import TimeWords, probability, within
from services.console.rest.documents import EpisodeAnswer, MatchAnswer
from services.console.rest.evidence_answers import EvidenceAnswer

ROWS = 8
MOST_KEPT = 400
OF_ONE_QUERY = 3  # matches that no episode stands for: the most probable of each query and area
NONE_SURE = "No match here is so sure to be one event, or its evidence is not there yet."
WITHOUT_SURE = "nothing-sure"  # nobody knows of anything listed whether it is one event
Happened = MatchAnswer | EpisodeAnswer


class NewestTable:
    """A table of a few rows, which stay while what they say changes."""

    def __init__(self, view: NowContext) -> None:
        self._view = view
        self._things: dict[str, Happened] = {}
        self._box = ui.element("section").classes("card").props('aria-label="Newest in this view"')
        with self._box:
            self._title = Words("h2", "Newest in this view")
            with plain_table(("When", "Where", "What", "Times fit", "One event", "Why"), ""):
                self._rows = [_Row(view) for _ in range(ROWS)]
            self._none = Words("p", NONE_SURE).classes("soft")
        self._box.set_visibility(False)

    @property
    def is_empty(self) -> bool:
        """Whether nothing happened."""
        return not self._things

    def begin(self, things: Iterable[Happened]) -> None:
        """Forget what was listed, and list these."""
        self._things.clear()
        self.note(things, ())

    def note(self, things: Iterable[Happened], gone: Iterable[str]) -> None:
        """Take over what has come, and what stands no longer."""
        for id_ in gone:
            self._things.pop(id_, None)
        kept, shown = self._view.kept, self._view.shown
        self._things.update((each.id, each) for each in things if lies_in(each, kept.from_us, kept.to_us, shown))
        coalesced = {each.query for each in self._things.values() if isinstance(each, EpisodeAnswer)}
        newest = newest_of(self._things.values(), coalesced, MOST_KEPT if shown.min_posterior else OF_ONE_QUERY)
        self._things = {each.id: each for each in newest[:MOST_KEPT]}
        self.refresh()

    def take_evidence(self, evidence: Mapping[str, EvidenceAnswer]) -> None:
        """Take over the evidence of matches that are listed, by their ids."""
        for id_, each in evidence.items():
            known = self._things.get(id_)
            if isinstance(known, MatchAnswer):
                self._things[id_] = structs.replace(known, evidence=each)
        self.refresh()

    def refresh(self) -> None:
        """List what lies in the times that are shown now."""
        shown = self._view.shown
        listed = [each for each in self._things.values() if lies_in(each, shown.from_us, shown.to_us, shown)]
        if shown.min_posterior:
            listed = surest_of(listed, shown.min_posterior)
        self._title.set_text("The surest in this view" if shown.min_posterior else "Newest in this view")
        rows = rows_of(listed, self._view.viewer.times)
        for row, told in zip(self._rows, [*rows[:ROWS], *([None] * ROWS)], strict=False):
            row.show(told)
        self._none.set_visibility(not rows)
        self._box.set_visibility(bool(rows) or shown.min_posterior > 0)
        self._box.classes(**{"remove" if any(each.sure for each in rows) else "add": WITHOUT_SURE})


def lies_in(thing: Happened, from_us: int, to_us: int, shown: ShownRange) -> bool:
    """Whether it is of the area and query that are shown, and in these times; they have no end where they follow."""
    begin_us, end_us = _when_us(thing), thing.latest_us if isinstance(thing, MatchAnswer) else thing.end_us or 0
    is_meant = shown.area in ("", thing.area) and shown.query in ("", thing.query)
    if isinstance(thing, EpisodeAnswer) and shown.min_posterior:
        return False  # its matches are listed
    return is_meant and begin_us > 0 and (shown.follows or (begin_us <= to_us and end_us >= from_us))


def surest_of(things: Iterable[Happened], least: float) -> list[Happened]:
    """Return what is at least so sure to be one event, the surest first."""
    known = [(sure, each) for each in things if (sure := each.posterior) is not None and sure >= least]
    return [each for _, each in sorted(known, key=lambda both: -both[0])]


def newest_of(things: Iterable[Happened], coalesced: set[str], most: int = OF_ONE_QUERY) -> list[Happened]:
    """Return episodes, and of queries that have none the `most` surest matches of each area; the newest first."""
    episodes: list[Happened] = [each for each in things if isinstance(each, EpisodeAnswer)]
    best: dict[tuple[str, str], list[MatchAnswer]] = {}
    for each in things:
        if isinstance(each, MatchAnswer) and each.query not in coalesced:
            best.setdefault((each.query, each.area), []).append(each)
    for of_query in best.values():
        episodes += sorted(of_query, key=lambda each: (*surest_first(each), -each.latest_us))[:most]
    return sorted(episodes, key=lambda each: (_when_us(each), isinstance(each, EpisodeAnswer)), reverse=True)


@dataclass(frozen=True)
class ToldRow:
    """What a row says of something, and of how many others it would say the same."""

    thing: Happened
    when: str
    what: str
    fit: str
    sure: str = ""
    others: int = 0


def rows_of(things: Iterable[Happened], times: TimeWords) -> list[ToldRow]:
    """Return a row for each, but one for those that would read the same."""
    rows: dict[tuple[str, ...], ToldRow] = {}
    for thing in things:
        best = thing.best_probability if isinstance(thing, EpisodeAnswer) else thing.probability
        fit, sure = "" if best is None else probability(best), _sure(thing)
        said = times.instant(_when_us(thing)), _said(thing), fit, sure
        key = (thing.area, *said)
        rows[key] = replace(rows[key], others=rows[key].others + 1) if key in rows else ToldRow(thing, *said)
    return list(rows.values())


class _Row:
    def __init__(self, view: NowContext) -> None:
        self._view = view
        self._thing: Happened | None = None
        self._row = ui.element("tr")
        with self._row:
            self._when = Words("td", "").classes("number")
            self._where, self._what = Words("td", ""), Words("td", "")
            self._fit, self._sure = (Words("td", "").classes("number") for _ in range(2))
            with ui.element("td"):
                button("Evidence", self._show_evidence)

    async def _show_evidence(self) -> None:
        if self._thing is not None:
            kind = "episode" if isinstance(self._thing, EpisodeAnswer) else "match"
            await self._view.show_evidence(kind, self._thing.id)

    def show(self, told: ToldRow | None) -> None:
        """Say what happened; None leaves the row away."""
        self._thing = None if told is None else told.thing
        self._row.set_visibility(told is not None)
        if told is None:
            return
        thing = told.thing
        best = thing.best_probability if isinstance(thing, EpisodeAnswer) else thing.probability
        self._when.set_text(told.when)
        self._when.props["title"] = self._view.viewer.times.exact(_when_us(thing))
        self._where.set_text(thing.area)
        self._what.set_text(f"{told.what} ({told.others + 1} times)" if told.others else told.what)
        self._fit.set_text(told.fit)
        self._fit.props["title"] = "" if best is None else repr(best)
        self._sure.set_text(told.sure)


def _sure(thing: Happened) -> str:
    if isinstance(thing, MatchAnswer):
        return one_event(thing.evidence)
    return "" if thing.posterior is None else probability(thing.posterior)


def _when_us(thing: Happened) -> int:
    """Return when it began, as well as that is known; 0 for what stands no longer."""
    if isinstance(thing, EpisodeAnswer):
        return thing.start_us or 0
    return thing.occurred.p05_us if thing.occurred is not None else thing.earliest_us


def _said(thing: Happened) -> str:
    if isinstance(thing, MatchAnswer):
        return f"{thing.query}: {', '.join(member.sensor for member in thing.members)}"
    return f"{thing.query}: {thing.counted}{within(thing.lasted_s)}"
