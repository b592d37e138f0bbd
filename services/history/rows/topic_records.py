"""TopicRecords: the records of a topic between offsets, partition by partition in their order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Self

from services.common.log.reader import LogReader
from services.common.log.records import Record, TopicPartition
from services.history.replaying.request import RunError

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
    """One topic, by the numbers of its partitions; every wait is bounded, and methods may raise LogError."""

    def __init__(self, reader: LogReader, topic: str, patience_s: float) -> None:
        self._reader, self._topic, self._patience_s = reader, topic, patience_s
        if not reader.has(topic):
            self.__exit__(None, None, None)
            raise RunError(f"there is no topic {topic}")
        self._partitions = reader.partitions_of(topic)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._reader.__exit__(kind, error, at)

    @property
    def topic_id(self) -> str:
        """What tells the topic from one of the same name that was made after it was deleted."""
        return str(self._reader.topic_id(self._topic))

    def first_offsets(self) -> dict[int, int]:
        """Return the first offset that each partition still has."""
        return _by_number(self._reader.beginnings(self._partitions))

    def end_offsets(self) -> dict[int, int]:
        """Return the offset after the last record of each partition."""
        return _by_number(self._reader.ends(self._partitions))

    def offsets_at(self, time_us: int) -> dict[int, int]:
        """Return the offset of each partition's first record that the log got at that time or later, else its end."""
        at = self._reader.written_since(self._partitions, max(0, -(-time_us // 1_000)))
        return self.end_offsets() | _by_number(at)

    def chunks(self, starts: Offsets, ends: Offsets, check: Callable[[], None]) -> Iterator[list[TopicRecord]]:
        """Yield the records from the offsets `starts` up to `ends`, not included, in chunks of about a megabyte.

        `check` is called between polls; what it raises ends the reading.
        """
        chunk: list[TopicRecord] = []
        size = 0
        for each in self._polled(starts, ends, check):
            chunk.append(TopicRecord(each.partition, each.offset, each.key or None, each.value))
            size += len(each.value or b"")
            if size >= BYTES_AT_ONCE:
                yield chunk
                chunk, size = [], 0
        if chunk:
            yield chunk

    def _polled(self, starts: Offsets, ends: Offsets, check: Callable[[], None]) -> Iterator[Record]:
        heard_s = time.monotonic()
        for records in self._reader.between(self._by_partition(starts), self._by_partition(ends)):
            check()
            if records:
                yield from records
                heard_s = time.monotonic()
            elif time.monotonic() > heard_s + self._patience_s:
                raise RunError(f"the log gave no record of {self._topic} for {self._patience_s:g} s")

    def all(self, check: Callable[[], None]) -> Iterator[TopicRecord]:
        """Yield every record that the topic has now."""
        for chunk in self.chunks(self.first_offsets(), self.end_offsets(), check):
            yield from chunk

    def _by_partition(self, offsets: Offsets) -> dict[TopicPartition, int]:
        return {each: offsets[each.partition] for each in self._partitions}


def _by_number(offsets: Mapping[TopicPartition, int]) -> dict[int, int]:
    return {partition.partition: offset for partition, offset in offsets.items()}


Topics = Callable[[str], TopicRecords]
"""Opens one of the system's topics by its short name."""


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
