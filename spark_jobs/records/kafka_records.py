"""What goes into the fusion core and what comes out: Kafka records, without Kafka."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

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


@dataclass(frozen=True)
class Output:
    """What one push gives back, in the order in which it is to be written."""

    status: OutputRecord
    matches: list[OutputRecord] = field(default_factory=list)
    episodes: list[OutputRecord] = field(default_factory=list)
    dead_letters: list[OutputRecord] = field(default_factory=list)
