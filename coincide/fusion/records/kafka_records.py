"""What goes into the fusion core and what comes out: Kafka records, without Kafka, and letters about unusable ones."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import msgspec
from msgspec import Raw, Struct, json

from coincide.wire.content_ids import content_id

Topic = Literal["detections", "queries"]


class InputRecord(NamedTuple):
    """One record of Kafka (a tombstone has no value); `topic` is the role of its topic, not its configured name."""

    topic: Topic
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


class OutputRecord(NamedTuple):
    """One record to be written: UTF-8 key and one JSON object."""

    key: bytes
    value: bytes


class KeptRecord(NamedTuple):
    """One record of a compacted topic to be written; no value removes what had the key."""

    key: bytes
    value: bytes | None


@dataclass(frozen=True)
class Output:
    """What one push gives back, in the order in which it is to be written."""

    status: OutputRecord
    matches: list[OutputRecord] = field(default_factory=list)
    episodes: list[OutputRecord] = field(default_factory=list)
    dead_letters: list[OutputRecord] = field(default_factory=list)
    health: dict[int, KeptRecord] = field(default_factory=dict)  # by the number that each is saved under


LONGEST_RECORD_TEXT = 2048  # characters of a record that is no JSON object


class Refusal(Struct, frozen=True, kw_only=True):
    """One unusable record or row, as it goes out on the dead-letter topic; what is not known is null."""

    v: int = 1
    dead_id: str = ""  # of the content alone, so that writing a letter again is harmless
    source: str = "fusion"
    reason: str
    detail: str
    received_at_us: int | None = None
    area: str | None = None
    stream: str | None = None
    sensor: str | None = None
    id: str | None = None
    late_by_us: int | None = None
    record: Raw | str | None = None  # the JSON object, or the beginning of its text if it is none

    def to_record(self) -> OutputRecord:
        """Return the record to write, keyed by area ("" if unknown)."""
        stamped = msgspec.structs.replace(self, dead_id=content_id("d", self))
        return OutputRecord((self.area or "").encode(), json.encode(stamped))


def as_record(value: bytes | None) -> Raw | str | None:
    """Return `value` itself if it is a JSON object of moderate size, else the beginning of its text."""
    if value is None:
        return None
    if len(value) <= LONGEST_RECORD_TEXT:
        try:
            json.decode(value, type=dict[str, object])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            pass
        else:
            return Raw(value)
    return value[:LONGEST_RECORD_TEXT].decode("utf-8", "replace")
