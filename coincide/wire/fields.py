"""Fields of records: what each kind of them may be, what an unreadable one raises, and how a letter shows it."""

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Raw, UnsetType, json

from coincide.arrays.instants import EARLIEST_TIME_US, LATEST_TIME_US

LONGEST_NAME = 200
Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]

#: A time in a record, from 1898 to 2112: what computes with it and what stores it cannot overflow.
Microseconds = Annotated[int, Meta(ge=EARLIEST_TIME_US, le=LATEST_TIME_US)]

INT64_MAX = 2**63 - 1
#: A time that was computed, or told by somebody: it may lie outside these years.
Int64 = Annotated[int, Meta(ge=-(2**63), le=INT64_MAX)]
Count = Annotated[int, Meta(ge=0, le=INT64_MAX)]
Version = Annotated[int, Meta(ge=1, le=INT64_MAX)]
Probability = Annotated[float, Meta(ge=0, le=1)]
#: A text that names something, or says that it is not known.
Word = Annotated[str, Meta(max_length=LONGEST_NAME)]
NotNegative = Annotated[float, Meta(ge=0)]

#: What a query may read of a detection's attributes.
Scalar = str | int | float | bool
JsonObject = Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
IN_UTC = "Microseconds since the epoch, UTC."
MOST_DETECTIONS = 500  # of a frame that ingest writes
FormatVersion = Annotated[Literal[1], Meta(description="Version of this format.")]

Field = TypeVar("Field")


def or_none(field: Field | UnsetType) -> Field | None:
    """Return a field that a record may leave out; None where it does."""
    return None if isinstance(field, UnsetType) else field


def frame_column(said: str | None = None) -> Any:
    """Return what is said of a column of a frame."""
    return Meta(description=said, extra_json_schema={"minItems": 1, "maxItems": MOST_DETECTIONS})


UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
NULL = Raw(b"null")
LONGEST_SHOWN = 80


class FrameError(ValueError):
    """A record of which no row can be used."""


def shown(value: Raw) -> str:
    """Return the beginning of a piece of JSON, for a letter."""
    content = bytes(value)
    text = content[:LONGEST_SHOWN].decode("utf-8", "replace")
    return text if len(content) <= LONGEST_SHOWN else f"{text}..."


def is_readable(decoder: json.Decoder[Any], value: Raw) -> bool:
    """Whether a piece of JSON is what the decoder reads."""
    try:
        decoder.decode(value)
    except UNREADABLE:
        return False
    return True
