"""Fusion written from the definition: one row at a time, every pair tried, nothing ever dropped."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from coincide.difference import match_probability
from coincide.histogram import Histogram
from coincide.stream import Stream
from coincide.window import Window
from spark_jobs.records import InputRecord

Found = tuple[str, int, str, tuple[tuple[str, str], ...]]  # query, version, area, (sensor, id) in role order


@dataclass
class SlowQuery:
    streams: tuple[str, str]
    window: Window
    threshold: float
    sensors: str
    version: int
    paused: bool
    activation: int

    def scope(self) -> tuple[object, ...]:
        return self.streams, self.window, self.sensors


@dataclass
class SlowRow:
    number: int
    area: str
    fields: dict[str, Any]
    template: Histogram

    @property
    def name(self) -> tuple[str, str]:
        return self.fields["sensor"], self.fields["id"]


@dataclass
class SlowFusion:
    """Accepts only well-formed records; `found` lists the matches in the order in which they came to be."""

    streams: dict[str, Stream]
    rows: list[SlowRow] = field(default_factory=list)
    queries: dict[str, SlowQuery] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    watermark_us: dict[str, int] = field(default_factory=dict)
    found: list[Found] = field(default_factory=list)
    late: list[tuple[str, str, int]] = field(default_factory=list)
    duplicates: int = 0
    conflicts: int = 0

    def push(self, records: list[InputRecord]) -> None:
        for record in sorted(records, key=lambda record: (record.topic != "queries", record.partition, record.offset)):
            if record.topic == "queries":
                self._control(json.loads(record.value or b""))
            else:
                self._frame(json.loads(record.value or b""))

    def _control(self, change: dict[str, Any]) -> None:
        if change["version"] <= self.versions.get(change["id"], 0):
            return
        self.versions[change["id"]] = change["version"]
        if change.get("removed"):
            self.queries.pop(change["id"], None)
            return
        query = change["query"]
        edge = query["within"][0]
        window = Window(edge["window_s"]) if "window_s" in edge else Window(lo_s=edge["lo_s"], hi_s=edge["hi_s"])
        a, b = query["from"].values()
        paused = change.get("paused", False)
        new = SlowQuery((a, b), window, edge["threshold"], query["sensors"], change["version"], paused, len(self.rows))
        old = self.queries.get(change["id"])
        if old is not None and old.scope() == new.scope():
            new.activation = old.activation
        self.queries[change["id"]] = new

    def _frame(self, frame: dict[str, Any]) -> None:
        for fields in frame["detections"]:
            template = Histogram.from_json(frame["templates"][fields["template"]])
            self._row(SlowRow(len(self.rows), frame["area"], fields, template), frame["received_at_us"])

    def _row(self, row: SlowRow, received_at_us: int) -> None:
        latest_us = row.fields["latest_us"]
        before = self.watermark_us.get(row.area)
        reached = min(latest_us, received_at_us)
        now_us = self.watermark_us[row.area] = reached if before is None else max(before, reached)
        late_by_us = now_us - self.streams[row.fields["stream"]].max_delay_us - latest_us
        if late_by_us > 0:
            self.late.append((*row.name, late_by_us))
            return
        known = [other for other in self.rows if other.area == row.area and other.name == row.name]
        if known and not self._is_late_by_now(known[-1], now_us):
            same = known[-1].fields == row.fields
            self.duplicates += same
            self.conflicts += not same
            return
        self.rows.append(row)
        for query_id, query in self.queries.items():
            if not query.paused:
                self.found += [(query_id, query.version, row.area, pair) for pair in self._pairs(query, row)]

    def _is_late_by_now(self, row: SlowRow, now_us: int) -> bool:
        return bool(row.fields["latest_us"] < now_us - self.streams[row.fields["stream"]].max_delay_us)

    def _pairs(self, query: SlowQuery, row: SlowRow) -> list[tuple[tuple[str, str], ...]]:
        pairs: list[tuple[tuple[str, str], ...]] = []
        for other in self.rows[query.activation : -1]:
            if other.area != row.area or not _sensors_agree(query.sensors, row, other):
                continue
            for a, b in self._role_orders(query, row, other):
                offset_s = (b.fields["detected_at_us"] - a.fields["detected_at_us"]) / 1e6
                if match_probability(a.template, b.template, offset_s, query.window) >= query.threshold - 1e-12:
                    pairs.append((a.name, b.name))
        return pairs

    def _role_orders(self, query: SlowQuery, row: SlowRow, other: SlowRow) -> list[tuple[SlowRow, SlowRow]]:
        both = [
            (a, b) for a, b in ((row, other), (other, row)) if (a.fields["stream"], b.fields["stream"]) == query.streams
        ]
        if len(both) == 2 and query.window.is_symmetric:
            a, b = sorted((row, other), key=lambda member: (member.fields["detected_at_us"], *member.name))
            return [(a, b)]
        return both


def _sensors_agree(rule: str, one: SlowRow, other: SlowRow) -> bool:
    same = one.fields["sensor"] == other.fields["sensor"]
    return rule == "any" or same == (rule == "same")
