"""The evidence of a detection: who reported it, and which matches it is in."""

from __future__ import annotations

import re
from typing import Any

from services.console.drawing.template_words import said_of
from services.console.pages.now.evidence.frame import EvidenceFrame, Wanted
from services.console.pages.now.evidence.member_list import show_curve
from services.console.pages.now.evidence.of_episode import LISTED, sure_words
from services.console.pages.one_event_words import surest_first
from services.console.pages.shell import Words, copy_button
from services.console.rest.documents import MatchAnswer, MemberAnswer, PageAnswer
from services.console.rest.services import RestError

REACH_US, MOST_MATCHES = 120_000_000, 100
_DETECTION = re.compile(  # see `Scene.addDetection`
    r"(?P<area>[^\n]*)\n(?P<sensor>[^\n]*)\n(?P<stream>[^\n]*)\n(?:[^\n]*)\n(?P<at>-?\d{1,18})", re.ASCII
)


def detection_of(key: str) -> dict[str, Any]:
    """Return the detection that the timeline knows by a key; a `RestError` where it is no such key."""
    found = _DETECTION.fullmatch(key)
    if found is None:
        raise RestError(f"there is no detection {key[:100]!r}", 404)
    return {**found.groupdict(), "at": int(found["at"])}


async def show_detection(frame: EvidenceFrame, told: dict[str, Any]) -> None:
    """Fill the panel with the evidence of a detection, as the timeline tells of it."""
    sensor, area, seen_us = str(told["sensor"]), str(told["area"]), int(told["at"])
    viewer = frame.view.viewer
    templates = await viewer.templates.find(viewer.rest, {str(told.get("template") or "")} - {""})
    wanted: Wanted = {
        "area": area,
        "sensor": sensor,
        "from": seen_us - REACH_US,
        "to": seen_us + REACH_US,
        "limit": MOST_MATCHES,
    }
    page = await viewer.rest.get(PageAnswer[MatchAnswer], "alerting", "/v1/matches", wanted)
    own = [each for each in page.items if any(_is_it(member, told) for member in each.members)]
    with frame.begin(sensor):
        said = "".join(f", {said_of(each)}" for each in templates.values())
        seen = f"{viewer.times.day(seen_us)} {viewer.times.clock(seen_us)}"
        Words("p", f"{told['stream']} in {area}, seen {seen}{said}.")
        Words("h3", "It may have happened together with" if own else "It is in no match")
        for match in sorted(own, key=surest_first)[:LISTED]:
            others = ", ".join(member.sensor for member in match.members if member.sensor != sensor)
            frame.go(f"{others}: {sure_words(match)} ({match.query})", "match", match.id)
        await show_curve(viewer, sensor, str(told["stream"]))
        copy_button(viewer.rest.curl("GET", "alerting", "/v1/matches", wanted))


def _is_it(member: MemberAnswer, told: dict[str, Any]) -> bool:
    return (member.sensor, member.stream, member.detected_at_us) == (told["sensor"], told["stream"], told["at"])
