"""Records of evidence: closed groups of matches, weighed together, each as if it were alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isinf, isnan, nan

import numpy as np
from msgspec import UNSET

from coincide.arrays.kinds import BoolArray, FloatArray, Int64Array
from coincide.evidence import Network, SetPosteriors, evidence_of_sets, evidence_terms
from coincide.fusion.weighing.learnt_rates import Heard, LearntRates, MinuteHeard
from coincide.fusion.weighing.match_groups import MatchGroup
from coincide.fusion.weighing.pending_match import MOST_PARTS, DetectionKey, PendingMatch, PendingMember
from coincide.fusion.weighing.unpaired_rates import unpaired_hz
from coincide.queries import Query
from coincide.queries.joins.event_rule import EventRule
from coincide.templates.histogram import Histogram
from coincide.templates.packed import unpacked
from coincide.wire.results.evidence_record import (
    IMPOSSIBLE,
    NOT_WATCHED_YET,
    TOO_MUCH_WORK,
    EvidenceRecord,
    EvidenceUnknown,
    MemberBelongs,
    RatesSource,
    TermRecord,
)

MOST_WORK = 100_000  # see `shared_out`: about 50 ms for one group; beyond it the posterior is an interval
DECIMALS = 9  # beyond it a digit could depend on what else is weighed at the same time


def blocks_of(groups: Sequence[MatchGroup]) -> Iterator[list[MatchGroup]]:
    """Cut groups into blocks, none of which is more to weigh than the largest group may be."""
    block, parts = list[MatchGroup](), 0
    for group in groups:
        if block and parts + group.parts > MOST_PARTS:
            yield block
            block, parts = [], 0
        block.append(group)
        parts += group.parts
    if block:
        yield block


def unweighed(
    match: PendingMatch, unknown: EvidenceUnknown = TOO_MUCH_WORK, source: RatesSource = "declared"
) -> EvidenceRecord:
    """Return the record of a match of which only this is told: why there is no evidence."""
    return _record(match, source, bits=None, posterior=None, unknown=unknown, terms=(), members=())


@dataclass(frozen=True)
class EventRates:
    """How often events come, and who hears them: each sensor as `heard_by` says, all others as the query does."""

    rule: EventRule
    events_hz: float
    heard_by: Mapping[str, float]
    source: RatesSource

    @classmethod
    def declared(cls, query: Query) -> EventRates:
        """Return what the query says."""
        assert query.event is not None  # noqa: S101 - others have no groups
        return cls(query.event, query.event.events_hz, {}, "declared")

    @classmethod
    def learnt(cls, query: Query, known: LearntRates, minute: int) -> EventRates:
        """Return what is known when a minute begins; what the query says where that is nothing."""
        declared = cls.declared(query)
        found = known.rates(declared.rule, minute)
        return declared if found is None else cls(declared.rule, *found, "learnt")

    def network(self, sensors: Sequence[str]) -> Network:
        """Return the network of these sensors."""
        return Network(sensors, self.events_hz, [self.heard_by.get(each, self.rule.heard_by) for each in sensors], None)


@dataclass
class GroupWeights:
    """Groups of one query that are weighed at the same time; they share no detection."""

    query: Query
    rates: EventRates
    groups: Sequence[MatchGroup]

    def records(self) -> list[EvidenceRecord]:
        """Return the record of each match, group by group in the order of arrival."""
        posteriors, counts = self._posteriors, (self._sets != -1).sum(axis=0)
        of_all = np.full((2, len(self._matches)), nan)
        for members in np.unique(counts).tolist():
            of_all[:, counts == members] = posteriors.one_event(members)[:, counts == members]
        belongs = posteriors.belongs().mean(axis=0)
        sides = zip(*of_all.tolist(), strict=True)
        return [
            self._told(nth, least, greatest, belongs[self._sets[:, nth] != -1, nth].tolist())
            for nth, (least, greatest) in enumerate(sides)
        ]

    def heard(self) -> MinuteHeard:
        """Return what these groups tell of events, and of who hears them; those without evidence tell nothing."""
        parts, share = self._posteriors.parts, np.round(self._posteriors.shared.value, DECIMALS)
        group, there = self._group_of[parts.of_set], parts.members != -1
        is_known = np.bincount(group, weights=np.isnan(share), minlength=len(self.groups)) == 0
        share = np.where(is_known[group], share, 0.0)
        events = np.bincount(group, weights=share, minlength=len(self.groups))
        rows, columns = np.nonzero(there)
        sensor = self._sensor[parts.members[rows, columns]]
        heard = np.bincount(sensor, weights=share[columns], minlength=len(self._sensors))
        alive = self._live_by_group & is_known
        figures = zip(alive.sum(axis=1).tolist(), (alive @ events).tolist(), heard.tolist(), strict=True)
        of_sensors = {
            name: Heard(float(groups), round(came, DECIMALS), round(heard, DECIMALS), self._reported_hz.get(name, 0.0))
            for name, (groups, came, heard) in zip(self._sensors, figures, strict=True)
            if groups
        }
        return MinuteHeard(float(is_known.sum()), round(float(events.sum()), DECIMALS), of_sensors)

    @cached_property
    def _matches(self) -> list[PendingMatch]:
        return [each for group in self.groups for each in sorted(group.matches, key=lambda match: match.order)]

    @cached_property
    def _detections(self) -> dict[tuple[int, DetectionKey], PendingMember]:
        """Each detection as its latest match has it, in the order of groups and of time."""
        latest: dict[tuple[int, DetectionKey], PendingMember] = {}
        for nth, group in enumerate(self.groups):
            for match in sorted(group.matches, key=lambda each: each.order):
                latest |= {(nth, member.key): member for member in match.members}
        return {key: latest[key] for key in sorted(latest)}

    @cached_property
    def _group_of(self) -> Int64Array:
        """The group of each match."""
        return np.repeat(np.arange(len(self.groups)), [len(group.matches) for group in self.groups])

    @cached_property
    def _sensors(self) -> list[str]:
        named = {member.key.sensor for member in self._detections.values()}
        return sorted(named.union(*(match.live or () for match in self._matches)))

    @cached_property
    def _sets(self) -> Int64Array:
        """Positions of the detections of each match by role, -1 where a role has none."""
        position = {key: nth for nth, key in enumerate(self._detections)}
        sets = np.full((len(self.query.roles), len(self._matches)), -1, np.int64)
        for nth, (match, group) in enumerate(zip(self._matches, self._group_of.tolist(), strict=True)):
            for member in match.members:
                sets[member.role, nth] = position[group, member.key]
        return sets

    @cached_property
    def _sensor(self) -> Int64Array:
        code = {name: nth for nth, name in enumerate(self._sensors)}
        return np.array([code[member.key.sensor] for member in self._detections.values()], np.int64)

    @cached_property
    def _unpaired_hz(self) -> FloatArray:
        if (declared_hz := self.rates.rule.unpaired_hz) is not None:
            return np.full(len(self._detections), declared_hz)
        members, live = (
            list(self._detections.values()),
            self._live_by_group[:, [group for group, _ in self._detections]],
        )
        counted, least = [each.counted_hz for each in members], [each.least_hz for each in members]
        return unpaired_hz(self._network, self._sensor, live, counted, least)

    @cached_property
    def _reported_hz(self) -> dict[str, float]:
        """How often each sensor that lives reports, by the latest match that says so."""
        reported: dict[str, float] = {}
        for match in self._matches:
            reported |= match.live or {}
        return reported

    @cached_property
    def _packed(self) -> list[tuple[bytes, ...]]:
        """The packed template of each detection."""
        return [member.template for member in self._detections.values()]

    @cached_property
    def _templates(self) -> dict[tuple[bytes, ...], Histogram]:
        """Each template once, by what it is packed."""
        return {each: unpacked(each) for each in dict.fromkeys(self._packed)}

    @cached_property
    def _network(self) -> Network:
        return self.rates.network(self._sensors)

    @cached_property
    def _live_by_group(self) -> BoolArray:
        """Which sensors are known to live at each group: those that live at one of its matches, or report there."""
        reports = np.zeros((len(self._sensors), len(self.groups)), np.bool_)
        reports[self._sensor, [group for group, _ in self._detections]] = True
        code = {name: nth for nth, name in enumerate(self._sensors)}
        for match, group in zip(self._matches, self._group_of.tolist(), strict=True):
            reports[[code[name] for name in match.live or ()], group] = True
        return reports

    @cached_property
    def _posteriors(self) -> SetPosteriors:
        number = {each: nth for nth, each in enumerate(self._templates)}
        return evidence_of_sets(
            self._network,
            list(self._templates.values()),
            [number[each] for each in self._packed],
            [member.key.detected_at_us for member in self._detections.values()],
            self._sensor,
            self._sets,
            travel=self.query.graph if self.rates.rule.arrives == "within_window" else None,
            live=self._live_by_group[:, self._group_of],
            unpaired_hz=self._unpaired_hz,
            most_work=MOST_WORK,
        )

    def _told(self, nth: int, least: float, greatest: float, belongs: Sequence[float]) -> EvidenceRecord:
        match, bits = self._matches[nth], float(self._posteriors.bits[nth])
        if isnan(bits):
            return unweighed(match, NOT_WATCHED_YET, self.rates.source)
        is_impossible, is_unknown = isinf(bits), isnan(least)
        members = zip(match.keys, belongs, strict=True)
        return _record(
            match,
            self.rates.source,
            bits=None if is_impossible else round(bits, DECIMALS),
            posterior=None if is_unknown else _share((least + greatest) / 2),
            posterior_least=UNSET if is_unknown else _share(least),
            posterior_greatest=UNSET if is_unknown else _share(greatest),
            unknown=IMPOSSIBLE if is_impossible else NOT_WATCHED_YET if is_unknown else UNSET,
            terms=() if is_impossible else self._terms(nth),
            members=() if is_unknown else [MemberBelongs(key.sensor, key.id, _share(each)) for key, each in members],
        )

    def _terms(self, nth: int) -> list[TermRecord]:
        parts, evidence = self._posteriors.parts, self._posteriors.evidence
        whole = int(parts.whole[nth])
        rows = np.flatnonzero(parts.members[:, whole] != -1)
        present = parts.members[rows, whole]
        rates = self._unpaired_hz[present].tolist()
        templates = [self._templates[self._packed[each]] for each in present.tolist()]
        sensors = self._sensor[present].tolist()
        terms = evidence_terms(evidence.of_one(whole, rows), self._network, sensors, rates, templates)
        return [
            TermRecord(
                kind=each.kind,
                sensor=UNSET if each.sensor is None else each.sensor,
                bits=round(each.bits, DECIMALS),
                sentence=each.sentence,
            )
            for each in terms
        ]


def _record(match: PendingMatch, source: RatesSource, **told: object) -> EvidenceRecord:
    named = {"id": match.id, "query": match.query, "query_version": match.version, "area": match.area}
    return EvidenceRecord(**named, rates=source, **told)  # type: ignore[arg-type]


def _share(value: float) -> float:
    return min(max(round(value, DECIMALS), 0.0), 1.0)
