"""TopicReader: some partitions of Kafka, read by one consumer for one thread."""

import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Self

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError, LeaderNotAvailableError
from kafka.structs import OffsetAndMetadata

from services.common.kafka.clients import create_consumer
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.faults import MissingTopicError
from services.common.log.reader import POLL_S, LogReader
from services.common.topics.topic_names import DEFAULT_NAMES, TopicNames

ANSWER_TIMEOUT_S = 3.0


class ReplacedTopicError(KafkaError):  # type: ignore[misc]
    """A topic was deleted and made anew while it was read: offsets say nothing about it any more."""


class TopicReader(LogReader):
    """Reads from the offsets that its host names; every method may raise `KafkaError`."""

    replaced = ReplacedTopicError

    def __init__(
        self, consumer: KafkaConsumer, timeout_s: float = ANSWER_TIMEOUT_S, names: TopicNames = DEFAULT_NAMES
    ) -> None:
        super().__init__()
        self._consumer, self._timeout_ms, self._names = consumer, round(timeout_s * 1_000), names
        self._reads: tuple[TopicPartition, ...] = ()

    @classmethod
    def connected(cls, kafka: KafkaConnection) -> Self:
        """Return a reader of a new consumer; it may block."""
        return cls(create_consumer(kafka))

    def close(self) -> None:
        """Disconnect."""
        self._consumer.close(autocommit=False, timeout_ms=1_000)

    def has(self, topic: str) -> bool:
        """Return whether there is such a topic."""
        return bool(self._consumer.partitions_for_topic(topic))

    def partitions_of(self, *topics: str) -> list[TopicPartition]:
        """Return the partitions of topics; `MissingTopicError` where one is not there."""
        if missing := [each for each in topics if not self.has(each)]:
            raise MissingTopicError(missing, self._names)
        return [TopicPartition(each, n) for each in topics for n in sorted(self._consumer.partitions_for_topic(each))]

    def beginnings(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offset of the first record that each still has."""
        return self._offsets(self._consumer.beginning_offsets, partitions)

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offset after the last record of each."""
        return self._offsets(self._consumer.end_offsets, partitions)

    def written_since(self, partitions: Iterable[TopicPartition], at_ms: int) -> dict[TopicPartition, int]:
        """Return the offset of the first record that Kafka got then or later, of each partition that has one."""
        found = self._consumer.offsets_for_times(
            {TopicPartition(*each): at_ms for each in partitions}, self._timeout_ms
        )
        return {partition: each.offset for partition, each in found.items() if each is not None}

    def show(self, positions: Mapping[TopicPartition, int]) -> None:
        """Commit the offsets for the reader's group, as Kafka's tools show it."""
        offsets = {TopicPartition(*each): OffsetAndMetadata(offset, "", -1) for each, offset in positions.items()}
        if offsets:
            self._consumer.commit_async(offsets, callback=lambda _offsets, _response: None)

    def was_shown(self, partitions: Iterable[TopicPartition]) -> bool:
        """Return whether Kafka remembers that the group read some of these; False where it does not tell."""
        asked = [TopicPartition(*each) for each in partitions]
        try:
            return any(self._consumer.committed(each, timeout_ms=self._timeout_ms) for each in asked)
        except KafkaError:
            return False

    def _offsets(
        self, ask: Callable[..., dict[TopicPartition, int]], partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        asked = [TopicPartition(*each) for each in partitions]
        try:
            answer = ask(asked, timeout_ms=self._timeout_ms)
            return {each: answer[each] for each in asked}
        except KeyError as error:  # the client says so when it knows the leaders of some partitions only
            raise LeaderNotAvailableError(f"{error.args[0]} has no leader") from error

    def read_from(self, starts: Mapping[TopicPartition, int | None]) -> None:
        """Read these partitions, and no others, from these offsets on; None is the beginning."""
        self._reads = tuple(TopicPartition(*each) for each in starts)
        self._consumer.assign(list(self._reads))
        for partition, offset in zip(self._reads, starts.values(), strict=True):
            if offset is None:
                self._consumer.seek_to_beginning(partition)
            else:
                self._consumer.seek(partition, offset)

    def position(self, partition: TopicPartition) -> int:
        """Return the offset to be read next."""
        offset: int = self._consumer.position(TopicPartition(*partition), timeout_ms=self._timeout_ms)
        return offset

    def poll(self, wait_s: float = POLL_S) -> list[ConsumerRecord]:
        """Return the next records; waits up to `wait_s` when there are none, and no longer than for the first."""
        polled = self._consumer.poll(round(wait_s * 1_000))
        return [record for records in polled.values() for record in records]

    def topics_read(self) -> set[str]:
        """Return the topics of `read_from`."""
        return {each.topic for each in self._reads}

    def topic_id(self, topic: str) -> uuid.UUID | None:
        """Return what tells a topic from one of the same name that was made after it was deleted, if Kafka says it."""
        topic_id: uuid.UUID | None = self._consumer._cluster.topic_id(topic)  # no public way tells
        return topic_id
