"""Records of coincide.dead-letters: what could not be used, and why."""

from collections.abc import Mapping
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta, Raw, Struct

from coincide.wire.content_ids import content_id
from coincide.wire.fields import NULL, UNREADABLE, FormatVersion, Int64, Name, Word
from coincide.wire.output_record import OutputRecord, keyed

LONGEST_RECORD_TEXT = 2048  # characters of a record that is no JSON object


Source = Literal["ingest", "fusion"]


class DeadLetter(Struct, frozen=True, kw_only=True):
    """What could not be used, and why. Key: the area, or empty. What is not known is null."""

    v: FormatVersion = 1
    dead_id: Annotated[
        Name,
        Meta(
            description="Hash of the content: the same letter written twice has one id.",
            extra_json_schema={"pattern": "^d-[0-9a-f]{32}$"},
        ),
    ] = ""
    source: Annotated[Name, Meta(description="Who refused it.", extra_json_schema={"enum": list(get_args(Source))})] = (
        "fusion"
    )
    reason: Annotated[
        Name,
        Meta(description="A reason code of docs/reference/rest.md.", extra_json_schema={"pattern": "^[a-z0-9_]+$"}),
    ]
    detail: Annotated[str, Meta(description="One sentence for a person.", extra_json_schema={"minLength": 1})]
    received_at_us: Annotated[
        Int64 | None, Meta(description="When ingest received it, microseconds since the epoch, UTC.")
    ] = None
    area: Word | None = None
    stream: Word | None = None
    sensor: Word | None = None
    id: Word | None = None
    late_by_us: Annotated[
        Int64 | None, Meta(description="How late, in microseconds; only where the reason is late.")
    ] = None
    record: Annotated[
        Raw,
        Meta(
            description="The offending JSON value, or its beginning as a text.",
            extra_json_schema={
                "anyOf": [
                    {"type": "object"},
                    {"type": "array"},
                    {"type": "string", "maxLength": LONGEST_RECORD_TEXT},
                    {"type": ["number", "boolean", "null"]},
                ]
            },
        ),
    ]

    def to_record(self) -> OutputRecord:
        """Return the record to write; a letter that has no id gets that which its content makes."""
        dead_id = self.dead_id or content_id("d", self)
        return keyed(self.area or "", msgspec.structs.replace(self, dead_id=dead_id))


#: What JSON Schema says of a dead letter beyond its fields.
DEAD_LETTER_RULES: Mapping[str, object] = {
    "if": {"properties": {"reason": {"const": "late"}}},
    "then": {"properties": {"late_by_us": {"type": "integer", "minimum": 1}}},
}


def as_record(value: bytes | None) -> Raw:
    """Return `value` itself if it is a JSON object of moderate size, else the beginning of its text, as JSON."""
    if value is None:
        return NULL
    if len(value) <= LONGEST_RECORD_TEXT:
        try:
            msgspec.json.decode(value, type=dict[str, object])
        except UNREADABLE:
            pass
        else:
            return Raw(value)
    return Raw(msgspec.json.encode(value[:LONGEST_RECORD_TEXT].decode("utf-8", "replace")))
