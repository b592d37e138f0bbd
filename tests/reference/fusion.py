"""Fusion written from the definition: one row at a time, every choice of members tried, nothing ever dropped."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from coincide import Histogram, Stream
from spark_jobs.records.kafka_records import InputRecord
from tests.reference.fusion_query import Names, SlowQuery, SlowRow
from tests.reference.silence import SlowSilence

SlowMatch = tuple[str, str, int, str, Names, tuple[str, ...]]
"""Id of the match, query, version, area, (role, sensor, id) of each member, ids that it supersedes."""


@dataclass
class SlowFusion:
    """Accepts only well-formed records; `matches` lists the matches in the order in which they came to be."""

    streams: dict[str, Stream]
    rows: list[SlowRow] = field(default_factory=list)
    queries: dict[str, SlowQuery] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    watermark_us: dict[str, int] = field(default_factory=dict)
    silence: SlowSilence = field(default_factory=lambda: SlowSilence(None))
    matches: list[SlowMatch] = field(default_factory=list)
    late: list[tuple[str, str, int]] = field(default_factory=list)
    duplicates: int = 0
    conflicts: int = 0

    def push(self, records: list[InputRecord]) -> None:
        for record in sorted(records, key=lambda record: (record.topic != "queries", record.partition, record.offset)):
            if record.topic == "queries":
                self._control(json.loads(record.value or b""))
            else:
                self._detections(json.loads(record.value or b""), record.partition)

    def _control(self, change: dict[str, Any]) -> None:
        if change["version"] <= self.versions.get(change["id"], 0):
            return
        self.versions[change["id"]] = change["version"]
        if change.get("removed"):
            self.queries.pop(change["id"], None)
            return
        paused = change.get("paused", False)
        new = SlowQuery.of(change["query"], change["version"], len(self.rows), paused=paused)
        old = self.queries.get(change["id"])
        if old is not None and old.scope() == new.scope():
            new.activation = old.activation
        self.queries[change["id"]] = new

    def _detections(self, content: dict[str, Any], partition: int) -> None:
        if content.get("heartbeat"):
            self.silence.heartbeat(partition, content["received_at_us"], self.watermark_us)
        else:
            self.silence.frame(content["area"], partition, content["received_at_us"])
            self._frame(content)

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
        for query in self.queries.values():
            if not query.paused:
                self.matches += [
                    (identity, query.id, query.version, row.area, members, supersedes)
                    for identity, members, supersedes in query.completed_by(row, self.rows)
                ]

    def _is_late_by_now(self, row: SlowRow, now_us: int) -> bool:
        return bool(row.fields["latest_us"] < now_us - self.streams[row.fields["stream"]].max_delay_us)
