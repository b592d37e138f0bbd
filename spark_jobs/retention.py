"""Retention: which accepted detections may still become members of a match."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from coincide.arrays import BoolArray, Int64Array
from coincide.stream import Stream
from coincide.timing_join.retention import reach_us
from spark_jobs.control import ActiveQuery
from spark_jobs.events import EventColumns


def needed(
    rows: EventColumns, watermark_us: Int64Array, streams: Mapping[str, Stream], queries: Iterable[ActiveQuery]
) -> BoolArray:
    """Whether each row may still match something that is not late, or its id is still to be remembered.

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
    reach = np.array([_reaches(streams, by_activation[:count]) for count in range(len(by_activation) + 1)], np.int64)
    activations = np.array([active.activation_seq for active in by_activation], np.int64)
    of_queries = np.searchsorted(activations, rows.seq, side="right")
    keep: BoolArray = rows.latest_us >= watermark_us + reach[of_queries, rows.stream]
    return keep


def late_by_now(rows: EventColumns, watermark_us: Int64Array, streams: Mapping[str, Stream]) -> BoolArray:
    """Whether each row would be late if it came now, so that its id need not be remembered."""
    delay = np.array([stream.max_delay_us for stream in streams.values()], np.int64)
    late: BoolArray = rows.latest_us < watermark_us - delay[rows.stream]
    return late


def _reaches(streams: Mapping[str, Stream], queries: Iterable[ActiveQuery]) -> list[int]:
    joins = []
    for active in queries:
        first, second = active.query.streams
        joins.append((first, second, active.query.window))
    return [reach_us(stream, streams, joins) for stream in streams.values()]
