"""Payloads: what a detection carries beside its stamp, its time and its id; results show it, and queries may read it.

From a frame to a result a payload is bytes that nobody between looks into: the JSON of the attributes. Whoever adds a
field to it says here how it stands in the columns of a frame and in what results show, how it is packed, and how read.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, json

from coincide.queries.fields.checks import attribute_name
from coincide.wire.fields import UNREADABLE, JsonObject, Scalar, frame_column, is_readable, shown

NO_PAYLOAD = b"{}"
OBJECT_BEGINS = ord("{")
SHORTEST_HUGE = 309  # digits of a number beyond 64-bit floats that has no exponent
SHORT_TEXT = 1_024  # bytes that a regular expression searches faster than numpy does
_EXPONENT = re.compile(rb"[0-9][eE]")
_first_byte = itemgetter(0)
AN_OBJECT = "a JSON object, and its numbers must fit 64 bits"


class PayloadColumns(Struct, kw_only=True):
    """The payloads of a frame, a column for each of their fields."""

    attributes: Annotated[
        list[JsonObject] | UnsetType,
        frame_column(
            "Anything the gateway wants passed on, at most 1 KiB each; {} for none. Left out if no detection of the "
            "frame has any."
        ),
    ] = UNSET


class ShownPayload(Struct, frozen=True, gc=False, kw_only=True):
    """A payload as members of results show it."""

    attributes: Annotated[JsonObject, Meta(description="As they were reported with the detection.")]


class RawPayload(NamedTuple):
    """The payload of one row of a frame, each value as it was written."""

    attributes: Raw

    def fault(self, most_bytes: int) -> str:
        """Return what is wrong with it, the first thing; "" if nothing is. Attributes have so many bytes at most."""
        if len(bytes(self.attributes)) > most_bytes:
            return f"attributes have {len(bytes(self.attributes))} bytes: at most {most_bytes}"
        if not is_readable(_object_decoder, self.attributes):
            return f"attributes are {shown(self.attributes)}: they must be {AN_OBJECT}"
        return ""

    def packed(self) -> bytes:
        """Return one without a fault as rows have it."""
        return bytes(self.attributes)


class RawPayloadColumns(Struct, kw_only=True):
    """Payloads of which some value may be unusable."""

    attributes: list[Raw] | UnsetType = UNSET

    def by_row(self, rows: int) -> list[RawPayload]:
        """Return the payload of each of so many rows."""
        attributes = [Raw(NO_PAYLOAD)] * rows if self.attributes is UNSET else self.attributes
        return [*map(RawPayload, attributes)]


def packed(columns: PayloadColumns, rows: int, most_bytes: int) -> list[bytes] | None:
    """Return the payloads of so many rows; None if some cannot be used. Attributes have so many bytes at most."""
    if columns.attributes is UNSET:
        return [NO_PAYLOAD] * rows
    attributes = list(map(bytes, columns.attributes))
    return attributes if _are_usable(attributes, most_bytes) else None


def frame_columns(payloads: Sequence[bytes]) -> dict[str, list[Raw]]:
    """Return the `PayloadColumns` of these payloads, by name."""
    return {} if payloads.count(NO_PAYLOAD) == len(payloads) else {"attributes": [*map(Raw, payloads)]}


def payload_json(payload: bytes) -> dict[str, Any]:
    """Return the fields of a `ShownPayload`."""
    return {"attributes": Raw(payload)}


def payload_of(shown_payload: ShownPayload) -> bytes:
    """Return what is shown as rows have it."""
    return bytes(shown_payload.attributes)


def attributes_of(payload: bytes) -> Mapping[str, Raw]:
    """Return the attributes in a payload by name, each as it was written."""
    return {} if payload == NO_PAYLOAD else _decoder.decode(payload)


def attribute(attributes: Mapping[str, Raw], name: str) -> Any:
    """Return an attribute, named with or without "attributes."; None where there is none, or a number that is none."""
    value = attributes.get(attribute_name(name))
    try:
        return None if value is None else json.decode(value)
    except UNREADABLE:
        return None


def reader(payload: bytes) -> Callable[[str], Any]:
    """Return what tells the value of what a query names, as `attribute` does."""
    return partial(attribute, attributes_of(payload))


def as_read(value: Scalar) -> Scalar:
    """Return a whole number as an int, so that 7 and 7.0 are written alike."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_decoder = json.Decoder(dict[str, Raw])
_object_decoder = json.Decoder(dict[str, object])
_objects_decoder = json.Decoder(list[dict[str, object]])


def _are_usable(column: Sequence[bytes], most_bytes: int) -> bool:
    """Whether all of a column, each valid JSON, are objects of at most so many bytes whose numbers fit 64 bits."""
    longest = max(map(len, column), default=0)
    if longest > most_bytes or not set(map(_first_byte, column)) <= {OBJECT_BEGINS}:
        return False
    return (longest < SHORTEST_HUGE and not _may_have_exponents(b"".join(column))) or _have_numbers_that_fit(column)


def _may_have_exponents(text: bytes) -> bool:
    """Whether a digit is followed by an e, in a number or in a string."""
    if len(text) <= SHORT_TEXT:
        return _EXPONENT.search(text) is not None
    of_bytes = np.frombuffer(text, np.uint8)
    is_e = (of_bytes[1:] | 0x20) == ord("e")
    return bool((is_e & (of_bytes[:-1] - np.uint8(ord("0")) < 10)).any())


def _have_numbers_that_fit(column: Sequence[bytes]) -> bool:
    try:
        _objects_decoder.decode(b"[%s]" % b",".join(column))
    except UNREADABLE:
        return False
    return True
