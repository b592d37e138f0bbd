"""Which rows of a run count: each detection once, and of a stream that has echoes none of these."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.joins.echoes import are_echoes
from services.common.settings import Streams

IDENTITY = ("area", "sensor_id", "stream", "id", "detected_at_us")
ARRIVAL = ("received_at_us", "partition", "offset", "position")

EchoesUs = Mapping[str, int]
"""By stream how long after another report of its sensor an echo comes at most; streams without echoes are not in it."""


def echoes_us_of(named: Collection[str], streams: Streams) -> EchoesUs:
    """Return which of the named streams are declared to have echoes, and how far behind these come."""
    declared = {name: streams[name].echo_us for name in named if name in streams}
    return {name: echo_us for name, echo_us in declared.items() if echo_us is not None}


def first_of_each(rows: pa.Table) -> Int64Array:
    """Return where each detection is once, as it came first, ascending: gateways post again what was not acknowledged.

    Detections of one sensor and stream that share their id are the same if they share their time as well.
    """
    if pc.count_distinct(rows["id"]).as_py() == len(rows):
        return np.arange(len(rows))
    order = pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in ARRIVAL])
    numbered = rows.take(order).append_column("nth", pa.array(np.arange(len(rows))))
    first = numbered.group_by(list(IDENTITY)).aggregate([("nth", "min")])["nth_min"]
    return np.sort(np.asarray(order.to_numpy()[first.to_numpy()], np.int64))


def echoes_in(rows: pa.Table, echoes_us: EchoesUs) -> BoolArray:
    """Whether each of some detections, each of them once, is an echo of another one of them."""
    are: BoolArray = np.zeros(len(rows), np.bool_)
    for stream, echo_us in echoes_us.items():
        at = np.flatnonzero(pc.equal(rows["stream"], stream).to_numpy())
        of_stream = rows.select(["area", "sensor_id", "detected_at_us", "id"]).take(pa.array(at))
        source = np.ravel_multi_index([_codes(of_stream[name]) for name in ("area", "sensor_id")], [len(at) + 1] * 2)
        at_us = of_stream["detected_at_us"].to_numpy()
        are[at] = are_echoes(source, at_us, echo_us, _in_ties(of_stream["id"], source, at_us))
    return are


def _in_ties(ids: pa.ChunkedArray, source: Int64Array, at_us: Int64Array) -> Int64Array:
    """Return numbers that are in the order of the ids among reports of one source and time; mostly there are none."""
    order = np.lexsort((at_us, source))
    same = np.flatnonzero((np.diff(source[order]) == 0) & (np.diff(at_us[order]) == 0))
    tied = order[np.union1d(same, same + 1)]
    number = np.zeros(len(order), np.int64)
    number[tied] = np.unique(ids.take(pa.array(tied)).to_numpy().astype(np.str_), return_inverse=True)[1]
    return number


def _codes(labels: pa.ChunkedArray) -> Int64Array:
    codes: Int64Array = labels.combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes
