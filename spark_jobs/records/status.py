"""Totals: what the core has counted since the shard began, and the status record that tells it."""

from msgspec import UNSET, Struct, UnsetType, json

from spark_jobs.records.kafka_records import OutputRecord


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
    evicted: int = 0
    matches: int = 0
    episodes: int = 0


class Coalescing(Struct):
    """How the readings of a query are coalesced, why, and what a slide costs; a restart begins anew."""

    scheme: str
    reason: str
    eager_cost_s: float | None  # None until it is known
    lazy_cost_s: float | None


class QueryStatus(Struct):
    """The version of a query in force, and how many matches and records of episodes all its versions have given."""

    version: int
    paused: bool
    matches: int
    episodes: int
    coalescing: Coalescing | UnsetType = UNSET


class WatermarkRange(Struct):
    """Least and greatest watermark of the areas known, None while there is none; microseconds since the epoch."""

    least: int | None
    greatest: int | None


class PairCounts(Struct):
    """Template pairs asked for: known, computed, and remembered now. Of the process at work: a restart begins anew."""

    hits: int
    misses: int
    kept: int


class StatusRecord(Struct, kw_only=True):
    """The status record of a shard: totals, never increments, so that a replay cannot count twice."""

    v: int = 1
    shard: int
    queries: dict[str, QueryStatus]
    totals: Totals
    buffered: dict[str, int]
    template_pairs: PairCounts
    watermark_us: WatermarkRange
    control_offset: int | None

    def to_record(self) -> OutputRecord:
        """Return the record to write, keyed by shard."""
        return OutputRecord(f"shard-{self.shard}".encode(), json.encode(self))
