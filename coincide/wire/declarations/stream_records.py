"""Records that declare streams, on the topic of the queries: so a stream and the queries that read it have one order.

The topic is compacted, and a stream's key has a mark that no query's id has. What no record declares is as the file of
streams says.
"""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from coincide import Stream
from coincide.errors import StreamError
from coincide.stream import LONGEST_NAME
from coincide.wire.fields import FormatVersion, Microseconds, Version

KEY_PREFIX = b"stream/"


_NOT_NEGATIVE = {"minimum": 0}  # a `Stream` says so to who declares one


class StreamRecordError(ValueError):
    """A record that declares no stream; the message says why."""


class StreamRecord(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A new version of a stream, or its removal, which keeps the version."""

    v: FormatVersion
    stream: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, description="The stream's name.")]
    version: Version
    changed_at_us: Annotated[Microseconds | None, Meta(description="When the change was accepted.")] = None
    changed_by: Annotated[
        str | None, Meta(description="The key of who changed it; left out where no keys are needed.")
    ] = None
    removed: Annotated[bool, Meta(description="True: there is no such stream from now on.")] = False
    max_delay_s: Annotated[
        float | None,
        Meta(
            description="How late a detection may come, behind its area, and still be compared.",
            extra_json_schema=_NOT_NEGATIVE,
        ),
    ] = None
    longest_template_s: Annotated[
        float | None,
        Meta(description="The longest template that a sensor of the stream may have.", extra_json_schema=_NOT_NEGATIVE),
    ] = None
    echo_s: Annotated[
        float | None,
        Meta(
            description="A report at most so long after another one of its sensor is an echo, and is not joined; left "
            "out: nothing is an echo.",
            extra_json_schema=_NOT_NEGATIVE,
        ),
    ] = None

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
            return Stream(self.stream, self.max_delay_s, self.longest_template_s, echo_s=self.echo_s)
        except StreamError as error:
            raise StreamRecordError(str(error)) from None


#: What JSON Schema says of a record of a stream beyond its fields.
STREAM_RULES: Mapping[str, object] = {
    "oneOf": [
        {"required": ["max_delay_s", "longest_template_s"], "properties": {"removed": {"const": False}}},
        {
            "required": ["removed"],
            "properties": {
                "removed": {"const": True},
                "max_delay_s": False,
                "longest_template_s": False,
                "echo_s": False,
            },
        },
    ]
}


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
