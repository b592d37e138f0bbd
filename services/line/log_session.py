"""LogSession: what alerting reads a log of this machine by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from services.alerting.kafka.kafka_session import Position, PositionsOfTopics
from services.common.log.log import Log
from services.common.log.records import TopicPartition


class LogSession(PositionsOfTopics):
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

    def position(self, partition: TopicPartition) -> int:
        """Return the offset to be read next."""
        return self._reader.position(partition)

    def written_since(self, _partitions: Iterable[TopicPartition], _at_s: float) -> dict[TopicPartition, int]:
        """Return nothing: nobody asks for what was written lately."""
        return {}

    def commit(self, _positions: Iterable[Position]) -> None:
        """Show nobody how far it was read."""
