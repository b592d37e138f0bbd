"""The episodes of one query that may still change."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import json

from coincide.fusion.control.control import ActiveQuery
from coincide.fusion.episodes.episode_records import GroupKey, part_of
from coincide.fusion.episodes.episode_slots import EpisodeSlots
from coincide.fusion.episodes.grouping import GroupChanges, regrouped
from coincide.fusion.episodes.live_episode import LiveEpisode
from coincide.fusion.episodes.live_span import Entry, Phase, in_order
from coincide.queries import EpisodeRule, Query
from coincide.queries.fields.checks import ATTRIBUTES
from coincide.queries.joins.episode_rule import LABEL
from coincide.wire.fields import Scalar
from coincide.wire.payload import as_read, attribute, attributes_of, payload_of
from coincide.wire.results.episode_record import EpisodeRecord
from coincide.wire.results.match_record import MatchMember, MatchRecord


def labels_of(by: Sequence[str], members: Sequence[MatchMember]) -> bytes:
    """Return the value of each label as a JSON list: null where a role is absent or there is no such value.

    Values are strings, numbers by what they are worth, true or false.

    Examples
    --------
    >>> from msgspec import Raw
    >>> one = MatchMember("s", "geo-1", "g1", "seismic", 0, 0, 0, "t", attributes=Raw(b'{"object":7.0}'))
    >>> labels_of(["s.sensor", "s.attributes.object", "t.sensor", "attributes.object"], [one])
    b'["geo-1",7,null,7]'
    """
    return json.encode([_label(name, members) for name in by])


def _label(label: str, members: Sequence[MatchMember]) -> Scalar | None:
    if label.startswith(ATTRIBUTES):  # the attribute that is equal in all members
        return _attribute(members[0], label)
    matched = LABEL.fullmatch(label)
    assert matched is not None, label  # noqa: S101 - EpisodeRule has checked it
    for member in members:
        if member.role == matched["role"]:
            return member.sensor if matched["name"] is None else _attribute(member, matched["name"])
    return None


def _attribute(member: MatchMember, name: str) -> Scalar | None:
    value = attribute(attributes_of(payload_of(member)), name)
    return as_read(value) if isinstance(value, Scalar) else None


WatermarkOf = Callable[[GroupKey], int | None]  # of a group's area; None where it has been forgotten

NEVER_US = 1 << 62


@dataclass
class QueryEpisodes:
    """Episodes of one query, by group, as long as its rule and activation stay; the same whatever the batches were."""

    query: Query
    rule: EpisodeRule
    activation_seq: int
    horizon_us: int
    slots: EpisodeSlots
    _live: dict[GroupKey, list[LiveEpisode]] = field(default_factory=dict)
    _changes: dict[GroupKey, GroupChanges] = field(default_factory=dict)
    _is_behind: bool = True  # whether time may have gone past groups in areas where it stands still
    _loose: dict[tuple[str, str], GroupKey] = field(default_factory=dict)  # of the matches that may still be superseded

    def add(self, match: MatchRecord, since: int, revision: int) -> None:
        """Take a match from a frame at offset `revision`, and let go of those it supersedes."""
        group = GroupKey(match.query, match.area, since, labels_of(self.rule.by, match.members))
        for superseded in match.supersedes or ():
            known = self._loose.pop((match.area, superseded), None)
            if known is not None:
                self._changes.setdefault(known, GroupChanges()).remove(superseded, revision)
        self._changes.setdefault(group, GroupChanges()).add(match.id, part_of(match, self.rule.interval, revision))
        if self.query.at_least is not None:
            self._loose[match.area, match.id] = group

    def restore(self, episode: LiveEpisode, watermark_us: int | None) -> None:
        """Take an episode that was saved when its area's watermark was there."""
        phase = self._phase(episode, watermark_us)
        episode.phase = Phase.CLOSED if phase is Phase.FINAL else phase  # no record has said that it is final
        self._keep(episode)

    def changes(self, watermark_of: WatermarkOf, moved: Container[str] | None = None) -> list[EpisodeRecord]:
        """Return what has changed since it was last asked, by group and start.

        Since then the watermarks of areas that `moved` may have; None: of all.
        """
        entries: list[Entry] = []
        for group, changes in self._changes.items():
            entries += self._regroup(group, changes, watermark_of(group))
        self._changes = {}
        for group in list(self._live):
            if self._is_behind or moved is None or group.area in moved:
                entries += self._move_on(group, watermark_of(group))
        self._is_behind = False
        return in_order(entries)

    def goes_on_with(self, active: ActiveQuery) -> bool:
        """Whether what is in force now adds to the same episodes: another threshold, or a pause."""
        return active.query.coalesce == self.rule and active.activation_seq == self.activation_seq

    def follow(self, query: Query, horizon_us: int) -> None:
        """Go on with another version of the query that coalesces by the same rule."""
        self.query, self.horizon_us = query, horizon_us
        self._is_behind = True

    def ended(self) -> list[EpisodeRecord]:
        """Return every episode as final, and keep none."""
        return self.changes(lambda _: None)

    def _regroup(self, group: GroupKey, changes: GroupChanges, watermark_us: int | None) -> Iterator[Entry]:
        known = self._live.pop(group, [])
        for match in changes.added:
            self._loose.pop((group.area, match), None)
        kept, new = regrouped(group, known, changes, self.rule, self._settled_before_us(watermark_us))
        stays = set(kept)
        gone = [episode for episode in known if episode not in stays]
        self._forget(gone)
        new_ids = {episode.id for episode in new}
        for episode in gone:
            if episode.id not in new_ids:
                version = episode.whole.query_version
                yield episode.retracted(version, changes.revision, _overlapping(episode, new))
        if kept:
            self._live[group] = kept
        for episode in new:
            episode.phase = self._phase(episode, watermark_us)
            yield episode.told()
            if episode.phase is not Phase.FINAL:
                self.slots.write(episode)
                self._keep(episode)

    def _move_on(self, group: GroupKey, watermark_us: int | None) -> Iterator[Entry]:
        """Tell of the episodes that time has gone past, and let go of those that are final."""
        for episode in self._live[group]:
            phase = self._phase(episode, watermark_us)
            if phase is not episode.phase:
                episode.phase = phase
                yield episode.told()
        final = [episode for episode in self._live[group] if episode.phase is Phase.FINAL]
        if final:
            self._forget(final)
            self._live[group] = [episode for episode in self._live[group] if episode.phase is not Phase.FINAL]
            if not self._live[group]:
                del self._live[group]

    def _keep(self, episode: LiveEpisode) -> None:
        self._live.setdefault(episode.group, []).append(episode)
        self._loose |= {(episode.group.area, match): episode.group for match in episode.loose}

    def _forget(self, episodes: Iterable[LiveEpisode]) -> None:
        for episode in episodes:
            self.slots.drop(episode)
            for match in episode.loose:
                self._loose.pop((episode.group.area, match), None)

    def _phase(self, episode: LiveEpisode, watermark_us: int | None) -> Phase:
        if watermark_us is None:
            return Phase.FINAL
        last_us = episode.whole.end_us + self.rule.gap_us
        if last_us < watermark_us - self.horizon_us:  # nothing can change it any more
            return Phase.FINAL
        return Phase.CLOSED if last_us < watermark_us else Phase.OPEN

    def _settled_before_us(self, watermark_us: int | None) -> int:
        if self.query.at_least is None or watermark_us is None:
            return NEVER_US
        return watermark_us - self.horizon_us


def _overlapping(episode: LiveEpisode, others: Sequence[LiveEpisode]) -> Sequence[LiveEpisode]:
    """Return those of the others, which are in order and apart, that lie where the episode was."""
    first = bisect_left(others, episode.start_us, key=lambda other: other.end_us)
    last = bisect_right(others, episode.end_us, key=lambda other: other.start_us)
    return others[first:last]
