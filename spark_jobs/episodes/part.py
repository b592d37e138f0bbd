"""Part: a match as an episode needs it, or several matches that nothing can part any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from coincide.query_coalesce import EpisodeInterval
from spark_jobs.matches import Match

MOST_MEMBERS = 200


class EpisodeMember(NamedTuple):
    """One detection; members are put in order by these fields."""

    detected_at_us: int
    sensor: str
    id: str
    stream: str


class Part(Struct, array_like=True, frozen=True):
    """One match, or several.

    Attributes
    ----------
    start_us, end_us : int
        From the start of the first to the latest end.
    earliest_us : int
        Earliest possible instant of any member; before `start_us` where that is the one of the onset.
    revision : int
        Offset of the frame that completed the newest match.
    members : sequence of EpisodeMember
        In order, at most `MOST_MEMBERS`; `truncated` says whether there are more.
    """

    start_us: int
    end_us: int
    earliest_us: int
    count: int
    best_probability: float
    revision: int
    query_version: int
    received_at_us: int
    members: tuple[EpisodeMember, ...]
    truncated: bool = False


def part_of(match: Match, interval: EpisodeInterval, revision: int) -> Part:
    """Return the part that one match makes."""
    start_us, end_us = match.earliest_us, match.latest_us
    if interval == "occurred" and match.occurred is not None:
        start_us, end_us = match.occurred.p05_us, match.occurred.p95_us
    return Part(
        start_us=start_us,
        end_us=end_us,
        earliest_us=match.earliest_us,
        count=1,
        best_probability=match.probability,
        revision=revision,
        query_version=match.query_version,
        received_at_us=match.received_at_us,
        members=tuple(sorted(EpisodeMember(m.detected_at_us, m.sensor, m.id, m.stream) for m in match.members)),
    )


def united(parts: Sequence[Part]) -> Part:
    """Return parts, at least one, as one; in whatever order they come."""
    if len(parts) == 1:
        return parts[0]
    members = sorted({member for part in parts for member in part.members})
    return Part(
        start_us=min(part.start_us for part in parts),
        end_us=max(part.end_us for part in parts),
        earliest_us=min(part.earliest_us for part in parts),
        count=sum(part.count for part in parts),
        best_probability=max(part.best_probability for part in parts),
        revision=max(part.revision for part in parts),
        query_version=max(part.query_version for part in parts),
        received_at_us=max(part.received_at_us for part in parts),
        members=tuple(members[:MOST_MEMBERS]),
        truncated=len(members) > MOST_MEMBERS or any(part.truncated for part in parts),
    )
