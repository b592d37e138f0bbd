"""Slot merging: slots with few rows left are written anew together, so that slow areas do not pin many slots."""

from __future__ import annotations

import numpy as np

from spark_jobs.core.shard import ShardState
from spark_jobs.saving.journal import SlotWriter

TYPICAL_ROW_BYTES = 100
SPARSE_BELOW = 1 / 4  # of a full slot


def merge_sparse_slots(state: ShardState, writer: SlotWriter) -> dict[int, bytes]:
    """Move the rows of sparse slots into new ones if there are many such slots; return what was written.

    Call it after a sweep: which slots are sparse then depends only on what the saved state has too. A row is
    written anew a few times at most, since what is merged soon is not sparse any more.
    """
    slots, rows_left = np.unique(state.table.columns.slot, return_counts=True)
    sparse = slots[rows_left * TYPICAL_ROW_BYTES < SPARSE_BELOW * state.limits.max_slot_bytes]
    if len(sparse) < state.limits.merge_slots_from:
        return {}
    column = state.table.columns.slot
    moving = np.isin(column, sparse)
    rows, target = state.table.columns.where(moving), column[moving]
    written = {}
    for part in writer.split(rows):
        written[state.next_slot] = writer.encode(state.next_slot, rows, part)
        target[part] = state.next_slot
        state.next_slot += 1
    column[moving] = target
    state.live_slots = state.live_slots - set(sparse.tolist()) | written.keys()
    return written
