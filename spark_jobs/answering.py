"""Answering: the windows that nothing on time can change any more, as records."""

from __future__ import annotations

from coincide.arrays import Int64Array
from coincide.watermark import BEFORE_ALL_US
from spark_jobs.events import EventColumns
from spark_jobs.records import OutputRecord
from spark_jobs.shard_state import ShardState
from spark_jobs.sliding import Spans


def window_answers(state: ShardState, new: EventColumns, before_us: Int64Array) -> list[OutputRecord]:
    """Return the answers of all windows whose end is past since the batch began, by query.

    The end of a window is past once the watermark of its area is the stream's delay beyond it: what is on time from
    then on lies at or after the end. So it does not matter at which row of a batch that happened, nor what moved the
    watermark.

    Parameters
    ----------
    state : ShardState
        After the batch's rows were taken.
    new : EventColumns
        These rows.
    before_us : ndarray of int64, shape (areas,)
        The watermarks before it, by area code.
    """
    sliding = state.control.sliding
    state.sliding.insert(new, state.table.columns, sliding.values())
    records: list[OutputRecord] = []
    for active in sliding.values():
        if active.paused:
            continue
        found = list(state.sliding.answers(active, _spans(state, active.query.stream, before_us)))
        active.episodes += len(found)
        records += [answer.to_record() for answer in found]
    return records


def _spans(state: ShardState, stream: str, before_us: Int64Array) -> Spans:
    """Return by area code what was past for a stream before the batch, and what is now."""
    delay_us = state.streams[stream].max_delay_us
    known = dict(enumerate(before_us.tolist()))
    return {
        area.code: (known.get(area.code, BEFORE_ALL_US) - delay_us, state.areas.watermark.us(area.code) - delay_us)
        for area in state.areas
    }
