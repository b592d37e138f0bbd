"""Retention: which accepted detections a query may still need (the law is in coincide/joins/retention.py)."""

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np

from coincide import Stream
from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array
from coincide.fusion.control.control import InForce
from coincide.fusion.rows.event_table import EventColumns
from coincide.joins.retention import ROUNDING_US
from coincide.queries import AnyQuery, Query


def needed(
    rows: EventColumns,
    watermark_us: Int64Array,
    streams: Mapping[str, Stream],
    queries: Iterable[InForce],
) -> BoolArray:
    """Whether each row may still match something on time, hold in a window to come, or be remembered by its id.

    Only queries, paused ones too, whose activation is not after a row need it. So the answer depends on the row, the
    watermark of its area, which are given by area code, and the queries alone, and a row that is not needed never
    becomes needed again.
    """
    by_activation = sorted(queries, key=lambda active: active.activation_seq)
    reach = np.minimum.accumulate([-delays_us(streams), *(reach_us(each.query, streams) for each in by_activation)])
    activated = np.searchsorted(rows.seq, [active.activation_seq for active in by_activation]).tolist()  # seq rises
    kind = _kinds(rows, streams)
    keep: BoolArray = np.empty(len(rows), np.bool_)
    for since_us, (start, stop) in zip(reach, pairwise([0, *activated, len(rows)]), strict=True):
        bound_us = (watermark_us[:, None] + since_us).ravel()
        keep[start:stop] = rows.latest_us[start:stop] >= bound_us[kind[start:stop]]
    return keep


def _kinds(rows: EventColumns, streams: Mapping[str, Stream]) -> CodeArray:
    """Return a code of each row's area and stream."""
    kinds: CodeArray = rows.area * np.int32(len(streams)) + rows.stream
    return kinds


def delays_us(streams: Mapping[str, Stream]) -> Int64Array:
    """Return how late detections may be, by stream code."""
    return np.array([stream.max_delay_us for stream in streams.values()], np.int64)


def horizon_us(query: Query, streams: Mapping[str, Stream]) -> int:
    """Return how far behind an area's watermark any member of a match to come, arrived or not, may begin at most."""
    reach: dict[str, int] = dict(zip(streams, reach_us(query, streams).tolist(), strict=True))
    return max(streams[name].longest_template_us + ROUNDING_US - reach[name] for name in query.streams)


def reach_us(query: AnyQuery, streams: Mapping[str, Stream]) -> Int64Array:
    """How far behind the watermark one query needs rows, by stream code; never nearer than rows are on time."""
    reach, codes = -delays_us(streams), {name: code for code, name in enumerate(streams)}
    for stream, since_us in query.needed_since_us(streams).items():
        reach[codes[stream]] = min(reach[codes[stream]], since_us)
    return reach
