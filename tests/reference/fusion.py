"""Fusion written from the definition: one row at a time, every choice of members tried, nothing ever dropped."""

import json
from dataclasses import dataclass, field
from typing import Any

from coincide import Histogram, Stream
from coincide.fusion.control.limits import Limits
from coincide.fusion.records.kafka_records import InputRecord
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
    floors_us: dict[tuple[str, str], int] = field(default_factory=dict)  # by area and stream: late for ever before it
    begun: dict[str, int] = field(default_factory=dict)  # by stream: how many rows there were when it was removed

    def push(self, records: list[InputRecord]) -> None:
        for record in sorted(records, key=lambda record: (record.topic != "queries", record.partition, record.offset)):
            if (record.key or b"").startswith(b"stream/"):
                self._declare(json.loads(record.value or b""))
            elif record.topic == "queries":
                self._control(json.loads(record.value or b""))
            else:
                self._detections(json.loads(record.value or b""), record.partition)

    def _declare(self, change: dict[str, Any]) -> None:
        name, key = change["stream"], f"stream/{change['stream']}"
        if change["version"] <= self.versions.get(key, 0):
            return
        if change.get("removed"):
            if any(name in query.streams() for query in self.queries.values()):
                return
            self.streams.pop(name, None)
            self.begun[name] = len(self.rows)
            self.floors_us = {known: us for known, us in self.floors_us.items() if known[1] != name}
        else:
            new = Stream(name, change["max_delay_s"], change["longest_template_s"])
            if name in self.streams:
                for area, now_us in self.watermark_us.items():
                    was_us = self._on_time_us(area, name, now_us)
                    self.floors_us[area, name] = was_us
            self.streams[name] = new
        self.versions[key] = change["version"]

    def _control(self, change: dict[str, Any]) -> None:
        if change["version"] <= self.versions.get(change["id"], 0):
            return
        if not change.get("removed"):
            wanted = SlowQuery.of(change["query"], 1, 0, paused=False)
            if not wanted.streams() <= self.streams.keys():
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
                declared = self.streams.get(fields["stream"])
                if declared is None or template.length_s > declared.longest_template_s:
                    continue
                self._row(SlowRow(len(self.rows), content["area"], fields, template), content["received_at_us"])

    def _row(self, row: SlowRow, received_at_us: int) -> None:
        reached_us = min(row.latest_us, received_at_us)
        now_us = self.watermark_us[row.area] = max(self.watermark_us.get(row.area, reached_us), reached_us)
        late_by_us = self._late_by_us(row, now_us)
        if late_by_us > 0:
            self.late.append((*row.name, late_by_us))
            return
        alike = [other for other in self.rows if other.area == row.area and other.name == row.name]
        known = [other for other in alike if other.number >= self.begun.get(other.fields["stream"], 0)]
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
        return int(self._on_time_us(row.area, row.fields["stream"], now_us) - row.latest_us)

    def _on_time_us(self, area: str, stream: str, now_us: int) -> int:
        bound_us = now_us - self.streams[stream].max_delay_us
        return max(bound_us, self.floors_us.get((area, stream), bound_us))
