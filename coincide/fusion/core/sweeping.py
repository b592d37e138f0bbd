"""Sweeping: drop what no match to come can need, evict the oldest beyond the cap, write sparse slots anew."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray
from coincide.arrays.order import group_starts, stable_order
from coincide.fusion.core.shard import ShardState
from coincide.fusion.rows.areas import Area, Areas
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.rows.on_time import OnTime
from coincide.fusion.rows.query_retention import needed
from coincide.fusion.saving.journal import SlotWriter
from coincide.wire.output_record import OutputRecord

SWEEP_SHARE = 4  # sweep once the rows accepted since are a quarter of those kept: a bounded cost for each row
ROOM_SHARE = 16  # beyond the cap this share of it is evicted too, so that not every batch has to evict
SPARSE_BELOW = 1 / 4  # of a full slot


def is_sweep_due(state: ShardState) -> bool:
    """Whether enough has come since the last sweep; depends only on what the header keeps."""
    kept, fewest = sum(state.buffered), state.limits.sweep_after
    return (
        kept > state.limits.max_buffered
        or kept - state.swept_rows >= max(fewest, state.swept_rows // SWEEP_SHARE)
        or len(state.areas) - state.swept_areas >= max(fewest, state.swept_areas // SWEEP_SHARE)
    )


def sweep(state: ShardState) -> list[OutputRecord]:
    """Drop rows, ids, areas, sensors, templates and slots that are not needed any more; return what that ends."""
    evicted, idle = state.totals.evicted, _idle_areas(state)
    keep = _kept_rows(state, idle)
    rows = state.table.columns
    beyond = rows.where(rows.seq < state.first_seq) if state.totals.evicted > evicted else EventColumns.empty()
    _drop_rows(state, keep)
    _forget_templates(state)
    rows = state.table.columns
    if state.totals.evicted > evicted or idle:
        state.sliding.rebuild(rows, state.control.sliding.values())
    else:
        state.sliding.drop_before_windows(rows, state.control.sliding.values())
    ended = state.spells.forget(idle) if idle else []
    ended += state.spells.settle(rows, beyond)
    for area in idle:
        state.areas.forget(area)
    if state.areas.keep_sensors(rows.sensor):
        state.stamps.forget_sensors()
        state.health.forget_codes()
    state.live_slots = {slot: state.live_slots[slot] for slot in rows.slot[group_starts(rows.slot)].tolist()}
    state.buffered = np.bincount(rows.stream, minlength=len(state.streams)).tolist()
    state.swept_rows, state.swept_areas = len(rows), len(state.areas)
    return [change.to_record() for change in ended]


def drop_needless_rows(state: ShardState, stream: int | None = None) -> None:
    """Drop just the rows that are not needed by what is declared now, or that are of a stream which is to go.

    Which they are does not depend on when rows were swept before. So what is there when a declaration changes depends
    only on the detections before it.
    """
    keep = _needed_rows(state)
    if stream is not None:
        keep &= state.table.columns.stream != stream
    _drop_rows(state, keep)


def forget_spare_templates(state: ShardState) -> None:
    """Forget unused templates once they are many: those of late and refused rows, which bring no sweep about."""
    if len(state.templates) - len(state.table) >= state.limits.sweep_after:
        _forget_templates(state)


def write_anew(state: ShardState, writer: SlotWriter) -> dict[int, bytes]:
    """Move all rows into new slots and return what was written: rows that were dropped come back from none of them."""
    return _moved(state, writer, np.unique(state.table.columns.slot))


def merge_sparse_slots(state: ShardState, writer: SlotWriter) -> dict[int, bytes]:
    """Move the rows of sparse slots into new ones if there are many such slots; return what was written.

    Else areas in which little happens would pin many slots. Call it after a sweep: which slots are sparse then depends
    only on what the saved state has too. A merged slot is not sparse for a while, so a row is seldom written anew.
    """
    column = state.table.columns.slot
    slots, rows_left = np.unique(column, return_counts=True)
    bytes_left = rows_left * [state.live_slots[slot] for slot in slots.tolist()]
    sparse = slots[bytes_left < SPARSE_BELOW * state.limits.max_slot_bytes]
    return _moved(state, writer, sparse) if len(sparse) >= state.limits.merge_slots_from else {}


def _moved(state: ShardState, writer: SlotWriter, slots: CodeArray) -> dict[int, bytes]:
    """Move the rows of some slots into new ones."""
    column = state.table.columns.slot
    moving = np.isin(column, slots)
    rows, target = state.table.columns.where(moving), column[moving]
    written = {}
    for part in writer.split(rows):
        written[state.next_slot] = writer.encode(state.next_slot, rows, part)
        target[part] = state.next_slot
        state.live_slots[state.next_slot] = len(written[state.next_slot]) / (part.stop - part.start)
        state.next_slot += 1
    column[moving] = target
    for slot in slots.tolist():
        del state.live_slots[slot]
    return written


def _kept_rows(state: ShardState, idle: Sequence[Area]) -> BoolArray:
    """Which rows stay, none of idle areas among them; those beyond the cap are counted as evicted."""
    rows, keep = state.table.columns, _needed_rows(state)
    if idle:
        keep &= ~np.isin(rows.area, [area.code for area in idle])
    beyond = int(np.count_nonzero(keep)) - state.limits.max_buffered
    if beyond > 0:
        beyond += state.limits.max_buffered // ROOM_SHARE
        oldest = np.flatnonzero(keep)[:beyond]
        keep[oldest] = False
        state.first_seq = int(rows.seq[oldest[-1]]) + 1
        state.totals.evicted += beyond
    return keep


def _needed_rows(state: ShardState) -> BoolArray:
    """Which rows a query may still need, or an id that is remembered."""
    rows = state.table.columns
    queries = [active for active in state.control.in_force() if not active.is_suspended]  # these begin anew when lifted
    keep = needed(rows, state.areas.watermark.state_us, state.streams.kept, queries)
    keep[: np.searchsorted(rows.seq, state.first_seq)] = False
    return keep


def _drop_rows(state: ShardState, keep: BoolArray) -> None:
    """Drop the other rows, and forget the ids of these and of late ones."""
    rows = state.table.columns
    late = OnTime.now(state.areas, state.streams).is_late(rows.latest_us, rows.area, rows.stream)
    _forget_ids(rows, ~keep | late, state.areas)
    if not keep.all():
        gone = rows.seq[~keep]
        state.table.keep(keep)
        state.finder.drop(gone, state.table.columns, state.control.active.values())


def _idle_areas(state: ShardState) -> list[Area]:
    return state.areas.idle(round(state.limits.forget_area_after_s * 1e6))


def _forget_templates(state: ShardState) -> None:
    """Give the templates of the rows that are left new codes, and buffer the rows under these."""
    rows = state.table.columns
    used = np.flatnonzero(np.bincount(rows.template, minlength=len(state.templates)))
    if len(used) == len(state.templates):
        return
    new_code = state.templates.keep_only(used.astype(np.int32))
    state.stamps.recode(new_code)
    state.finder.recode(new_code, state.control.active)
    rows.template[:] = new_code[rows.template]
    state.finder.rebuild(rows, state.control.active.values())


def _forget_ids(rows: EventColumns, gone: BoolArray, areas: Areas) -> None:
    """Let the sensors forget the ids of the rows that are `gone` (and still remembered)."""
    at = np.flatnonzero(gone & rows.remembered)
    at = at[stable_order(rows.sensor[at])]
    starts, ids = group_starts(rows.sensor[at]), list(map(rows.ids.__getitem__, at.tolist()))
    bounds = pairwise([*starts.tolist(), len(at)])
    for sensor, (start, stop) in zip(rows.sensor[at[starts]].tolist(), bounds, strict=True):
        remembered = areas.sensor_of(sensor).remembered
        for id_ in ids[start:stop]:
            del remembered[id_]
    rows.remembered[gone] = False
