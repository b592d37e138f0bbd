"""Retention: which accepted detections may still become members of a match."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from coincide import Stream
from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.joins.retention import ROUNDING_US, reaches_us, set_reaches_us
from coincide.queries import Query
from spark_jobs.core.control import ActiveQuery
from spark_jobs.readings.reading_columns import ActiveReadings
from spark_jobs.rows.event_table import EventColumns


def needed(
    rows: EventColumns,
    watermark_us: Int64Array,
    streams: Mapping[str, Stream],
    queries: Iterable[ActiveQuery | ActiveReadings],
) -> BoolArray:
    """Whether each row may still match something that is not late, hold in a window to come, or be remembered by id.

    A row is needed only by the queries whose activation is not after it, so this depends on the row, the watermark
    of its area and the queries alone, and a row that is not needed never becomes needed again.

    Parameters
    ----------
    rows : EventColumns
        Of n rows.
    watermark_us : ndarray of int64, shape (n,)
        Of each row's area.
    streams : mapping of name to Stream
        In the order of the stream codes.
    queries : iterable of ActiveQuery
        All in force, paused ones too.
    """
    by_activation = sorted(queries, key=lambda active: active.activation_seq)
    none = -_delays_us(streams)
    reach = np.minimum.accumulate([none, *(_reach_us(active, streams) for active in by_activation)])
    activations = np.array([active.activation_seq for active in by_activation], np.int64)
    of_queries = np.searchsorted(activations, rows.seq, side="right")
    keep: BoolArray = rows.latest_us >= watermark_us + reach[of_queries, rows.stream]
    return keep


def horizon_us(query: Query, streams: Mapping[str, Stream]) -> int:
    """How far behind an area's watermark the earliest possible instant of a match to come may lie, at most.

    None of its members, those that have arrived already included, begins longer before.
    """
    reach = _join_reach_us(query, streams)
    codes = {name: code for code, name in enumerate(streams)}
    return max(streams[name].longest_template_us + ROUNDING_US - int(reach[codes[name]]) for name in query.streams)


def late_by_now(rows: EventColumns, watermark_us: Int64Array, streams: Mapping[str, Stream]) -> BoolArray:
    """Whether each row would be late if it came now, so that its id need not be remembered."""
    late: BoolArray = rows.latest_us < watermark_us - _delays_us(streams)[rows.stream]
    return late


def _delays_us(streams: Mapping[str, Stream]) -> Int64Array:
    return np.array([stream.max_delay_us for stream in streams.values()], np.int64)


def _reach_us(active: ActiveQuery | ActiveReadings, streams: Mapping[str, Stream]) -> Int64Array:
    """How far behind the watermark one query needs events, by stream code; no nearer than they are on time."""
    if isinstance(active, ActiveReadings):
        reach = -_delays_us(streams)
        reach[list(streams).index(active.query.stream)] -= active.query.reach_us
        return reach
    return _join_reach_us(active.query, streams)


def _join_reach_us(query: Query, streams: Mapping[str, Stream]) -> Int64Array:
    played = {role: streams[stream] for role, stream in query.roles}
    of_roles = reaches_us(query.graph, played) if query.at_least is None else set_reaches_us(query.graph, played)
    reach = -_delays_us(streams)
    codes = {name: code for code, name in enumerate(streams)}
    np.minimum.at(reach, [codes[stream] for stream in query.streams], of_roles)
    return reach
