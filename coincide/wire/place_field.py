"""PlaceForm: where a sensor was, as records have it."""

from typing import Annotated, Any

from msgspec import Meta

from coincide.places.place import FURTHEST_M, GREATEST_HEIGHT_M, LEAST_HEIGHT_M
from coincide.places.place_forms import EARTH, FRAME


def _one_kind(fields: tuple[str, ...], ranges: tuple[tuple[float, float], ...]) -> dict[str, Any]:
    numbers = {
        name: {"type": "number", "minimum": least, "maximum": most}
        for name, (least, most) in zip(fields, ranges, strict=True)
    }
    return {"type": "object", "properties": numbers, "required": list(fields[:2]), "additionalProperties": False}


_ON_EARTH = (-90.0, 90.0), (-180.0, 180.0), (LEAST_HEIGHT_M, GREATEST_HEIGHT_M)

PlaceForm = Annotated[
    dict[str, float],
    Meta(
        description="Degrees north and east and metres above the ellipsoid, WGS 84; or metres in a frame of the area.",
        extra_json_schema={"oneOf": [_one_kind(EARTH, _ON_EARTH), _one_kind(FRAME, ((-FURTHEST_M, FURTHEST_M),) * 3)]},
    ),
]
"""`coincide.places.place_of_form` reads it, and `form_of_place` writes it."""
