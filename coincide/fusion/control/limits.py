"""Bounds on what the fusion core reads and keeps."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds of one shard, each at least 1 (else ValueError); what is beyond them goes to the dead letters."""

    max_buffered: int = 2_000_000
    """Detections kept in memory, all streams together; beyond it the oldest by arrival are evicted down to
    15/16 of it, and counted."""
    max_frame_bytes: int = 1_048_576
    """Longest record value that is decoded, in bytes (ingest writes at most 256 KiB)."""
    max_frame_detections: int = 5_000
    """Most detections in one frame (ingest writes at most 500)."""
    max_attributes_bytes: int = 4_096
    """Longest `attributes` object, as JSON bytes (ingest accepts 1 KiB)."""
    max_template_buckets: int = 64
    """Most buckets of a template histogram (ingest accepts 64). Work on a pair grows with the product of both."""
    max_cached_pairs: int = 262_144
    """Template pairs whose offsets one query remembers, 41 bytes each; beyond it the least recently used go."""
    max_table_work: int = 1
    """Most work on a table of the offsets of all template pairs of one query, in bucket pairs; where it would be more,
    pairs are judged as they meet. Streams share the templates, so a large table has many pairs that never meet."""
    max_advisory_work: int = 50_000
    """Most work on the chance rates of the matches that one new detection completes for one query, as much on when
    those of two roles occurred, and as much on how slow clocks were. The unit is a bucket pair: about 20 ns."""
    max_advisory_work_of_frame: int = 500_000
    """The same for the detections of one frame together."""
    max_queries: int = 100
    """Most queries in force at once, paused ones included."""
    max_streams: int = 256
    """Most streams that are known, removed ones too."""
    max_matches_per_detection: int = 1_000
    """Most matches of one query that one detection may complete. One that completes more suspends the query."""
    max_candidates_per_detection: int = 50_000
    """Most candidates that one detection may complete for one query of more than two roles: tuples of pairwise
    compatible members, or the sets of at_least that are looked at, before their joint probability is judged."""
    max_matches_per_s: int = 5_000
    """Most matches of one query in one area within one second of received time."""
    max_query_s: float = 5.0
    """Longest processor time that one query may take in one push: its answers of that push are dropped, and it is
    suspended everywhere."""
    max_push_s: float = 10.0
    """Processor time that all queries together have in one push. A query has `max_query_s` of it, or half of what
    the others before it have left, but no less than half a second."""
    max_window_answers: int = 250_000
    """Most answers that one query over readings may give in one push, 1 KB each; one that gives more is suspended."""
    max_slot_bytes: int = 65_536
    """Longest journal slot, in bytes (approximately), unless one single row is longer; at most 1 MB."""
    merge_slots_from: int = 64
    """Fewest journal slots with little left in them that are merged into new ones."""
    sweep_after: int = 1_024
    """Fewest detections (or areas) that come before what is not needed any more is dropped."""
    forget_area_after_s: float = 7 * 86_400.0
    """An area is forgotten, with what it has buffered, when its last frame was received this long before the
    latest frame or heartbeat of its partition."""
    quiet_s: float | None = 30.0
    """An area from which nothing came for longer than this, by the heartbeats of its partition, has its watermark moved
    on by the time beyond it; None: never."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not value >= 1:
                raise ValueError(f"{name} is {value!r}: at least 1")
        if self.max_slot_bytes > 1_000_000:
            raise ValueError(f"max_slot_bytes is {self.max_slot_bytes!r}: at most 1000000")

    @property
    def quiet_us(self) -> int | None:
        """`quiet_s` in microseconds."""
        return None if self.quiet_s is None else round(self.quiet_s * 1e6)
