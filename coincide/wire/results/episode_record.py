"""Records of coincide.episodes: episodes of matches, spells of readings, and answers of windows over readings."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from coincide.queries.fields.alert_rule import MOST_MEMBERS
from coincide.wire.fields import (
    Count,
    FormatVersion,
    Int64,
    Name,
    NotNegative,
    Probability,
    Scalar,
    Version,
)
from coincide.wire.output_record import OutputRecord, keyed
from coincide.wire.payload import ShownPayload
from coincide.wire.results.result_fields import (
    DetectedAt,
    DetectionId,
    DetectionStream,
    MembersArea,
    QueryId,
    SensorId,
)

EpisodeId = Annotated[Name, Meta(extra_json_schema={"pattern": "^e-[0-9a-f]{32}$"})]

State = Literal["open", "closed", "final", "retracted"]
#: States in the order in which an episode goes through them at one revision; the rank of a state is its place here.
STATES: tuple[State, ...] = ("open", "closed", "final", "retracted")
RETRACTED = STATES.index("retracted")


class EpisodeMember(ShownPayload, frozen=True, gc=False):
    """One detection of an episode."""

    detected_at_us: DetectedAt
    sensor: SensorId
    id: DetectionId
    stream: DetectionStream


class QueriedWindow(Struct, frozen=True, gc=False):
    """The window [start, end) of which a query over readings asked."""

    start_us: Annotated[Int64, Meta(description="Start, microseconds since the epoch, UTC; closed.")]
    end_us: Annotated[Int64, Meta(description="End, microseconds since the epoch, UTC; open.")]


class EpisodeRecord(Struct, frozen=True, kw_only=True):
    """An episode as it is at a revision, or, retracted, that it is no more.

    Of one id the record with the greatest (revision, state) counts, the states at one revision being open, closed
    (neither open nor final), final and retracted, in this order; every other record of the id is a repetition. Readers
    pass on members that they do not know. Key: the area.
    """

    v: FormatVersion = 1
    id: Annotated[
        EpisodeId,
        Meta(
            description="Hash of the query, the area, the group and the earliest member: an episode with another "
            "earliest member is another. Of a spell of readings: of the query, the area, the group and the first "
            "reading. Of a window: of the query, the area, the group, the window's end and the start."
        ),
    ]
    query: QueryId
    query_version: Annotated[Version, Meta(description="Version of the query in force.")]
    area: MembersArea
    group: Annotated[
        Mapping[str, Scalar | None] | UnsetType,
        Meta(
            description="Values of the fields that the query's coalesce.by names; empty where it names none. Of a "
            "join of windows: those of both groups, a and b."
        ),
    ] = UNSET
    revision: Annotated[
        Count,
        Meta(
            description="Offset in coincide.detections of the frame that last changed the episode: it grows, has "
            "gaps, and is the same after a replay. 0 of a window: what is said of it is final."
        ),
    ]
    retracted: Annotated[
        bool | UnsetType,
        Meta(
            description="The episode is no more: it was merged into another, split, or has another earliest member; "
            "or a spell that did not last long enough after all. It may come back with a greater revision. All below "
            "but replaced_by is absent then."
        ),
    ] = UNSET
    replaced_by: Annotated[
        Sequence[EpisodeId] | UnsetType,
        Meta(description="Of a retraction: the episodes that hold its members now."),
    ] = UNSET
    start_us: Annotated[
        Int64 | UnsetType,
        Meta(
            description="Start, microseconds since the epoch, UTC. Of matches: the earliest that the first one was, "
            "with the doubt about when (by coalesce.interval)."
        ),
    ] = UNSET
    end_us: Annotated[
        Int64 | UnsetType,
        Meta(
            description="End, microseconds since the epoch, UTC; closed, but open where readings are coalesced. Of "
            "matches: the latest that one was, with the doubt about when. Of an open episode over readings: as it was "
            "when this was told."
        ),
    ] = UNSET
    duration_s: Annotated[
        NotNegative | UnsetType,
        Meta(
            description="How long it lasted, in seconds, as well as that is known. Of matches: from when the first "
            "one probably occurred to when the last one did, each by its mean, or, where it has none, by the middle of "
            "its times. Of readings: from start to end."
        ),
    ] = UNSET
    uncertainty_s: Annotated[
        NotNegative | UnsetType,
        Meta(
            description="Of matches: by how many seconds start to end is longer than duration_s, because nobody knows "
            "exactly when the first and the last one were."
        ),
    ] = UNSET
    count: Annotated[
        Count | UnsetType,
        Meta(description="Matches coalesced, or readings. Of an open spell: as it was when this was told."),
    ] = UNSET
    best_probability: Annotated[
        Probability | UnsetType | None,
        Meta(
            description="Probability of its most probable match; of a spell, that it lasted long enough; null of a "
            "window."
        ),
    ] = UNSET
    open: Annotated[
        bool | UnsetType,
        Meta(
            description="The area's time has not passed the episode's end and gap. Of a spell: no reading has ended "
            "it, and its last one still holds."
        ),
    ] = UNSET
    final: Annotated[bool | UnsetType, Meta(description="Nothing that is on time can change it any more.")] = UNSET
    received_at_us: Annotated[
        Int64 | UnsetType,
        Meta(
            description="When ingest had the newest detection that changed it in hand, microseconds since the epoch, "
            "UTC."
        ),
    ] = UNSET
    members: Annotated[
        Annotated[Sequence[EpisodeMember], Meta(extra_json_schema={"maxItems": MOST_MEMBERS})] | UnsetType,
        Meta(
            description=f"The first {MOST_MEMBERS} distinct detections by (detected_at_us, sensor, id, stream); of a "
            "spell its first and its last reading; none of a window."
        ),
    ] = UNSET
    members_truncated: Annotated[bool | UnsetType, Meta(description="There are more members than those listed.")] = (
        UNSET
    )
    window: Annotated[
        QueriedWindow | UnsetType,
        Meta(description="The window [start, end) of which a query over readings asked; a spell has none."),
    ] = UNSET
    value: Annotated[
        Scalar | Mapping[str, Scalar | None] | UnsetType | None,
        Meta(
            description="Of a query over readings: what was read at the start, of steps the lower end; of a join an "
            "object with that of both groups, a and b."
        ),
    ] = UNSET

    def to_record(self) -> OutputRecord:
        """Return the record to write."""
        return keyed(self.area, self)

    def __post_init__(self) -> None:
        if self.retracted:
            self._check_retraction()
        else:
            self._check_standing()

    def _check_retraction(self) -> None:
        if self.replaced_by is UNSET:
            raise ValueError("retracted is true, and replaced_by is not given")
        if self.id in self.replaced_by:
            raise ValueError("is replaced by itself")

    def _check_standing(self) -> None:
        for name in NEEDED_WHILE_IT_STANDS:
            if getattr(self, name) is UNSET:
                raise ValueError(f"neither is retracted true nor {name} given")
        if self.start_us > self.end_us:  # type: ignore[operator] # both are given
            raise ValueError("start_us is after end_us")
        if self.open and self.final:
            raise ValueError("is open and final")

    @property
    def rank(self) -> int:
        """Place of its state in `STATES`: of two records at one revision the greater counts."""
        if self.retracted:
            return RETRACTED
        return STATES.index("open" if self.open else "final" if self.final else "closed")


NEEDED_WHILE_IT_STANDS = (
    "group",
    "start_us",
    "end_us",
    "duration_s",
    "count",
    "best_probability",
    "open",
    "final",
    "received_at_us",
    "members",
    "members_truncated",
)
_BOTH_TRUE = {"properties": {"open": {"const": True}, "final": {"const": True}}, "required": ["open", "final"]}
#: What JSON Schema says of an episode beyond its fields.
EPISODE_RULES: Mapping[str, object] = {
    "if": {"properties": {"retracted": {"const": True}}, "required": ["retracted"]},
    "then": {"required": ["replaced_by"]},
    "else": {"required": list(NEEDED_WHILE_IT_STANDS), "not": _BOTH_TRUE},
}
