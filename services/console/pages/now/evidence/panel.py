"""Evidence: why something is said to have happened together, of the match, episode or detection that was chosen."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import msgspec
from nicegui import ui

from services.console.drawing.density import DensityLane, draw_densities
from services.console.drawing.table_columns import spread_of, template_id
from services.console.drawing.template_words import said_of
from services.console.pages.now.context import NowContext
from services.console.pages.now.evidence.fit import draw_fit, judged_of
from services.console.pages.now.evidence.onset_sentence import OnsetBar, clock_sentence, onset_bars
from services.console.pages.now.evidence.reading_curve import draw_readings, readings_of
from services.console.pages.now.evidence.weighing import draw_weighing
from services.console.pages.now.history_of_range import read_recent
from services.console.pages.now.moments import together
from services.console.pages.one_event_words import STRANGER_BELOW, headline, one_event, surest_first
from services.console.pages.shell import Words, button, copy_button, figure
from services.console.pages.shown_range import around
from services.console.pages.time_words import TimeWords, duration, probability, rate, within
from services.console.rest.documents import (
    AlertAnswer,
    EpisodeAnswer,
    MatchAnswer,
    MemberAnswer,
    PageAnswer,
    TemplateAnswer,
)
from services.console.rest.evidence_answers import EvidenceAnswer
from services.console.rest.services import RestError, path_of, read_answer

COLLECTIONS = {"match": "matches", "episode": "episodes", "alert": "alerts"}
LISTED = 20
_DETECTION = re.compile(  # see `Scene.addDetection`
    r"(?P<area>[^\n]*)\n(?P<sensor>[^\n]*)\n(?P<stream>[^\n]*)\n(?:[^\n]*)\n(?P<at>-?\d{1,18})", re.ASCII
)
T = TypeVar("T")
Wanted = dict[str, str | int | None]


class Evidence:
    """The panel beside the timeline."""

    def __init__(self, view: NowContext) -> None:
        self._view = view
        self._wanted: tuple[str, str] | None = None
        self._turn = asyncio.Lock()
        self._panel = ui.element("aside").classes("evidence card").props('aria-label="Evidence" tabindex="-1"')
        self._panel.set_visibility(False)

    def close(self) -> None:
        """Show nothing."""
        self._wanted = None
        self._panel.set_visibility(False)
        self._choose(None)

    async def show(self, kind: str, id_: str, told: dict[str, Any] | None = None) -> None:
        """Show the evidence of a match, episode, alert or detection: of what was chosen last, however quickly."""
        self._wanted = wanted = kind, id_
        async with self._turn:
            if self._wanted is wanted:
                await self._show(kind, id_, told)
            if self._is_closed():  # meanwhile
                self.close()

    async def renew(self, evidence: Mapping[str, EvidenceAnswer]) -> None:
        """Show anew the match whose evidence has come, by its id."""
        if self._wanted is not None and self._wanted[0] == "match" and self._wanted[1] in evidence:
            await self.show(*self._wanted)

    def _is_closed(self) -> bool:
        return self._wanted is None

    async def _show(self, kind: str, id_: str, told: dict[str, Any] | None) -> None:
        try:
            if kind == "match":
                await self._show_match(id_)
            elif kind == "episode":
                await self._show_episode(id_)
            elif kind == "alert":
                await self._show_alert(id_)
            else:
                await self._show_detection(told or detection_of(id_))
        except RestError as error:
            self._begin("Evidence")
            with self._panel:
                Words("p", str(error)).props("role=alert")
            return
        self._choose((kind, id_), id_)

    def _choose(self, chosen: tuple[str, str] | None, id_: str | None = None) -> None:
        self._view.shown = replace(self._view.shown, chosen=chosen)
        self._view.timeline.choose(id_)
        self._view.put_address()

    def _begin(self, title: str) -> None:
        self._panel.clear()
        self._panel.set_visibility(True)
        with self._panel, ui.element("div").classes("evidence-head"):
            Words("h2", title)
            button("✕", self.close, label="Close the evidence")

    async def _read(self, kind: type[T], *parts: str) -> tuple[T, Any]:
        raw = await self._view.viewer.rest.get(msgspec.Raw, "alerting", path_of("v1", *parts))
        return read_answer(kind, bytes(raw), "alerting"), msgspec.json.decode(raw)

    async def _show_match(self, id_: str) -> None:
        match, raw = await self._read(MatchAnswer, "matches", id_)
        (query, explanation), templates = await asyncio.gather(self._asked(match), self._templates_of(match.members))
        self._begin(" + ".join(sorted({member.sensor for member in match.members})))
        with self._panel:
            self._one_event(match.evidence, has_event="event" in query)
            who = together(member.sensor for member in match.members)
            of = f"By their clocks, the times of {who} lie within the {_windows(match)}"
            Words("p", f"{of} of {match.query} with {probability(match.probability)}, in {match.area}.")
            if match.superseded_by is not None:
                self._go("A larger match has taken its place.", "match", match.superseded_by)
            self._when(match, templates, onset_bars(match, templates, query))
            if match.evidence is not None:
                draw_weighing(match.evidence, self._view.viewer)
            draw_fit(match, judged_of(match, query, explanation))
            self._chance(match)
            self._members("Who saw it", match.members, templates, match.evidence)
            self._ways("match", id_, raw, *_span_of(match.members))

    def _one_event(self, evidence: EvidenceAnswer | None, *, has_event: bool) -> None:
        said = Words("p", headline(evidence, has_event=has_event))
        if one_event(evidence):
            said.classes("verdict-sentence").props["title"] = repr(evidence and evidence.posterior)
        else:
            said.classes("soft")

    async def _templates_of(self, members: list[MemberAnswer]) -> dict[str, TemplateAnswer]:
        ids = {template_id(member) for member in members} - {""}
        found = await self._view.viewer.templates.find(self._view.viewer.rest, ids)
        return found | {
            id_: made for each in members if (id_ := template_id(each)) not in found and (made := spread_of(each))
        }

    async def _asked(self, match: MatchAnswer) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the match's query as it is now, and what the sensors could attain; empty where that is not known."""
        rest = self._view.viewer.rest
        asked = (("v1", "queries", match.query), ("v1", "queries", match.query, "explain"))
        answers = await asyncio.gather(
            *(rest.get(dict[str, Any], "alerting", path_of(*parts)) for parts in asked), return_exceptions=True
        )
        query, explained = (each if isinstance(each, dict) else {} for each in answers)
        return query.get("query") or {}, explained.get("explanation") or {}

    def _when(self, match: MatchAnswer, templates: dict[str, TemplateAnswer], onset: Sequence[OnsetBar]) -> None:
        times = self._view.viewer.times
        Words("h3", "When")
        if match.occurred is not None:
            mean, low, high = match.occurred.mean_us, match.occurred.p05_us, match.occurred.p95_us
            said = Words(
                "p",
                f"About {times.day(mean)} {times.clock(mean)}; "
                f"with 90 % between {times.clock(low)} and {times.clock(high)}.",
            )
            said.props["title"] = f"{times.exact(mean)}, standard deviation {match.occurred.std_s} s"
            for clock in match.occurred.clocks:
                Words("p", clock_sentence(clock)).props["title"] = f"standard deviation {clock.std_s} s"
        else:
            why = (match.unknown or {}).get("occurred", "it is not computed for this form of query")
            Words(
                "p",
                f"Between {times.instant(match.earliest_us)} and {times.instant(match.latest_us)}; "
                f"more is not known ({why.replace('_', ' ')}).",
            )
        lanes = [
            DensityLane(each.sensor, each.detected_at_us, templates.get(template_id(each))) for each in match.members
        ]
        begin_us, end_us = match.earliest_us, match.latest_us
        room_us = max(1, (end_us - begin_us) // 20)
        begin_us, end_us = begin_us - room_us, end_us + room_us
        with ui.element("div").classes("density-rows"):
            with ui.element("div").classes("density-names"):
                for name in [lane.name for lane in lanes] + (["together"] if onset else []):
                    Words("span", name)
            with ui.element("div").classes("density-picture"):
                draw_densities(match, lanes, onset, begin_us, end_us)
                with ui.element("div").classes("row spread soft small"):
                    for at_us in (begin_us, (begin_us + end_us) // 2, end_us):
                        figure(times.clock(at_us), times.exact(at_us))

    def _chance(self, match: MatchAnswer) -> None:
        Words("h3", "By chance")
        if match.chance_rate_hz is None:
            why = (match.unknown or {}).get("chance_rate_hz", "not known")
            Words("p", f"How often chance alone gives such a match is not known yet ({why.replace('_', ' ')}).")
        else:
            said = Words("p", f"Chance alone gives a match here whose times fit as well {rate(match.chance_rate_hz)}.")
            said.props["title"] = f"{match.chance_rate_hz!r} Hz"

    def _members(
        self,
        title: str,
        members: list[MemberAnswer],
        templates: dict[str, TemplateAnswer],
        evidence: EvidenceAnswer | None = None,
    ) -> None:
        times = self._view.viewer.times
        Words("h3", title)
        with ui.element("ul").classes("members"):
            for member in members:
                template = templates.get(template_id(member))
                with ui.element("li"):
                    Words("strong", member.sensor)
                    said = "" if template is None else f", {said_of(template)}"
                    when = Words("span", f" seen {times.clock(member.detected_at_us)}{said}")
                    when.props["title"] = times.exact(member.detected_at_us)
                    belongs = None if evidence is None else evidence.belongs(member.sensor, member.id)
                    if belongs is not None:
                        figure(belonging(belongs), repr(belongs)).classes("soft small block")
                    if attributes := msgspec.json.decode(member.attributes):
                        Words("code", json.dumps(attributes, ensure_ascii=False)).classes("block")

    async def _show_episode(self, id_: str) -> None:
        episode, raw = await self._read(EpisodeAnswer, "episodes", id_)
        if episode.start_us is None or episode.end_us is None:
            raise RestError("this episode stands no longer: later detections changed it", 404)
        wanted: Wanted = {
            "query": episode.query,
            "area": episode.area,
            "limit": LISTED,
            "from": episode.start_us,
            "to": episode.end_us,
        }
        page = await self._view.viewer.rest.get(PageAnswer[MatchAnswer], "alerting", "/v1/matches", wanted)
        times = self._view.viewer.times
        self._begin(f"An episode of {episode.query}")
        with self._panel:
            state = "may still go on" if episode.open else "is over, and final" if episode.final else "is over"
            Words(
                "p",
                f"{episode.counted} in {episode.area}{within(episode.lasted_s)}, "
                f"from {times.day(episode.start_us)} {times.clock(episode.start_us)} on. It {state}.",
            )
            if episode.uncertainty_s:
                doubt = duration(episode.uncertainty_s)
                Words("p", f"When it was is uncertain by {doubt}: so much longer are its times than it lasted.")
            if episode.posterior is not None:
                said = Words("p", f"The surest of its matches is one event with {probability(episode.posterior)}.")
                said.props["title"] = repr(episode.posterior)
            if episode.best_probability is not None:
                of = "It lasted long enough with" if episode.is_of_readings else "The times of its best match fit with"
                said = Words("p", f"{of} {probability(episode.best_probability)}.")
                said.props["title"] = repr(episode.best_probability)
            if episode.is_of_readings:
                Words("p", said_of_readings(episode, times))
            if page.items:
                Words("h3", "Its matches" if page.next_cursor is None else f"Its newest {len(page.items)} matches")
                for match in sorted(page.items, key=surest_first):
                    sensors = ", ".join(member.sensor for member in match.members)
                    self._go(f"{sensors}: {sure_words(match)}", "match", match.id)
            if episode.is_of_readings and episode.members:
                self._members("Its first and its last reading", episode.members, {})
                await self._show_curve(episode.members[0].sensor, episode.members[0].stream)
            self._ways("episode", id_, raw, episode.start_us, episode.end_us)

    async def _show_alert(self, id_: str) -> None:
        alert, raw = await self._read(AlertAnswer, "alerts", id_)
        self._begin(alert.title)
        with self._panel:
            times = self._view.viewer.times
            Words("p", f"{alert.severity}, {alert.state}, since {times.instant(alert.fired_at_us)}.")
            if alert.kind in ("episode", "match"):
                self._go(f"Show the {alert.kind} behind it", alert.kind, alert.source)
            self._ways("alert", id_, raw, alert.fired_at_us, alert.fired_at_us)

    async def _show_detection(self, told: dict[str, Any]) -> None:
        sensor, area, seen_us = str(told["sensor"]), str(told["area"]), int(told["at"])
        names = {str(told.get("template") or "")} - {""}
        templates = await self._view.viewer.templates.find(self._view.viewer.rest, names)
        reach_us = 120_000_000
        wanted: Wanted = {
            "area": area,
            "sensor": sensor,
            "from": seen_us - reach_us,
            "to": seen_us + reach_us,
            "limit": 100,
        }
        page = await self._view.viewer.rest.get(PageAnswer[MatchAnswer], "alerting", "/v1/matches", wanted)
        own = [each for each in page.items if any(_is_it(member, told) for member in each.members)]
        times = self._view.viewer.times
        self._begin(sensor)
        with self._panel:
            said = "".join(f", {said_of(each)}" for each in templates.values())
            Words("p", f"{told['stream']} in {area}, seen {times.day(seen_us)} {times.clock(seen_us)}{said}.")
            Words("h3", "It may have happened together with" if own else "It is in no match")
            for match in sorted(own, key=surest_first)[:LISTED]:
                others = ", ".join(member.sensor for member in match.members if member.sensor != sensor)
                self._go(f"{others}: {sure_words(match)} ({match.query})", "match", match.id)
            await self._show_curve(sensor, str(told["stream"]))
            copy_button(self._view.viewer.rest.curl("GET", "alerting", "/v1/matches", wanted))

    async def _show_curve(self, sensor: str, stream: str) -> None:
        """Draw what the sensor read of late, if it reads numbers."""
        recent = await read_recent(self._view.viewer)
        if readings := readings_of(recent.items, sensor, stream):
            Words("h3", f"What {sensor} read of late")
            draw_readings(readings, self._view.viewer.times)

    def _go(self, words: str, kind: str, id_: str) -> None:
        async def show() -> None:
            await self.show(kind, id_)

        button(words, show, kind="quiet wide")

    def _ways(self, kind: str, id_: str, raw: Any, begin_us: int, end_us: int) -> None:
        """Offer what leads on: to its times, a link to share, the command, and the record as it is."""
        view = self._view
        from_us, to_us = around(begin_us, end_us)
        there = replace(view.shown, from_us=from_us, to_us=to_us, follows=False, chosen=(kind, id_), query="")
        address = there.address()

        def go() -> None:
            view.on_follow(False)
            view.timeline.follow(False)
            view.timeline.go_to(from_us, to_us)

        with ui.element("div").classes("row"):
            button("Show these times", go)
            share = button(
                "Copy link",
                lambda: ui.run_javascript(f"navigator.clipboard.writeText(location.origin + {json.dumps(address)})"),
            )
            share.props["data-address"] = address
            copy_button(view.viewer.rest.curl("GET", "alerting", path_of("v1", COLLECTIONS[kind], id_)))
        with ui.element("details"):
            Words("summary", "Raw record")
            Words("pre", json.dumps(raw, indent=2, ensure_ascii=False)).props("tabindex=0")


def detection_of(key: str) -> dict[str, Any]:
    """Return the detection that the timeline knows by a key; a `RestError` where it is no such key."""
    found = _DETECTION.fullmatch(key)
    if found is None:
        raise RestError(f"there is no detection {key[:100]!r}", 404)
    return {**found.groupdict(), "at": int(found["at"])}


def sure_words(match: MatchAnswer) -> str:
    """Return how sure it is that a match is one event, or as long as that is not known how well its times fit."""
    sure = one_event(match.evidence)
    return f"one event, {sure}" if sure else f"times fit with {probability(match.probability)}"


def belonging(belongs: float) -> str:
    """Say how probable it is that a detection belongs to the event of a match."""
    if belongs < STRANGER_BELOW:
        return f"perhaps a stranger: it belongs with {probability(belongs)}"
    return f"belongs with {probability(belongs)}"


def _windows(match: MatchAnswer) -> str:
    return "window" if match.edges is None else "windows"


def _span_of(members: list[MemberAnswer]) -> tuple[int, int]:
    return min(each.detected_at_us for each in members), max(each.detected_at_us for each in members)


def _is_it(member: MemberAnswer, told: dict[str, Any]) -> bool:
    return (member.sensor, member.stream, member.detected_at_us) == (told["sensor"], told["stream"], told["at"])


def said_of_readings(episode: EpisodeAnswer, times: TimeWords) -> str:
    """Return a sentence about what was read, and of which window a query asked."""
    sides = episode.value.items() if isinstance(episode.value, dict) else []  # of a join: both groups
    value = ", ".join(f"{name}: {_as_text(each)}" for name, each in sides) or _as_text(episode.value)
    window = episode.window
    asked = "" if window is None else f" The window is {times.exact(window.start_us)} to {times.exact(window.end_us)}."
    return f"It read {value} at its start.{asked}"


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
