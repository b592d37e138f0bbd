"""Changing one stream: checked, given a version, written to the queries topic, and answered once ingest goes by it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from coincide import Stream
from coincide.errors import StreamError
from coincide.wire.stream_records import StreamRecord
from services.common.access.audit import AuditTrail
from services.common.access.caller import Caller
from services.common.http.preconditions import Precondition, merge_patch
from services.common.http.problem import Problem
from services.common.http.strict_requests import document_as
from services.common.instants import Clock
from services.ingest.kafka.publisher import KafkaPublisher
from services.ingest.registry.snapshot import Registry
from services.ingest.registry.versioned_records import VersionedRecords, try_again

QUERIES = "queries"
MOST_STREAMS = 256  # as fusion has it: removed ones count, too

StreamEdit = Callable[[Stream | None], Stream | None]
"""From what a stream is to what it shall be; None: it is not, or shall not be."""


class StreamDocument(Struct, frozen=True, forbid_unknown_fields=True):
    """A stream as somebody writes it, as in config/streams.yaml."""

    max_delay_s: float = 120.0
    longest_template_s: float = 300.0
    name: str | None = None


@dataclass
class StreamChanges:
    """The one way in which ingest changes streams, one change at a time."""

    registry: Registry
    publisher: KafkaPublisher
    audit: AuditTrail
    clock_us: Clock
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._records = VersionedRecords(self.publisher, QUERIES)

    async def make(self, name: str, edit: StreamEdit, precondition: Precondition, who: Caller) -> bool:
        """Change a stream; return whether it was created. An edit that changes nothing makes no new version.

        Fusion applies it before any detection that is posted after this has returned. Raises `Problem`: 404, 409, 412,
        422 or 428 and nothing was changed; 503 when Kafka did not acknowledge in time, and then the change may still
        take effect.
        """
        async with self._one_at_a_time:
            streams = self.registry.streams
            if not self.registry.caught_up:
                raise try_again("the streams and sensors have not been read yet")
            present = streams.get(name)
            wanted = edit(present)
            precondition.check(None if present is None else streams.version(name), "stream")
            if wanted == present:
                return False
            self._refuse_impossible(name, present, wanted)
            record = self._record(name, wanted, who)
            await self._records.write(record.key, record.to_record(), lambda: streams.version(name) >= record.version)
            await asyncio.to_thread(self.audit.note, who, *_audited(name, present, wanted))
            return present is None

    def _refuse_impossible(self, name: str, present: Stream | None, wanted: Stream | None) -> None:
        streams = self.registry.streams
        if present is None and len(streams) >= MOST_STREAMS:
            raise Problem(409, f"there are {len(streams)} streams, the most allowed; remove one first")
        if wanted is not None:
            return
        if readers := streams.readers(name):
            raise Problem(409, f"query {readers[0]!r} reads the stream {name!r}: remove the query first")
        if count := self.registry.reporting()[name]:
            raise Problem(409, f"{count} sensors report the stream {name!r}: change or remove them first")

    def _record(self, name: str, wanted: Stream | None, who: Caller) -> StreamRecord:
        return StreamRecord(
            v=1,
            stream=name,
            version=self._records.next_version(name, self.registry.streams.version(name)),
            changed_at_us=self.clock_us(),
            changed_by=who.key,
            removed=wanted is None,
            max_delay_s=None if wanted is None else wanted.max_delay_s,
            longest_template_s=None if wanted is None else wanted.longest_template_s,
        )


def removed(present: Stream | None) -> None:
    """Remove the stream; a `StreamEdit`."""
    if present is None:
        raise Problem(404, "there is no such stream")


def replaced(name: str, document: object) -> StreamEdit:
    """Return the edit that makes a stream what a document says; a `Problem`, 422, says what is wrong with it."""
    return lambda _: _stream_in(name, document)


def merged(name: str, patch: object) -> StreamEdit:
    """Return the edit that applies a merge patch to a stream."""

    def edit(present: Stream | None) -> Stream:
        if present is None:
            raise Problem(404, f"no stream {name[:100]!r} is declared")
        return _stream_in(name, merge_patch(_document(present), patch))

    return edit


def _stream_in(name: str, document: object) -> Stream:
    declared = document_as(StreamDocument, document, "stream")
    if declared.name not in {None, name}:
        raise Problem(422, f"name is {declared.name!r}: the path says {name!r}")
    try:
        return Stream(name, declared.max_delay_s, declared.longest_template_s)
    except StreamError as error:
        raise Problem(422, f"the stream is not usable: {error}") from None


def _document(stream: Stream) -> dict[str, Any]:
    return {"max_delay_s": stream.max_delay_s, "longest_template_s": stream.longest_template_s}


def _audited(name: str, before: Stream | None, after: Stream | None) -> tuple[str, str, Any, Any]:
    kind = "created" if before is None else "removed" if after is None else "changed"
    return f"stream.{kind}", name, before and _document(before), after and _document(after)
