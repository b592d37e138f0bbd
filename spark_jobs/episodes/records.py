"""Episode records: what fusion says about episodes, again with every revision."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Raw, Struct, json

from coincide.query_coalesce import EpisodeRule
from spark_jobs.attributes import Scalar
from spark_jobs.episodes.part import EpisodeMember
from spark_jobs.records import OutputRecord


class GroupKey(NamedTuple):
    """What tells an episode from others at the same time.

    Attributes
    ----------
    since : int
        Sequence number from which on the area has been known: one that was forgotten and came back is another.
    values : bytes
        Those of the query's labels, as a JSON list.
    """

    query: str
    area: str
    since: int
    values: bytes


class Episode(Struct, frozen=True, kw_only=True):
    """An episode as it is now; see docs/contracts/episodes.schema.json."""

    v: int = 1
    id: str
    query: str
    query_version: int
    area: str
    group: Mapping[str, Scalar | None]
    revision: int
    start_us: int
    end_us: int
    count: int
    best_probability: float
    open: bool
    final: bool
    received_at_us: int
    members: Sequence[Mapping[str, str | int]]
    members_truncated: bool

    def to_record(self) -> OutputRecord:
        """Return the record to write, keyed by area."""
        return OutputRecord(self.area.encode(), json.encode(self))


class Retraction(Struct, frozen=True, kw_only=True):
    """An episode that is no more, and those that now hold what it held."""

    v: int = 1
    id: str
    query: str
    query_version: int
    area: str
    revision: int
    retracted: bool = True
    replaced_by: Sequence[str]

    def to_record(self) -> OutputRecord:
        """Return the record to write, keyed by area."""
        return OutputRecord(self.area.encode(), json.encode(self))


def episode_id(group: GroupKey, rule: EpisodeRule, earliest: EpisodeMember, start_us: int) -> str:
    """Return "e-" and 32 hex digits made of the rule, the group, the earliest member, and how far from it it starts.

    They are the first 16 bytes of SHA-256 over the compact UTF-8 JSON
    ``[query,gap_us,interval,[label,..],area,[value,..],[detected_at_us,sensor,id,stream],steps]``. One detection may be
    the earliest of two episodes, which start more than a gap apart: `steps` is how many gaps (and a microsecond) the
    start lies behind the member's reported time, to the nearest whole number; nearly always 0.

    Examples
    --------
    >>> rule, earliest = EpisodeRule(gap_s=5e-6), EpisodeMember(7, "geo-1", "g1", "seismic")
    >>> episode_id(GroupKey("q", "bay", 0, b"[]"), rule, earliest, start_us=9)
    'e-bbed5290f507bf227b62ab3db84c62ad'
    """
    step_us = rule.gap_us + 1
    steps = (start_us - earliest.detected_at_us + step_us // 2) // step_us
    of_rule = (rule.gap_us, rule.interval, rule.by)
    content = json.encode([group.query, *of_rule, group.area, Raw(group.values), list(earliest), steps])
    return "e-" + hashlib.sha256(content).hexdigest()[:32]
