"""Totals: what the core has counted since the shard began, and the status record that tells it."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, json

from coincide.wire.output_record import OutputRecord


class Totals(Struct):
    """Absolute counts; every detection is also accepted, late, duplicate, conflict or malformed (as frames may be)."""

    frames: int = 0
    heartbeats: int = 0
    detections: int = 0
    accepted: int = 0
    late: int = 0
    duplicates: int = 0
    conflicts: int = 0
    malformed: int = 0
    no_number: int = 0  # values of accepted detections that are no number, where a query needs one
    evicted: int = 0
    matches: int = 0
    episodes: int = 0


class Coalescing(Struct):
    """How the readings of a query are coalesced, why, and what a slide costs; a restart begins anew."""

    scheme: str
    reason: str
    eager_cost_s: float | None  # None until it is known
    lazy_cost_s: float | None


class Suspension(Struct, frozen=True):
    """Why a query gives no more matches, and which detection broke its limit; nobody's where it is not one's fault."""

    limit: str  # name of the limit
    allowed: int | float | None  # None: there was no memory left
    reached: int | float | None  # at least so much: counting ends beyond the limit
    received_at_us: int  # of that detection, or the newest that any partition has heard of
    area: str | None = None
    sensor: str | None = None
    id: str | None = None


#: How many of something: metrics show it, and alerting stores it.
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class QueryWork(Struct):
    """What a query has cost the process at work: seconds of processor time, and candidates. A restart begins anew."""

    seconds: float = 0.0
    candidates: Count = 0


class QueryStatus(Struct):
    """The version of a query in force, and how many matches and records of episodes all its versions have given."""

    version: int
    paused: bool
    matches: int
    episodes: int
    work: QueryWork
    coalescing: Coalescing | UnsetType = UNSET
    suspended: dict[str, Suspension] | UnsetType = UNSET  # by area, "" for everywhere; UNSET where it is nowhere


class WatermarkRange(Struct):
    """Least and greatest watermark of the areas known, None while there is none; microseconds since the epoch."""

    least: int | None
    greatest: int | None


class DetectionLimits(Struct):
    """What one detection may give to a query that sets no limits of its own."""

    max_matches_per_detection: int
    max_candidates_per_detection: int


class PairCounts(Struct):
    """Template pairs asked for: known, computed, and remembered now. Of the process at work: a restart begins anew."""

    hits: int
    misses: int
    kept: int


class RatesByArea(Struct):
    """Detections a second by area and stream, of the busiest areas; and by stream, of all other areas together."""

    areas: dict[str, dict[str, float]]
    elsewhere: dict[str, float]


class StatusRecord(Struct, kw_only=True):
    """The status record of a shard: totals, never increments, so that a replay cannot count twice."""

    v: int = 1
    shard: int
    queries: dict[str, QueryStatus]
    totals: Totals
    buffered: dict[str, int]
    busiest_hz: dict[str, float]  # the greatest rate of an area that the process at work has seen, by stream
    rates_hz: RatesByArea  # of the process at work
    limits: DetectionLimits
    template_pairs: PairCounts
    watermark_us: WatermarkRange
    area_watermarks_us: dict[str, int]  # of the areas from which frames came last
    control_offset: int | None

    def to_record(self) -> OutputRecord:
        """Return the record to write, keyed by shard."""
        return OutputRecord(f"shard-{self.shard}".encode(), json.encode(self))
