"""A shard's state to its header, and back from the header and the live journal slots."""

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import json
from msgspec.structs import astuple

from coincide import Stream
from coincide.fusion.control.control import Control, InForce, in_force
from coincide.fusion.control.known_streams import KnownStream, KnownStreams
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.shard import ShardState
from coincide.fusion.core.shard_queries import ShardQueries
from coincide.fusion.readings.source import Choose
from coincide.fusion.rows.areas import Areas, AreaSilence
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.rows.row_codes import RowCodes
from coincide.fusion.saving.area_slots import AreaSlot, AreaSlots
from coincide.fusion.saving.journal import Slot
from coincide.fusion.saving.state_format import (
    FORMAT,
    Header,
    SavedQuery,
    SavedStream,
    StateError,
    UnfitStateError,
    number_of,
)
from coincide.queries import query_from_json

NEVER = 2**62  # no row has so great a number


def header_of(state: ShardState) -> Header:
    """Return the header of the state."""
    return Header(
        format=FORMAT,
        shard=state.shard,
        next_seq=state.rows.next_seq,
        next_slot=state.row_slots.next,
        first_seq=state.rows.first_seq,
        swept_rows=state.rows.swept_rows,
        swept_areas=state.rows.swept_areas,
        streams=[_saved_stream(known) for known in state.codes.streams.all()],
        buffered=state.rows.buffered,
        live_slots=list(state.row_slots.live),
        next_episode_slot=state.queries.joins.slots.next,
        episode_slots=sorted(state.queries.joins.slots.live),
        totals=state.totals,
        control_offset=state.queries.control.offset,
        queries=[_saved_query(active) for active in state.queries.control.in_force()],
        removed=state.queries.control.removed,
        next_area_slot=state.area_slots.next,
        area_slots=sorted(state.area_slots.live),
        next_spell_slot=state.queries.spells.slots.next,
        spell_slots=sorted(state.queries.spells.slots.live),
        next_pending_match=state.queries.joins.evidence.slots.next,
        pending_slots=sorted(state.queries.joins.evidence.slots.live),
        next_learnt=state.queries.joins.evidence.learnt.next,
        learnt_slots=sorted(state.queries.joins.evidence.learnt.live),
        quiet_us=state.limits.quiet_us,
        clocks=state.codes.areas.clocks,
        next_held=state.held.next_seq,
        first_held=state.held.first_seq,
        next_held_slot=state.held_slots.next,
        held_slots=list(state.held_slots.live),
    )


def _saved_query(active: InForce) -> SavedQuery:
    _, *names = SavedQuery.__struct_fields__
    return SavedQuery(active.document, *(getattr(active, name) for name in names))


def restored_state(
    streams: Mapping[str, Stream], limits: Limits, header: Header, slots: Iterable[bytes], choose: Choose
) -> ShardState:
    """Return the state that was saved; its later answers are the same.

    Rows that were dropped since their slot was written come back with it. They change nothing: they can match nothing
    that is not late, and the next sweep drops them again. A StateError says that a live slot is missing or cannot be
    read, or that the file of streams declares one otherwise that no record has declared.
    """
    state = ShardState.of(_known_streams(header.streams, streams), limits, header.shard, choose)
    state.totals = header.totals
    contents = {number_of(slot): slot for slot in slots}
    _restore_control(state.queries.control, header)
    _restore_areas(state.area_slots, state.codes.areas, header, contents)
    _restore_rows(state, header, contents)
    _restore_held(state, header, contents)
    _restore_queries(state.queries, state.rows.columns, header, contents)
    return state


def _restore_control(control: Control, header: Header) -> None:
    control.offset, control.removed = header.control_offset, header.removed
    for saved in header.queries:
        query, *fields = astuple(saved)
        control.put_in_force(in_force(query_from_json(json.decode(query)), *fields))


def _saved_stream(known: KnownStream) -> SavedStream:
    stream = known.declared
    of_time = float(stream.max_delay_s), float(stream.longest_template_s)  # as it is read again
    echo_s = None if stream.echo_s is None else float(stream.echo_s)
    return SavedStream(stream.name, *of_time, known.version, float(known.longest_kept_s), known.is_removed, echo_s)


def _known_streams(saved: Iterable[SavedStream], declared: Mapping[str, Stream]) -> KnownStreams:
    """Return the streams that were saved, and new ones of the file; StateError if the file has changed others."""
    streams = KnownStreams({})
    for each in saved:
        stream = Stream(each.name, each.max_delay_s, each.longest_template_s, echo_s=each.echo_s)
        if each.version == 0:
            _refuse_other_declaration(stream, declared.get(each.name))
        streams.put(KnownStream(stream, each.version, each.longest_kept_s, each.is_removed))
    for name, stream in declared.items():
        if streams.known(name) is None:
            streams.put(KnownStream(stream, longest_kept_s=stream.longest_template_s))
    return streams


def _refuse_other_declaration(was: Stream, now: Stream | None) -> None:
    fields = "max_delay_s", "longest_template_s", "echo_s"
    if now is None or any(getattr(was, name) != getattr(now, name) for name in fields):
        declared = {name: getattr(was, name) for name in fields}
        said = " and ".join(f"{name} {value:g}" for name, value in declared.items() if value is not None)
        raise UnfitStateError(
            f"the state was made with stream {was.name!r} declared with {said}, which the file of streams does not say "
            f"any more (PUT or DELETE /v1/streams/{was.name} changes it without a rebuild)"
        )


def _restore_areas(area_slots: AreaSlots, areas: Areas, header: Header, slots: Mapping[int, bytes]) -> None:
    area_slots.next = header.next_area_slot
    area_slots.restore(AreaSlot.decode(slot) for slot in _needed(slots, header.area_slots))
    areas.clocks |= header.clocks
    AreaSilence(areas, header.quiet_us).settle()


def _needed(slots: Mapping[int, bytes], numbers: Iterable[int]) -> list[bytes]:
    missing = set(numbers) - slots.keys()
    if missing:
        raise StateError(f"{len(missing)} live journal slots are missing, the first is {min(missing, key=abs)}")
    return [slots[number] for number in sorted(numbers, key=abs)]


def _restore_rows(state: ShardState, header: Header, slots: Mapping[int, bytes]) -> None:
    rows, codes = state.rows, state.codes
    rows.next_seq, rows.first_seq = header.next_seq, header.first_seq
    rows.swept_rows, rows.swept_areas = header.swept_rows, header.swept_areas
    rows.buffered = header.buffered
    rows.widen(len(codes.streams))
    contents = [(Slot.decode(content), len(content)) for content in _needed(slots, header.live_slots)]
    state.row_slots.next = header.next_slot
    state.row_slots.restore(contents)
    known_since = {area.name: max(area.since, rows.first_seq) for area in codes.areas}
    saved = EventColumns.joined([_rows_of(slot, codes, known_since) for slot, _ in contents])
    saved.remembered[:] = ~codes.on_time().is_late(saved.latest_us, saved.area, saved.stream)
    _remember_ids(saved, codes.areas)
    rows.table.append(saved)


def _restore_held(state: ShardState, header: Header, slots: Mapping[int, bytes]) -> None:
    held, codes = state.held, state.codes
    held.next_seq, held.first_seq = header.next_held, header.first_held
    contents = [(Slot.decode(content), len(content)) for content in _needed(slots, header.held_slots)]
    state.held_slots.next = header.next_held_slot
    state.held_slots.restore(contents)
    known_since = dict.fromkeys((area.name for area in codes.areas), 0)
    held.restore(EventColumns.joined([_rows_of(slot, codes, known_since) for slot, _ in contents]), codes.on_time())


def _restore_queries(queries: ShardQueries, kept: EventColumns, header: Header, slots: Mapping[int, bytes]) -> None:
    queries.rebuild(kept)
    queries.joins.restore(header.next_episode_slot, _needed(slots, header.episode_slots), kept)
    pending = _needed(slots, header.pending_slots)
    queries.joins.evidence.restore(queries.joins.queries.values(), header.next_pending_match, pending)
    queries.joins.evidence.learnt.restore(header.next_learnt, _needed(slots, header.learnt_slots))
    queries.spells.restore(header.next_spell_slot, _needed(slots, header.spell_slots), kept)


def _remember_ids(rows: EventColumns, areas: Areas) -> None:
    """Let the sensors remember the ids of rows that are not late; of those that share one the last."""
    for position in np.flatnonzero(rows.remembered).tolist():
        remembered, seq = areas.sensor_of(rows.sensor[position]).remembered, int(rows.seq[position])
        first = remembered.get(rows.ids[position])
        if first is not None:
            rows.remembered[np.searchsorted(rows.seq, first)] = False
        remembered[rows.ids[position]] = seq


def _rows_of(slot: Slot, codes: RowCodes, known_since: Mapping[str, int]) -> EventColumns:
    """Return the rows of a slot whose stream is still known, and their area since before them."""
    areas = [codes.areas.get(name) for name in slot.areas]
    since = np.array([known_since.get(name, NEVER) for name in slot.areas], np.int64)
    streams = np.array([codes.streams.codes.get(name, -1) for name in slot.streams], np.int32)
    area_of_sensor = np.array([at for at, _ in slot.sensors], np.intp)
    of_rows = slot.sensor, slot.template, slot.place, slot.stream
    sensor, template, place, stream = (np.frombuffer(codes, "<u2") for codes in of_rows)
    seq, area = np.frombuffer(slot.seq, "<i8").astype(np.int64), area_of_sensor[sensor]
    keep = (seq >= since[area]) & (streams[stream] >= 0)
    templates = np.array([codes.templates.add(histogram) for histogram in slot.histograms()], np.int32)[template]
    places = np.array([codes.places.code(each) for each in slot.known_places()], np.int32)[place]
    detected_at_us = np.frombuffer(slot.detected_at_us, "<i8").astype(np.int64)
    sensors = [codes.areas.sensor(known, name).code if (known := areas[at]) else -1 for at, name in slot.sensors]
    return EventColumns(
        ids=slot.ids,
        payload=slot.payload,
        seq=seq,
        detected_at_us=detected_at_us,
        latest_us=detected_at_us + codes.templates.latest_us[templates],
        received_at_us=np.frombuffer(slot.received_at_us, "<i8").astype(np.int64),
        offset=np.frombuffer(slot.offset, "<i8").astype(np.int64),
        area=np.array([known.code if known else -1 for known in areas], np.int32)[area],
        sensor=np.array(sensors, np.int32)[sensor],
        template=templates,
        place=places,
        stream=streams[stream],
        slot=np.full(len(seq), slot.number, np.int32),
        remembered=np.ones(len(seq), np.bool_),
    ).where(keep)
