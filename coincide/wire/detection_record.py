"""Records of coincide.detections: frames, which hold the detections of one POST in columns, and heartbeats."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from coincide.wire.fields import MOST_DETECTIONS, Microseconds, Name, frame_column
from coincide.wire.payload import PayloadColumns
from coincide.wire.place_field import PlaceForm

FRAME_VERSION: Literal[2] = 2

FrameVersion = Annotated[Literal[2], Meta(description="Version of this format.")]
Position = Annotated[int, Meta(ge=0, lt=2**31)]

_TEMPLATE_ID = {
    "type": "string",
    "pattern": "^t-[0-9a-f]{16}$",
    "description": "Hash of the histogram's content.",
}


class Stamp(Struct, frozen=True, gc=False):
    """What the detections of one sensor and stream share.

    A detection whose uncertainty was posted with it has a template of its own, and so another stamp. So has one of a
    sensor that moves, with another place.
    """

    sensor: Annotated[Name, Meta(description="Id of the sensor.")]
    stream: Annotated[Name, Meta(description="A declared stream.")]
    template: Annotated[Name, Meta(extra_json_schema=_TEMPLATE_ID)]
    place: Annotated[
        PlaceForm | UnsetType, Meta(description="Where the sensor was; absent where that is not known.")
    ] = UNSET


class DetectionColumns(PayloadColumns):
    """Detections, a column for each of their members.

    All columns have one length; the entries at one position are one detection.
    """

    stamp: Annotated[list[Position], frame_column('Positions in "stamps".')]
    detected_at_us: Annotated[
        list[Microseconds], frame_column("When the sensor says it happened, microseconds since the epoch, UTC.")
    ]
    id: Annotated[
        list[Name],
        frame_column('The detection\'s own id, or "h-" and a hash of its content. Unique with the sensor.'),
    ]


class FrameHead(Struct):
    """The members of a frame that all its detections share; templates and stamps are read apart, and remembered."""

    v: FrameVersion
    area: Annotated[Name, Meta(description="What may be joined with what; also the record's key.")]
    received_at_us: Annotated[
        Microseconds, Meta(description="When ingest received the POST, microseconds since the epoch, UTC.")
    ]
    templates: Annotated[
        Raw,
        Meta(
            description="Histograms by id.",
            extra_json_schema={
                "type": "object",
                "propertyNames": _TEMPLATE_ID,
                "additionalProperties": {"$ref": "histogram.schema.json"},
                "minProperties": 1,
            },
        ),
    ]
    stamps: Annotated[
        Raw,
        Meta(
            description='What detections share; the column "stamp" holds positions in this list.',
            extra_json_schema={
                "type": "array",
                "items": {"$ref": "#/$defs/Stamp"},
                "minItems": 1,
                "maxItems": MOST_DETECTIONS,
            },
        ),
    ]


class FrameRecord(FrameHead):
    """Detections of one POST that share an area. Every template and every stamp is used by some detection."""

    detections: DetectionColumns


class HeartbeatRecord(Struct, forbid_unknown_fields=True):
    """Tells one partition how far time has come; ingest writes one to each partition every few seconds. No key."""

    v: FrameVersion
    heartbeat: Annotated[
        bool, Meta(description="Tells it from a frame with detections.", extra_json_schema={"const": True})
    ]
    received_at_us: Annotated[
        Microseconds, Meta(description="When ingest wrote it, microseconds since the epoch, UTC.")
    ]
