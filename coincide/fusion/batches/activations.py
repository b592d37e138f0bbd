"""Activations: the offsets of the detections before which each change of a query took effect, told on a topic.

Which micro-batch brings a change depends on the clock. So only the job can say where among the detections it was
applied, and a replay needs to know.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import Raw, msgpack
from msgspec.json import encode

from coincide.fusion.records.kafka_records import InputRecord
from coincide.wire.declarations.query_record import decode_query
from coincide.wire.declarations.stream_records import StreamRecordError, is_stream_key, stream_record
from coincide.wire.fields import UNREADABLE
from coincide.wire.output_record import OutputRecord
from coincide.wire.shard_records import ActivationRecord

_LENGTH_BYTES = 4


_offsets_decoder = msgpack.Decoder(dict[int, int])


@dataclass
class PushedOffsets:
    """How far the detections of each partition have been pushed: the next offset, by partition."""

    next_offsets: dict[int, int] = field(default_factory=dict)

    def took(self, records: Iterable[InputRecord]) -> None:
        """Take note of what was pushed."""
        for record in records:
            if record.topic == "detections":
                known = self.next_offsets.get(record.partition, 0)
                self.next_offsets[record.partition] = max(known, record.offset + 1)

    def records(self, shard: int, waiting: Sequence[InputRecord]) -> Iterator[OutputRecord]:
        """Yield the activations of the changes among what waits, all of which are applied before its detections."""
        changes = [record for record in waiting if record.topic == "queries" and is_change(record)]
        if changes:
            first = dict(self.next_offsets)
            for record in sorted(waiting, key=lambda each: -each.offset):
                if record.topic == "detections":
                    first[record.partition] = record.offset
            offsets = {str(number): offset for number, offset in sorted(first.items())}
            for record in changes:
                told = ActivationRecord(
                    shard=shard, control_offset=record.offset, offsets=offsets, change=Raw(record.value or b"")
                )
                yield OutputRecord(record.key or b"", encode(told))

    def encode(self) -> bytes:
        """Return the bytes that `split` begins with."""
        content = msgpack.encode(self.next_offsets)
        return len(content).to_bytes(_LENGTH_BYTES) + content

    @classmethod
    def split(cls, content: bytes) -> tuple["PushedOffsets", bytes]:
        """Return what `encode` wrote, and the bytes behind it."""
        stop = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES])
        return cls(_offsets_decoder.decode(content[_LENGTH_BYTES:stop])), content[stop:]


def is_change(record: InputRecord) -> bool:
    """Whether a record of the queries topic says anything; what is unusable is a dead letter."""
    try:
        if is_stream_key(record.key):
            return bool(stream_record(record.key, record.value or b""))
        decode_query(record.value or b"")
    except (*UNREADABLE, StreamRecordError):
        return False
    return True
