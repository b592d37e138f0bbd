"""LogSession: what alerting reads a log of this machine by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from services.alerting.kafka.kafka_session import Position
from services.common.log.log import Log
from services.common.log.records import Record, TopicPartition


class LogSession:
    """What alerting reads by: see `KafkaSession`."""

    def __init__(self, log: Log, followed: Iterable[str], watched: str, most: int) -> None:
        self._reader = log.reader(most)
        self.partitions = self._reader.partitions_of(*followed)
        self.watched = self._reader.partitions_of(watched)
        topics = {each.topic for each in (*self.partitions, *self.watched)}
        self.topic_ids = {topic: str(self._reader.topic_id(topic)) for topic in topics}

    def __getattr__(self, name: str) -> Any:
        """Return what the reader has."""
        return getattr(self._reader, name)

    def __enter__(self) -> LogSession:
        return self

    def __exit__(self, *_of_fault: object) -> None:
        self._reader.close()

    def was_read_before(self) -> bool:
        """Whether the log remembers that it was read: it does not."""
        return False

    def reached(self, records: Iterable[Record]) -> list[Position]:
        """Return the positions after `records`, which are in order within each partition."""
        last = {(record.topic, record.partition): record.offset for record in records}
        return [Position(topic, n, self.topic_ids[topic], offset + 1) for (topic, n), offset in last.items()]

    def at(self, partitions: Iterable[TopicPartition]) -> list[Position]:
        """Return the positions that `partitions` are at."""
        return [
            Position(each.topic, each.partition, self.topic_ids[each.topic], self._reader.position(each))
            for each in partitions
        ]

    def written_since(self, _partitions: Iterable[TopicPartition], _at_s: float) -> dict[TopicPartition, int]:
        """Return nothing: nobody asks for what was written lately."""
        return {}

    def commit(self, _positions: Iterable[Position]) -> None:
        """Show nobody how far it was read."""
