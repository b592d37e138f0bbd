"""Streams as what people change: what a document declares, what is refused, and the record on the queries topic."""

from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from coincide import Stream
from coincide.errors import StreamError
from coincide.wire.declarations.stream_records import StreamRecord
from coincide.wire.last_change import LastChange
from services.common.http.problem import Problem
from services.common.http.strict_requests import document_as
from services.common.resources.resource import Resource, action, at_hand
from services.ingest.registry.snapshot import Registry

QUERIES = "queries"
MOST_STREAMS = 256  # as fusion has it: removed ones count, too


class StreamDocument(Struct, frozen=True, forbid_unknown_fields=True):
    """A stream as somebody writes it, as in config/streams.yaml."""

    max_delay_s: float = 120.0
    longest_template_s: float = 300.0
    echo_s: float | None = None
    name: str | None = None


def stream_resource(registry: Registry) -> Resource[Stream]:
    """Return what streams are: fusion applies a change before any detection that is posted once it was made."""
    streams = registry.streams

    def record(name: str, wanted: Stream | None, change: LastChange) -> tuple[bytes, bytes]:
        declared = {} if wanted is None else stream_document(wanted)
        made = StreamRecord(v=1, stream=name, removed=wanted is None, **asdict(change), **declared)
        return made.key, made.to_record()

    return Resource(
        noun="stream",
        topic=QUERIES,
        not_ready_because=registry.unread,
        present=at_hand(streams.get),
        version=lambda name, _: streams.version(name),
        read=lambda name, document, _: _stream_in(name, document),
        document=stream_document,
        refuse=lambda name, present, wanted: _refuse_impossible(registry, name, present, wanted),
        record=record,
        audited=_audited,
    )


def _refuse_impossible(registry: Registry, name: str, present: Stream | None, wanted: Stream | None) -> None:
    streams = registry.streams
    if present is None and len(streams) >= MOST_STREAMS:
        raise Problem(409, f"there are {len(streams)} streams, the most allowed; remove one first")
    if wanted is not None:
        return
    if readers := streams.readers(name):
        raise Problem(409, f"query {readers[0]!r} reads the stream {name!r}: remove the query first")
    if count := registry.reporting()[name]:
        raise Problem(409, f"{count} sensors report the stream {name!r}: change or remove them first")


def _stream_in(name: str, document: object) -> Stream:
    declared = document_as(StreamDocument, document, "stream")
    if declared.name not in {None, name}:
        raise Problem(422, f"name is {declared.name!r}: the path says {name!r}")
    try:
        return Stream(name, declared.max_delay_s, declared.longest_template_s, echo_s=declared.echo_s)
    except StreamError as error:
        raise Problem(422, f"the stream is not usable: {error}") from None


def stream_document(stream: Stream) -> dict[str, Any]:
    """Return what is declared of a stream, as somebody writes it."""
    times = {"max_delay_s": stream.max_delay_s, "longest_template_s": stream.longest_template_s}
    return times if stream.echo_s is None else {**times, "echo_s": stream.echo_s}


def _audited(name: str, before: Stream | None, after: Stream | None) -> tuple[str, str, Any, Any]:
    return f"stream.{action(before, after)}", name, before and stream_document(before), after and stream_document(after)
