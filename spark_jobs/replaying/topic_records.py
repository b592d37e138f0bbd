"""TopicRecords: the records of a Kafka topic between offsets, partition by partition in their order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kafka import TopicPartition

from services.common.kafka.clients import create_consumer
from services.common.kafka.connection import KafkaConnection
from spark_jobs.replaying.request import RunError
from spark_jobs.settings import HistorySettings

POLL_MS = 500
BYTES_AT_ONCE = 1_048_576

Offsets = Mapping[int, int]
"""Next offset to be read, by partition."""


class TopicRecord(NamedTuple):
    """One record; a tombstone has no value."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


class TopicRecords:
    """Reads one topic; every wait is bounded, and methods may raise KafkaError."""

    def __init__(self, kafka: KafkaConnection, topic: str, timeout_s: float) -> None:
        self._topic, self._timeout_s = topic, timeout_s
        self._consumer = create_consumer(kafka, request_timeout_ms=round(timeout_s * 1_000))
        numbers = self._consumer.partitions_for_topic(topic)
        if not numbers:
            self.__exit__()
            raise RunError(f"there is no topic {topic}")
        self._partitions = [TopicPartition(topic, number) for number in sorted(numbers)]

    def __enter__(self) -> TopicRecords:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close(timeout_ms=round(self._timeout_s * 1_000))

    def first_offsets(self) -> dict[int, int]:
        """Return the first offset that each partition still has."""
        return self._by_number(self._consumer.beginning_offsets(self._partitions))

    def end_offsets(self) -> dict[int, int]:
        """Return the offset after the last record of each partition."""
        return self._by_number(self._consumer.end_offsets(self._partitions))

    def offsets_at(self, time_us: int) -> dict[int, int]:
        """Return the offset of each partition's first record that Kafka got at that time or later, else its end."""
        at = self._consumer.offsets_for_times({each: max(0, -(-time_us // 1_000)) for each in self._partitions})
        return {
            number: end if (found := at.get(TopicPartition(self._topic, number))) is None else found.offset
            for number, end in self.end_offsets().items()
        }

    def chunks(self, starts: Offsets, ends: Offsets, check: Callable[[], None]) -> Iterator[list[TopicRecord]]:
        """Yield the records from the offsets `starts` up to `ends`, not included, in chunks of about a megabyte.

        `check` is called between polls; what it raises ends the reading.
        """
        wanted = [each for each in self._partitions if starts[each.partition] < ends[each.partition]]
        self._consumer.assign(wanted)
        for each in wanted:
            self._consumer.seek(each, starts[each.partition])
        deadline_s = time.monotonic() + 3 * self._timeout_s
        chunk: list[TopicRecord] = []
        size = 0
        while wanted:
            check()
            for records in self._consumer.poll(POLL_MS).values():
                deadline_s = time.monotonic() + 3 * self._timeout_s
                for each in records:
                    if each.offset < ends[each.partition]:
                        chunk.append(TopicRecord(each.partition, each.offset, each.key or None, each.value))
                        size += len(each.value or b"")
                        if size >= BYTES_AT_ONCE:
                            yield chunk
                            chunk, size = [], 0
            done = [each for each in wanted if self._consumer.position(each) >= ends[each.partition]]
            if done:  # not `pause`: the client never fetches a partition again that had records when it was paused
                wanted = [each for each in wanted if each not in done]
                self._consumer.assign(wanted)
            if wanted and time.monotonic() > deadline_s:
                raise RunError(f"Kafka gave no record of {self._topic} for {3 * self._timeout_s:g} s")
        if chunk:
            yield chunk

    def all(self, check: Callable[[], None]) -> Iterator[TopicRecord]:
        """Yield every record that the topic has now."""
        for chunk in self.chunks(self.first_offsets(), self.end_offsets(), check):
            yield from chunk

    def _by_number(self, offsets: Mapping[Any, int]) -> dict[int, int]:
        return {partition.partition: offset for partition, offset in offsets.items()}


def opened_topic(name: str, settings: HistorySettings) -> TopicRecords:
    """Return the reader of one of the system's topics."""
    return TopicRecords(settings.kafka, settings.topic(name), settings.kafka_timeout_s)


@dataclass
class ReadShare:
    """Tells, whenever it is called, which share of `total` records has been read."""

    tell: Callable[[float], None]
    total: int
    done: int = 0

    def __call__(self) -> None:
        """Tell it."""
        self.tell(self.done / max(self.total, 1))


def records_between(starts: Offsets, ends: Offsets) -> int:
    """Return how many offsets there are from `starts` to `ends`."""
    return sum(max(0, ends[number] - start) for number, start in starts.items())


def kept(starts: Offsets, firsts: Offsets) -> dict[int, int]:
    """Return the offsets, none before what the topic still has."""
    return {number: max(starts.get(number, first), first) for number, first in firsts.items()}
