"""ShardEvidence: the matches of all queries of a shard that wait for their evidence, and what each batch tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from coincide.fusion.control.control import ActiveQuery
from coincide.fusion.matching.search_work import OutOfTimeError
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.rows.query_retention import reach_us
from coincide.fusion.rows.rates import Background
from coincide.fusion.rows.row_codes import RowCodes
from coincide.fusion.saving.state_format import FORMAT
from coincide.fusion.weighing.group_weights import blocks_of, unweighed, weighed
from coincide.fusion.weighing.match_groups import MatchGroup, MatchGroups
from coincide.fusion.weighing.pending_match import (
    MOST_LIVE,
    DetectionKey,
    PackedTemplates,
    PendingMatch,
    PendingMember,
    PendingSlots,
)
from coincide.fusion.weighing.unpaired_rates import unpaired_hz
from coincide.joins.tuples.set_order import ABSENT
from coincide.queries import Query
from coincide.wire.results.evidence_record import EvidenceRecord
from coincide.wire.results.match_record import MatchRecord

AreaKey = tuple[str, int]
"""Name of an area, and the sequence number from which on it is known: one that came back is another."""

Check = Callable[[], None]
"""Raises OutOfTimeError once a query has had its time."""


@dataclass(eq=False)
class QueryGroups:
    """The groups of one query, by area."""

    query: Query
    by_area: dict[AreaKey, MatchGroups] = field(default_factory=dict)


@dataclass(eq=False)
class ShardEvidence:
    """Pure: nothing here reads a clock but by `Check`, and batches change nothing."""

    codes: RowCodes
    slots: PendingSlots = field(default_factory=PendingSlots)
    _templates: PackedTemplates = field(default_factory=PackedTemplates)
    _by_query: dict[str, QueryGroups] = field(default_factory=dict)
    _over: list[PendingMatch] = field(default_factory=list)  # of groups that are too much: to be told as such
    _ended: list[tuple[Query, MatchGroup]] = field(default_factory=list)  # of queries that do not go on
    _revision: int = -1  # of the streams, by which the reaches are

    def begin(self, queries: Iterable[ActiveQuery]) -> None:
        """Begin a batch: the groups of queries that are gone, or begin anew, are closed; no match can join them."""
        self.slots.begin()
        in_force = {active.query.id: active.query for active in queries if active.query.event is not None}
        for id_, known in list(self._by_query.items()):
            now = in_force.get(id_)
            if now is not None and known.query.keeps_activation(now):
                known.query = now
            else:
                del self._by_query[id_]
                for groups in known.by_area.values():
                    self._ended += ((known.query, group) for group in groups.closed(None, self._drop))
        self._follow_streams()

    def add(
        self, query: Query, match: MatchRecord, at: Sequence[int], rows: EventColumns, then: Background | None
    ) -> None:
        """Take a match: the positions of its members by role, and what had been counted when it was completed."""
        area = self.codes.areas.area_of(int(rows.area[max(at)]))
        members = tuple(self._members(query, at, rows, then))
        live = () if then is None else then.live(self._streams(query))
        pending = PendingMatch(
            FORMAT,
            0,
            0,
            match.query,
            match.area,
            area.since,
            match.id,
            match.query_version,
            members,
            live if len(live) <= MOST_LIVE else None,
        )
        self._put(self._groups(query, (area.name, area.since)), self.slots.write(pending))

    def records(self, turn: Callable[[str], Check]) -> list[EvidenceRecord]:
        """Return what is to be told by now; `turn` begins the time that a query has, by its id."""
        told = [unweighed(match) for match in self._over]
        ended, self._ended, self._over = self._ended, [], []
        for query, group in ended:
            told += self._weighed(query, [group], turn(query.id))
        for id_, known in self._by_query.items():
            groups = [group for key in list(known.by_area) for group in self._closed(known, key)]
            if groups:
                told += self._weighed(known.query, groups, turn(id_))
        return told

    def restore(self, queries: Iterable[ActiveQuery], order: int, slots: Iterable[bytes]) -> None:
        """Take the matches that were saved after the last batch, in which these queries were in force."""
        self.slots.next = order
        self._follow_streams()
        by_id = {active.query.id: active.query for active in queries}
        for match in sorted(map(PendingMatch.decode, slots), key=lambda each: each.order):
            self.slots.live.add(match.number)
            groups = self._groups(by_id[match.query], (match.area, match.since))
            groups.add(match)

    def _members(
        self, query: Query, at: Sequence[int], rows: EventColumns, then: Background | None
    ) -> Iterator[PendingMember]:
        codes, rule = self.codes, query.event
        assert rule is not None  # noqa: S101 - others are not added
        streams = self._streams(query)
        for role, row in enumerate(at):
            if row != ABSENT:
                sensor, stream = codes.areas.sensor_of(int(rows.sensor[row])).name, int(rows.stream[row])
                yield PendingMember(
                    role,
                    DetectionKey(int(rows.detected_at_us[row]), sensor, rows.ids[row]),
                    codes.streams.names[stream],
                    int(rows.latest_us[row]),
                    self._templates.of(codes.templates.histogram(int(rows.template[row]))),
                    unpaired_hz(then, rule, streams, stream, sensor),
                )

    def _streams(self, query: Query) -> tuple[int, ...]:
        return tuple(sorted({self.codes.streams.codes[name] for name in query.streams}))

    def _put(self, groups: MatchGroups, match: PendingMatch) -> None:
        group = groups.add(match)
        if group.is_over:
            for told, is_link in groups.told(group):
                self._over.append(told)
                self._drop(told)
                if is_link:
                    groups.hold(self.slots.write(structs.replace(told, is_told=True)))

    def _groups(self, query: Query, key: AreaKey) -> MatchGroups:
        known = self._by_query.setdefault(query.id, QueryGroups(query))
        if key not in known.by_area:
            known.by_area[key] = MatchGroups(self._reach_us(query))
        return known.by_area[key]

    def _closed(self, known: QueryGroups, key: AreaKey) -> list[MatchGroup]:
        area = self.codes.areas.get(key[0])
        watermark_us = None if area is None or area.since != key[1] else self.codes.areas.watermark.us(area.code)
        groups = known.by_area[key]
        closed = groups.closed(watermark_us, self._drop)
        if not groups:
            del known.by_area[key]
        return closed

    def _weighed(self, query: Query, groups: Sequence[MatchGroup], check: Check) -> list[EvidenceRecord]:
        """Return the records of groups; of those for which no time is left only that it is too much."""
        told: list[EvidenceRecord] = []
        for block in blocks_of(groups):
            try:
                check()
                told += weighed(query, block)
            except OutOfTimeError:
                told += [unweighed(match) for group in block for match in group.matches]
            for group in block:
                for match in group.matches:
                    self._drop(match)
        return told

    def _drop(self, match: PendingMatch) -> None:
        self.slots.remove(match.number)

    def _follow_streams(self) -> None:
        if self._revision != self.codes.streams.revision:
            self._revision = self.codes.streams.revision
            for known in self._by_query.values():
                reach = self._reach_us(known.query)
                for groups in known.by_area.values():
                    groups.follow(reach)

    def _reach_us(self, query: Query) -> Mapping[str, int]:
        streams = self.codes.streams.kept
        return dict(zip(streams, reach_us(query, streams).tolist(), strict=True))
