"""Episode records: what fusion says about episodes, again with every revision."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, json

from spark_jobs.episodes.part import EpisodeMember
from spark_jobs.records import OutputRecord

Label = str | int | float | bool | None


class GroupKey(NamedTuple):
    """What tells an episode from others at the same time; `values` are those of the query's labels, as JSON."""

    query: str
    area: str
    values: bytes


class Episode(Struct, frozen=True, kw_only=True):
    """An episode as it is now; see docs/contracts/episodes.schema.json."""

    v: int = 1
    id: str
    query: str
    query_version: int
    area: str
    group: Mapping[str, Label]
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


def episode_id(group: GroupKey, earliest: EpisodeMember, start_us: int, gap_us: int) -> str:
    """Return "e-" and 32 hex digits made of the group, the earliest member, and how far from that the episode starts.

    They are the first 16 bytes of SHA-256 over the compact UTF-8 JSON
    ``[query,area,[value,..],[detected_at_us,sensor,id,stream],steps]``, one value for each label of the query's `by`.
    One detection may be the earliest of two episodes, which start more than a gap apart: `steps` is how many gaps (and
    a microsecond) the start lies behind the member's reported time, to the nearest whole number; nearly always 0.

    Examples
    --------
    >>> episode_id(GroupKey("q", "bay", b"[]"), EpisodeMember(7, "geo-1", "g1", "seismic"), start_us=9, gap_us=5)
    'e-db0512d4159b2eb5b83fe224e5ba00ee'
    """
    values = json.decode(group.values)
    step_us = gap_us + 1
    steps = (start_us - earliest.detected_at_us + step_us // 2) // step_us
    content = json.encode([group.query, group.area, values, list(earliest), steps])
    return "e-" + hashlib.sha256(content).hexdigest()[:32]
