"""Columns of which some element cannot be used, judged element by element: its row is refused alone."""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from msgspec import UNSET, Meta, Raw, json

from coincide.arrays.instants import EARLIEST_TIME_US, LATEST_TIME_US
from coincide.fusion.control.limits import Limits
from coincide.wire.detection_record import Stamp
from coincide.wire.fields import LONGEST_NAME, NULL, Microseconds, Name, is_readable, shown
from coincide.wire.payload import NO_PAYLOAD, RawPayload, payload_json
from coincide.wire.results.dead_letter import LONGEST_RECORD_TEXT, DeadLetter

A_TIME = f"a whole number from {EARLIEST_TIME_US} to {LATEST_TIME_US}"
A_NAME = f"a string of 1 to {LONGEST_NAME} characters"

ShownRow = tuple[Raw, Raw, Mapping[str, Raw]]
"""The id, the time and the payload of a row as a letter shows them."""


class Element(NamedTuple):
    """One row of the columns of a frame, each value as it was written."""

    stamp: Raw
    detected_at_us: Raw
    id: Raw
    payload: RawPayload

    def read(self) -> tuple[int, int, str, bytes]:
        """Return the values of a row without a fault."""
        return json.decode(self.stamp), json.decode(self.detected_at_us), json.decode(self.id), self.payload.packed()

    def fault(self, stamps: int, limits: Limits) -> str:
        """Return what is wrong with the row of a frame of so many stamps, the first thing; "" if nothing is."""
        if not self.has_stamp(stamps):
            return f"stamp is {shown(self.stamp)}: it must be a position among the {stamps} stamps"
        if not is_readable(_time_decoder, self.detected_at_us):
            return f"detected_at_us is {shown(self.detected_at_us)}: it must be {A_TIME}"
        if not is_readable(_name_decoder, self.id):
            return f"id is {shown(self.id)}: it must be {A_NAME}"
        return self.payload.fault(limits.max_attributes_bytes)

    def has_stamp(self, stamps: int) -> bool:
        """Whether the row names one of so many stamps."""
        return is_readable(_position_decoder, self.stamp) and json.decode(self.stamp) < stamps

    @property
    def shown(self) -> ShownRow:
        """The row as a letter shows it: null, or as if there were none, for what is long or cannot be read."""
        id_, detected_at_us = (value if _is_shown(value) else NULL for value in (self.id, self.detected_at_us))
        none = payload_json(NO_PAYLOAD)
        payload = {name: of if _is_shown(of) else none[name] for name, of in self.payload._asdict().items()}
        return id_, detected_at_us, payload


def refused_row(
    reason: str,
    detail: str,
    area: str,
    received_at_us: int,
    stamp: Stamp,
    shown_row: ShownRow,
    late_by_us: int | None = None,
) -> DeadLetter:
    """Return the letter for one row of an area's frame: its stamp, and its id, time and payload as JSON."""
    id_, detected_at_us, payload = shown_row
    sensor, stream, template = stamp.sensor or None, stamp.stream or None, stamp.template or None
    row: dict[str, object] = {"id": id_, "sensor": sensor, "stream": stream, "template": template}
    row |= {} if stamp.place is UNSET else {"place": stamp.place}
    row |= {"detected_at_us": detected_at_us, **payload}
    return DeadLetter(
        reason=reason,
        detail=detail,
        received_at_us=received_at_us,
        area=area,
        stream=stream,
        sensor=sensor,
        id=json.decode(id_) if is_readable(_name_decoder, id_) else None,
        late_by_us=late_by_us,
        record=Raw(json.encode(row)),
    )


_position_decoder = json.Decoder(Annotated[int, Meta(ge=0)])
_time_decoder = json.Decoder(Microseconds)
_name_decoder = json.Decoder(Name)
_any_decoder = json.Decoder(object)


def _is_shown(value: Raw) -> bool:
    return len(bytes(value)) <= LONGEST_RECORD_TEXT and is_readable(_any_decoder, value)
