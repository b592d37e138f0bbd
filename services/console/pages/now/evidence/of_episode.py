"""The evidence of an episode: how long it lasted, how sure it is, and which matches or readings it is made of."""

from __future__ import annotations

import json

from services.console.pages.now.evidence.frame import EvidenceFrame, Wanted
from services.console.pages.now.evidence.member_list import list_members, show_curve
from services.console.pages.now.evidence.when import say_clocks
from services.console.pages.one_event_words import one_event, surest_first
from services.console.pages.shell import Words
from services.console.pages.time_words import TimeWords, duration, probability, within
from services.console.rest.documents import EpisodeAnswer, MatchAnswer, PageAnswer
from services.console.rest.services import RestError

LISTED = 20


async def show_episode(frame: EvidenceFrame, id_: str) -> None:
    """Fill the panel with the evidence of an episode; a `RestError` says why it cannot be."""
    viewer = frame.view.viewer
    episode, raw = await frame.read(EpisodeAnswer, "episodes", id_)
    if episode.start_us is None or episode.end_us is None:
        raise RestError("this episode stands no longer: later detections changed it", 404)
    wanted: Wanted = {
        "query": episode.query,
        "area": episode.area,
        "limit": LISTED,
        "from": episode.start_us,
        "to": episode.end_us,
    }
    page = await viewer.rest.get(PageAnswer[MatchAnswer], "alerting", "/v1/matches", wanted)
    matches = sorted(page.items, key=surest_first)
    with frame.begin(f"An episode of {episode.query}"):
        _say_sure(episode, matches)
        _say_what(episode, episode.start_us, viewer.times)
        if matches:
            Words("h3", "Its matches" if page.next_cursor is None else f"Its newest {len(matches)} matches")
            for match in matches:
                sensors = ", ".join(member.sensor for member in match.members)
                frame.go(f"{sensors}: {sure_words(match)}", "match", match.id)
        if episode.is_of_readings and episode.members:
            list_members(viewer, "Its first and its last reading", episode.members, {})
            await show_curve(viewer, episode.members[0].sensor, episode.members[0].stream)
        frame.ways("episode", id_, raw, episode.start_us, episode.end_us)


def _say_sure(episode: EpisodeAnswer, matches: list[MatchAnswer]) -> None:
    """Say how sure it is that its surest match is one event, and how slow the clocks of that were."""
    if episode.posterior is None:
        return
    words = "One event" if episode.count == 1 else "The surest of its matches is one event with"
    said = Words("p", f"{words}{',' if episode.count == 1 else ''} {probability(episode.posterior)}.")
    said.classes("verdict-sentence").props["title"] = repr(episode.posterior)
    if matches and matches[0].posterior == episode.posterior:
        say_clocks(matches[0])


def _say_what(episode: EpisodeAnswer, start_us: int, times: TimeWords) -> None:
    state = "may still go on" if episode.open else "is over, and final" if episode.final else "is over"
    made_of = f"{episode.counted} in {episode.area}{within(episode.lasted_s)}"
    Words("p", f"{made_of}, from {times.day(start_us)} {times.clock(start_us)} on. It {state}.")
    if episode.uncertainty_s:
        doubt = duration(episode.uncertainty_s)
        Words("p", f"When it was is uncertain by {doubt}: so much longer are its times than it lasted.")
    if episode.best_probability is not None:
        of = "It lasted long enough with" if episode.is_of_readings else "The times of its best match fit with"
        said = Words("p", f"{of} {probability(episode.best_probability)}.")
        said.props["title"] = repr(episode.best_probability)
    if episode.is_of_readings:
        Words("p", said_of_readings(episode, times))


def sure_words(match: MatchAnswer) -> str:
    """Return how sure it is that a match is one event, or as long as that is not known how well its times fit."""
    sure = one_event(match.evidence)
    return f"one event, {sure}" if sure else f"times fit with {probability(match.probability)}"


def said_of_readings(episode: EpisodeAnswer, times: TimeWords) -> str:
    """Return a sentence about what was read, and of which window a query asked."""
    sides = episode.value.items() if isinstance(episode.value, dict) else []  # of a join: both groups
    value = ", ".join(f"{name}: {_as_text(each)}" for name, each in sides) or _as_text(episode.value)
    window = episode.window
    asked = "" if window is None else f" The window is {times.exact(window.start_us)} to {times.exact(window.end_us)}."
    return f"It read {value} at its start.{asked}"


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
