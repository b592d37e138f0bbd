"""Records of coincide.status that are of a rebuild of fusion, and of no shard."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, json

from coincide.wire.fields import Count, FormatVersion, Int64, Name

#: So begin the keys of these records.
KEY_PREFIX = "rebuild/"

State = Literal["asked", "running", "failed", "done"]


class RebuildRecord(Struct, kw_only=True, frozen=True):
    """A rebuild of the fusion job.

    Alerting writes one that is asked for over REST; fusion writes it anew when it begins, while it runs, and at its
    end. Key: rebuild/<id>. A null value forgets an old one.
    """

    v: FormatVersion = 1
    id: Annotated[Name, Meta(description="Its id.", extra_json_schema={"pattern": "^b-[0-9a-f]{32}$"})]
    state: Annotated[
        State,
        Meta(
            description="asked: fusion has not begun. failed: fusion waits for a person. done: all records that were "
            "there when it began are read, and their answers written."
        ),
    ]
    asked_at_us: Annotated[
        Int64 | None,
        Meta(
            description="When it was asked for, microseconds since the epoch, UTC; null where nobody asked over REST."
        ),
    ] = None
    by: Annotated[str | None, Meta(description="The name of the key that asked.")] = None
    why: Annotated[str | None, Meta(description="Why.")] = None
    began_at_us: Annotated[
        Int64 | None, Meta(description="When fusion began anew, microseconds since the epoch, UTC.")
    ] = None
    told_at_us: Annotated[
        Int64 | None, Meta(description="When fusion wrote this, microseconds since the epoch, UTC.")
    ] = None
    records: Annotated[Count, Meta(description="Records of coincide.detections that were there when it began.")] = 0
    read: Annotated[Count, Meta(description="How many of them are read, and their answers written.")] = 0
    ends: Annotated[
        dict[str, Count],
        Meta(description="The offset before which it is to read, by partition of coincide.detections."),
    ] = {}
    failure: Annotated[str | None, Meta(description="What a person must put right first; null unless it failed.")] = (
        None
    )

    @property
    def key(self) -> bytes:
        """The record's key."""
        return (KEY_PREFIX + self.id).encode()


decode_rebuild = json.Decoder(RebuildRecord).decode
