"""Records come back as Kafka had them: keys, values, headers, times, partitions, and offsets where they count."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import TopicPartition

from deploy.host.machine import free_ports
from deploy.local.broker import Broker
from services.backup.folder import BackupError, SavedPartition
from services.backup.places import delete_before, fill
from services.backup.topic_copies import FilledPartition, SavedRecord, restore_topics, save_topics
from services.common.kafka.clients import create_admin, create_consumer, create_producer
from services.common.kafka.connection import KafkaConnection
from services.common.log.declared_topic import Topic
from services.common.topic_names import TopicNames
from services.common.topics import create_topics

NAMES = TopicNames("reef.")
DETECTIONS, QUERIES, MATCHES, KEYS = map(NAMES.full, ("detections", "queries", "matches", "keys"))
COMPACTED = Topic(partitions=1, configs={"cleanup.policy": "compact"})
TOPICS = {DETECTIONS: Topic(partitions=3), QUERIES: COMPACTED, MATCHES: Topic(partitions=2), KEYS: COMPACTED}
NOW_MS = round(time.time() * 1000)  # Kafka deletes what is older than it keeps records for
EXPIRED = 250_001  # records of a partition that Kafka has deleted
LARGE = b"\x00\xff" * 500_000


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Two; the first has `TOPICS` as a system has left them."""
    both = [Broker(tmp_path_factory.mktemp("kafka"), *free_ports(2)) for _ in range(2)]
    try:
        for broker in both:
            broker.start()
        write_to(both[0].bootstrap)
        yield both[0].bootstrap, both[1].bootstrap
    finally:
        for broker in both:
            broker.stop()


def write_to(bootstrap: str) -> None:
    """Partition 1 of the detections begins behind what expired, and partition 2 has no record any more."""
    admin, producer = (
        create_admin(KafkaConnection(servers=bootstrap)),
        create_producer(KafkaConnection(servers=bootstrap)),
    )
    create_topics(admin, TOPICS)
    fill(admin, TopicPartition(DETECTIONS, 1), 0, EXPIRED)
    fill(admin, TopicPartition(DETECTIONS, 2), 0, 7)
    for topic, declared in TOPICS.items():
        for n in range(12):
            sent = producer.send(
                topic,
                key=None if n == 3 and declared is not COMPACTED else f"key {n}".encode(),
                value={4: None, 5: LARGE}.get(n, bytes([n, 0, 255])),
                headers=[("of", b"\x00\xff"), ("empty", b"")] if n == 6 else [],
                timestamp_ms=NOW_MS + n,
                partition=n % min(2, declared.partitions),
            )
            sent.get(timeout=30)
    delete_before(admin, TopicPartition(DETECTIONS, 1), EXPIRED)
    delete_before(admin, TopicPartition(DETECTIONS, 2), 7)
    producer.close()
    admin.close()


def read(bootstrap: str, topic: str) -> tuple[dict[int, tuple[int, int]], list[tuple[Any, ...]]]:
    """Return the first and the end offset of each partition, and all records."""
    consumer = create_consumer(KafkaConnection(servers=bootstrap))
    places = [TopicPartition(topic, n) for n in range(TOPICS[topic].partitions)]
    consumer.assign(places)
    consumer.seek_to_beginning()
    begins, ends = consumer.beginning_offsets(places), consumer.end_offsets(places)
    records: list[tuple[Any, ...]] = []
    while any(consumer.position(each) < ends[each] for each in places):
        for polled in consumer.poll(200).values():
            records += [(r.partition, r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in polled]
    consumer.close()
    return {each.partition: (begins[each], ends[each]) for each in places}, sorted(records, key=lambda r: r[:2])


@pytest.mark.jvm
def test_a_restored_kafka_has_the_same_records_in_the_same_places(brokers: tuple[str, str], tmp_path: Path) -> None:
    first, second = brokers
    saved = save_topics(KafkaConnection(servers=first), TOPICS, NAMES, tmp_path)
    assert saved[DETECTIONS] == [
        SavedPartition(0, 6, 6),
        SavedPartition(EXPIRED, EXPIRED + 6, 6),
        SavedPartition(7, 7, 0),
    ]
    restore_topics(KafkaConnection(servers=second), TOPICS, NAMES, saved, tmp_path)
    for topic in TOPICS:
        places, records = read(first, topic)
        assert len(records) == 12
        assert read(second, topic) == (places, records), topic

    with pytest.raises(BackupError, match=r"has records: restore into a Kafka without any"):
        restore_topics(KafkaConnection(servers=second), TOPICS, NAMES, saved, tmp_path)
    another = {"reef.new": Topic(partitions=1)}
    with pytest.raises(
        BackupError,
        match=r"the backup has the topic reef\.detections, which [^\n]* not declare for the topic_prefix 'reef\.'$",
    ):
        restore_topics(KafkaConnection(servers=second), another, NAMES, {DETECTIONS: saved[DETECTIONS]}, tmp_path)
    with pytest.raises(BackupError, match=r"^there is no topic reef\.new: [^\n]* --prefix reef\. creates it$"):
        save_topics(KafkaConnection(servers=first), another, NAMES, tmp_path / "other")


class Sent:
    """A record on its way to Kafka."""

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def get(self, timeout: float) -> "Sent":
        return self


class Producer:
    """Kafka as far as a restore needs it: it gives offsets, from a first one on."""

    def __init__(self, first: int = 0) -> None:
        self.first = first
        self.keys: list[bytes] = []

    def send(self, _topic: str, **fields: Any) -> Sent:
        self.keys.append(fields["key"])
        return Sent(self.first + len(self.keys) - 1)


def kept(offset: int) -> SavedRecord:
    return SavedRecord(offset, 0, f"key {offset}".encode(), b"", [])


def test_what_compaction_left_out_is_told_by_copies_of_what_came_next() -> None:
    saved = SavedPartition(2, 7, 3)
    queries, keys = Producer(), Producer()
    FilledPartition(None, TopicPartition(QUERIES, 0), saved, is_kept=True, is_compacted=True).write(
        queries, map(kept, (2, 3, 6))
    )
    assert queries.keys == [b"key 2"] * 3 + [b"key 3"] + [b"key 6"] * 3
    FilledPartition(None, TopicPartition(KEYS, 0), saved, is_kept=False, is_compacted=True).write(
        keys, map(kept, (2, 3, 6))
    )
    assert keys.keys == [b"key 2", b"key 3", b"key 6"]


def test_a_restore_ends_where_somebody_else_writes() -> None:
    place = FilledPartition(None, TopicPartition(QUERIES, 0), SavedPartition(0, 2, 2), is_kept=True, is_compacted=True)
    with pytest.raises(BackupError, match=r"somebody else writes to reef\.queries: a record got offset 2, not 1$"):
        place.write(Producer(first=1), map(kept, (0, 1)))
