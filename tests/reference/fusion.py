"""Fusion written from the definition: one row at a time, every choice of members tried, nothing ever dropped."""

import json
from dataclasses import dataclass, field
from typing import Any

from coincide import Histogram, Stream
from spark_jobs.core.limits import Limits
from spark_jobs.records.kafka_records import InputRecord
from tests.reference.frames import rows_of
from tests.reference.fusion_query import Names, SlowQuery, SlowRow
from tests.reference.silence import SlowSilence

SlowMatch = tuple[str, str, int, str, Names, tuple[str, ...]]
"""Id of the match, query, version, area, (role, sensor, id) of each member, ids that it supersedes."""


@dataclass
class SlowFusion:
    """Accepts only well-formed records; `matches` lists the matches in the order in which they came to be.

    Without `limits` no query is ever suspended.
    """

    streams: dict[str, Stream]
    limits: Limits | None = None
    clock: SlowSilence = field(default_factory=lambda: SlowSilence(30_000_000))
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
        new = SlowQuery.of(change["query"], change["version"], len(self.rows), paused=change.get("paused", False))
        old = self.queries.get(change["id"])
        if old is not None and old.scope() == new.scope() and not old.suspended:
            new.activation = old.activation
        self.queries[change["id"]] = new

    def _detections(self, content: dict[str, Any], partition: int) -> None:
        if content.get("heartbeat"):
            self.silence.heartbeat(partition, content["received_at_us"], self.watermark_us)
        else:
            self.silence.frame(content["area"], partition, content["received_at_us"])
            self.clock.frame(content["area"], partition, content["received_at_us"])
            for fields in rows_of(content):
                template = Histogram.from_json(content["templates"][fields["template"]])
                self._row(SlowRow(len(self.rows), content["area"], fields, template), content["received_at_us"])

    def _row(self, row: SlowRow, received_at_us: int) -> None:
        reached_us = min(row.latest_us, received_at_us)
        now_us = self.watermark_us[row.area] = max(self.watermark_us.get(row.area, reached_us), reached_us)
        late_by_us = self._late_by_us(row, now_us)
        if late_by_us > 0:
            self.late.append((*row.name, late_by_us))
            return
        known = [other for other in self.rows if other.area == row.area and other.name == row.name]
        if known and self._late_by_us(known[-1], now_us) <= 0:
            same = known[-1].fields == row.fields
            self.duplicates += same
            self.conflicts += not same
            return
        self.rows.append(row)
        for query in (each for each in self.queries.values() if not each.paused and row.area not in each.suspended):
            completed = list(query.completed_by(row, self.rows))
            broken = None if self.limits is None else self._broken(query, row, self.limits, len(completed))
            if broken is not None:
                query.suspended[row.area] = (broken, *row.name)
                continue
            for identity, members, supersedes in completed:
                self.matches.append((identity, query.id, query.version, row.area, members, supersedes))

    def _broken(self, query: SlowQuery, row: SlowRow, limits: Limits, completed: int) -> str | None:
        if len(query.roles) > 2 and query.candidates(row, self.rows) > limits.max_candidates_per_detection:
            return "max_candidates_per_detection"
        if completed > limits.max_matches_per_detection:
            return "max_matches_per_detection"
        partition, _ = self.clock.since_us[row.area]
        second = (self.clock.listened_us[partition] // 10**6, self.clock.heard_us[partition] // 10**6)
        same, before = query.in_second.get(row.area, (second, 0))
        if completed and (count := completed + (before if same == second else 0)) > limits.max_matches_per_s:
            return "max_matches_per_s"
        if completed:
            query.in_second[row.area] = (second, count)
        return None

    def _late_by_us(self, row: SlowRow, now_us: int) -> int:
        return int(now_us - self.streams[row.fields["stream"]].max_delay_us - row.latest_us)
