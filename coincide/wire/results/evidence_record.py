"""Records of coincide.evidence: whether the detections of a match are of one event, told once nothing can change it."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from msgspec.json import Decoder, Encoder

from coincide.wire.fields import FormatVersion, Probability, Version
from coincide.wire.output_record import OutputRecord, keyed
from coincide.wire.results.match_record import MatchId
from coincide.wire.results.result_fields import DetectionId, MembersArea, QueryId, SensorId

#: What the match of evidence says itself.
OF_THE_MATCH = ("v", "query", "query_version", "area")

#: Read as any text: a reader passes on a term of a kind that is newer than itself.
TermKind = Annotated[
    str,
    Meta(
        description="events: how often events come; member: how well a member's sensor hears events, against how "
        "much else it reports; times: how well the times fit one event, were no clock shared; clock: what it adds "
        "that members share clocks; silent: a live sensor did not hear it.",
        extra_json_schema={"enum": ["events", "member", "times", "clock", "silent"]},
    ),
]
RatesSource = Literal["declared", "learnt"]

EvidenceUnknown = Literal["not_watched_yet", "too_much_work", "equal", "filtered", "impossible"]
NOT_WATCHED_YET: EvidenceUnknown = "not_watched_yet"
TOO_MUCH_WORK: EvidenceUnknown = "too_much_work"
HAS_EQUAL: EvidenceUnknown = "equal"
IS_FILTERED: EvidenceUnknown = "filtered"
IMPOSSIBLE: EvidenceUnknown = "impossible"
#: Read as any text: a reader passes on a reason that is newer than itself.
EvidenceReason = Annotated[
    str,
    Meta(
        description="Why bits or posterior is null; absent where both are there. not_watched_yet: no whole minute of "
        "the area has been counted, or nothing was reported in those that were; too_much_work: more matches hang "
        "together than are weighed; equal: the query has it; filtered: only some detections of a stream may play a "
        "role; impossible: one event cannot make reports at these times, so that bits would be minus infinity, and "
        "the posterior is 0.",
        extra_json_schema={"enum": [NOT_WATCHED_YET, TOO_MUCH_WORK, HAS_EQUAL, IS_FILTERED, IMPOSSIBLE]},
    ),
]


class TermRecord(Struct, frozen=True, kw_only=True, gc=False):
    """One term of the bits, and what it is in words."""

    kind: TermKind
    sensor: Annotated[
        SensorId | UnsetType, Meta(description="Whose term it is; absent of events, times and clock.")
    ] = UNSET
    bits: Annotated[
        float,
        Meta(description="How much it adds. Rates count per second, so a term alone depends on the unit of time."),
    ]
    sentence: Annotated[str, Meta(description="What it is, for a person.", extra_json_schema={"minLength": 1})]


class MemberBelongs(Struct, frozen=True, gc=False):
    """How probable it is that one detection of a match is of one event with another of its members."""

    sensor: SensorId
    id: DetectionId
    belongs: Annotated[
        Probability,
        Meta(
            description="The posterior that it is of one event with another member, whoever else is of it; the "
            "middle where only an interval is known."
        ),
    ]


class EvidenceRecord(Struct, frozen=True, kw_only=True):
    """Whether the members of a match are of one event; immutable. Key: the area.

    It is written once no later detection can share a member of the match, nor of one that hangs together with it.
    """

    v: FormatVersion = 1
    id: Annotated[MatchId, Meta(description="Id of the match.")]
    query: QueryId
    query_version: Annotated[Version, Meta(description="Version in force when the match was completed.")]
    area: MembersArea
    bits: Annotated[
        float | None,
        Meta(
            description="Log2 of one event with these members and no others, against chance, as if no other match had "
            "any of the members. The terms add up to it."
        ),
    ]
    posterior: Annotated[
        Probability | None,
        Meta(
            description="How probable it is that all members are of one event, whoever else is of it, over all ways to "
            "share detections out among the matches that hang together; the middle where only an interval is known."
        ),
    ]
    posterior_least: Annotated[
        Probability | UnsetType,
        Meta(description="It is certainly not less; equal to posterior where that is exact, absent where it is null."),
    ] = UNSET
    posterior_greatest: Annotated[
        Probability | UnsetType,
        Meta(description="It is certainly not more; equal to posterior where that is exact, absent where it is null."),
    ] = UNSET
    unknown: EvidenceReason | UnsetType = UNSET
    rates: Annotated[
        RatesSource,
        Meta(
            description="Where the rate of events and the hearing probabilities are from: declared by the query, or "
            "learnt from its matches."
        ),
    ]
    terms: Annotated[Sequence[TermRecord], Meta(description="They add up to bits; none where bits is null.")]
    members: Annotated[
        Sequence[MemberBelongs],
        Meta(description="The members of the match, in its order; none where posterior is null."),
    ]

    def to_record(self) -> OutputRecord:
        """Return the record to write."""
        return keyed(self.area, self)

    def __post_init__(self) -> None:
        sides = (self.posterior_least, self.posterior_greatest)
        if any((side is UNSET) != (self.posterior is None) for side in sides):
            raise ValueError("posterior_least and posterior_greatest are given where posterior is, and only there")
        if (self.unknown is UNSET) != (self.bits is not None and self.posterior is not None):
            raise ValueError("unknown is given where bits or posterior is null, and only there")


_IS_NULL: Mapping[str, object] = {"type": "null"}
#: What JSON Schema says of evidence beyond its fields.
EVIDENCE_RULES: Mapping[str, object] = {
    "dependentRequired": {
        "posterior_least": ["posterior_greatest"],
        "posterior_greatest": ["posterior_least"],
    },
    "if": {"anyOf": [{"properties": {"bits": _IS_NULL}}, {"properties": {"posterior": _IS_NULL}}]},
    "then": {"required": ["unknown"]},
    "else": {"not": {"required": ["unknown"]}, "required": ["posterior_least", "posterior_greatest"]},
}


_parts = Decoder(dict[str, Raw]).decode
_encode = Encoder().encode


def evidence_of_match(body: bytes | str | None) -> str:
    """Return what a match shows of its evidence, a record's JSON without what the match says itself; else null."""
    if body is None:
        return "null"
    parts = _parts(body)
    return _encode({name: part for name, part in parts.items() if name not in OF_THE_MATCH}).decode()
