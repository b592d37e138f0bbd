"""Queries over readings from the definition: what every group held at every instant of a window, one instant a time."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

from coincide.fusion.records.kafka_records import InputRecord
from tests.reference.coalescing import decimal, differ_at_most, differ_at_most_by_share, step
from tests.reference.fusion import SlowFusion
from tests.reference.fusion_query import SlowRow

UNIT_US = 100_000  # every time is a multiple of it
Group = tuple[tuple[str, str], ...]  # (name, JSON of the value)


class Answer(NamedTuple):
    query: str
    version: int
    area: str
    window_end_us: int
    groups: tuple[Group, ...]
    start_us: int
    end_us: int
    readings: int
    values: tuple[str, ...]  # as JSON
    received_at_us: int


class Reading(NamedTuple):
    ts: int
    sensor: str
    id: str
    value: Any
    received_at_us: int


class WindowRun(NamedTuple):
    """A run inside a window, in units."""

    group: Group
    start: int
    end: int
    readings: tuple[Reading, ...]


@dataclass
class SlowReadingsQuery:
    json: dict[str, Any]
    version: int
    paused: bool
    activation: int

    def __post_init__(self) -> None:
        self.coalesce: dict[str, Any] = self.json["coalesce"]
        window = self.coalesce["window"]
        self.time, self.slide = _units(window["time_s"]), _units(window["slide_s"])
        self.hold = _units(self.coalesce.get("hold_s", window["time_s"]))
        self.equivalence = self.coalesce.get("equivalence", "any" if "where" in self.coalesce else "equal")

    def scope(self) -> tuple[object, ...]:
        return self.coalesce["from"], _listed(self.coalesce.get("by", "sensor")), self.coalesce["value"]

    def keeps_activation(self, changed: SlowReadingsQuery) -> bool:
        return self.scope() == changed.scope() and self.time + self.hold >= changed.time + changed.hold

    def answers(self, area: str, rows: Sequence[SlowRow], received: dict[int, int], end: int) -> Iterator[Answer]:
        spells = list(self._spells(self._readings(rows, received), end))
        for chosen in self._chosen(spells):
            sides = sorted(chosen)
            start, stop = max(side.start for side in sides), min(side.end for side in sides)
            held = [_holding(side.readings, start, stop) for side in sides]
            groups, count = tuple(side.group for side in sides), sum(len(each) for each in held)
            values = tuple(_canonical(self._worth(each[0].value)) for each in held)
            received_us = max(each[-1].received_at_us for each in held)
            window = self.json["id"], self.version, area, end * UNIT_US
            yield Answer(*window, groups, start * UNIT_US, stop * UNIT_US, count, values, received_us)

    def _readings(self, rows: Sequence[SlowRow], received: dict[int, int]) -> dict[Group, list[Reading]]:
        readings: dict[Group, list[Reading]] = {}
        for row in rows:
            name = self.coalesce["value"].removeprefix("attributes.")
            group, value = self._group(row), row.fields["attributes"].get(name)
            is_asked_for = row.number >= self.activation and row.fields["stream"] == self.coalesce["from"]
            is_known = self._is_value(value)
            is_unknown = self._needs_numbers and name in row.fields["attributes"] and not is_known
            if is_asked_for and group is not None and (is_known or is_unknown):
                ts, said = row.latest_us // UNIT_US, None if is_unknown else value
                readings.setdefault(group, []).append(Reading(ts, *row.name, said, received[row.number]))
        return readings

    def _group(self, row: SlowRow) -> Group | None:
        values = {f"attributes.{name}": value for name, value in row.fields["attributes"].items()}
        values["sensor"] = row.fields["sensor"]
        names = _listed(self.coalesce.get("by", "sensor"))
        if any(not isinstance(values.get(name), str | int | float) for name in names):
            return None
        return tuple((name, _canonical(values[name])) for name in names)

    @property
    def _needs_numbers(self) -> bool:
        by_rule = "where" in self.coalesce or self.equivalence not in ("equal", "any")
        return by_rule or self.json.get("join", {}).get("within", 0) > 0

    def _is_value(self, value: Any) -> bool:
        if self._needs_numbers:
            return isinstance(value, int | float) and not isinstance(value, bool)
        return isinstance(value, str | int | float)

    def _spells(self, readings: dict[Group, list[Reading]], end: int) -> Iterator[WindowRun]:
        for group, listed in readings.items():
            by_instant = {reading.ts: reading for reading in sorted(listed, reverse=True) if reading.ts < end}
            counted = sorted(by_instant.values())
            spell: WindowRun | None = None
            previous: Reading | None = None
            for instant in range(end - self.time, end):
                reading = self._held(counted, instant)
                if spell is not None and (reading is None or not self._goes_on(previous, reading)):
                    yield spell
                    spell = None
                if reading is not None:
                    start = instant if spell is None else spell.start
                    spell = WindowRun(group, start, instant + 1, tuple(counted))
                previous = reading
            if spell is not None:
                yield spell

    def _held(self, counted: list[Reading], instant: int) -> Reading | None:
        before = [reading for reading in counted if reading.ts <= instant]
        if not before or instant >= before[-1].ts + self.hold or not self._interests(before[-1].value):
            return None
        return before[-1]

    def _interests(self, value: Any) -> bool:
        rules = {"above": operator.gt, "at_least": operator.ge, "below": operator.lt, "at_most": operator.le}
        limits = self.coalesce.get("where", {}).items()
        return value is not None and all(rules[name](value, bound) for name, bound in limits)

    def _goes_on(self, previous: Reading | None, following: Reading) -> bool:
        if previous is None or previous == following:
            return previous is not None
        one, other, rule = previous.value, following.value, self.equivalence
        if rule in ("any", "equal"):
            return rule == "any" or _canonical(one) == _canonical(other)
        if rule in ("increasing", "decreasing"):
            return bool(other > one if rule == "increasing" else other < one)
        if "bounded" in rule:
            return differ_at_most(one, other, rule["bounded"])
        if "relative" in rule:
            return differ_at_most_by_share(one, other, rule["relative"])
        return step(one, rule["quantised"]) == step(other, rule["quantised"])

    def _worth(self, value: Any) -> Any:
        if "quantised" not in self.equivalence:
            return value
        width = self.equivalence["quantised"]
        return float(step(value, width) * decimal(width))

    def _chosen(self, spells: list[WindowRun]) -> Iterator[tuple[WindowRun, ...]]:
        if "longest" in self.json:
            for group in {spell.group for spell in spells}:
                of_group = [spell for spell in spells if spell.group == group]
                yield (min(of_group, key=lambda spell: (spell.start - spell.end, spell.start)),)
        elif "lasting_s" in self.json:
            yield from ((spell,) for spell in spells if spell.end - spell.start >= _units(self.json["lasting_s"]))
        else:
            yield from (pair for pair in combinations(spells, 2) if self._is_similar(*pair))

    def _is_similar(self, one: WindowRun, other: WindowRun) -> bool:
        start, stop = max(one.start, other.start), min(one.end, other.end)
        if one.group == other.group or stop - start < _units(self.json["join"]["lasting_s"]):
            return False
        ours, theirs = (self._worth(_holding(side.readings, start, stop)[0].value) for side in (one, other))
        within = self.json["join"].get("within", 0)
        return differ_at_most(ours, theirs, within) if within > 0 else _canonical(ours) == _canonical(theirs)


@dataclass
class SlowSliding(SlowFusion):
    """Fusion with queries over readings; `answers` lists what all windows said, in no order."""

    sliding: dict[str, SlowReadingsQuery] = field(default_factory=dict)
    received: dict[int, int] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)

    def push(self, records: list[InputRecord]) -> None:
        before = dict(self.watermark_us)
        super().push(records)
        for query in (each for each in self.sliding.values() if not each.paused):
            for area, watermark_us in self.watermark_us.items():
                self.answers += self._of_area(query, area, before.get(area), watermark_us)

    def _of_area(self, query: SlowReadingsQuery, area: str, before_us: int | None, now_us: int) -> Iterator[Answer]:
        delay_us = self.streams[query.coalesce["from"]].max_delay_us
        rows = [row for row in self.rows if row.area == area]
        units = [row.latest_us // UNIT_US for row in rows] or [0]
        earliest, latest = min(units), max(units)
        for end in range(earliest - earliest % query.slide, latest + query.time + query.hold + 1, query.slide):
            if (before_us is None or before_us - delay_us < end * UNIT_US) and end * UNIT_US <= now_us - delay_us:
                yield from query.answers(area, rows, self.received, end)

    def _control(self, change: dict[str, Any]) -> None:
        if "coalesce" not in change.get("query", {}) and change["id"] not in self.sliding:
            super()._control(change)
        elif change["version"] > self.versions.get(change["id"], 0):
            self.versions[change["id"]] = change["version"]
            old = self.sliding.pop(change["id"], None)
            if change.get("removed"):
                return
            new = SlowReadingsQuery(change["query"], change["version"], change.get("paused", False), len(self.rows))
            if old is not None and old.keeps_activation(new):
                new.activation = old.activation
            self.sliding[change["id"]] = new

    def _row(self, row: SlowRow, received_at_us: int) -> None:
        self.received.setdefault(row.number, received_at_us)
        accepted = len(self.rows)
        super()._row(row, received_at_us)
        if len(self.rows) == accepted:
            del self.received[row.number]


def recorded_answers(records: Sequence[dict[str, Any]]) -> list[Answer]:
    """Return records of the episodes topic as the oracle gives them."""
    answers = []
    for record in records:
        group = [(name, _canonical(each)) for name, each in record["group"].items()]
        values, groups = [record["value"]], [tuple(group)]
        if isinstance(sides := record["value"], dict):  # of a join
            values = list(sides.values())
            groups = [tuple((name[2:], each) for name, each in group if name[:2] == f"{side}.") for side in sides]
        window = record["query"], record["query_version"], record["area"], record["window"]["end_us"]
        run = tuple(groups), record["start_us"], record["end_us"], record["count"]
        answers.append(Answer(*window, *run, tuple(map(_canonical, values)), record["received_at_us"]))
    return answers


def _holding(readings: Sequence[Reading], start: int, end: int) -> list[Reading]:
    """Readings that hold somewhere in an interval that they cover, in order."""
    first = max(reading.ts for reading in readings if reading.ts <= start)
    return sorted(reading for reading in readings if first <= reading.ts < end)


def _units(seconds: float) -> int:
    return round(seconds * 1_000_000) // UNIT_US


def _listed(by: Any) -> list[str]:
    return by if isinstance(by, list) else [by]


def _canonical(value: Any) -> str:
    is_whole = isinstance(value, float) and value.is_integer()
    return json.dumps(int(value) if is_whole else value)
