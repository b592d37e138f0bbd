"""Looking ahead on the queries topic: when it is read, and what it says of each query."""

import json
from collections.abc import Iterable
from typing import Any

from kafka.errors import KafkaError

from services.common.engine.fusion_settings import FusionSettings
from services.common.log.records import Record
from spark_jobs.job.control_ahead import ControlAhead
from spark_jobs.job.status_follower import KafkaReader

DEEP = b'{"more": ' + b"[" * 20_000 + b"]" * 20_000 + b"}"


def record(offset: int, value: bytes | None) -> Record:
    return Record("coincide.queries", 0, offset, 0, None, value)


class Topic(KafkaReader):
    """A topic of one partition, its reader, and a clock that a read moves on by a tenth of a second."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.now_s = 1000.0
        self.unread = self.reads = self.connections = self.closed = 0
        self.is_away = False

    def add(self, name: str, version: int, **fields: Any) -> None:
        said = fields if "removed" in fields else {"query": {}, **fields}
        value = json.dumps({"v": 1, "id": name, "version": version, "changed_at_us": 0, **said}).encode()
        self.records.append(record(len(self.records), value))

    def ahead(self) -> ControlAhead:
        return ControlAhead(FusionSettings(), self.connect, lambda: self.now_s)

    def connect(self, _: FusionSettings) -> "Topic":
        self.connections += 1
        self.unread = 0
        return self

    def __exit__(self, *_: object) -> None:
        self.closed += 1

    def follow(self, topic: str) -> None:
        assert topic == "coincide.queries"

    def end_offsets(self, topics: Iterable[str]) -> dict[tuple[str, int], int]:
        if self.is_away:
            raise KafkaError("away")
        self.reads += 1
        return {(topic, 0): len(self.records) for topic in topics}

    def ends(self, partitions: Iterable[Any]) -> dict[Any, int]:
        return dict.fromkeys(partitions, len(self.records))

    def position(self, _partition: object) -> int:
        return self.unread

    def poll(self, wait_s: float = 0.1) -> list[Record]:
        self.now_s += wait_s
        start, self.unread = self.unread, min(self.unread + 2, len(self.records))
        return self.records[start : self.unread]


def test_before_the_first_batch_it_reads_all_and_the_newest_version_counts() -> None:
    topic = Topic()
    for name, version, fields in (
        ("gone", 1, {}),
        ("gone", 2, {"removed": True}),
        ("back", 3, {"paused": True}),
        ("back", 4, {}),
        ("paused", 5, {"paused": True}),
        ("paused", 4, {}),
    ):
        topic.add(name, version, **fields)
    topic.records += [record(6, None), record(7, b"no JSON"), record(8, DEEP)]
    ahead = topic.ahead()
    ahead.begin()
    assert ahead.stopped() == {"gone": 2, "paused": 5}


def test_later_batches_read_only_if_they_last() -> None:
    topic = Topic()
    ahead = topic.ahead()
    for _ in range(3):
        ahead.begin()
        assert ahead.stopped() == {}
        topic.now_s += 0.5
    assert topic.reads == 1
    topic.add("near", 2, removed=True)
    topic.now_s += 0.6
    assert ahead.stopped() == {"near": 2}
    assert (topic.reads, topic.connections) == (2, 1)


def test_without_kafka_it_knows_what_it_knew_and_tries_again() -> None:
    topic = Topic()
    topic.add("near", 2, removed=True)
    ahead = topic.ahead()
    assert ahead.stopped() == {"near": 2}
    topic.is_away = True
    topic.now_s += 2
    assert ahead.stopped() == {"near": 2}
    topic.is_away = False
    topic.add("far", 1, paused=True)
    topic.now_s += 2
    assert ahead.stopped() == {"near": 2, "far": 1}
    assert (topic.connections, topic.closed) == (2, 1)
