"""What must have come out: the law of lateness over the log, row by row, and the library's join of whole batches.

It reads ``coincide.detections`` from Kafka, for only the log says in which order detections came. Fusion has no part in
it: lateness is written here from docs/explanation/lateness-and-retention.md, silence is its slow twin.
"""

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kafka import TopicPartition

from coincide import Detections, Histogram, Window, timing_join
from services.common.kafka.clients import create_consumer
from services.common.kafka.connection import KafkaConnection
from tests.reference.frames import rows_of
from tests.reference.silence import SlowSilence
from trials.chaos.ledger import Name
from trials.chaos.load import STEADY, THRESHOLD, WINDOW_S

TOPIC = "coincide.detections"
READ_WITHIN_S = 300.0


@dataclass(frozen=True)
class Row:
    """One detection as it is on the log."""

    area: str
    sensor: str
    id: str
    at_us: int
    template: Histogram

    @property
    def latest_us(self) -> int:
        return int(self.at_us + self.template.latest_us)


@dataclass
class Judged:
    """Every row of the log: on time, late, or there before."""

    delay_us: int
    silence: SlowSilence
    on_time: list[Row] = field(default_factory=list)
    late: set[Name] = field(default_factory=set)
    logged: dict[Name, int] = field(default_factory=dict)  # when each was detected
    _watermark_us: dict[str, int] = field(default_factory=dict)
    _known_latest_us: dict[tuple[str, Name], int] = field(default_factory=dict)
    _templates: dict[str, Histogram] = field(default_factory=dict)

    def read(self, partition: int, value: bytes | None) -> None:
        """Judge the rows of one record; what is neither a frame nor a heartbeat is poison, and counts for nothing."""
        try:
            content = json.loads(value or b"")
            received_us = content["received_at_us"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        if content.get("heartbeat"):
            self.silence.heartbeat(partition, received_us, self._watermark_us)
            return
        self.silence.frame(content["area"], partition, received_us)
        for fields in rows_of(content):
            self._judge(self._row(content, fields), received_us)

    def _row(self, frame: dict[str, Any], fields: dict[str, Any]) -> Row:
        known = fields["template"]
        if known not in self._templates:
            self._templates[known] = Histogram.from_json(frame["templates"][known])
        return Row(frame["area"], fields["sensor"], fields["id"], fields["detected_at_us"], self._templates[known])

    def _judge(self, row: Row, received_us: int) -> None:
        reached_us = min(row.latest_us, received_us)
        now_us = self._watermark_us[row.area] = max(self._watermark_us.get(row.area, reached_us), reached_us)
        name = (row.sensor, row.id)
        self.logged[name] = row.at_us
        if row.latest_us < now_us - self.delay_us:
            self.late.add(name)
            return
        known_us = self._known_latest_us.get((row.area, name))
        if known_us is None or known_us < now_us - self.delay_us:
            self._known_latest_us[row.area, name] = row.latest_us
            self.on_time.append(row)


def judged(bootstrap: str, delay_us: int, quiet_us: int) -> Judged:
    """Read the whole log and judge it."""
    result = Judged(delay_us, SlowSilence(quiet_us))
    for partition, value in _records(bootstrap):
        result.read(partition, value)
    return result


def _records(bootstrap: str) -> Iterator[tuple[int, bytes | None]]:
    consumer = create_consumer(KafkaConnection(servers=bootstrap))
    try:
        partitions = [TopicPartition(TOPIC, each) for each in consumer.partitions_for_topic(TOPIC) or ()]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        ends, deadline_s = consumer.end_offsets(partitions), time.monotonic() + READ_WITHIN_S
        while any(consumer.position(each) < end for each, end in ends.items()):
            if time.monotonic() > deadline_s:
                raise SystemExit(f"{TOPIC} could not be read to its end within {READ_WITHIN_S:.0f} s")
            for polled in consumer.poll(200).values():
                yield from ((record.partition, record.value) for record in polled)
    finally:
        consumer.close()


def expected_matches(rows: list[Row]) -> dict[str, tuple[Name, Name]]:
    """Return the members of each match of the steady query, by the match's id."""
    templates = [*dict.fromkeys(row.template for row in rows)]
    places = {template: place for place, template in enumerate(templates)}
    table = Detections(
        [row.at_us for row in rows],
        templates,
        [places[row.template] for row in rows],
        area=[row.area for row in rows],
        sensor=[row.sensor for row in rows],
        id=[row.id for row in rows],
    )
    pairs = timing_join(table, None, Window(WINDOW_S), THRESHOLD)
    found = ((rows[left], rows[right]) for left, right in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    return {match_id(a, b): ((a.sensor, a.id), (b.sensor, b.id)) for a, b in found}


def match_id(a: Row, b: Row) -> str:
    """Return the id that docs/contracts/matches.schema.json gives a match of ``a`` and ``b``."""
    named = [[role, row.sensor, row.id, row.at_us] for role, row in (("a", a), ("b", b))]
    content = json.dumps([STEADY, *named], ensure_ascii=False, separators=(",", ":"))
    return f"m-{hashlib.sha256(content.encode()).hexdigest()[:32]}"
