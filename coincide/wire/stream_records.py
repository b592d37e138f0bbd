"""Records that declare streams, on the topic of the queries: so a stream and the queries that read it have one order.

The topic is compacted, and a stream's key has a mark that no query's id has. What no record declares is as the file of
streams says.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from coincide import Stream
from coincide.errors import StreamError
from coincide.wire.fields import Microseconds

KEY_PREFIX = b"stream/"


class StreamRecordError(ValueError):
    """A record that declares no stream; the message says why."""


class StreamRecord(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A new version of a stream, or its removal, which keeps the version."""

    v: Literal[1]
    stream: Annotated[str, Meta(min_length=1, max_length=100)]
    version: Annotated[int, Meta(ge=1, le=2**53)]
    changed_at_us: Microseconds | None = None
    changed_by: str | None = None
    removed: bool = False
    max_delay_s: float | None = None
    longest_template_s: float | None = None

    @property
    def key(self) -> bytes:
        """The record's key."""
        return KEY_PREFIX + self.stream.encode()

    def to_record(self) -> bytes:
        """Return the record's value."""
        return b'{"v":1,' + msgspec.json.encode(self)[1:].replace(b'"v":1,', b"", 1)

    def declared(self) -> Stream:
        """Return the stream; StreamRecordError if it is no usable one."""
        if self.max_delay_s is None or self.longest_template_s is None:
            raise StreamRecordError("max_delay_s and longest_template_s are needed where removed is not true")
        try:
            return Stream(self.stream, self.max_delay_s, self.longest_template_s)
        except StreamError as error:
            raise StreamRecordError(str(error)) from None


def is_stream_key(key: bytes | None) -> bool:
    """Whether a record of the queries topic with this key is about a stream."""
    return key is not None and key.startswith(KEY_PREFIX)


def stream_record(key: bytes | None, value: bytes) -> StreamRecord:
    """Read a record; a StreamRecordError says what is wrong with it."""
    try:
        record = _decoder.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StreamRecordError(f"no stream record: {error}") from None
    if key != record.key:
        raise StreamRecordError(f"the key is {(key or b'')[:200]!r}: it must be {record.key!r}")
    if not record.removed:
        record.declared()
    return record


_decoder = msgspec.json.Decoder(StreamRecord)
