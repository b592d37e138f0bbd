"""KafkaLogReader: reads Kafka's topics as every log is read."""

import uuid
from collections import deque
from collections.abc import Iterable, Mapping

from kafka import KafkaConsumer
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import OffsetOutOfRangeError

from services.common.kafka.log_faults import telling
from services.common.kafka.topic_reader import ANSWER_TIMEOUT_S, TopicReader
from services.common.log.faults import OffsetGoneError
from services.common.log.reader import POLL_S, LogReader
from services.common.log.records import Record, TopicPartition, size_of
from services.common.topics.topic_names import DEFAULT_NAMES, TopicNames


class KafkaLogReader(LogReader):
    """Reads by a consumer; what a poll brought beyond the bytes that may be returned waits for the next one."""

    def __init__(
        self,
        consumer: KafkaConsumer,
        most_bytes: int,
        names: TopicNames = DEFAULT_NAMES,
        timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> None:
        super().__init__()
        self._topics, self._most_bytes = TopicReader(consumer, timeout_s, names=names), most_bytes
        self._waiting: deque[Record] = deque()

    def close(self) -> None:
        """Read no more."""
        self._topics.close()

    def has(self, topic: str) -> bool:
        """Return whether there is such a topic."""
        with telling():
            return self._topics.has(topic)

    def partitions_of(self, *topics: str) -> list[TopicPartition]:
        """Return the partitions of topics; `NoSuchTopicError` where one is not there."""
        with telling():
            return self._topics.partitions_of(*topics)

    def topic_id(self, topic: str) -> uuid.UUID | None:
        """Return what Kafka gave to the topic when it was made."""
        with telling():
            return self._topics.topic_id(topic)

    def beginnings(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offset of the first record that each may still have."""
        with telling():
            return self._topics.beginnings(partitions)

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offset after the last record of each."""
        with telling():
            return self._topics.ends(partitions)

    def written_since(self, partitions: Iterable[TopicPartition], at_ms: int) -> dict[TopicPartition, int]:
        """Return the offset of the first record that Kafka got then or later, of each partition that has one."""
        with telling():
            return self._topics.written_since(partitions, at_ms)

    def show(self, positions: Mapping[TopicPartition, int]) -> None:
        """Commit the offsets for the reader's group, as Kafka's tools show it."""
        with telling():
            self._topics.show(positions)

    def was_shown(self, partitions: Iterable[TopicPartition]) -> bool:
        """Return whether Kafka remembers that the group read some of these; False where it does not tell."""
        return self._topics.was_shown(partitions)

    def topics_read(self) -> set[str]:
        """Return the topics of `read_from`."""
        return self._topics.topics_read()

    def read_from(self, starts: Mapping[TopicPartition, int | None]) -> None:
        """Read these partitions, and no others, from these offsets on; None is the beginning."""
        with telling():
            self._topics.partitions_of(*{each.topic for each in starts})  # which refuses what is not there
            self._topics.read_from(starts)
        self._waiting.clear()

    def position(self, partition: TopicPartition) -> int:
        """Return the offset to be read next."""
        waiting = next((each.offset for each in self._waiting if each[:2] == partition), None)
        with telling():
            return self._topics.position(partition) if waiting is None else waiting

    def poll(self, wait_s: float = POLL_S) -> list[Record]:
        """Return the next records; waits up to `wait_s` when there are none."""
        if not self._waiting:
            with telling():
                try:
                    self._waiting.extend(map(_record, self._topics.poll(wait_s)))
                except OffsetOutOfRangeError as error:
                    partition, offset = next(iter(error.args[0].items()))
                    raise self._gone(TopicPartition(*partition), offset) from error
        records: list[Record] = []
        room = self._most_bytes
        while self._waiting and (room > 0 or not records):
            records.append(self._waiting.popleft())
            room -= size_of(records[-1])
        return records

    def _gone(self, partition: TopicPartition, offset: int) -> OffsetGoneError:
        [beginning] = self._topics.beginnings([partition]).values()
        [end] = self._topics.ends([partition]).values()
        return OffsetGoneError(partition, offset, beginning, end)


def _record(read: ConsumerRecord) -> Record:
    headers = tuple((name, value or b"") for name, value in read.headers)
    return Record(read.topic, read.partition, read.offset, read.timestamp, read.key, read.value, headers)
