"""Records of coincide.matches: what fusion says about detections that happened together."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from coincide.queries.joins.join_checks import MOST_ROLES
from coincide.wire.content_ids import content_id
from coincide.wire.fields import FormatVersion, Int64, Name, NotNegative, Probability, Version
from coincide.wire.output_record import OutputRecord, keyed
from coincide.wire.payload import ShownPayload
from coincide.wire.place_field import PlaceForm
from coincide.wire.results.result_fields import (
    DetectedAt,
    DetectionId,
    DetectionStream,
    MembersArea,
    QueryId,
    SensorId,
)
from coincide.wire.results.source_place import SourcePlace

MatchId = Annotated[Name, Meta(extra_json_schema={"pattern": "^m-[0-9a-f]{32}$"})]
TemplateId = Annotated[Name, Meta(extra_json_schema={"pattern": "^t-[0-9a-f]{16}$"})]
#: The greatest that a threshold can be about is 1; what is found is never impossible.
Possible = Annotated[float, Meta(ge=0, le=1, extra_json_schema={"exclusiveMinimum": 0})]


class MatchMember(ShownPayload, frozen=True, gc=False):
    """One detection of a match, in its role."""

    role: Annotated[Name, Meta(description="Role in the query.")]
    sensor: SensorId
    id: DetectionId
    stream: DetectionStream
    detected_at_us: DetectedAt
    earliest_us: Annotated[Int64, Meta(description="Earliest possible occurrence, microseconds since the epoch, UTC.")]
    latest_us: Annotated[Int64, Meta(description="Latest possible occurrence, microseconds since the epoch, UTC.")]
    template: Annotated[TemplateId, Meta(description="Hash of the histogram's content.")]
    place: Annotated[
        PlaceForm | UnsetType,
        Meta(description="Where the sensor was; only for queries whose answer depends on places."),
    ] = UNSET


class ClockRecord(Struct, frozen=True, gc=False):
    """How slow the clock of some members was, given that their match is one: expected, spread and central 90 %."""

    id: Annotated[Name, Meta(description="The clock.")]
    mean_s: Annotated[float, Meta(description="By how many seconds it was slow, expected; below 0 it was fast.")]
    std_s: Annotated[NotNegative, Meta(description="Standard deviation in seconds.")]
    p05_s: Annotated[float, Meta(description="5 % quantile in seconds.")]
    p95_s: Annotated[float, Meta(description="95 % quantile in seconds.")]


class OccurrenceRecord(Struct, frozen=True, gc=False):
    """The posterior of when it happened: expected time, spread and central 90 %."""

    mean_us: Annotated[Int64, Meta(description="Expected time, microseconds since the epoch, UTC.")]
    std_s: Annotated[NotNegative, Meta(description="Standard deviation in seconds.")]
    p05_us: Annotated[Int64, Meta(description="5 % quantile, microseconds since the epoch, UTC.")]
    p95_us: Annotated[Int64, Meta(description="95 % quantile, microseconds since the epoch, UTC.")]
    clocks: Annotated[
        Annotated[Sequence[ClockRecord], Meta(min_length=1, max_length=MOST_ROLES)] | UnsetType,
        Meta(
            description="How slow the clocks of its members were, in the order of their first members. Absent where no "
            "member is on a clock, where all are on one, as it cancels and nothing is told of it, and where it would "
            "take too much work. Then unknown says why.",
        ),
    ] = UNSET


class EdgeRecord(Struct, frozen=True, gc=False):
    """How probable it is that the window between two roles holds."""

    between: Annotated[tuple[Name, Name], Meta(description="Two roles, as the query's edge names them.")]
    probability: Annotated[Possible, Meta(description="That the window of this edge holds.")]


class JointRecord(Struct, frozen=True, gc=False):
    """How probable it is that all windows hold at once: the best guess, between certified bounds."""

    probability: Annotated[Probability, Meta(description="The best guess.")]
    least: Annotated[
        Probability, Meta(description="It is certainly not less; equal to the best guess where that is exact.")
    ]
    greatest: Annotated[
        Probability, Meta(description="It is certainly not more; equal to the best guess where that is exact.")
    ]
    certain: Annotated[
        bool,
        Meta(
            description="False where the query's joint_threshold lies between least and greatest, so that the best "
            "guess decided."
        ),
    ]


UnknownReason = Literal["too_much_work", "not_watched_yet", "equal", "filtered", "graph", "few_members"]
TOO_MUCH_WORK: UnknownReason = "too_much_work"
NOT_WATCHED_YET: UnknownReason = "not_watched_yet"
HAS_EQUAL: UnknownReason = "equal"
IS_FILTERED: UnknownReason = "filtered"
GRAPH: UnknownReason = "graph"
FEW_MEMBERS: UnknownReason = "few_members"
#: Read as any text: a reader passes on a reason that is newer than itself.
Reason = Annotated[
    str,
    Meta(
        description="too_much_work: the newest detection, or its frame, had used its work up; not_watched_yet: no "
        "whole minute of the area has been counted; equal: the query has it; filtered: only some detections of a "
        "stream may play a role; graph: the library does not tell it for such a constraint graph (occurred alone); "
        "few_members: so few determine no place, and the windows between them alone decided (place alone).",
        extra_json_schema={"enum": [TOO_MUCH_WORK, NOT_WATCHED_YET, HAS_EQUAL, IS_FILTERED, GRAPH, FEW_MEMBERS]},
    ),
]


class Unknown(Struct, frozen=True, omit_defaults=True, gc=False):
    """Why an advisory field of a match is null or absent, for those that are."""

    occurred: Reason | UnsetType = UNSET
    chance_rate_hz: Reason | UnsetType = UNSET
    clocks: Annotated[Reason | UnsetType, Meta(description="Of `occurred`.")] = UNSET
    place: Reason | UnsetType = UNSET


@lru_cache(maxsize=64)
def unknown_because(
    occurred: UnknownReason | None,
    chance_rate_hz: UnknownReason | None,
    clocks: UnknownReason | None = None,
) -> Unknown | UnsetType:
    """Return the reasons why these fields are null or absent; UNSET if none is."""
    if occurred or chance_rate_hz or clocks:
        return Unknown(occurred or UNSET, chance_rate_hz or UNSET, clocks or UNSET)
    return UNSET


class MatchRecord(Struct, frozen=True, kw_only=True):
    """A match; immutable. Key: the area."""

    v: FormatVersion = 1
    id: Annotated[
        MatchId,
        Meta(
            description="Hash of the query's id and each member's role, sensor, id and detected_at_us, in role order."
        ),
    ]
    query: QueryId
    query_version: Annotated[Version, Meta(description="Version in force when the match was completed.")]
    area: MembersArea
    probability: Annotated[
        Possible,
        Meta(
            description="The one that the query's threshold is about: that all windows between its members hold at "
            "once where the query has a joint_threshold, else that the least probable of them holds. With two roles "
            "there is one window."
        ),
    ]
    earliest_us: Annotated[
        Int64, Meta(description="Earliest possible occurrence of any member, microseconds since the epoch, UTC.")
    ]
    latest_us: Annotated[
        Int64, Meta(description="Latest possible occurrence of any member, microseconds since the epoch, UTC.")
    ]
    received_at_us: Annotated[
        Int64,
        Meta(description="When ingest had the last of its members in hand, microseconds since the epoch, UTC."),
    ]
    occurred: Annotated[
        OccurrenceRecord | None,
        Meta(
            description="When it happened, all members considered: where one symmetric window ties all of them "
            "together the onset, in another window of two roles the time of the first; null for all other constraint "
            "graphs, and where it would take too much work. Then unknown says why."
        ),
    ]
    chance_rate_hz: Annotated[
        NotNegative | None,
        Meta(
            description="Advisory false-alarm rate: how many matches of this query at least as probable as this one "
            "(rounded down to a whole percent), between detections with these templates, chance alone would give in "
            "this area per second, at the rates counted before this match; null until a whole minute of the area's "
            "event time has been counted, for queries with equal or filters, and where it would take too much work. "
            "Then unknown says why. A set over roles that can be swapped counts once; with at_least it is the rate of "
            "sets that play the same roles."
        ),
    ]
    chance_rate_error_hz: Annotated[
        NotNegative | UnsetType,
        Meta(
            description="Standard error of the computation of chance_rate_hz, 0 where that is exact; absent for "
            "queries of two roles, which are exact, and where chance_rate_hz is null."
        ),
    ] = UNSET
    unknown: Annotated[
        Unknown | UnsetType,
        Meta(
            description="Why an advisory member is null, for those that are; absent if none is.",
            extra_json_schema={"minProperties": 1},
        ),
    ] = UNSET
    members: Annotated[
        Sequence[MatchMember],
        Meta(
            min_length=2,
            max_length=MOST_ROLES,
            description="One for each role, in the order of the query's roles; a query with at_least leaves out roles "
            "that no detection plays.",
        ),
    ]
    joint: Annotated[
        JointRecord | UnsetType,
        Meta(
            description="How probable it is that all windows between its members hold at once; only for queries of "
            "more than two roles. For queries with `source` whose windows make so many cycles that it would take too "
            "long, its bounds follow from the edges, and the best guess is the product of the edges."
        ),
    ] = UNSET
    edges: Annotated[
        Annotated[Sequence[EdgeRecord], Meta(extra_json_schema={"minItems": 1, "maxItems": 120})] | UnsetType,
        Meta(description="The query's edges between these members; only for queries of more than two roles."),
    ] = UNSET
    place: Annotated[
        SourcePlace | UnsetType | None,
        Meta(
            description="Where and when the source was that explains its members; only for queries with `source`. Null "
            "where too few members determine no place, and where it would take too much work. Then unknown says why."
        ),
    ] = UNSET
    supersedes: Annotated[
        Sequence[MatchId] | UnsetType,
        Meta(
            description="Ids of matches that this one has all members of and more (queries with at_least); some may "
            "never have been written, for instance during a pause. Only for queries of more than two roles."
        ),
    ] = UNSET

    def to_record(self) -> OutputRecord:
        """Return the record to write."""
        return keyed(self.area, self)

    def placed(self, place: SourcePlace | None, why: UnknownReason | None) -> "MatchRecord":
        """Return the match with where its source was, or why that is not told."""
        unknown = self.unknown
        if why is not None:
            unknown = structs.replace(unknown or Unknown(), place=why)
        return structs.replace(self, place=place, unknown=unknown)

    def __post_init__(self) -> None:
        if self.supersedes and self.id in self.supersedes:
            raise ValueError("supersedes itself")


#: What JSON Schema says of a match beyond its fields.
MATCH_RULES: Mapping[str, object] = {
    "dependentRequired": {"joint": ["edges"], "edges": ["supersedes"], "supersedes": ["joint"]}
}


def match_id(query: str, members: Sequence[MatchMember]) -> str:
    """Return "m-" and 32 hex digits made of the query's id and each member's role, sensor, id and detected_at_us.

    The time is in it because a gateway may count its ids anew after a restart: the later match is another one.
    """
    named = [[member.role, member.sensor, member.id, member.detected_at_us] for member in members]
    return content_id("m", [query, *named])
