"""The episodes of all queries of a shard, and how each batch changes them."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from coincide.arrays.kinds import Int64Array
from coincide.fusion.control.control import ActiveQuery
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.episodes.episode_records import GroupKey
from coincide.fusion.episodes.episode_slots import EpisodeSlot, EpisodeSlots
from coincide.fusion.episodes.live_span import taken_out
from coincide.fusion.episodes.query_episodes import QueryEpisodes
from coincide.fusion.rows.areas import Areas
from coincide.fusion.rows.query_retention import horizon_us
from coincide.joins.lateness import BEFORE_ALL_US
from coincide.queries import Query
from coincide.wire.results.episode_record import EpisodeRecord
from coincide.wire.results.match_record import MatchRecord


@dataclass
class Episodes:
    """Episodes by query; pure: nothing here reads a clock, and batches change nothing."""

    streams: KnownStreams
    areas: Areas
    slots: EpisodeSlots = field(default_factory=EpisodeSlots)
    _by_query: dict[str, QueryEpisodes] = field(default_factory=dict)
    _ended: list[EpisodeRecord] = field(default_factory=list)
    _revision: int = -1  # of the streams, by which the horizons are
    _seen: tuple[int, Int64Array] = (0, np.empty(0, np.int64))  # areas forgotten, and watermarks, when last asked

    def begin(self, queries: Iterable[ActiveQuery]) -> None:
        """Begin a batch with the queries in force; the episodes of others, and of other rules, are final."""
        self.slots.begin()
        wanted = {active.query.id: active for active in queries if active.query.coalesce is not None}
        for over in taken_out(self._by_query, wanted).values():
            self._ended += over.ended()
        is_declared_anew, self._revision = self._revision != self.streams.revision, self.streams.revision
        for active in wanted.values():
            self._follow(active.query, active.activation_seq, is_declared_anew)

    def add(self, match: MatchRecord, revision: int) -> None:
        """Take a match of a query in force that coalesces; `revision` is the offset of the frame that completed it."""
        area = self.areas.area(match.area, 0)  # known, since its rows are
        self._by_query[match.query].add(match, area.since, revision)

    def changes(self) -> list[EpisodeRecord]:
        """Return what has changed in this batch, by query, group and start."""
        changes, self._ended = self._ended, []
        moved = self._moved() if self._by_query else set()
        for episodes in self._by_query.values():
            changes += episodes.changes(self._watermark_us, moved)
        return changes

    def restore(self, queries: Iterable[ActiveQuery], saved: Iterable[EpisodeSlot]) -> None:
        """Take the episodes that were saved after the last batch, in which these queries were in force."""
        self.begin(queries)
        for slot in saved:
            self.slots.live.add(slot.number)
            episodes = self._by_query[slot.group.query]
            episodes.restore(slot.episode(episodes.rule), self._watermark_us(slot.group))

    def _follow(self, query: Query, activation_seq: int, is_declared_anew: bool) -> None:
        known = self._by_query.get(query.id)
        if known is not None and known.query == query and not is_declared_anew:
            return
        horizon = horizon_us(query, self.streams.kept)
        if known is not None:
            known.follow(query, horizon)
        elif query.coalesce is not None:
            self._by_query[query.id] = QueryEpisodes(query, query.coalesce, activation_seq, horizon, self.slots)

    def _moved(self) -> set[str] | None:
        """Return the areas whose watermark has moved since it was last asked; None: all may have."""
        areas, (forgotten, before_us) = self.areas, self._seen
        now_us = areas.watermark.state_us
        self._seen = areas.forgotten, now_us
        if areas.forgotten != forgotten:
            return None
        seen_us = np.full(len(now_us), BEFORE_ALL_US)
        seen_us[: len(before_us)] = before_us
        return {areas.area_of(code).name for code in np.flatnonzero(now_us != seen_us).tolist()}

    def _watermark_us(self, group: GroupKey) -> int | None:
        known = self.areas.get(group.area)
        return None if known is None or known.since != group.since else self.areas.watermark.us(known.code)
