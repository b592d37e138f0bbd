"""Emitting: from pairs of buffered rows to match records."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Raw

from coincide.events import Events
from spark_jobs.backgrounds import Backgrounds
from spark_jobs.control import ActiveQuery
from spark_jobs.events import EventColumns
from spark_jobs.matches import Match, Member, match_id
from spark_jobs.records import OutputRecord
from spark_jobs.shard_state import ShardState
from spark_jobs.verdicts import Judge


def matches(state: ShardState, new: list[Events], backgrounds: Backgrounds) -> list[OutputRecord]:
    """Return the matches that the new rows complete, by query in the order of their creation, then of arrival."""
    records: list[OutputRecord] = []
    for active in state.control.active.values():
        if active.paused:
            continue
        found = [match.to_record() for match in _matches_of(state, active, new, backgrounds)]
        active.matches += len(found)
        state.totals.matches += len(found)
        records += found
    return records


def _matches_of(state: ShardState, active: ActiveQuery, new: list[Events], backgrounds: Backgrounds) -> Iterator[Match]:
    rows, query = state.table.columns, active.query
    pairs = state.pairing.find(active, new, state.table).in_order()
    streams = (state.stream_codes[query.streams[0]], state.stream_codes[query.streams[1]])
    said = Judge(query, streams, rows, state.templates, backgrounds, state.rivals).verdicts(pairs)
    for nth, (first, second) in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)):
        members = tuple(
            _member(state, rows, role, stream, at)
            for (role, stream), at in zip(query.roles, (first, second), strict=True)
        )
        yield Match(
            id=match_id(query.id, members),
            query=query.id,
            query_version=active.version,
            area=state.areas.area_of(rows.area[first]).name,
            probability=said.probability[nth],
            earliest_us=min(member.earliest_us for member in members),
            latest_us=max(member.latest_us for member in members),
            received_at_us=int(max(rows.received_at_us[first], rows.received_at_us[second])),
            occurred=said.occurred[nth],
            chance_rate_hz=said.chance_rate_hz[nth],
            members=members,
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
