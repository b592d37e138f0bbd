"""What goes into the fusion core and what comes out: Kafka records, without Kafka."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from coincide.wire.output_record import OutputRecord

Topic = Literal["detections", "queries"]


class InputRecord(NamedTuple):
    """One record of Kafka (a tombstone has no value); `topic` is the role of its topic, not its configured name."""

    topic: Topic
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


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
    evidence: list[OutputRecord] = field(default_factory=list)
    dead_letters: list[OutputRecord] = field(default_factory=list)
    health: dict[int, KeptRecord] = field(default_factory=dict)  # by the number that each is saved under
