"""Places as people write them, and a sentence for each slip that is often made."""

from __future__ import annotations

import re

from coincide.errors import PlaceError
from coincide.places.place import FOOT_M, EarthPlace, FramePlace, Place

EARTH, FRAME = ("lat", "lon", "height_m"), ("x_m", "y_m", "z_m")
TAKES = "lat, lon and, if known, height_m; or x_m, y_m and z_m in a frame of the area"
OTHER_NAMES = {
    **dict.fromkeys(("latitude", "latitude_deg"), "lat"),
    **dict.fromkeys(("longitude", "longitude_deg", "lng", "long"), "lon"),
    **dict.fromkeys(("height", "elevation", "elevation_m", "altitude", "altitude_m", "alt"), "height_m"),
    **{axis: f"{axis}_m" for axis in "xyz"},
}
_feet_name = re.compile(r".*_(?:ft|feet)").fullmatch
_feet = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*(?:ft|feet|foot|')\s*", re.IGNORECASE).fullmatch
_degrees = re.compile(
    r"""\s*([NSEW])?\s*(\d{1,3})(?:\s*°\s*|\s+)(\d{1,2}(?:\.\d+)?)(?:\s*['′]\s*|\s+|$)
        (?:(\d{1,2}(?:\.\d+)?)\s*(?:"|″|'')?)?\s*([NSEW])?\s*""",
    re.IGNORECASE | re.VERBOSE,
).fullmatch


def place_of_form(form: object) -> Place:
    r"""Return the place that `form`, read from JSON or YAML, describes; raise PlaceError if it describes none.

    It has `lat`, `lon` and perhaps `height_m`, or `x_m`, `y_m` and perhaps `z_m`: numbers.

    Examples
    --------
    >>> place_of_form({"lat": 42.9773, "lon": 13.3528})
    EarthPlace(lat=42.9773, lon=13.3528, height_m=0.0)
    >>> place_of_form({"lat": "42° 58' 38.28\" N", "lon": 13.3528})
    Traceback (most recent call last):
    coincide.errors.PlaceError: lat is '42° 58\' 38.28" N': decimal degrees: this is 42.977300
    """
    if not isinstance(form, dict):
        raise PlaceError("place", form, f"an object with {TAKES}")
    for name, value in form.items():
        _refuse_slips(name, value)
    names = set(form)
    for kind, fields in ((EarthPlace, EARTH), (FramePlace, FRAME)):
        if set(fields[:2]) <= names <= set(fields):
            place: Place = kind(**form)
            return place
    raise PlaceError("place", form, TAKES)


def form_of_place(place: Place) -> dict[str, float]:
    """Return the form that `place_of_form` reads: all three numbers, so that equal places have equal forms.

    Examples
    --------
    >>> form_of_place(FramePlace(12.5, 3))
    {'x_m': 12.5, 'y_m': 3.0, 'z_m': 0.0}
    """
    return dict(zip(EARTH if isinstance(place, EarthPlace) else FRAME, place.coordinates, strict=True))


def _refuse_slips(name: object, value: object) -> None:
    if name in OTHER_NAMES:
        raise PlaceError(str(name), value, f"written as {OTHER_NAMES[str(name)]}")
    if _feet_name(str(name)):
        raise PlaceError(str(name), value, f"metres, such as height_m; a foot is {FOOT_M} m")
    if not isinstance(value, str):
        return
    if feet := _feet(value):
        raise PlaceError(str(name), value, f"a number of metres: this is {float(feet[1]) * FOOT_M:.2f}")
    if found := _degrees(value):
        raise PlaceError(str(name), value, f"decimal degrees: this is {_decimal(found):.6f}")
    raise PlaceError(str(name), value, "a number, not a text")


def _decimal(found: re.Match[str]) -> float:
    before, degrees, minutes, seconds, behind = found.groups()
    size = float(degrees) + float(minutes) / 60 + float(seconds or 0) / 3600
    return -size if (before or behind or "N").upper() in "SW" else size
