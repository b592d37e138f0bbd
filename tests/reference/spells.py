"""Spells from the definition: one group at a time, reading after reading, each asked for its evidence."""

from __future__ import annotations

import json
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from coincide import Histogram, Window, match_probability
from coincide.fusion.records.kafka_records import InputRecord
from coincide.queries.readings.reading_fields import equivalence_from_json
from tests.reference.coalescing import goes_on
from tests.reference.fusion import SlowFusion
from tests.reference.fusion_query import SlowRow

ACCURACY = 1e-12


class SlowReading(NamedTuple):
    ts_us: int
    sensor: str
    id: str
    group: Any
    value: Any
    begins: bool
    lasts: bool
    detected_at_us: int
    template: Histogram
    revision: int
    received_at_us: int


class SlowSpell(NamedTuple):
    group: Any
    first: tuple[str, str]
    start_us: int
    end_us: int
    is_ended: bool  # by a reading
    last_us: int
    count: int  # type: ignore[assignment]  # nobody counts equal fields of a spell
    revision: int
    received_at_us: int
    probability: float


class SlowRule(NamedTuple):
    hold_us: int
    equivalence: Any  # None: any
    lasting_us: int
    threshold: float


def slow_spells(readings: Sequence[SlowReading], rule: SlowRule) -> list[SlowSpell]:
    """Return every spell, by group and start."""
    spells = []
    for group in sorted({reading.group for reading in readings}):
        by_instant: dict[int, SlowReading] = {}
        for reading in sorted((each for each in readings if each.group == group), reverse=True, key=lambda it: it[:3]):
            by_instant[reading.ts_us] = reading  # the smallest comes last
        listed = [by_instant[ts] for ts in sorted(by_instant)]
        for run in _runs(listed, rule):
            spell = _spell([listed[at] for at in run], _before(listed, run[0], rule), rule, listed, run)
            if spell.probability >= rule.threshold - ACCURACY:
                spells.append(spell)
    return spells


def _runs(listed: Sequence[SlowReading], rule: SlowRule) -> list[list[int]]:
    runs: list[list[int]] = []
    has_begun = False
    for at, reading in enumerate(listed):
        if has_begun and _goes_on(listed, at, rule):
            runs[-1].append(at)
        else:
            has_begun = reading.begins
            if has_begun:
                runs.append([at])
    return runs


def _goes_on(listed: Sequence[SlowReading], at: int, rule: SlowRule) -> bool:
    """Whether what had begun would go on with this reading from the one before it, if there is one."""
    if not _near(listed, at - 1, at, rule):
        return False
    before, reading = listed[at - 1], listed[at]
    follows = rule.equivalence is None or goes_on(rule.equivalence, before.value, reading.value)
    return before.lasts and reading.lasts and bool(follows)


def _before(listed: Sequence[SlowReading], at: int, rule: SlowRule) -> list[SlowReading]:
    """Return the readings before a run that it would be part of if it had begun there, and the one before them."""
    before = []
    while _near(listed, at - 1, at, rule):
        before.append(listed[at - 1])
        if not _goes_on(listed, at, rule):
            break
        at -= 1
    return before


def _near(listed: Sequence[SlowReading], one: int, other: int, rule: SlowRule) -> bool:
    """Whether a reading still holds when the next comes; if there are both."""
    return one >= 0 and other < len(listed) and listed[other].ts_us - listed[one].ts_us <= rule.hold_us


def _spell(
    run: list[SlowReading], before: list[SlowReading], rule: SlowRule, listed: Sequence[SlowReading], at: list[int]
) -> SlowSpell:
    first, last = run[0], run[-1]
    is_ended = _near(listed, at[-1], at[-1] + 1, rule)
    told = [*run, listed[at[-1] + 1]] if is_ended else run
    concerned = [*told, *before]
    window = Window(lo_s=rule.lasting_us / 1e6, hi_s=1e9)
    evidence = [
        match_probability(first.template, each.template, (each.detected_at_us - first.detected_at_us) / 1e6, window)
        for each in told[1:]
    ]
    return SlowSpell(
        group=first.group,
        first=(first.sensor, first.id),
        start_us=first.ts_us,
        end_us=told[-1].ts_us,
        is_ended=is_ended,
        last_us=last.ts_us,
        count=len(run),
        revision=max(each.revision for each in concerned),
        received_at_us=max(each.received_at_us for each in told),
        probability=round(max(map(float, evidence), default=0.0), 12),
    )


@dataclass
class SlowSpellQuery:
    json: dict[str, Any]
    readings: dict[str, list[SlowReading]] = field(default_factory=dict)  # by area

    @property
    def rule(self) -> SlowRule:
        coalesce, lasting_s = self.json["coalesce"], self.json["lasting_s"]
        written = coalesce.get("equivalence", "any" if "where" in coalesce else "equal")
        equivalence = equivalence_from_json("coalesce.equivalence", written)
        hold_us, lasting_us = (round(s * 1e6) for s in (coalesce.get("hold_s", lasting_s), lasting_s))
        return SlowRule(hold_us, equivalence, lasting_us, self.json.get("threshold", 0.5))

    def take(self, row: SlowRow, offset: int, received_at_us: int) -> None:
        """Take a detection if it is a reading; the limits decide as it comes."""
        said, by = row.fields["attributes"], self.json["coalesce"].get("by", "sensor")
        sensor, id_ = row.name
        labels = {**{f"attributes.{name}": each for name, each in said.items()}, "sensor": sensor}
        group = [labels.get(name) for name in ([by] if isinstance(by, str) else by)]
        name = self.json["coalesce"]["value"].removeprefix("attributes.")
        value = said.get(name)
        is_unknown = self._needs_numbers and name in said and not self._is_value(value)
        if row.fields["stream"] != self.json["coalesce"]["from"] or not (is_unknown or self._is_value(value)):
            return
        if all(isinstance(each, str | int | float) for each in group):
            reading = SlowReading(
                row.latest_us,
                sensor,
                id_,
                json.dumps([_canonical(each) for each in group]),
                value if self._needs_numbers else json.dumps(_canonical(value)),
                *((False, False) if is_unknown else self._judged(value)),
                row.fields["detected_at_us"],
                row.template,
                offset,
                received_at_us,
            )
            self.readings.setdefault(row.area, []).append(reading)

    @property
    def _needs_numbers(self) -> bool:
        coalesce = self.json["coalesce"]
        return "where" in coalesce or coalesce.get("equivalence", "equal") not in ("equal", "any")

    def _is_value(self, value: Any) -> bool:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number or (isinstance(value, str | bool) and not self._needs_numbers)

    def _judged(self, value: Any) -> tuple[bool, bool]:
        """Whether a spell begins, and whether it lasts, with this value."""
        rules = {"above": operator.gt, "at_least": operator.ge, "below": operator.lt, "at_most": operator.le}
        ends = {"above": "until_below", "at_least": "until_below", "below": "until_above", "at_most": "until_above"}
        until = {"until_below": operator.ge, "until_above": operator.le}
        where = self.json["coalesce"].get("where", {})
        limits = {name: bound for name, bound in where.items() if name in rules}
        begins = all(rules[name](value, bound) for name, bound in limits.items())
        lasts = [
            until[ends[name]](value, where[ends[name]]) if ends[name] in where else rules[name](value, bound)
            for name, bound in limits.items()
        ]
        return begins, all(lasts)


@dataclass
class SlowSpells(SlowFusion):
    """Fusion with one query for spells, whose limits may change."""

    query: SlowSpellQuery | None = None
    offset: int = 0

    def push(self, records: list[InputRecord]) -> None:
        """Take records one by one."""
        for record in sorted(records, key=lambda record: (record.topic != "queries", record.partition, record.offset)):
            self.offset = record.offset
            super().push([record])

    def current(self) -> dict[tuple[Any, ...], tuple[str, SlowSpell]]:
        """Return phase and content of every spell there ever was and still is, by area, group and first reading."""
        assert self.query is not None
        told, rule = {}, self.query.rule
        delay_us = self.streams[self.query.json["coalesce"]["from"]].max_delay_us
        for area, readings in self.query.readings.items():
            for spell in slow_spells(readings, rule):
                over_us = spell.end_us if spell.is_ended else spell.last_us + rule.hold_us
                now_us = self.watermark_us[area]
                phase = "closed" if spell.is_ended or over_us < now_us else "open"
                told[area, spell.group, *spell.first, spell.start_us] = (
                    "final" if over_us < now_us - delay_us else phase,
                    spell,
                )
        return told

    def _control(self, change: dict[str, Any]) -> None:
        if self.query is None:
            self.query = SlowSpellQuery(change["query"])
        self.query.json = change["query"]

    def _row(self, row: SlowRow, received_at_us: int) -> None:
        accepted = len(self.rows)
        super()._row(row, received_at_us)
        if len(self.rows) > accepted and self.query is not None:
            self.query.take(row, self.offset, received_at_us)


def _canonical(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value
