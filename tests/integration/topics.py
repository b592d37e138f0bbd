"""Topics of a real broker: created as they are declared, written to, and read to their end."""

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from kafka import TopicPartition

from deploy.host.machine import ROOT, free_ports
from deploy.local.broker import Broker
from services.common.kafka.clients import create_admin, create_consumer, create_producer
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.topic_creation import create_topics
from services.common.topics.topic_names import DEFAULT_PREFIX, TopicNames
from services.common.topics.topics_file import load_topics
from tests.reference.frames import rows_of

READ_WITHIN_S = 30.0


@contextmanager
def running_broker(folder: Path) -> Iterator[Broker]:
    """Run a broker with every declared topic; it may be killed, hung and started again meanwhile."""
    broker = Broker(folder, *free_ports(2))
    broker.start()
    try:
        create_declared_topics(broker.bootstrap)
        yield broker
    finally:
        broker.resume()
        broker.stop()


def create_declared_topics(bootstrap: str, prefix: str = DEFAULT_PREFIX) -> None:
    """Create every declared topic, under names that begin with ``prefix``."""
    admin = create_admin(KafkaConnection(servers=bootstrap))
    create_topics(admin, load_topics(ROOT / "config" / "topics.yaml", TopicNames(prefix)))
    admin.close()


def send(bootstrap: str, topic: str, records: Iterable[tuple[bytes, Any]]) -> None:
    """Send ``records``, values as they are or else as JSON, and return when all are acknowledged."""
    producer = create_producer(KafkaConnection(servers=bootstrap))
    written = [(key, value if isinstance(value, bytes) else json.dumps(value).encode()) for key, value in records]
    for sent in [producer.send(topic, key=key, value=value) for key, value in written]:
        sent.get(timeout=30)
    producer.close()


def expire(bootstrap: str, topic: str) -> None:
    """Have Kafka delete all records of a topic, as its retention would."""
    consumer, admin = (
        create_consumer(KafkaConnection(servers=bootstrap)),
        create_admin(KafkaConnection(servers=bootstrap)),
    )
    try:
        there = [TopicPartition(topic, each) for each in consumer.partitions_for_topic(topic) or ()]
        admin.delete_records(consumer.end_offsets(there))
    finally:
        consumer.close()
        admin.close()


def records_of(bootstrap: str, topic: str) -> list[Any]:
    """Return every record now on ``topic``, values read as JSON."""
    consumer = create_consumer(KafkaConnection(servers=bootstrap))
    try:
        partitions = [TopicPartition(topic, each) for each in consumer.partitions_for_topic(topic) or ()]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        ends = consumer.end_offsets(partitions)
        records: list[Any] = []
        deadline_s = time.monotonic() + READ_WITHIN_S
        while any(consumer.position(each) < end for each, end in ends.items()):
            assert time.monotonic() < deadline_s, f"{topic} could not be read to its end"
            records += [record for polled in consumer.poll(200).values() for record in polled]
    finally:
        consumer.close()
    return [record._replace(value=_read(record.value)) for record in records]


def _read(value: bytes | None) -> Any:
    """Return what a value says; one that is no JSON, which a test may send, is left as it is."""
    with suppress(ValueError):
        return json.loads(value or b"")
    return value


def read_all(bootstrap: str, topic: str) -> list[dict[str, Any]]:
    return [record.value for record in records_of(bootstrap, topic)]


def detections_of(bootstrap: str, prefix: str = DEFAULT_PREFIX) -> list[dict[str, Any]]:
    """Return every detection now on the topic of detections, with its area."""
    frames = read_all(bootstrap, TopicNames(prefix).full("detections"))
    return [
        {**each, "area": frame["area"]}
        for frame in frames
        if isinstance(frame, dict) and "area" in frame
        for each in rows_of(frame)
    ]


@dataclass(frozen=True)
class OwnTopics:
    """Every declared topic on a broker that tests share, under a prefix of one test's own; it takes short names."""

    bootstrap: str
    prefix: str

    @classmethod
    def create(cls, broker: Broker, prefix: str) -> Self:
        create_declared_topics(broker.bootstrap, prefix)
        return cls(broker.bootstrap, prefix)

    @property
    def settings(self) -> dict[str, str]:
        """What a component is told beside the broker's address."""
        return {"topic_prefix": self.prefix}

    def send(self, topic: str, records: Iterable[tuple[bytes, Any]]) -> None:
        send(self.bootstrap, self.prefix + topic, records)

    def expire(self, topic: str) -> None:
        expire(self.bootstrap, self.prefix + topic)

    def records_of(self, topic: str) -> list[Any]:
        return records_of(self.bootstrap, self.prefix + topic)

    def read_all(self, topic: str) -> list[dict[str, Any]]:
        return read_all(self.bootstrap, self.prefix + topic)
