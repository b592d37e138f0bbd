"""Changes of streams while the job runs: declared, declared otherwise, removed.

All of what they change depends on where among the detections they come, and on nothing else. So the rows that are not
needed by what was declared before are dropped first, and what was on time before is a floor from then on.
"""

from coincide.fusion.control.control import ControlError
from coincide.fusion.control.known_streams import KnownStream
from coincide.fusion.core.shard import ShardState
from coincide.fusion.core.sweeping import drop_needless_rows
from coincide.fusion.records.kafka_records import InputRecord
from coincide.fusion.rows.on_time import OnTime
from coincide.wire.dead_letter import DeadLetter, as_record
from coincide.wire.stream_records import StreamRecord, StreamRecordError, stream_record


def change_stream(state: ShardState, record: InputRecord) -> DeadLetter | None:
    """Apply one record unless a newer version is known; what is unusable gives a letter."""
    state.control.reached(record.offset)
    if record.value is None:
        return None
    try:
        _apply(state, _read(record, state.limits.max_frame_bytes))
    except ControlError as error:
        return DeadLetter(reason=error.reason, detail=str(error), record=as_record(record.value))
    return None


def _read(record: InputRecord, most_bytes: int) -> StreamRecord:
    value = record.value or b""
    if len(value) > most_bytes:
        raise ControlError("unusable_stream", f"the record has {len(value)} bytes: at most {most_bytes}")
    try:
        return stream_record(record.key, value)
    except StreamRecordError as error:
        raise ControlError("unusable_stream", str(error)) from None


def _apply(state: ShardState, change: StreamRecord) -> None:
    known = state.streams.known(change.stream)
    if known is not None and change.version <= known.version:
        return
    if change.removed:
        _remove(state, known, change)
    elif known is None or known.is_removed:
        _declare(state, known, change)
    else:
        _declare_otherwise(state, known, change)
    state.stamps.forget_declarations()


def _remove(state: ShardState, known: KnownStream | None, change: StreamRecord) -> None:
    """Remove a stream that no query reads, with its rows."""
    readers = [active.query.id for active in state.control.in_force() if change.stream in active.query.streams]
    if readers:
        raise ControlError("stream_in_use", f"query {readers[0]!r} reads the stream {change.stream!r}: remove it first")
    if known is None:
        return  # it was removed before any detection came
    code = state.streams.codes[change.stream]
    drop_needless_rows(state, code)
    state.areas.let_go(code)
    state.streams.put(known.removed(change.version))
    state.declared_anew = True


def _declare(state: ShardState, known: KnownStream | None, change: StreamRecord) -> None:
    """Declare a stream that is not; no row is of it."""
    if known is None and len(state.streams) >= state.limits.max_streams:
        raise ControlError("too_many_streams", f"{len(state.streams)} streams are known, no more are allowed")
    stream = change.declared()
    state.streams.put(KnownStream(stream, change.version, stream.longest_template_s))
    state.health.widen(len(state.streams))
    state.buffered += [0] * (len(state.streams) - len(state.buffered))


def _declare_otherwise(state: ShardState, known: KnownStream, change: StreamRecord) -> None:
    """Give a stream another delay or longest template, from here on."""
    drop_needless_rows(state)
    code, stream = state.streams.codes[change.stream], change.declared()
    if stream.max_delay_us > known.declared.max_delay_us:
        state.areas.hold(code, OnTime.now(state.areas, state.streams).since_us(code))
    state.streams.put(known.declared_otherwise(stream, change.version))
    state.declared_anew = True
