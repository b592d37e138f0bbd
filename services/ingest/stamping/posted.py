"""What a gateway posts: the shape of one detection, its time and its attributes, checked."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from coincide.arrays.instants import LOOKS_LIKE_SECONDS, YEAR_1980_US
from coincide.errors import PlaceError
from coincide.places.place import Place
from coincide.wire.declarations.sensor_record import place_said
from coincide.wire.fields import LONGEST_NAME, Name
from coincide.wire.payload import NO_PAYLOAD
from coincide.wire.place_field import PlaceForm
from services.common.clock import LAST_US, rfc_3339_us
from services.ingest.registry.sensors import MOST_BUCKETS
from services.ingest.verdicts import INT64, Reason, Refused

Instant = (
    Annotated[int, Meta(description="microseconds since 1970 UTC", extra_json_schema={"minimum": YEAR_1980_US})]
    | Annotated[str, Meta(description="RFC 3339, with its offset", extra_json_schema={"format": "date-time"})]
)

ALLOWED = {
    "sensor": f"the id of a registered sensor, a text of 1 to {LONGEST_NAME} characters",
    "stream": f"a declared stream, a text of 1 to {LONGEST_NAME} characters; leave it out where the sensor has one",
    "detected_at": "whole microseconds since 1970 UTC, or an RFC 3339 time such as 1987-02-23T07:35:35Z",
    "id": f"a text of 1 to {LONGEST_NAME} characters; leave it out to have one made from the content",
    "attributes": "an object of at most 1 KiB; leave it out for none",
    "place": "lat, lon and perhaps height_m; or x_m, y_m and perhaps z_m in a frame of the area",
    "uncertainty": 'one of {"sigma_s": 0.5}, {"earliest": ..., "latest": ...}, {"edges_s": [...], "mass": [...]}',
}
LONGEST_BYTES = 1024
_FORMS = (["sigma_s"], ["earliest", "latest"], ["edges_s", "mass"])


class Uncertainty(Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """One event's own distribution: a clock error, absolute [earliest, latest], or a histogram of the difference."""

    sigma_s: (
        Annotated[float, Meta(description="Gaussian clock error", extra_json_schema={"exclusiveMinimum": 0})]
        | UnsetType
    ) = UNSET
    earliest: Instant | UnsetType = UNSET
    latest: Instant | UnsetType = UNSET
    edges_s: Annotated[list[float], Meta(extra_json_schema={"maxItems": MOST_BUCKETS + 1})] | UnsetType = UNSET
    mass: Annotated[list[float], Meta(extra_json_schema={"maxItems": MOST_BUCKETS})] | UnsetType = UNSET


class PostedDetection(Struct, forbid_unknown_fields=True, gc=False):
    """One detection, as a gateway posts it."""

    # Its types are checked, and nothing else. Nothing in it points back, so nobody collects it.
    sensor: Annotated[Name, Meta(description=ALLOWED["sensor"])]
    detected_at: Annotated[Instant, Meta(description="When the sensor says it happened.")]
    stream: Annotated[Name, Meta(description=ALLOWED["stream"])] | UnsetType = UNSET
    id: Annotated[Name, Meta(description=ALLOWED["id"])] | UnsetType = UNSET
    attributes: (
        Annotated[
            dict[str, Any],
            Meta(
                description="What else is known of it. Matches carry it, and queries may read it: a filter, `equal`, "
                "or the `value` of a query over readings, which must be a number. GET /v1/queries of alerting shows "
                f"which do. At most {LONGEST_BYTES} bytes of compact JSON."
            ),
        ]
        | UnsetType
    ) = UNSET
    uncertainty: Annotated[
        Uncertainty | UnsetType,
        Meta(
            description="This event's own distribution, instead of its sensor's template.",
            extra_json_schema={"oneOf": [{"required": form, "maxProperties": len(form)} for form in _FORMS]},
        ),
    ] = UNSET
    place: Annotated[
        PlaceForm | UnsetType, Meta(description="Where its sensor was, if that moves; instead of its sensor's place.")
    ] = UNSET


def instant_us(instant: Instant, field: str = "detected_at") -> int:
    """Return `instant` in microseconds since the epoch; parts of a microsecond are cut off.

    Raises `Refused`: `bad_time`, `before_1980`, `looks_like_seconds` for a number that as microseconds lies before
    1980, or `looks_like_nanoseconds` for one after the year 9999: whoever sends another unit would silently report
    1970, or try again for ever.
    """
    if isinstance(instant, str):
        return _rfc_3339_us(instant, field)
    if instant < YEAR_1980_US:
        raise Refused(Reason.LOOKS_LIKE_SECONDS, field, instant, LOOKS_LIKE_SECONDS)
    if instant not in INT64:
        raise Refused(Reason.OUT_OF_RANGE, field, instant, "an integer of 64 bits")
    if instant > LAST_US:
        allowed = "microseconds since 1970, before the year 10000; this looks like nanoseconds"
        raise Refused(Reason.LOOKS_LIKE_NANOSECONDS, field, instant, allowed)
    return instant


def _rfc_3339_us(text: str, field: str) -> int:
    try:
        instant_as_us = rfc_3339_us(text)
    except ValueError as error:
        raise Refused(Reason.BAD_TIME, field, text, f"{ALLOWED['detected_at']} ({error})") from None
    if instant_as_us is None:
        raise Refused(Reason.BAD_TIME, field, text, ALLOWED["detected_at"])
    if instant_as_us < YEAR_1980_US:
        raise Refused(Reason.BEFORE_1980, field, text, "1980-01-01T00:00:00Z or later")
    return instant_as_us


def posted_place(form: object) -> Place:
    """Return a posted place; raise `Refused` (`bad_place`), which says what to write instead, where it is none."""
    try:
        return place_said(form)
    except PlaceError as error:
        raise Refused(Reason.BAD_PLACE, error.field, error.value, error.allowed) from None


DEEPEST = 5
_encode = msgspec.json.Encoder(order="deterministic").encode


def posted_payload(posted: PostedDetection) -> bytes:
    """Return what the detection carries, as rows have it; raises `Refused` as `attributes_json` does."""
    return NO_PAYLOAD if posted.attributes is UNSET else attributes_json(posted.attributes)


def attributes_json(attributes: dict[str, Any]) -> bytes:
    """Return attributes as compact JSON with sorted keys, so that equal ones have equal bytes.

    Raises `Refused` if they are longer than 1 KiB, deeper than 5 levels, or have integers beyond 64 bits.
    """
    _check_members(attributes.values(), 1)
    encoded = _encode(attributes)
    if len(encoded) > LONGEST_BYTES:
        allowed = f"at most {LONGEST_BYTES} bytes of compact JSON"
        raise Refused(Reason.ATTRIBUTES_TOO_LONG, "attributes", len(encoded), allowed)
    return encoded


def _check_members(members: Any, depth: int) -> None:
    for member in members:
        kind = type(member)
        if kind is str or kind is float:
            continue
        if kind is int and member not in INT64:
            raise Refused(Reason.OUT_OF_RANGE, "attributes", member, "integers of 64 bits, -2^63 to 2^63 - 1")
        if kind is dict or kind is list:
            if depth == DEEPEST:
                raise Refused(Reason.TOO_DEEP, "attributes", None, f"at most {DEEPEST} levels")
            _check_members(member.values() if kind is dict else member, depth + 1)
