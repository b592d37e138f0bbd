"""Emitting: from pairs of buffered rows to match records."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Raw

from coincide.difference import match_probability
from coincide.events import Events
from spark_jobs.control import ActiveQuery
from spark_jobs.events import EventColumns
from spark_jobs.matches import Match, Member, match_of
from spark_jobs.pairing import in_order
from spark_jobs.records import OutputRecord
from spark_jobs.shard_state import ShardState


def matches(state: ShardState, new: list[Events]) -> list[OutputRecord]:
    """Return the matches that the new rows complete, by query in the order of their creation, then of arrival."""
    records: list[OutputRecord] = []
    for active in state.control.active.values():
        if active.paused:
            continue
        found = [match.to_record() for match in _matches_of(state, active, new)]
        active.matches += len(found)
        state.totals.matches += len(found)
        records += found
    return records


def _matches_of(state: ShardState, active: ActiveQuery, new: list[Events]) -> Iterator[Match]:
    rows = state.table.columns
    for pair in in_order(state.pairing.find(active, new, state.table)):
        area = state.areas.area_of(rows.area[pair[0]]).name
        members = tuple(
            _member(state, rows, role, stream, at) for (role, stream), at in zip(active.query.roles, pair, strict=True)
        )
        yield match_of(active.query.id, active.version, area, _probability(state, active, rows, pair), members)


def _member(state: ShardState, rows: EventColumns, role: str, stream: str, at: int) -> Member:
    template = state.templates.histogram(rows.template[at])
    detected_at_us = int(rows.detected_at_us[at])
    return Member(
        role=role,
        sensor=state.areas.sensor_of(rows.sensor[at]).name,
        id=rows.ids[at],
        stream=stream,
        detected_at_us=detected_at_us,
        earliest_us=detected_at_us + template.earliest_us,
        latest_us=int(rows.latest_us[at]),
        template=template.id,
        attributes=Raw(rows.attributes[at]),
    )


def _probability(state: ShardState, active: ActiveQuery, rows: EventColumns, pair: tuple[int, int]) -> float:
    """P of one pair by itself: its last bit must not depend on which other pairs were found with it."""
    first, second = pair
    u, v = (state.templates.histogram(rows.template[at]) for at in pair)
    offset_s = np.float64(rows.detected_at_us[second] - rows.detected_at_us[first]) / 1e6
    return float(match_probability(u, v, offset_s, active.query.window))
