"""ShardEvidence: the matches of all queries of a shard that wait for their evidence, and what each batch tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

from msgspec import structs

from coincide.fusion.control.control import ActiveQuery
from coincide.fusion.matching.search_work import OutOfTimeError
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.rows.query_retention import reach_us
from coincide.fusion.rows.rates import MINUTE_US, Background
from coincide.fusion.rows.row_codes import RowCodes
from coincide.fusion.saving.state_format import FORMAT
from coincide.fusion.weighing.group_weights import EventRates, GroupWeights, blocks_of, unweighed
from coincide.fusion.weighing.learnt_rates import AreaKey, LearntRates, LearntSlots, MinuteHeard
from coincide.fusion.weighing.match_groups import MatchGroup, MatchGroups
from coincide.fusion.weighing.pending_match import (
    MOST_LIVE,
    DetectionKey,
    PackedTemplates,
    PendingMatch,
    PendingMember,
    PendingSlots,
)
from coincide.fusion.weighing.unpaired_rates import counted_hz, live_hz
from coincide.joins.tuples.set_order import ABSENT
from coincide.queries import Query
from coincide.wire.results.evidence_record import EvidenceRecord
from coincide.wire.results.match_record import MatchRecord

Closed = Mapping[AreaKey, list[MatchGroup]]
"""Groups that are to be weighed, by area."""

Check = Callable[[], None]
"""Raises OutOfTimeError once a query has had its time."""


def learns(query: Query) -> bool:
    """Whether a query learns how often events come."""
    return query.event is not None and query.event.rates == "learnt"


def _is_of(id_: str, query: str, _area: AreaKey) -> bool:
    return query == id_


def by_minute(groups: Iterable[MatchGroup]) -> Iterator[tuple[int, list[MatchGroup]]]:
    """Yield groups by the minute of event time in which they were closed, in an order that no batches change."""
    ordered = sorted(groups, key=lambda group: (group.closes_us, min(group.keys)))
    for minute, of_minute in groupby(ordered, lambda group: group.closes_us // MINUTE_US):
        yield minute, list(of_minute)


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
    learnt: LearntSlots = field(default_factory=LearntSlots)
    _ended: list[tuple[QueryGroups, Closed]] = field(default_factory=list)  # of queries that do not go on
    _forgotten: int = -1  # areas, when those of which something was learnt were looked at
    _revision: int = -1  # of the streams, by which the reaches are

    def begin(self, queries: Iterable[ActiveQuery]) -> None:
        """Begin a batch: the groups of queries that are gone, or begin anew, are closed; no match can join them."""
        self.slots.begin()
        self.learnt.begin()
        in_force = {active.query.id: active.query for active in queries if active.query.event is not None}
        for id_, known in list(self._by_query.items()):
            now = in_force.get(id_)
            if now is not None and known.query.keeps_activation(now):
                known.query = now
            else:
                del self._by_query[id_]
                closed = {key: groups.closed(None, self._drop) for key, groups in known.by_area.items()}
                self._ended.append((known, {key: groups for key, groups in closed.items() if groups}))
        self._follow_streams()

    def add(
        self, query: Query, match: MatchRecord, at: Sequence[int], rows: EventColumns, then: Background | None
    ) -> None:
        """Take a match: the positions of its members by role, and what had been counted when it was completed."""
        area = self.codes.areas.area_of(int(rows.area[max(at)]))
        members = tuple(self._members(at, rows, then))
        live = live_hz(then, self._streams(query))
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
        for known, closed in ended:
            if closed:
                told += self._weighed(known.query, closed, turn(known.query.id))
            self.learnt.forget(partial(_is_of, known.query.id))
        for id_, known in self._by_query.items():
            closed = {key: groups for key in list(known.by_area) if (groups := self._closed(known, key))}
            if closed:
                told += self._weighed(known.query, closed, turn(id_))
        self._forget_areas()
        return told

    def restore(self, queries: Iterable[ActiveQuery], order: int, slots: Iterable[bytes]) -> None:
        """Take the matches that were saved after the last batch, in which these queries were in force."""
        self.slots.next = order
        self._follow_streams()
        by_id = {active.query.id: active.query for active in queries}
        for id_, query in by_id.items():
            if query.event is not None:  # so that it is noticed when it does not go on
                self._by_query[id_] = QueryGroups(query)
        for match in sorted(map(PendingMatch.decode, slots), key=lambda each: each.order):
            self.slots.live.add(match.number)
            groups = self._groups(by_id[match.query], (match.area, match.since))
            groups.add(match)

    def _members(self, at: Sequence[int], rows: EventColumns, then: Background | None) -> Iterator[PendingMember]:
        codes = self.codes
        for role, row in enumerate(at):
            if row != ABSENT:
                sensor, stream = codes.areas.sensor_of(int(rows.sensor[row])).name, int(rows.stream[row])
                yield PendingMember(
                    role,
                    DetectionKey(int(rows.detected_at_us[row]), sensor, rows.ids[row]),
                    codes.streams.names[stream],
                    int(rows.latest_us[row]),
                    self._templates.of(codes.templates.histogram(int(rows.template[row]))),
                    *counted_hz(then, stream, sensor),
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
        """Return the groups that are to be weighed by now; where rates are learnt these are those of whole minutes."""
        area = self.codes.areas.get(key[0])
        watermark_us = None if area is None or area.since != key[1] else self.codes.areas.watermark.us(area.code)
        if watermark_us is not None and learns(known.query):
            watermark_us -= watermark_us % MINUTE_US
        groups = known.by_area[key]
        closed = groups.closed(watermark_us, self._drop)
        if not groups:
            del known.by_area[key]
        return closed

    def _weighed(self, query: Query, closed: Closed, check: Check) -> list[EvidenceRecord]:
        """Return the records of groups of one query."""
        if learns(query):
            minutes = ((key, *minute) for key, groups in closed.items() for minute in by_minute(groups))
            return [record for minute in minutes for record in self._learning(query, *minute, check)]
        groups = [group for of_area in closed.values() for group in of_area]
        rates = EventRates.declared(query)
        return [record for block in blocks_of(groups) for record in self._block(query, rates, block, check)[0]]

    def _learning(
        self, query: Query, area: AreaKey, minute: int, groups: Sequence[MatchGroup], check: Check
    ) -> list[EvidenceRecord]:
        """Return the records of one minute, by what those before it taught, and learn from them."""
        known = self.learnt.of(query.id, area)
        rates = EventRates.declared(query) if known is None else EventRates.learnt(query, known, minute)
        blocks = [self._block(query, rates, block, check) for block in blocks_of(groups)]
        heard = MinuteHeard.joined([each for _, each in blocks if each is not None])
        if heard.groups:
            begun = LearntRates.begun(query.id, area, minute)
            self.learnt.put(begun if known is None else known.after(minute, heard))
        return [record for records, _ in blocks for record in records]

    def _block(
        self, query: Query, rates: EventRates, block: Sequence[MatchGroup], check: Check
    ) -> tuple[list[EvidenceRecord], MinuteHeard | None]:
        """Return the records of groups, and what these tell; of those for which no time is left that it is too much."""
        weights = GroupWeights(query, rates, block)
        try:
            check()
            told, heard = weights.records(), weights.heard()
        except OutOfTimeError:
            told, heard = [unweighed(match) for group in block for match in group.matches], None
        for group in block:
            for match in group.matches:
                self._drop(match)
        return told, heard

    def _forget_areas(self) -> None:
        """Forget what was learnt of areas that are forgotten."""
        areas = self.codes.areas
        if self._forgotten != areas.forgotten:
            self._forgotten = areas.forgotten
            self.learnt.forget(lambda _query, key: (area := areas.get(key[0])) is None or area.since != key[1])

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
