"""The evidence of a match: whether it is one event, when it was, what speaks for it, and who saw it."""

from __future__ import annotations

import asyncio
from typing import Any

from services.console.pages.now.evidence.fit import draw_fit, judged_of
from services.console.pages.now.evidence.frame import EvidenceFrame
from services.console.pages.now.evidence.member_list import list_members, templates_of
from services.console.pages.now.evidence.onset_sentence import onset_bars
from services.console.pages.now.evidence.weighing import draw_weighing
from services.console.pages.now.evidence.when import draw_when
from services.console.pages.now.evidence.where import draw_where
from services.console.pages.now.moments import together
from services.console.pages.one_event_words import headline, one_event
from services.console.pages.shell import Words
from services.console.pages.time_words import probability, rate
from services.console.rest.documents import MatchAnswer, MemberAnswer
from services.console.rest.evidence_answers import EvidenceAnswer
from services.console.rest.services import Rest, path_of


async def show_match(frame: EvidenceFrame, id_: str) -> None:
    """Fill the panel with the evidence of a match; a `RestError` says why it cannot be."""
    viewer = frame.view.viewer
    match, raw = await frame.read(MatchAnswer, "matches", id_)
    (query, explanation), templates = await asyncio.gather(
        _asked(viewer.rest, match), templates_of(viewer, match.members)
    )
    with frame.begin(" + ".join(sorted({member.sensor for member in match.members}))):
        _say_one_event(match.evidence, has_event="event" in query)
        _say_fit(match)
        if match.superseded_by is not None:
            frame.go("A larger match has taken its place.", "match", match.superseded_by)
        draw_when(match, templates, onset_bars(match, templates, query), viewer.times)
        draw_where(match, viewer.times)
        if match.evidence is not None:
            draw_weighing(match.evidence, viewer, query.get("event") or {})
        draw_fit(match, judged_of(match, query, explanation))
        _say_chance(match)
        list_members(viewer, "Who saw it", match.members, templates, match.evidence)
        frame.ways("match", id_, raw, *_span_of(match.members))


async def _asked(rest: Rest, match: MatchAnswer) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the match's query as it is now, and what the sensors could attain; empty where that is not known."""
    asked = (("v1", "queries", match.query), ("v1", "queries", match.query, "explain"))
    answers = await asyncio.gather(
        *(rest.get(dict[str, Any], "alerting", path_of(*parts)) for parts in asked), return_exceptions=True
    )
    query, explained = (each if isinstance(each, dict) else {} for each in answers)
    return query.get("query") or {}, explained.get("explanation") or {}


def _say_one_event(evidence: EvidenceAnswer | None, *, has_event: bool) -> None:
    said = Words("p", headline(evidence, has_event=has_event))
    if one_event(evidence):
        said.classes("verdict-sentence").props["title"] = repr(evidence and evidence.posterior)
    else:
        said.classes("soft")


def _say_fit(match: MatchAnswer) -> None:
    who = together(member.sensor for member in match.members)
    of = f"By their clocks, the times of {who} lie within the {'window' if match.edges is None else 'windows'}"
    Words("p", f"{of} of {match.query} with {probability(match.probability)}, in {match.area}.")


def _say_chance(match: MatchAnswer) -> None:
    Words("h3", "By chance")
    if match.chance_rate_hz is None:
        why = (match.unknown or {}).get("chance_rate_hz", "not known")
        Words("p", f"How often chance alone gives such a match is not known yet ({why.replace('_', ' ')}).")
    else:
        said = Words("p", f"Chance alone gives a match here whose times fit as well {rate(match.chance_rate_hz)}.")
        said.props["title"] = f"{match.chance_rate_hz!r} Hz"


def _span_of(members: list[MemberAnswer]) -> tuple[int, int]:
    return min(each.detected_at_us for each in members), max(each.detected_at_us for each in members)
