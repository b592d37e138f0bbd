"""Match records: what fusion says about detections that happened together."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from msgspec import UNSET, Raw, Struct, UnsetType, json

from coincide.fusion.records.kafka_records import OutputRecord
from coincide.wire.content_ids import content_id


class RecordMember(Struct, frozen=True):
    """One detection of a match, in its role; times in microseconds since the epoch."""

    role: str
    sensor: str
    id: str
    stream: str
    detected_at_us: int
    earliest_us: int
    latest_us: int
    template: str
    attributes: Raw


class OccurrenceRecord(Struct, frozen=True):
    """The posterior of when it happened: expected time, spread and central 90 %."""

    mean_us: int
    std_s: float
    p05_us: int
    p95_us: int


class EdgeRecord(Struct, frozen=True):
    """How probable it is that the window between two roles holds."""

    between: tuple[str, str]
    probability: float


UnknownReason = Literal["too_much_work", "not_watched_yet", "equal", "filtered", "graph"]
TOO_MUCH_WORK: UnknownReason = "too_much_work"  # beyond what the newest detection or its frame may ask for
NOT_WATCHED_YET: UnknownReason = "not_watched_yet"  # the area, for a whole minute
HAS_EQUAL: UnknownReason = "equal"  # an attribute has to be equal: how often it is by chance is not known
IS_FILTERED: UnknownReason = "filtered"  # some detections alone may play a role: how many is not counted
GRAPH: UnknownReason = "graph"  # the library does not tell when matches of such a constraint graph occurred


class Unknown(Struct, frozen=True, omit_defaults=True):
    """Why an advisory field of a match is null, for those that are."""

    occurred: UnknownReason | None = None
    chance_rate_hz: UnknownReason | None = None


@lru_cache(maxsize=64)
def unknown_because(occurred: UnknownReason | None, chance_rate_hz: UnknownReason | None) -> Unknown | UnsetType:
    """Return the reasons why the two fields are null; UNSET if neither is."""
    return Unknown(occurred, chance_rate_hz) if occurred or chance_rate_hz else UNSET


class JointRecord(Struct, frozen=True):
    """How probable it is that all edges hold at once: the best guess, between certified bounds."""

    probability: float
    least: float
    greatest: float
    certain: bool  # whether it reaches the query's joint threshold for certain; true where there is none


class FusedMatch(Struct, frozen=True, kw_only=True):
    """An immutable match; `joint`, `edges` and `supersedes` are those of queries of more than two roles.

    `probability` is the one that the query's threshold is about: the joint one where there is a joint threshold, else
    that of the least probable edge.

    `chance_rate_hz` is advisory: how many matches of this query at least as probable as this one chance alone would
    give in this area per second. Where it or `occurred` is None, `unknown` says why.
    """

    v: int = 1
    id: str
    query: str
    query_version: int
    area: str
    probability: float
    earliest_us: int  # the earliest possible occurrence of any member
    latest_us: int  # the latest of any
    received_at_us: int  # when ingest had the last member: from then on the match could be known
    occurred: OccurrenceRecord | None  # None for constraint graphs of which the library does not tell it
    chance_rate_hz: float | None
    chance_rate_error_hz: float | UnsetType = UNSET  # standard error of its computation, for more than two roles
    unknown: Unknown | UnsetType = UNSET
    members: Sequence[RecordMember]
    joint: JointRecord | UnsetType = UNSET
    edges: Sequence[EdgeRecord] | UnsetType = UNSET
    supersedes: Sequence[str] | UnsetType = UNSET

    def to_record(self) -> OutputRecord:
        """Return the record to write, keyed by area."""
        return OutputRecord(self.area.encode(), json.encode(self))


def match_id(query: str, members: Sequence[RecordMember]) -> str:
    """Return "m-" and 32 hex digits made of the query's id and each member's role, sensor, id and detected_at_us.

    The time is in it because a gateway may count its ids anew after a restart: the later match is another one.
    """
    named = [[member.role, member.sensor, member.id, member.detected_at_us] for member in members]
    return content_id("m", [query, *named])
