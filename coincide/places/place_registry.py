"""PlaceRegistry: small codes for places, as many as the rows in hand name."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from coincide.arrays.key_codes import Codes
from coincide.arrays.kinds import CodeArray, FloatArray, Int64Array
from coincide.places.place import FramePlace, Place
from coincide.places.place_columns import ellipsoid_points_m, surface_m

NO_PLACE = -1
"""The code of a place that is not known."""


class PlaceRegistry:
    """Places by code, from 0 on: equal places share one. Grows by `code`, shrinks by `keep_only`.

    Examples
    --------
    >>> from coincide.places.place import FramePlace
    >>> known = PlaceRegistry()
    >>> known.code(FramePlace(0, 0)), known.code(FramePlace(3, 4)), known.code(FramePlace(0, 0)), known.code(None)
    (0, 1, 0, -1)
    >>> known.place(1)
    FramePlace(x_m=3.0, y_m=4.0, z_m=0.0)
    """

    def __init__(self, places: Iterable[Place] = ()) -> None:
        self._places = list(places)
        self._codes: Codes[Place] = Codes(self._places)
        self._points = _NO_POINTS

    def __len__(self) -> int:
        return len(self._places)

    def code(self, place: Place | None) -> int:
        """Return the code of a place, known or new; `NO_PLACE` if there is none."""
        if place is None:
            return NO_PLACE
        code = self._codes.code(place)
        if code == len(self._places):
            self._places.append(place)
        return code

    def place(self, code: int) -> Place | None:
        """Return the place of a code; None for `NO_PLACE`."""
        return None if code == NO_PLACE else self._places[code]

    def keep_only(self, used: CodeArray) -> CodeArray:
        """Forget the other codes; return new codes by old code (-1: forgotten). `used` is sorted."""
        new_code = np.full(len(self), NO_PLACE, np.int32)
        new_code[used] = np.arange(len(used))
        self._places = [self._places[code] for code in used.tolist()]
        self._codes, self._points = Codes(self._places), _NO_POINTS
        return new_code

    def distance_m(self, i: CodeArray | Int64Array, j: CodeArray | Int64Array, others: PlaceRegistry) -> FloatArray:
        """Distance of the places of codes `i` from those that `others` have by codes `j`, in metres; broadcast.

        It is infinite where one is on the Earth and the other in a frame, or one is `NO_PLACE`.
        """
        one, other = self._columns[i], others._columns[j]
        chord = np.sqrt(((one[..., :3] - other[..., :3]) ** 2).sum(axis=-1))
        on_earth = np.hypot(surface_m(chord), one[..., 3] - other[..., 3])
        is_frame = one[..., 4]
        distance = np.where(is_frame == 1, chord, on_earth)
        return np.where(is_frame == other[..., 4], distance, np.inf)

    @property
    def _columns(self) -> FloatArray:
        """A point, a height and a kind by code; the last row is that of `NO_PLACE`, whose kind nothing has."""
        new = self._places[len(self._points) - 1 :]
        if new:
            self._points = np.concatenate((self._points[:-1], np.array([*map(_point, new)]), _NO_POINTS))
        return self._points


_NO_POINTS = np.array([[0.0, 0.0, 0.0, 0.0, np.nan]])


def _point(place: Place) -> tuple[float, ...]:
    if isinstance(place, FramePlace):
        return *place.coordinates, 0.0, 1.0
    [point] = ellipsoid_points_m(np.array([place.lat]), np.array([place.lon])).tolist()
    return *point, place.height_m, 0.0
