"""The answer as the live job gave it: the fusion core over the frames of the topic, in the order of their offsets.

The order within a partition, and where in it each change of a query took effect, is all that an answer depends on. So
the records are those of the live job, id by id, if the replay begins where the topic begins, or so far back that
nothing before it was still needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from msgspec import Raw, Struct, json

from coincide import Stream
from coincide.errors import QueryError
from coincide.fusion.batches.activations import is_change
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord, Output
from coincide.queries import AnyQuery, query_from_json
from coincide.wire.declarations.stream_records import StreamRecord, StreamRecordError, is_stream_key, stream_record
from coincide.wire.fields import UNREADABLE, Microseconds
from services.common.log.faults import LogError
from services.common.settings import Streams
from services.history.replaying.request import AnyRequest, RunError
from services.history.rows.topic_records import Offsets, TopicRecord, TopicRecords, Topics


@dataclass(frozen=True)
class QueryChangeAt:
    """A record of the queries topic, and the offsets of the detections before which it took effect."""

    record: InputRecord
    offsets: Offsets


def in_force_from(query: AnyQuery, offsets: Offsets) -> QueryChangeAt:
    """Return the change that lets a query be in force from these offsets on, as its first version."""
    content = {"v": 1, "id": query.id, "version": 1, "changed_at_us": 0, "query": query.to_json()}
    return QueryChangeAt(InputRecord("queries", 0, 0, query.id.encode(), json.encode(content)), offsets)


def replayed(
    core: FusionCore,
    frames: TopicRecords,
    changes: Sequence[QueryChangeAt],
    starts: Offsets,
    ends: Offsets,
    check: Callable[[], None],
) -> Iterator[tuple[Output, int]]:
    """Yield what the core says of each chunk of frames, and how many records it had.

    The core has no clock, so that no query is suspended because this machine is slow.
    """
    at = dict(starts)
    for change in changes:
        until = {number: min(max(at[number], change.offsets.get(number, at[number])), ends[number]) for number in at}
        yield from _pushed(core, frames, at, until, check)
        yield core.push([change.record]), 0
        at = until
    yield from _pushed(core, frames, at, ends, check)


def _pushed(
    core: FusionCore, frames: TopicRecords, starts: Offsets, ends: Offsets, check: Callable[[], None]
) -> Iterator[tuple[Output, int]]:
    for chunk in frames.chunks(starts, ends, check):
        yield core.push([InputRecord("detections", *record) for record in chunk]), len(chunk)


@dataclass(frozen=True)
class Replay:
    """A replay up to some offsets, which may go on beyond them: what it tells of a match may come long after it."""

    core: FusionCore
    frames: TopicRecords
    starts: Offsets
    ends: Offsets
    newest: Offsets  # where the topic ends
    before: Sequence[QueryChangeAt]
    after: Sequence[QueryChangeAt]

    @classmethod
    def of(
        cls,
        core: FusionCore,
        frames: TopicRecords,
        changes: Sequence[QueryChangeAt],
        starts: Offsets,
        ends: Offsets,
    ) -> Replay:
        """Return the replay; its ends are moved on where a change takes effect beyond some of them, but not all."""
        newest, at = frames.end_offsets(), dict(starts)
        for nth, change in enumerate(changes):
            at = {number: min(max(at[number], change.offsets.get(number, 0)), newest[number]) for number in at}
            if all(at[number] >= end for number, end in ends.items()) and at != ends:
                return cls(core, frames, starts, ends, newest, changes[:nth], changes[nth:])
            ends = {number: max(end, at[number]) for number, end in ends.items()}
        return cls(core, frames, starts, ends, newest, changes, [])

    def outputs(self, check: Callable[[], None]) -> Iterator[tuple[Output, int]]:
        """Yield what the core says up to the ends, and of how many records; see `replayed`."""
        return replayed(self.core, self.frames, self.before, self.starts, self.ends, check)

    def outputs_beyond(self, check: Callable[[], None]) -> Iterator[Output]:
        """Yield what it says after that, up to where the topic ends."""
        for output, _ in replayed(self.core, self.frames, self.after, self.ends, self.newest, check):
            yield output


@dataclass(frozen=True)
class VersionedQuery:
    """The newest version of a query, and its changes in order; `offsets` are None where the job has not told them."""

    query: AnyQuery
    changes: list[tuple[InputRecord, int, dict[int, int] | None]]  # with the time that the change itself names

    def placed(self, frames: TopicRecords) -> list[QueryChangeAt]:
        """Return the changes where they took effect; where nobody told that, by their time."""
        return [
            QueryChangeAt(record, frames.offsets_at(changed_us) if offsets is None else offsets)
            for record, changed_us, offsets in self.changes
        ]


def read_history(id_: str, queries: TopicRecords, activations: TopicRecords) -> VersionedQuery | None:
    """Return the history of a query and of all streams, as far back as the topics go; None if they know no such query.

    Streams change among the versions of the query, and its answers with them.
    """
    own = id_.encode()
    values = {each.offset: (each.key, each.value) for each in queries.all(_go_on) if _is_of(own, each)}
    told: dict[int, dict[int, int]] = {}
    for each in activations.all(_go_on):
        activation = _activation_in(each) if _is_of(own, each) else None
        if activation is not None:
            values.setdefault(activation.control_offset, (each.key, bytes(activation.change)))
            told.setdefault(activation.control_offset, {}).update(activation.offsets)
    changes = [(InputRecord("queries", 0, offset, *values[offset]), told.get(offset)) for offset in sorted(values)]
    contents = [_content(record) for record, _ in changes]
    query = _newest([bytes(content.query) for content in contents])
    placed = [
        (record, content.changed_at_us or 0, offsets)
        for (record, offsets), content in zip(changes, contents, strict=True)
    ]
    return None if query is None else VersionedQuery(query, placed)


def _is_of(own: bytes, record: TopicRecord) -> bool:
    return record.value is not None and (record.key == own or is_stream_key(record.key))


def present_streams(file: Streams, topics: Topics) -> Streams:
    """Return the streams of the running system: those of the file, and what records have changed."""
    declared: dict[str, Stream] = dict(file)
    newest: dict[str, StreamRecord] = {}
    with topics("queries") as queries:
        for each in queries.all(_go_on):
            if is_stream_key(each.key) and each.value is not None:
                with suppress(StreamRecordError):
                    change = stream_record(each.key, each.value)
                    newest[change.stream] = change
    for name, change in newest.items():
        declared.pop(name, None)
        if not change.removed:
            declared[name] = change.declared()
    return declared


def streams_of(request: AnyRequest, file: Streams, topics: Topics) -> Streams:
    """Return `present_streams` for a run; one that reads an archive does without a log that cannot be asked."""
    try:
        return present_streams(file, topics)
    except LogError:
        if request.source == "topic":
            raise
        return file


def query_history(id_: str, topics: Topics) -> VersionedQuery | None:
    """Return the history of a query of the running system."""
    with topics("queries") as queries, topics("activations") as activations:
        return read_history(id_, queries, activations)


class _Activation(Struct):
    """What of an `ActivationRecord` is needed."""

    control_offset: int
    offsets: dict[int, int]
    change: Raw


class _Content(Struct):
    """What of a change is needed: when it was made, and of a query the document."""

    changed_at_us: Microseconds | None = None
    query: Raw = Raw()


_activation_decoder = json.Decoder(_Activation)
_content_decoder = json.Decoder(_Content)


def _activation_in(record: TopicRecord) -> _Activation | None:
    """Return what a record of the activations says; None where that is nothing."""
    try:
        told = _activation_decoder.decode(record.value or b"")
    except UNREADABLE:
        return None
    change = InputRecord("queries", 0, told.control_offset, record.key, bytes(told.change))
    return told if is_change(change) else None


def _content(record: InputRecord) -> _Content:
    try:
        return _content_decoder.decode(record.value or b"{}")
    except UNREADABLE:
        return _Content()


def _newest(documents: Sequence[bytes]) -> AnyQuery | None:
    """Return the newest query that can be read, as the live job does; None if there is no document.

    A RunError says why none of them can be read.
    """
    fault: Exception | None = None
    for document in filter(None, reversed(documents)):
        try:
            return query_from_json(json.decode(document))
        except (QueryError, *UNREADABLE) as error:
            fault = fault or error
    if fault is not None:
        raise RunError(f"the query cannot be read: {fault}")
    return None


def _go_on() -> None:
    """Read to the end."""
