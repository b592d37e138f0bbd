"""What a log takes and gives: records, and where they stand."""

from typing import NamedTuple

Header = tuple[str, bytes]

#: What a record counts beside its key, value and headers, wherever bytes are bounded.
RECORD_BYTES = 64


class TopicPartition(NamedTuple):
    """A part of a topic that has an order of its own."""

    topic: str
    partition: int


class RecordPosition(NamedTuple):
    """Where a record stands: offsets of a partition rise by one with each record, and are never given twice."""

    topic: str
    partition: int
    offset: int


class Record(NamedTuple):
    """A record as it was read; its timestamp is in milliseconds since 1970."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()

    @property
    def timestamp(self) -> int:
        """The name that records of Kafka's client have for `timestamp_ms`."""
        return self.timestamp_ms


class NewRecord(NamedTuple):
    """A record to be appended: without a timestamp it gets that of now, without a partition that of its key.

    It has a key or a value, or both. A key without a value removes the key from a compacted topic.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    timestamp_ms: int | None = None
    partition: int | None = None


def size_of(record: Record | NewRecord) -> int:
    """Return the bytes that a record counts."""
    size = RECORD_BYTES + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += len(name) + len(value)
    return size
