"""EarthPlace and FramePlace: where a sensor stands, or an event was."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.arrays.numbers import is_number
from coincide.errors import PlaceError

LEAST_HEIGHT_M, GREATEST_HEIGHT_M = -800_000.0, 100_000.0  # of the deepest earthquake, of a balloon
FURTHEST_M = 1e7  # from a frame's origin: a hall, a mine, a ship, a country
FOOT_M = 0.3048


@dataclass(frozen=True)
class EarthPlace:
    """A place on the Earth, WGS 84.

    Parameters
    ----------
    lat, lon : float
        Degrees north, -90 to 90, and east, -180 to 180. Not both 0: that is what coordinates become that are missing.
    height_m : float
        Metres above the ellipsoid, -800,000 to 100,000.

    Raises
    ------
    PlaceError

    Examples
    --------
    >>> EarthPlace(42.9773, 13.3528, 464)
    EarthPlace(lat=42.9773, lon=13.3528, height_m=464.0)
    """

    lat: float
    lon: float
    height_m: float = 0.0

    def __post_init__(self) -> None:
        _set_number(self, "lat", -90, 90, f"decimal degrees north, from -90 to 90{_doubt_of(self.lat, self.lon)}")
        _set_number(self, "lon", -180, 180, f"decimal degrees east, from -180 to 180{_doubt_of(self.lon)}")
        allowed = f"metres above the ellipsoid, from {LEAST_HEIGHT_M:.0f} to {GREATEST_HEIGHT_M:.0f}"
        _set_number(self, "height_m", LEAST_HEIGHT_M, GREATEST_HEIGHT_M, f"{allowed}; a foot is {FOOT_M} m")
        if self.lat == self.lon == 0:
            raise PlaceError(
                "lat, lon",
                (0, 0),
                "a place that is known: 0, 0 is in the sea off Ghana, where missing coordinates end up; "
                "a frame of your own has x_m and y_m",
            )

    @property
    def coordinates(self) -> tuple[float, float, float]:
        """Latitude, longitude and height."""
        return self.lat, self.lon, self.height_m


@dataclass(frozen=True)
class FramePlace:
    """A place in a local frame of an area, such as a hall, a mine or a ship.

    Parameters
    ----------
    x_m, y_m, z_m : float
        Metres from the frame's origin along three axes at right angles, z upwards; at most 10,000 km.

    Raises
    ------
    PlaceError

    Examples
    --------
    >>> FramePlace(12.5, 3)
    FramePlace(x_m=12.5, y_m=3.0, z_m=0.0)
    """

    x_m: float
    y_m: float
    z_m: float = 0.0

    def __post_init__(self) -> None:
        for name in ("x_m", "y_m", "z_m"):
            allowed = f"metres in the area's frame, from -{FURTHEST_M:.0f} to {FURTHEST_M:.0f}"
            _set_number(self, name, -FURTHEST_M, FURTHEST_M, f"{allowed}; a foot is {FOOT_M} m")

    @property
    def coordinates(self) -> tuple[float, float, float]:
        """The three axes."""
        return self.x_m, self.y_m, self.z_m


Place = EarthPlace | FramePlace
"""A place of either kind."""


def _set_number(place: object, name: str, least: float, most: float, allowed: str) -> None:
    value = getattr(place, name)
    if not is_number(value) or not least <= value <= most:
        raise PlaceError(name, value, allowed)
    object.__setattr__(place, name, float(value) + 0.0)  # no -0.0: equal places look equal


def _doubt_of(degrees: object, lon: object = None) -> str:
    """Return what a number beyond all degrees may be instead."""
    if not is_number(degrees):
        return ""
    size = abs(float(degrees))  # type: ignore[arg-type]
    if is_number(lon) and 90 < size <= 180 and abs(float(lon)) <= 90:  # type: ignore[arg-type]
        return "; are latitude and longitude swapped?"
    whole, minutes = divmod(size, 100)
    if size > 180 and whole <= 180 and minutes < 60:
        return f"; {whole:.0f} degrees and {minutes:g} minutes are {whole + minutes / 60:.6f}"
    return ""
