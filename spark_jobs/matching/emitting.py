"""Emitting: from tuples of buffered rows to match records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import UNSET, Raw

from coincide.arrays.kinds import PositionArray
from coincide.queries import Query
from spark_jobs.core.control import ActiveQuery
from spark_jobs.core.shard import ShardState
from spark_jobs.matching.match_verdicts import ABSENT, TupleJudge, Verdicts
from spark_jobs.matching.pair_verdicts import PairJudge
from spark_jobs.records.kafka_records import OutputRecord
from spark_jobs.records.match_records import Match, Member, match_id
from spark_jobs.rows.accepted import Arrived
from spark_jobs.rows.backgrounds import Backgrounds
from spark_jobs.rows.event_table import EventColumns


def matches(state: ShardState, arrived: Arrived) -> list[OutputRecord]:
    """Return the matches that the new rows complete, by query in the order of their creation, then of arrival.

    Those of queries that coalesce are handed to the episodes too.
    """
    records: list[OutputRecord] = []
    for active in state.control.active.values():
        if active.paused:
            continue
        found = []
        for match, newest in _matches_of(state, active, arrived.backgrounds):
            found.append(match.to_record())
            if active.query.coalesce is not None:
                state.episodes.add(match, arrived.offset_of(newest))
        active.matches += len(found)
        state.totals.matches += len(found)
        records += found
    return records


def _matches_of(state: ShardState, active: ActiveQuery, backgrounds: Backgrounds) -> Iterator[tuple[Match, int]]:
    """Yield each match and the sequence number of its newest member."""
    rows, query = state.table.columns, active.query
    found = state.finder.find(active, state.table)
    said = _verdicts(state, active, found.members, backgrounds)
    is_pair = len(query.roles) == 2
    enlarged = [()] * len(found.members) if found.supersedes is None else found.supersedes.tolist()
    for nth, at in enumerate(found.members.tolist()):
        members = _members(state, query, rows, at)
        present = [each for each in at if each != ABSENT]
        match = Match(
            id=match_id(query.id, members),
            query=query.id,
            query_version=active.version,
            area=state.areas.area_of(rows.area[present[0]]).name,
            probability=said.probability[nth],
            earliest_us=min(member.earliest_us for member in members),
            latest_us=max(member.latest_us for member in members),
            received_at_us=int(max(rows.received_at_us[each] for each in present)),
            occurred=said.occurred[nth],
            chance_rate_hz=said.chance_rate_hz[nth],
            members=members,
            edges=UNSET if is_pair else said.edges[nth],
            supersedes=UNSET if is_pair else _ids(query, _members(state, query, rows, enlarged[nth])),
        )
        yield match, int(rows.seq[max(present)])


def _verdicts(state: ShardState, active: ActiveQuery, members: PositionArray, backgrounds: Backgrounds) -> Verdicts:
    rows, query = state.table.columns, active.query
    if len(query.roles) > 2:
        return TupleJudge(query, rows, state.templates).verdicts(members)
    streams = tuple(state.stream_codes[stream] for stream in query.streams)
    return PairJudge(query, streams, rows, state.templates, backgrounds, state.rivals).verdicts(members)


def _ids(query: Query, members: Sequence[Member]) -> list[str]:
    """Return the id of the match of these members, if there are any."""
    return [match_id(query.id, members)] if members else []


def _members(state: ShardState, query: Query, rows: EventColumns, at: Sequence[int]) -> tuple[Member, ...]:
    """Return the members of a match, one position for each role; none of no position at all."""
    return tuple(
        _member(state, rows, role, stream, each)
        for (role, stream), each in zip(query.roles, at, strict=False)
        if each != ABSENT
    )


def _member(state: ShardState, rows: EventColumns, role: str, stream: str, at: int) -> Member:
    code, detected_at_us = rows.template[at], int(rows.detected_at_us[at])
    return Member(
        role=role,
        sensor=state.areas.sensor_of(rows.sensor[at]).name,
        id=rows.ids[at],
        stream=stream,
        detected_at_us=detected_at_us,
        earliest_us=detected_at_us + int(state.templates.earliest_us[code]),
        latest_us=int(rows.latest_us[at]),
        template=state.templates.histogram(code).id,
        attributes=Raw(rows.attributes[at]),
    )
