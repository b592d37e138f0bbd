"""Records of coincide.status that are of a shard: what it has applied and counted, and where queries are suspended."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from coincide.wire.fields import Count, FormatVersion, Int64, NotNegative, Version, Word
from coincide.wire.output_record import OutputRecord, keyed

MOST_AREAS = 32
#: A sum of those of all shards fits 64 bits.
Total = Annotated[int, Meta(ge=0, le=2**53)]
Rates = dict[str, NotNegative]


class Totals(Struct):
    """Absolute counts; every detection is also accepted, late, duplicate, conflict or malformed (as frames may be)."""

    frames: Annotated[Total, Meta(description="Frames read.")] = 0
    heartbeats: Annotated[Total, Meta(description="Heartbeats read; they are no frames.")] = 0
    detections: Annotated[Total, Meta(description="Detections read; each is also counted in one of the next five.")] = 0
    accepted: Annotated[Total, Meta(description="Detections taken on: joined, held back, or found to be echoes.")] = 0
    late: Annotated[Total, Meta(description="Detections too late.")] = 0
    duplicates: Annotated[Total, Meta(description="Detections seen before.")] = 0
    conflicts: Annotated[Total, Meta(description="Same sensor and id, other content; the first won.")] = 0
    malformed: Annotated[Total, Meta(description="Unusable detections, frames and control records.")] = 0
    no_number: Annotated[
        Total,
        Meta(description="Values of accepted detections that are no number, where a query over readings needs one."),
    ] = 0
    no_place: Annotated[
        Total,
        Meta(description="Accepted detections whose sensor's place is not known, where a query needs it."),
    ] = 0
    evicted: Annotated[Total, Meta(description="Detections dropped early because the buffer was full.")] = 0
    echoes: Annotated[
        Total, Meta(description="Accepted detections that were not joined: echoes of a stream that has echo_s.")
    ] = 0
    matches: Annotated[Total, Meta(description="Matches given.")] = 0
    episodes: Annotated[Total, Meta(description="Records of episodes given.")] = 0


class Coalescing(Struct):
    """How the readings of a query are coalesced, why, and what a slide costs; a restart begins anew."""

    scheme: Annotated[str, Meta(extra_json_schema={"enum": ["eager", "lazy"]})]
    reason: Annotated[str, Meta(description="One sentence.")]
    eager_cost_s: Annotated[
        NotNegative | None,
        Meta(description="What a slide costs eagerly, with the updates before it; null until it is known."),
    ]
    lazy_cost_s: Annotated[NotNegative | None, Meta(description="What it costs lazily.")]


LIMITS = [
    "max_matches_per_detection",
    "max_candidates_per_detection",
    "max_matches_per_s",
    "max_window_answers",
    "max_query_s",
    "max_push_s",
    "memory",
]


class Suspension(Struct, frozen=True):
    """Why a query gives no more matches, and which detection broke its limit; nobody's where it is not one's fault."""

    limit: Annotated[str, Meta(description="The limit that was broken.", extra_json_schema={"enum": LIMITS})]
    allowed: Annotated[int | float | None, Meta(description="What it allows; null for memory.")]
    reached: Annotated[
        int | float | None,
        Meta(description="At least so much was reached; counting ends beyond the limit. Null for memory."),
    ]
    received_at_us: Annotated[
        Int64,
        Meta(
            description="When ingest received the detection that broke it; of the last four limits: the newest of all "
            "until then."
        ),
    ]
    area: Annotated[
        Word | None,
        Meta(description="Area of that detection; null for the last four limits, as are the next two."),
    ] = None
    sensor: Word | None = None
    id: Word | None = None


class QueryWork(Struct):
    """What a query has cost the process at work; a restart begins anew."""

    seconds: Annotated[
        NotNegative,
        Meta(description="Processor time that its searches and judgements, or its windows, have taken."),
    ] = 0.0
    candidates: Annotated[Count, Meta(description="Candidates that its searches have looked at.")] = 0


class QueryStatus(Struct):
    """The version of a query in force, and how many matches and records of episodes all its versions have given."""

    version: Annotated[Version, Meta(description="Version in force.")]
    paused: bool
    matches: Annotated[Count, Meta(description="Matches given in all versions.")]
    episodes: Annotated[Count, Meta(description="Records of episodes given in all versions.")]
    work: QueryWork
    coalescing: Annotated[
        Coalescing | UnsetType, Meta(description="Of a query over readings: how they are coalesced and why.")
    ] = UNSET
    suspended: Annotated[
        Annotated[dict[str, Suspension], Meta(extra_json_schema={"minProperties": 1, "maxProperties": 17})] | UnsetType,
        Meta(
            description='Where the query is suspended, by area; "" stands for everywhere. Left out where it is '
            "suspended nowhere. A newer version of the query lifts it."
        ),
    ] = UNSET


class WatermarkRange(Struct):
    """Least and greatest watermark of the areas; null while there is none."""

    least: Annotated[
        Int64 | None, Meta(description="Least of the areas' watermarks, microseconds since the epoch, UTC.")
    ]
    greatest: Annotated[
        Int64 | None, Meta(description="Greatest of the areas' watermarks, microseconds since the epoch, UTC.")
    ]


class PairCounts(Struct):
    """Template pairs asked for, of the process at work: a restart begins anew."""

    hits: Annotated[Count, Meta(description="Pairs whose offsets were known.")]
    misses: Annotated[Count, Meta(description="Pairs that had to be worked out.")]
    kept: Annotated[Count, Meta(description="Pairs remembered now.")]


class RatesByArea(Struct):
    """Detections a second as of each area's last whole minute with detections; a restart begins anew."""

    areas: Annotated[
        dict[str, Rates],
        Meta(
            description="The busiest areas by name, and of each the streams.",
            extra_json_schema={"maxProperties": MOST_AREAS},
        ),
    ]
    elsewhere: Annotated[Rates, Meta(description="By stream, in all other areas together.")]


class DetectionLimits(Struct):
    """What one detection may give to a query that sets no limits of its own: settings of the fusion job."""

    max_matches_per_detection: Annotated[Version, Meta(description="Matches of a query of two roles.")]
    max_candidates_per_detection: Annotated[Version, Meta(description="Candidates of a query of more than two roles.")]


class StatusRecord(Struct, kw_only=True):
    """What a shard of the fusion job has applied and counted since it began: absolute totals, never increments.

    A replay cannot count twice. Key: shard-<n>. The topic is compacted. A record whose key is rebuild/<id> is of a
    rebuild: see rebuild.schema.json.
    """

    v: FormatVersion = 1
    shard: Annotated[Count, Meta(description="Number of the shard.")]
    queries: Annotated[dict[str, QueryStatus], Meta(description="By id.")]
    totals: Totals
    buffered: Annotated[dict[str, Count], Meta(description="Detections kept, by stream.")]
    busiest_hz: Annotated[
        Rates,
        Meta(
            description="Detections a second, by stream, in the area where they were most frequent, since the process "
            "began; each from the second whole minute of event time on."
        ),
    ]
    rates_hz: RatesByArea
    limits: DetectionLimits
    template_pairs: PairCounts
    watermark_us: WatermarkRange
    area_watermarks_us: Annotated[
        dict[str, Int64],
        Meta(
            description="Watermarks by area, of those from which frames came last; microseconds since the epoch, UTC.",
            extra_json_schema={"maxProperties": MOST_AREAS},
        ),
    ]
    control_offset: Annotated[
        Count | None, Meta(description="Offset of the last record of coincide.queries that was applied.")
    ]
    left: Annotated[
        Annotated[int, Meta(ge=1)] | UnsetType,
        Meta(
            description="Records of coincide.detections that the last batch has read and left to the next one. Not "
            "there where it left none."
        ),
    ] = UNSET

    def to_record(self) -> OutputRecord:
        """Return the record to write."""
        return keyed(f"shard-{self.shard}", self)
