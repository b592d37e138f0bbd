"""Emitting: from pairs of buffered rows to match records."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Raw

from coincide.difference import match_probabilities
from coincide.events import Events
from coincide.histogram import Histogram
from coincide.window import Window
from spark_jobs.control import ActiveQuery
from spark_jobs.events import CodeArray, EventColumns
from spark_jobs.matches import Match, Member, match_of
from spark_jobs.pairing import FoundPairs
from spark_jobs.records import OutputRecord
from spark_jobs.shard_state import ShardState

DECIMALS = 12  # the accuracy promised; beyond it a digit could depend on what else is computed in the same batch


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
    rows, query = state.table.columns, active.query
    pairs = state.pairing.find(active, new, state.table).in_order()
    probabilities = _probabilities(state, query.window, rows, pairs)
    for first, second, probability in zip(pairs.first.tolist(), pairs.second.tolist(), probabilities, strict=True):
        members = tuple(
            _member(state, rows, role, stream, at)
            for (role, stream), at in zip(query.roles, (first, second), strict=True)
        )
        area = state.areas.area_of(rows.area[first]).name
        received_at_us = int(max(rows.received_at_us[first], rows.received_at_us[second]))
        yield match_of(query.id, active.version, area, probability, received_at_us, members)


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


def _probabilities(state: ShardState, window: Window, rows: EventColumns, pairs: FoundPairs) -> list[float]:
    """P of each pair, rounded to DECIMALS."""
    if len(pairs) == 0:
        return []
    us, u_index = _histograms(state, rows.template[pairs.first])
    vs, v_index = _histograms(state, rows.template[pairs.second])
    offset_us = rows.detected_at_us[pairs.second] - rows.detected_at_us[pairs.first]
    return [round(p, DECIMALS) for p in match_probabilities(us, vs, u_index, v_index, offset_us, window).tolist()]


def _histograms(state: ShardState, codes: CodeArray) -> tuple[list[Histogram], npt.NDArray[np.intp]]:
    distinct, index = np.unique(codes, return_inverse=True)
    return [state.templates.histogram(code) for code in distinct], index
