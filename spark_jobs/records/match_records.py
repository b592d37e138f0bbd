"""Match records: what fusion says about detections that happened together."""

from collections.abc import Sequence

from msgspec import UNSET, Raw, Struct, UnsetType, json

from services.common.content_ids import content_id
from spark_jobs.records.kafka_records import OutputRecord


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


class FusedMatch(Struct, frozen=True, kw_only=True):
    """An immutable match; `edges` and `supersedes` are those of queries of more than two roles.

    `chance_rate_hz` is advisory: how many matches of this query at least as probable as this one chance alone would
    give in this area per second. It is None as long as nothing is known of the area, where the members' templates have
    very many buckets, where an attribute has to be equal, and for more than two roles.
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
    members: Sequence[RecordMember]
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
