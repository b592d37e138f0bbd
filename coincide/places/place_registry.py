"""PlaceRegistry: small codes for places, as many as the rows in hand name."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from coincide.arrays.key_codes import Codes
from coincide.arrays.kinds import CodeArray
from coincide.places.place import Place

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
        self._codes = Codes(self._places)
        return new_code
