"""Records of coincide.activations and coincide.deferrals: how far a shard had come, to go on or to replay."""

from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from coincide.wire.fields import Count, FormatVersion
from coincide.wire.output_record import OutputRecord

Shard = Annotated[Count, Meta(description="Number of the shard.")]


class ActivationRecord(Struct, kw_only=True):
    """A change of a query or a stream, and the detections before which a shard of the fusion job applied it.

    A replay applies it at the same place. Key: that of the change.
    """

    v: FormatVersion = 1
    shard: Shard
    control_offset: Annotated[Count, Meta(description="Offset of the change on coincide.queries.")]
    offsets: Annotated[
        dict[str, Count],
        Meta(
            description="By partition of coincide.detections: the offset of the first detections that the change holds "
            "for. A partition of which the shard has seen nothing is not there."
        ),
    ]
    change: Annotated[Raw, Meta(extra_json_schema={"$ref": "queries.schema.json"})]


class DeferralRecord(Struct, kw_only=True):
    """What one micro-batch of a shard of the fusion job left to the next one.

    Fusion writes it to go on at once. Key: shard-<n>.
    """

    v: FormatVersion = 1
    shard: Shard
    records: Annotated[int, Meta(ge=1, description="Records of coincide.detections that wait in the shard's state.")]
    bytes: Annotated[Count, Meta(description="Bytes of their values.")]

    def to_record(self) -> OutputRecord:
        """Return the record to write."""
        return OutputRecord(f"shard-{self.shard}".encode(), msgspec.json.encode(self))
