"""Changes of streams while the job runs: declared, declared otherwise, removed.

All of what they change depends on where among the detections they come, and on nothing else. So the rows that are not
needed by what was declared before are dropped first, and what was on time before is a floor from then on.
"""

from dataclasses import dataclass

from coincide.fusion.control.control import ControlError
from coincide.fusion.control.known_streams import KnownStream
from coincide.fusion.core.sweeping import Sweeper
from coincide.fusion.health.health_table import HealthTable
from coincide.fusion.records.kafka_records import InputRecord
from coincide.wire.declarations.stream_records import StreamRecord, StreamRecordError, stream_record
from coincide.wire.results.dead_letter import DeadLetter, as_record


@dataclass
class StreamDeclarations:
    """The changes of streams that come in one push."""

    sweeper: Sweeper
    health: HealthTable
    declared_anew: bool = False  # whether one changed a stream that rows may be of

    def take(self, record: InputRecord) -> DeadLetter | None:
        """Apply one record unless a newer version is known; what is unusable gives a letter."""
        self.sweeper.queries.control.reached(record.offset)
        if record.value is None:
            return None
        try:
            self._apply(_read(record, self.sweeper.rows.limits.max_frame_bytes))
        except ControlError as error:
            return DeadLetter(reason=error.reason, detail=str(error), record=as_record(record.value))
        return None

    def _apply(self, change: StreamRecord) -> None:
        known = self.sweeper.codes.streams.known(change.stream)
        if known is not None and change.version <= known.version:
            return
        if change.removed:
            self._remove(known, change)
        elif known is None or known.is_removed:
            self._declare(known, change)
        else:
            self._declare_otherwise(known, change)

    def _remove(self, known: KnownStream | None, change: StreamRecord) -> None:
        """Remove a stream that no query reads, with its rows."""
        name, in_force = change.stream, self.sweeper.queries.control.in_force()
        readers = [active.query.id for active in in_force if name in active.query.streams]
        if readers:
            raise ControlError("stream_in_use", f"query {readers[0]!r} reads the stream {name!r}: remove it first")
        if known is None:
            return  # it was removed before any detection came
        code = self.sweeper.codes.streams.codes[name]
        self.sweeper.drop_needless_rows(code)
        self.sweeper.codes.areas.let_go(code)
        self.sweeper.codes.declare(known.removed(change.version))
        self.declared_anew = True

    def _declare(self, known: KnownStream | None, change: StreamRecord) -> None:
        """Declare a stream that is not; no row is of it."""
        streams, most = self.sweeper.codes.streams, self.sweeper.rows.limits.max_streams
        if known is None and len(streams) >= most:
            raise ControlError("too_many_streams", f"{len(streams)} streams are known, no more are allowed")
        stream = change.declared()
        self.sweeper.codes.declare(KnownStream(stream, change.version, stream.longest_template_s))
        self.health.widen(len(streams))
        self.sweeper.rows.widen(len(streams))

    def _declare_otherwise(self, known: KnownStream, change: StreamRecord) -> None:
        """Give a stream another delay or longest template, from here on."""
        self.sweeper.drop_needless_rows()
        codes, stream = self.sweeper.codes, change.declared()
        code = codes.streams.codes[change.stream]
        if stream.max_delay_us > known.declared.max_delay_us:
            codes.areas.hold(code, codes.on_time().since_us(code))
        codes.declare(known.declared_otherwise(stream, change.version))
        self.declared_anew = True


def _read(record: InputRecord, most_bytes: int) -> StreamRecord:
    value = record.value or b""
    if len(value) > most_bytes:
        raise ControlError("unusable_stream", f"the record has {len(value)} bytes: at most {most_bytes}")
    try:
        return stream_record(record.key, value)
    except StreamRecordError as error:
        raise ControlError("unusable_stream", str(error)) from None
