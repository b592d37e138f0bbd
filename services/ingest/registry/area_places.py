"""Places of one area are of one kind: who stands there already, and why another kind is refused."""

from collections.abc import Iterable
from typing import NamedTuple

from coincide.wire.place_field import PlaceForm


class Placed(NamedTuple):
    """A sensor that has a place."""

    sensor: str
    area: str
    place: PlaceForm


class AreaPlaces:
    """A sensor of each kind of place, by area."""

    def __init__(self, placed: Iterable[Placed] = ()) -> None:
        self._sensors: dict[tuple[str, bool], str] = {}
        for each in placed:
            self.add(each)

    def add(self, placed: Placed) -> None:
        """Count one more."""
        self._sensors.setdefault((placed.area, _is_on_earth(placed.place)), placed.sensor)

    def conflict(self, area: str, place: PlaceForm) -> str | None:
        """Return why a place cannot be in an area; None if it can."""
        is_on_earth = _is_on_earth(place)
        other = self._sensors.get((area, not is_on_earth))
        if other is None:
            return None
        there = _KINDS[not is_on_earth]
        return f"{there}, as sensor {other!r} of area {area!r} has: places of one area are of one kind"


def _is_on_earth(place: PlaceForm) -> bool:
    return "lat" in place


_KINDS = {True: "lat and lon", False: "x_m and y_m in the frame of the area"}
