"""One connection to Kafka: which partitions there are, from where to read, how far it has come, what to commit."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kafka import TopicPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata
from sqlalchemy import Connection, select

from services.alerting.store.dialect import upsert
from services.alerting.store.tables import positions
from services.common.kafka.clients import create_consumer, described_topics
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.faults import MissingTopicError
from services.common.kafka.topic_reader import TopicReader
from services.common.topic_names import TopicNames

ANSWER_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Position:
    """The offset to read next; `topic_id` tells a topic from one of the same name made after it was deleted."""

    topic: str
    partition: int
    topic_id: str
    next_offset: int


def store_positions(connection: Connection, reached: Iterable[Position]) -> None:
    """Keep the positions `reached`."""
    rows = [vars(position) for position in reached]
    if rows:
        connection.execute(upsert(connection, positions), rows)


def read_positions(connection: Connection) -> list[Position]:
    """Return every position kept."""
    return [Position(*row) for row in connection.execute(select(positions))]


class PositionsOfTopics:
    """What a session of any log says of how far it was read."""

    topic_ids: dict[str, str]

    def reached(self, records: Iterable[Any]) -> list[Position]:
        """Return the positions after `records`, which are in order within each partition."""
        last = {(record.topic, record.partition): record.offset for record in records}
        return [Position(topic, n, self.topic_ids[topic], offset + 1) for (topic, n), offset in last.items()]

    def at(self, partitions: Iterable[TopicPartition]) -> list[Position]:
        """Return the positions that `partitions` are at."""
        return [
            Position(each.topic, each.partition, self.topic_ids[each.topic], self.position(each)) for each in partitions
        ]

    def position(self, partition: TopicPartition) -> int:
        """Return the offset to be read next."""
        raise NotImplementedError


class KafkaSession(TopicReader, PositionsOfTopics):
    """A consumer with every partition of some topics assigned by hand.

    Positions live in the database, in the transaction that stored the rows; what is committed to Kafka only shows
    them to Kafka's tools. So there is no group to join: a restart after a kill does not wait for its old self to
    time out, and a database that was deleted is filled again from the beginning.
    """

    def __init__(
        self, kafka: KafkaConnection, names: TopicNames, group: str, topics: Iterable[str], watched: str, most: int
    ) -> None:
        described, self.topic_ids = _describe(kafka, names, (*topics, watched))
        self.partitions = [each for each in described if each.topic != watched]
        self.watched = [each for each in described if each.topic == watched]  # whose ends are asked for, no more
        super().__init__(create_consumer(kafka, group_id=group, max_poll_records=most), ANSWER_TIMEOUT_S, names)
        self._consumer.assign(described)  # what it keeps metadata of: every topic, whatever is read from it
        self._consumer.topics()  # and wait for it: until then it knows no leader

    def was_read_before(self) -> bool:
        """Whether Kafka remembers that it was read, whatever the database says; False where it does not tell."""
        try:
            return any(self._consumer.committed(each, timeout_ms=self._timeout_ms) for each in self.partitions)
        except KafkaError:
            return False

    def commit(self, positions: Iterable[Position]) -> None:
        """Show `positions` to Kafka's tools; does not wait, and a failure does not matter."""
        offsets = {TopicPartition(p.topic, p.partition): OffsetAndMetadata(p.next_offset, "", -1) for p in positions}
        if offsets:
            self._consumer.commit_async(offsets, callback=lambda _offsets, _response: None)


def _describe(
    kafka: KafkaConnection, names: TopicNames, topics: tuple[str, ...]
) -> tuple[list[TopicPartition], dict[str, str]]:
    described = described_topics(kafka, topics)
    missing = [name for name in topics if not described.get(name, {}).get("partitions")]
    if missing:
        raise MissingTopicError(missing, names)
    partitions = [
        TopicPartition(name, partition["partition_index"])
        for name in topics
        for partition in described[name]["partitions"]
    ]
    return partitions, {name: str(described[name]["topic_id"]) for name in topics}
