"""Fusion written from the definition: one row at a time, every choice of members tried, nothing ever dropped."""

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
        new = SlowQuery.of(change["query"], change["version"], len(self.rows), paused=change.get("paused", False))
        old = self.queries.get(change["id"])
        if old is not None and old.scope() == new.scope():
            new.activation = old.activation
        self.queries[change["id"]] = new

    def _detections(self, content: dict[str, Any], partition: int) -> None:
        if content.get("heartbeat"):
            self.silence.heartbeat(partition, content["received_at_us"], self.watermark_us)
        else:
            self.silence.frame(content["area"], partition, content["received_at_us"])
            for fields in content["detections"]:
                template = Histogram.from_json(content["templates"][fields["template"]])
                self._row(SlowRow(len(self.rows), content["area"], fields, template), content["received_at_us"])

    def _row(self, row: SlowRow, received_at_us: int) -> None:
        reached_us = min(row.fields["latest_us"], received_at_us)
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
        for query in (each for each in self.queries.values() if not each.paused):
            for identity, members, supersedes in query.completed_by(row, self.rows):
                self.matches.append((identity, query.id, query.version, row.area, members, supersedes))

    def _late_by_us(self, row: SlowRow, now_us: int) -> int:
        return int(now_us - self.streams[row.fields["stream"]].max_delay_us - row.fields["latest_us"])
