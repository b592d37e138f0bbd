"""QueryEpisodes: the episodes of one query that may still change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from coincide.query import Query
from coincide.query_coalesce import EpisodeRule
from spark_jobs.episodes.grouping import GroupChanges, regrouped
from spark_jobs.episodes.labels import labels_of
from spark_jobs.episodes.live_episode import LiveEpisode, Phase
from spark_jobs.episodes.part import part_of
from spark_jobs.episodes.records import Episode, GroupKey, Retraction
from spark_jobs.episodes.slots import EpisodeSlots
from spark_jobs.matches import Match

Told = Episode | Retraction
WatermarkOf = Callable[[str], int | None]  # of an area by name; None where it has been forgotten

NEVER_US = 1 << 62


@dataclass
class QueryEpisodes:
    """Episodes of one query, by group; the same whatever the batches were.

    Attributes
    ----------
    query : Query
        As it is in force now.
    rule : EpisodeRule
        Its `coalesce`, which stays as it is.
    horizon_us : int
        So far behind the watermark may the earliest member of a match to come begin.
    slots : EpisodeSlots
        Shared by all queries.
    """

    query: Query
    rule: EpisodeRule
    horizon_us: int
    slots: EpisodeSlots
    _live: dict[GroupKey, list[LiveEpisode]] = field(default_factory=dict)
    _changes: dict[GroupKey, GroupChanges] = field(default_factory=dict)
    _seen_us: dict[str, int | None] = field(default_factory=dict)  # where the watermark of an area was last time
    _loose: dict[str, GroupKey] = field(default_factory=dict)  # of the matches that may still be superseded

    def __len__(self) -> int:
        return sum(map(len, self._live.values()))

    def add(self, match: Match, revision: int) -> None:
        """Take a match and let go of those that it supersedes; `revision` is the offset of its newest frame."""
        group = GroupKey(match.query, match.area, labels_of(self.rule.by, match.members))
        for superseded in match.supersedes or ():
            known = self._loose.pop(superseded, None)
            if known is not None:
                self._changes.setdefault(known, GroupChanges()).remove(superseded, revision)
        self._changes.setdefault(group, GroupChanges()).add(match.id, part_of(match, self.rule.interval, revision))
        if self.query.at_least is not None:
            self._loose[match.id] = group

    def restore(self, episode: LiveEpisode, watermark_us: int | None) -> None:
        """Take an episode that was saved when its area's watermark was there."""
        episode.phase = self._phase(episode, watermark_us)
        self._keep(episode)

    def told(self, watermark_of: WatermarkOf) -> list[Told]:
        """Return what has changed since it was last asked, by group and start."""
        entries: list[_Entry] = []
        for group, changes in self._changes.items():
            entries += self._regroup(group, changes, watermark_of(group.area))
        self._changes = {}
        reached_us = {area: watermark_of(area) for area in {group.area for group in self._live}}
        for group in list(self._live):
            if self._seen_us.get(group.area, NEVER_US) != reached_us[group.area]:
                entries += self._move_on(group, reached_us[group.area])
        self._seen_us = reached_us
        return [record for *_, record in sorted(entries, key=lambda entry: entry[:-1])]

    def follow(self, query: Query, horizon_us: int) -> None:
        """Go on with another version of the query that coalesces by the same rule."""
        self.query, self.horizon_us = query, horizon_us
        self._seen_us = {}

    def ended(self) -> list[Told]:
        """Return every episode as final, and keep none."""
        return self.told(lambda _: None)

    def _regroup(self, group: GroupKey, changes: GroupChanges, watermark_us: int | None) -> Iterator[_Entry]:
        known = self._live.pop(group, [])
        for match in changes.added:
            self._loose.pop(match, None)
        found = regrouped(group, known, changes, self.rule.gap_us, self._settled_before_us(watermark_us))
        gone = [episode for episode in known if episode not in found.kept]
        self._forget(gone)
        there = {episode.id for episode in found.new}
        for episode in gone:
            if episode.id not in there:
                yield _entry(episode, episode.retracted(changes.revision, found.new))
        if found.kept:
            self._live[group] = found.kept
        for episode in found.new:
            episode.phase = self._phase(episode, watermark_us)
            yield _entry(episode, episode.told(self.rule.by))
            if episode.phase is not Phase.FINAL:
                self.slots.write(episode)
                self._keep(episode)

    def _move_on(self, group: GroupKey, watermark_us: int | None) -> Iterator[_Entry]:
        """Tell of the episodes that time has gone past, and let go of those that are final."""
        for episode in self._live[group]:
            phase = self._phase(episode, watermark_us)
            if phase is not episode.phase:
                episode.phase = phase
                yield _entry(episode, episode.told(self.rule.by))
        final = [episode for episode in self._live[group] if episode.phase is Phase.FINAL]
        if final:
            self._forget(final)
            self._live[group] = [episode for episode in self._live[group] if episode.phase is not Phase.FINAL]
            if not self._live[group]:
                del self._live[group]

    def _keep(self, episode: LiveEpisode) -> None:
        self._live.setdefault(episode.group, []).append(episode)
        self._loose |= dict.fromkeys(episode.loose, episode.group)

    def _forget(self, episodes: Iterable[LiveEpisode]) -> None:
        for episode in episodes:
            self.slots.drop(episode)
            for match in episode.loose:
                self._loose.pop(match, None)

    def _phase(self, episode: LiveEpisode, watermark_us: int | None) -> Phase:
        if watermark_us is None:
            return Phase.FINAL
        return episode.phase_at(watermark_us, self.horizon_us)

    def _settled_before_us(self, watermark_us: int | None) -> int:
        if self.query.at_least is None or watermark_us is None:
            return NEVER_US
        return watermark_us - self.horizon_us


_Entry = tuple[str, bytes, int, str, Told]


def _entry(episode: LiveEpisode, record: Told) -> _Entry:
    return episode.group.area, episode.group.values, episode.whole.start_us, episode.id, record
