"""What episodes are made of: matches, alone or united, and what tells one episode from another."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Raw, Struct

from coincide.queries import EpisodeRule
from coincide.queries.fields.alert_rule import MOST_MEMBERS
from coincide.queries.joins.episode_rule import EpisodeInterval
from coincide.wire.content_ids import content_id
from coincide.wire.payload import NO_PAYLOAD, payload_json, payload_of
from coincide.wire.results.episode_record import EpisodeMember
from coincide.wire.results.match_record import MatchMember, MatchRecord


class EpisodeRecordMember(NamedTuple):
    """One detection; members are put in order by what names them, the first four fields."""

    detected_at_us: int
    sensor: str
    id: str
    stream: str
    payload: bytes = NO_PAYLOAD

    @property
    def name(self) -> list[str | int]:
        """What tells it from all others."""
        return list(self[:4])

    def to_record(self) -> EpisodeMember:
        """Return it as records have it."""
        return EpisodeMember(*self[:4], **payload_json(self.payload))


class Part(Struct, array_like=True, frozen=True):
    """One match, or several."""

    start_us: int  # of the first match
    end_us: int  # the latest
    first_us: int  # when the first match probably occurred
    last_us: int  # and the last
    earliest_us: int  # earliest possible instant of any member; an onset may lie behind it
    count: int
    best_probability: float
    revision: int  # offset of the frame that completed the newest match
    query_version: int
    received_at_us: int
    members: tuple[EpisodeRecordMember, ...]  # in order, at most `MOST_MEMBERS`
    truncated: bool = False  # there are more


def part_of(match: MatchRecord, interval: EpisodeInterval, revision: int) -> Part:
    """Return the part that one match makes."""
    start_us, end_us = match.earliest_us, match.latest_us
    if interval == "occurred" and match.occurred is not None:
        start_us, end_us = match.occurred.p05_us, match.occurred.p95_us
    about_us = (start_us + end_us) // 2 if match.occurred is None else match.occurred.mean_us
    about_us = min(max(about_us, start_us), end_us)  # the mean of what is askew may lie beyond its central 90 %
    return Part(
        start_us=start_us,
        end_us=end_us,
        first_us=about_us,
        last_us=about_us,
        earliest_us=match.earliest_us,
        count=1,
        best_probability=match.probability,
        revision=revision,
        query_version=match.query_version,
        received_at_us=match.received_at_us,
        members=tuple(sorted(map(_member, match.members))),
    )


def _member(one: MatchMember) -> EpisodeRecordMember:
    return EpisodeRecordMember(one.detected_at_us, one.sensor, one.id, one.stream, payload_of(one))


def united(parts: Sequence[Part]) -> Part:
    """Return parts, at least one, as one; in whatever order they come."""
    if len(parts) == 1:
        return parts[0]
    members = sorted({member for part in parts for member in part.members})
    return Part(
        start_us=min(part.start_us for part in parts),
        end_us=max(part.end_us for part in parts),
        first_us=min(part.first_us for part in parts),
        last_us=max(part.last_us for part in parts),
        earliest_us=min(part.earliest_us for part in parts),
        count=sum(part.count for part in parts),
        best_probability=max(part.best_probability for part in parts),
        revision=max(part.revision for part in parts),
        query_version=max(part.query_version for part in parts),
        received_at_us=max(part.received_at_us for part in parts),
        members=tuple(members[:MOST_MEMBERS]),
        truncated=len(members) > MOST_MEMBERS or any(part.truncated for part in parts),
    )


class GroupKey(NamedTuple):
    """What tells an episode from others at the same time."""

    query: str
    area: str
    since: int  # sequence number from which on the area is known: one that was forgotten and came back is another
    values: bytes  # of the query's labels, as a JSON list


def episode_id(group: GroupKey, rule: EpisodeRule, earliest: EpisodeRecordMember, start_us: int) -> str:
    """Return "e-" and 32 hex digits made of the rule, the group, the earliest member, and how far from it it starts.

    `content_id` makes them from
    ``[query,gap_us,interval,[label,..],area,[value,..],[detected_at_us,sensor,id,stream],steps]``. One detection may be
    the earliest of two episodes, which start more than a gap apart: `steps` is how many gaps (and a microsecond) the
    start lies behind the member's reported time, to the nearest whole number; nearly always 0.

    Examples
    --------
    >>> rule, earliest = EpisodeRule(gap_s=5e-6), EpisodeRecordMember(7, "geo-1", "g1", "seismic")
    >>> episode_id(GroupKey("q", "bay", 0, b"[]"), rule, earliest, start_us=9)
    'e-bbed5290f507bf227b62ab3db84c62ad'
    """
    step_us = rule.gap_us + 1
    steps = (start_us - earliest.detected_at_us + step_us // 2) // step_us
    of_rule = (rule.gap_us, rule.interval, rule.by)
    return content_id("e", [group.query, *of_rule, group.area, Raw(group.values), earliest.name, steps])
