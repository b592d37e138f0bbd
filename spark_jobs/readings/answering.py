"""Answering: the windows that nothing on time can change any more, as records."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from coincide.arrays.kinds import Int64Array
from spark_jobs.core.control import ActiveQuery
from spark_jobs.core.shard import ShardState
from spark_jobs.readings.reading_columns import ActiveReadings
from spark_jobs.records.kafka_records import OutputRecord
from spark_jobs.records.status import Coalescing
from spark_jobs.rows.event_table import EventColumns


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
        found = list(state.sliding.answers(active, before_us))
        active.episodes += len(found)
        state.totals.episodes += len(found)
        records += [answer.to_record() for answer in found]
    state.sliding.decide()
    return records


def coalescing(state: ShardState, active: ActiveQuery | ActiveReadings) -> Coalescing | UnsetType:
    """Return how a query's readings are coalesced; of a join there is nothing to say."""
    if isinstance(active, ActiveQuery):
        return UNSET
    choice = state.sliding.choice(active)
    return Coalescing(choice.scheme, choice.reason, choice.eager_cost_s, choice.lazy_cost_s)
