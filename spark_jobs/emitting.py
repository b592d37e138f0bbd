"""Emitting: from tuples of buffered rows to match records."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET, Raw

from coincide.arrays import PositionArray
from spark_jobs.backgrounds import Backgrounds
from spark_jobs.control import ActiveQuery
from spark_jobs.events import EventColumns
from spark_jobs.found import ABSENT
from spark_jobs.matches import Match, Member, match_id
from spark_jobs.pair_verdicts import PairJudge
from spark_jobs.records import OutputRecord
from spark_jobs.shard_state import ShardState
from spark_jobs.verdicts import TupleJudge, Verdicts


def matches(state: ShardState, backgrounds: Backgrounds) -> list[OutputRecord]:
    """Return the matches that the new rows complete, by query in the order of their creation, then of arrival."""
    records: list[OutputRecord] = []
    for active in state.control.active.values():
        if active.paused:
            continue
        found = [match.to_record() for match in _matches_of(state, active, backgrounds)]
        active.matches += len(found)
        state.totals.matches += len(found)
        records += found
    return records


def _matches_of(state: ShardState, active: ActiveQuery, backgrounds: Backgrounds) -> Iterator[Match]:
    rows, query = state.table.columns, active.query
    found = state.finder.find(active, state.table)
    said = _verdicts(state, active, found.members, backgrounds)
    is_pair = len(query.roles) == 2
    for nth, (at, before) in enumerate(zip(found.members.tolist(), found.supersedes.tolist(), strict=True)):
        members = _members(state, active, rows, at)
        yield Match(
            id=match_id(query.id, members),
            query=query.id,
            query_version=active.version,
            area=state.areas.area_of(rows.area[_present(at)[0]]).name,
            probability=said.probability[nth],
            earliest_us=min(member.earliest_us for member in members),
            latest_us=max(member.latest_us for member in members),
            received_at_us=max(int(rows.received_at_us[each]) for each in _present(at)),
            occurred=said.occurred[nth],
            chance_rate_hz=said.chance_rate_hz[nth],
            members=members,
            edges=UNSET if is_pair else said.edges[nth],
            supersedes=UNSET if is_pair else _ids(state, active, rows, before),
        )


def _verdicts(state: ShardState, active: ActiveQuery, members: PositionArray, backgrounds: Backgrounds) -> Verdicts:
    rows, query = state.table.columns, active.query
    if len(query.roles) > 2:
        return TupleJudge(query, rows, state.templates).verdicts(members)
    streams = tuple(state.stream_codes[stream] for stream in query.streams)
    return PairJudge(query, streams, rows, state.templates, backgrounds, state.rivals).verdicts(members)


def _present(at: list[int]) -> list[int]:
    return [each for each in at if each != ABSENT]


def _ids(state: ShardState, active: ActiveQuery, rows: EventColumns, at: list[int]) -> list[str]:
    """Return the id of the match with these members, if there are any."""
    return [match_id(active.query.id, _members(state, active, rows, at))] if _present(at) else []


def _members(state: ShardState, active: ActiveQuery, rows: EventColumns, at: list[int]) -> tuple[Member, ...]:
    return tuple(
        _member(state, rows, role, stream, each)
        for (role, stream), each in zip(active.query.roles, at, strict=True)
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
