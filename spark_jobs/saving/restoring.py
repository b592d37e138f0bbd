"""A shard's state to its header, and back from the header and the live journal slots."""

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import json
from msgspec.structs import astuple

from coincide import Stream
from coincide.queries import query_from_json
from spark_jobs.core.control import ActiveQuery, ActiveReadings, in_force
from spark_jobs.core.limits import Limits
from spark_jobs.core.shard import ShardState
from spark_jobs.episodes.episode_slots import EpisodeSlot
from spark_jobs.rows.event_table import EventColumns
from spark_jobs.rows.rates import DetectionRates
from spark_jobs.saving.journal import Slot
from spark_jobs.saving.state_format import FORMAT, Header, SavedArea, SavedQuery, StateError, number_of


def header_of(state: ShardState) -> Header:
    """Return the header of the state."""
    watermark = state.areas.watermark
    return Header(
        format=FORMAT,
        shard=state.shard,
        next_seq=state.next_seq,
        next_slot=state.next_slot,
        first_seq=state.first_seq,
        swept_rows=state.swept_rows,
        swept_areas=state.swept_areas,
        buffered=dict(zip(state.streams, state.buffered, strict=True)),
        live_slots=sorted(state.live_slots),
        next_episode_slot=state.episodes.slots.next,
        episode_slots=sorted(state.episodes.slots.live),
        totals=state.totals,
        control_offset=state.control.offset,
        queries=[_saved_query(active) for active in state.control.in_force()],
        removed=state.control.removed,
        areas=[
            SavedArea(
                area.name,
                area.since,
                area.last_received_us,
                watermark.us(area.code),
                area.partition,
                area.silent_since_us,
                area.rates.saved(list(state.streams)),
            )
            for area in state.areas
        ],
        clocks=state.areas.clocks,
    )


def _saved_query(active: ActiveQuery | ActiveReadings) -> SavedQuery:
    _, *names = SavedQuery.__struct_fields__
    return SavedQuery(json.encode(active.query.to_json()), *(getattr(active, name) for name in names))


def restored_state(streams: Mapping[str, Stream], limits: Limits, header: Header, slots: Iterable[bytes]) -> ShardState:
    """Return the state that was saved; its later answers are the same.

    Rows that were dropped since their slot was written come back with it. They change nothing: they can match nothing
    that is not late, and the next sweep drops them again. A StateError says that a live slot is missing or cannot be
    read, or that a query names a stream that is not declared any more.
    """
    state = ShardState.empty(streams, limits, header.shard)
    state.next_seq, state.next_slot, state.first_seq = header.next_seq, header.next_slot, header.first_seq
    state.swept_rows, state.swept_areas = header.swept_rows, header.swept_areas
    state.totals = header.totals
    state.buffered = [header.buffered.get(name, 0) for name in streams]
    state.live_slots = set(header.live_slots)
    state.control.offset, state.control.removed = header.control_offset, header.removed
    for saved in header.queries:
        query, *fields = astuple(saved)
        active = in_force(query_from_json(json.decode(query)), *fields)
        for stream in active.query.streams:
            if stream not in streams:
                raise StateError(
                    f"query {active.query.id!r} is in force and names the stream {stream!r}, which is not declared "
                    "any more: declare it, remove the query, then take the stream away"
                )
        state.control.put_in_force(active)
    _restore_areas(state, header)
    contents = {number_of(slot): slot for slot in slots}
    _restore_rows(state, contents)
    state.episodes.slots.next = header.next_episode_slot
    episodes = [EpisodeSlot.decode(slot) for slot in _needed(contents, header.episode_slots)]
    state.episodes.restore(state.control.active.values(), episodes)
    return state


def _restore_areas(state: ShardState, header: Header) -> None:
    for saved in header.areas:
        area = state.areas.area(saved.name, saved.since)
        area.last_received_us, area.partition = saved.last_received_us, saved.partition
        area.silent_since_us = saved.silent_since_us
        area.rates = DetectionRates.restored(saved.rates, state.stream_codes)
        state.areas.watermark.put(area.code, saved.watermark_us)
    state.areas.clocks |= header.clocks


def _needed(slots: Mapping[int, bytes], numbers: Iterable[int]) -> list[bytes]:
    missing = set(numbers) - slots.keys()
    if missing:
        raise StateError(f"{len(missing)} live journal slots are missing, the first is {min(missing, key=abs)}")
    return [slots[number] for number in sorted(numbers, key=abs)]


def _restore_rows(state: ShardState, slots: Mapping[int, bytes]) -> None:
    needed = _needed(slots, state.live_slots)
    rows = EventColumns.joined([_rows_of(state, Slot.decode(slot)) for slot in needed])
    state.table.append(rows)
    for detection_id, sensor, seq in zip(rows.ids, rows.sensor.tolist(), rows.seq.tolist(), strict=True):
        state.areas.sensor_of(sensor).remembered[detection_id] = seq  # the last of an id counts
    state.finder.rebuild(rows, state.control.active.values())
    state.sliding.rebuild(state.table.columns, state.control.sliding.values())


def _rows_of(state: ShardState, slot: Slot) -> EventColumns:
    """Return the rows of a slot whose area and stream are still known."""
    areas = [state.areas.get(name) for name in slot.areas]
    since = np.array([area.since if area else state.next_seq for area in areas], np.int64)
    streams = np.array([state.stream_codes.get(name, -1) for name in slot.streams], np.int32)
    area_of_sensor = np.array([at for at, _ in slot.sensors], np.intp)
    sensor, template, stream = (np.frombuffer(codes, "<u2") for codes in (slot.sensor, slot.template, slot.stream))
    seq, area = np.frombuffer(slot.seq, "<i8").astype(np.int64), area_of_sensor[sensor]
    keep = (seq >= np.maximum(since[area], state.first_seq)) & (streams[stream] >= 0)
    templates = np.array([state.templates.add(histogram) for histogram in slot.histograms()], np.int32)[template]
    detected_at_us = np.frombuffer(slot.detected_at_us, "<i8").astype(np.int64)
    sensors = [state.areas.sensor(known, name).code if (known := areas[at]) else -1 for at, name in slot.sensors]
    return EventColumns(
        ids=slot.ids,
        attributes=slot.attributes,
        seq=seq,
        detected_at_us=detected_at_us,
        latest_us=detected_at_us + state.templates.latest_us[templates],
        received_at_us=np.frombuffer(slot.received_at_us, "<i8").astype(np.int64),
        area=np.array([known.code if known else -1 for known in areas], np.int32)[area],
        sensor=np.array(sensors, np.int32)[sensor],
        template=templates,
        stream=streams[stream],
        slot=np.full(len(seq), slot.number, np.int32),
        remembered=np.ones(len(seq), np.bool_),
    ).where(keep)
