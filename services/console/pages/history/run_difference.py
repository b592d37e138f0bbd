"""A run beside another one or what is live: what is added, gone and changed, when, and where to look at it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from nicegui import ui

from services.console.drawing.run_charts import difference_options
from services.console.pages.history.run_words import address_of, kind_of, range_of
from services.console.pages.number_words import counted
from services.console.pages.plain_table import plain_table
from services.console.pages.shell import Words, choice, copy_button, figure
from services.console.pages.shown_range import ShownRange, around
from services.console.pages.time_words import probability
from services.console.pages.viewer import Viewer
from services.console.rest.documents import PageAnswer
from services.console.rest.run_answers import ComparisonAnswer, FoundMatchAnswer, RunAnswer
from services.console.rest.services import Rest, RestError, Service, path_of

SHOWN = 20
PAGES, PAGE_MATCHES = 5, 1000
SIGNS = {"added": "+ Added", "gone": "− Gone", "changed": "± Changed", "evidence": "± One event"}
_decoder = msgspec.json.Decoder(FoundMatchAnswer)


class MatchDifference(NamedTuple):
    """One match that differs: how, its id, its P before and now, and the match itself where it was found.

    Of the kind `evidence` it is the posterior that differs.
    """

    kind: str
    id: str
    before: float | None
    now: float | None
    found: FoundMatchAnswer | None


class DifferenceView:
    """Offers what to compare with, and shows how they differ."""

    def __init__(self, viewer: Viewer, run: RunAnswer, runs: Sequence[RunAnswer], other: str) -> None:
        self._viewer, self._run, self._other = viewer, run, other
        others = {each.run: self._named(each) for each in runs if each.has_matches and each.run != run.run}
        if other and other != "live":
            others.setdefault(other, other)
        self._names = {"": "choose …", "live": "what is live", **others}
        with ui.element("section").classes("card").props('aria-label="Compare"'):
            Words("h2", "Compare")
            with ui.element("div").classes("row tools"):
                choice("This run with", self._names, other, self._choose)
                if other:
                    copy_button(viewer.rest.curl("GET", "alerting", self._path, {"with": other}))
            self._said = Words("p", "").props("role=status")
            self._box = ui.element("div")

    @property
    def _path(self) -> str:
        return path_of("v1", "history-runs", self._run.run, "compare")

    def _named(self, run: RunAnswer) -> str:
        return f"{run.request.query_id}, {kind_of(run.request)}, {range_of(run.request, self._viewer.times)}"

    def _choose(self, other: str) -> None:
        ui.navigate.to(address_of(self._run.run, other or None))

    async def load(self) -> None:
        """Ask, and draw."""
        if not self._other:
            return
        try:
            told = await self._viewer.rest.get(ComparisonAnswer, "alerting", self._path, {"with": self._other})
            differences = await self._found(told)
        except RestError as error:
            self._said.set_text(str(error))
            return
        beside = f"In this run, beside {self._names.get(self._other, self._other)}"
        self._said.set_text(f"{beside}: {counts_of(told.counts)}.{evidence_words(told)}{self._older(told)}")
        with self._box:
            self._draw(differences)

    def _older(self, told: ComparisonAnswer) -> str:
        """Return a sentence on what cannot be compared any more, where there is such."""
        count = told.counts.get("older", 0)
        if not count or told.live_from_us is None:
            return ""
        since = self._viewer.times.instant(told.live_from_us)
        return f" Live records go back to {since} only, so {count:,} older ones of this run have no counterpart."

    async def _found(self, told: ComparisonAnswer) -> list[MatchDifference]:
        """Return what differs, each with its match where that can be read."""
        sure = [] if told.evidence is None else told.evidence.changed
        differing = {each.id for each in told.changed} | {each.id for each in sure}
        own = await self._matches_of(self._run.run, differing | {*told.added})
        other = await (self._live(told.gone) if self._other == "live" else self._matches_of(self._other, told.gone))
        added = [MatchDifference("added", id_, None, _probability(own, id_), own.get(id_)) for id_ in told.added]
        gone = [MatchDifference("gone", id_, _probability(other, id_), None, other.get(id_)) for id_ in told.gone]
        changed = [
            MatchDifference("changed", each.id, each.before, each.now, own.get(each.id)) for each in told.changed
        ]
        of_evidence = [MatchDifference("evidence", each.id, each.before, each.now, own.get(each.id)) for each in sure]
        return [*added, *gone, *changed, *of_evidence]

    async def _matches_of(self, run: str, ids: Iterable[str]) -> dict[str, FoundMatchAnswer]:
        wanted = set(ids)
        return await read_matches(self._viewer.rest, "alerting", path_of("v1", "history-runs", run, "matches"), wanted)

    async def _live(self, ids: Iterable[str]) -> dict[str, FoundMatchAnswer]:
        """Return those of the live matches of the run's range that have these ids."""
        wanted, found = set(ids), dict[str, FoundMatchAnswer]()
        request, cursor = self._run.request, None
        for _ in range(PAGES if wanted else 0):
            asked: dict[str, str | int | None] = {
                "query": request.query_id,
                "superseded": "any",
                "limit": PAGE_MATCHES,
                "cursor": cursor,
            }
            if not request.as_live:
                asked |= {"from": request.from_us, "to": request.to_us}
            page = await self._viewer.rest.get(PageAnswer[FoundMatchAnswer], "alerting", "/v1/matches", asked)
            found |= {each.id: each for each in page.items if each.id in wanted}
            cursor = page.next_cursor
            if cursor is None or len(found) == len(wanted):
                break
        return found

    def _draw(self, differences: Sequence[MatchDifference]) -> None:
        if not differences:
            return
        self._draw_times(differences)
        with plain_table(("What", "When", "Where", "Probability", "Look")):
            for kind, sign in SIGNS.items():
                some = [each for each in differences if each.kind == kind]
                for each in sorted(some, key=_when)[:SHOWN]:
                    self._row(each)
                if len(some) > SHOWN:
                    with ui.element("tr"):
                        left = counted(len(some) - SHOWN, "match", "matches")
                        Words("td", f"{sign}: {left} more").props("colspan=5").classes("soft")

    def _draw_times(self, differences: Sequence[MatchDifference]) -> None:
        """Show when they were, on a line of time that is as long as they need."""
        times = {
            kind: [each.found.times_us[0] for each in differences if each.kind == kind and each.found] for kind in SIGNS
        }
        told = {kind: of for kind, of in times.items() if of}
        if not told:
            return
        every = [at_us for of in told.values() for at_us in of]
        options = difference_options(told, *around(min(every), max(every)), in_utc=self._viewer.clock == "utc")
        chart = ui.echart(options, renderer="svg").classes("chart low")
        chart.props["role"] = "img"
        said = ", ".join(f"{len(of):,} {kind}" for kind, of in told.items())
        chart.props["aria-label"] = f"When they were: {said}; the table below has the first {SHOWN} of each"

    def _row(self, each: MatchDifference) -> None:
        with ui.element("tr"):
            Words("td", SIGNS[each.kind])
            self._when(each)
            Words("td", each.found.where if each.found else "")
            figure(*change_words(each), "td")
            with ui.element("td"):
                self._link(each)

    def _when(self, each: MatchDifference) -> None:
        if each.found is None:
            Words("td", "not found")
            return
        at_us, times = each.found.times_us[0], self._viewer.times
        Words("td", f"{times.day(at_us)} {times.clock(at_us)}").props["title"] = times.exact(at_us)

    def _link(self, each: MatchDifference) -> None:
        if each.found is None:
            return
        is_live = self._other == "live" and each.kind != "added"
        chosen = ("match", each.id) if is_live else None
        shown = ShownRange(*around(*each.found.times_us), follows=False, area=each.found.area, chosen=chosen)
        link = ui.element("a").classes("quiet")
        link.props["href"] = shown.address()
        link.props["aria-label"] = f"Show this time: {self._viewer.times.instant(each.found.times_us[0])}"
        with link:
            ui.label("Show this time")


def change_words(each: MatchDifference) -> tuple[str, str]:
    """Return its value before and now, in words and as it is; a posterior may be unknown on either side."""
    values = [each.before, each.now]
    if each.kind != "evidence":
        values = [value for value in values if value is not None]
    words = ("not known" if value is None else probability(value) for value in values)
    return " → ".join(words), " → ".join(map(repr, values))


def counts_of(counts: Mapping[str, int]) -> str:
    """Say how many are added, gone, changed and the same."""
    return ", ".join(f"{counts.get(kind, 0):,} {kind}" for kind in ("added", "gone", "changed", "same"))


def evidence_words(told: ComparisonAnswer) -> str:
    """Return a sentence on how the evidence differs; none where neither answer tells any."""
    return "" if told.evidence is None else f" Of their evidence: {counts_of(told.evidence.counts)}."


def _when(each: MatchDifference) -> int:
    return each.found.times_us[0] if each.found else 2**63


def _probability(found: Mapping[str, FoundMatchAnswer], id_: str) -> float | None:
    return found[id_].probability if id_ in found else None


async def read_matches(rest: Rest, service: Service, path: str, wanted: set[str]) -> dict[str, FoundMatchAnswer]:
    """Return those of the matches at `path`, a line each, that have the wanted ids; reads no more than is needed."""
    found: dict[str, FoundMatchAnswer] = {}
    if not wanted:
        return found
    async for line in rest.services.lines(rest.request("GET", service, path), service):
        try:
            match = _decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise RestError(f"{service} answered what the console cannot read: {error}", 200) from None
        if match.id in wanted and match.members:
            found[match.id] = match
            if len(found) == len(wanted):
                break
    return found
