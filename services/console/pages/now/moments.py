"""Moments: when something happened in each area for the last time, to jump to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from services.console.pages.one_event_words import one_event
from services.console.pages.shown_range import around
from services.console.pages.time_words import TimeWords, duration, probability
from services.console.rest.documents import EpisodeAnswer, MatchAnswer

OLD_US = 3600 * 1_000_000


@dataclass(frozen=True)
class Moment:
    """The last time that something happened in an area: an episode, or a match where nothing is coalesced.

    From the first to the last report of it, or of its time, for a picture of it; `lasted_us` is how long it was itself.
    What `counts` readings has lasted at `who`, and may go on.
    """

    area: str
    query: str
    from_us: int
    to_us: int
    lasted_us: int
    count: int
    who: tuple[str, ...]
    best_probability: float | None
    counts: str = "1 match"
    is_of_readings: bool = False
    is_open: bool = False
    one_event: str = ""  # how sure that is

    def is_old(self, now_us: int) -> bool:
        """Whether it is worth a jump, because nobody sees it in the present."""
        return self.to_us < now_us - OLD_US

    def renews(self, other: Moment) -> bool:
        """Whether it is of the same query as another one, and no older."""
        return self.query == other.query and self.to_us >= other.to_us

    def is_told_rather_than(self, other: Moment) -> bool:
        """Whether it says more of the last time than another one does: it is later, or at that time and surer."""
        if self.from_us > other.to_us or other.from_us > self.to_us:
            return self.from_us > other.to_us
        if bool(self.one_event) != bool(other.one_event):
            return bool(self.one_event)
        return self.to_us > other.to_us and self.count >= other.count

    def range(self) -> tuple[int, int]:
        """Return times that show it."""
        return around(self.from_us, self.to_us)

    def sentence(self, times: TimeWords, now_us: int) -> str:
        """Say what happened and when."""
        return self._lasting(times, now_us) if self.is_of_readings else self._together(times, now_us)

    def _together(self, times: TimeWords, now_us: int) -> str:
        when = (
            f"on {times.day(self.from_us)} at {times.clock(self.from_us)}"
            if self.is_old(now_us)
            else f"{_ago(now_us - self.to_us)} ago"
        )
        many, sure = "", self._sure_of_it("The times fit with", "One event,")
        if self.count > 1:
            many = f": {self.counts} within {self._length}, which are one episode"
            sure = self._sure_of_it("The best times fit with", "The surest is one event with")
        return f"What {together(self.who)} saw may have happened together {when}{many}.{sure}"

    def _sure_of_it(self, fit: str, is_one: str) -> str:
        return f" {is_one} {self.one_event}." if self.one_event else self._sure(fit)

    def _lasting(self, times: TimeWords, now_us: int) -> str:
        began = times.instant(self.from_us) if self.is_old(now_us) else f"{_ago(now_us - self.from_us)} ago"
        ended = f"from {began} on" if self.is_old(now_us) else f"until {_ago(now_us - self.to_us)} ago"
        where = f"at {together(self.who)}" if self.who else f"in {self.area}"
        lasted = f"lasts {where} since {began}" if self.is_open else f"lasted {self._length} {where} {ended}"
        sure = self._sure("It lasted long enough with")
        return f"What {self.query} asks for {lasted}: {self.counts}.{sure}"

    @property
    def _length(self) -> str:
        return duration(self.lasted_us / 1e6)

    def _sure(self, of: str) -> str:
        return "" if self.best_probability is None else f" {of} {probability(self.best_probability)}."

    def exact(self, times: TimeWords) -> str:
        """Return its times and its probability as they are."""
        sure = "" if self.best_probability is None else f", probability {self.best_probability!r}"
        return f"{times.exact(self.from_us)} to {times.exact(self.to_us)}{sure}"


def last_moments(episodes: Iterable[EpisodeAnswer], matches: Iterable[MatchAnswer]) -> list[Moment]:
    """Return the last moment of each area, the newest first."""
    found: dict[str, Moment] = {}
    for moment in (*map(_of_episode, episodes), *map(_of_match, matches)):
        if moment is None:
            continue
        known = found.get(moment.area)
        if known is None or moment.is_told_rather_than(known):
            found[moment.area] = moment
    return sorted(found.values(), key=lambda each: -each.to_us)


def _of_episode(episode: EpisodeAnswer) -> Moment | None:
    if episode.retracted or episode.start_us is None or episode.end_us is None:
        return None
    members = episode.members or []
    seen_us = [member.detected_at_us for member in members]
    who = {member.sensor for member in members} or {str(value) for value in episode.group.values()}
    return Moment(
        episode.area,
        episode.query,
        min([episode.start_us, *seen_us]),
        max([episode.end_us, *seen_us]),
        round(episode.lasted_s * 1e6),
        episode.count or 0,
        tuple(sorted(who)),
        episode.best_probability,
        episode.counted,
        episode.is_of_readings,
        bool(episode.open),
        one_event="" if episode.posterior is None else probability(episode.posterior),
    )


def _of_match(match: MatchAnswer) -> Moment:
    seen_us = [member.detected_at_us for member in match.members]
    sensors = tuple(sorted({member.sensor for member in match.members}))
    spans = min(seen_us), max(seen_us)
    return Moment(
        match.area,
        match.query,
        *spans,
        spans[1] - spans[0],
        1,
        sensors,
        match.probability,
        one_event=one_event(match.evidence),
    )


def _ago(length_us: int) -> str:
    return duration(float(max(1, round(length_us / 1e6))))


def together(sensors: Iterable[str]) -> str:
    """Return who it was: three sensors by name, and how many more."""
    names = sorted(set(sensors))
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more sensors"
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)
