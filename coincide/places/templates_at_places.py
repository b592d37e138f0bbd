"""TemplatesAtPlaces: templates at places by code, which take the part of templates where windows follow distances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coincide.arrays.key_codes import Codes
from coincide.arrays.kinds import CodeArray, FloatArray, Int64Array
from coincide.constraints.graph import WindowByDistance
from coincide.places.place import Place
from coincide.places.place_registry import PlaceRegistry
from coincide.templates.clocked import are_clocked
from coincide.templates.codes import TemplatesInOrder
from coincide.templates.histogram import Histogram


class TemplatesAtPlaces(TemplatesInOrder):
    """Templates at places by code: `templates` has the template of each, and `places` its place.

    Examples
    --------
    >>> from coincide.places.distance_window import DistanceWindow
    >>> from coincide.places.place import FramePlace
    >>> known, clock = TemplatesAtPlaces(), Histogram.point()
    >>> known.codes([clock, clock, clock], [FramePlace(0, 0), FramePlace(343, 0), FramePlace(0, 0)]).tolist()
    [0, 1, 0]
    >>> known.half_width_ms(np.array([0, 0]), np.array([1, 0]), known, DistanceWindow(343, 0.2, up_to_m=1000)).tolist()
    [1200, 200]
    """

    def __init__(self) -> None:
        super().__init__()
        self.places = PlaceRegistry()
        self._kinds: Codes[Histogram] = Codes()
        self._code_of: dict[tuple[int, int], int] = {}
        self._kind: list[int] = []
        self._place: list[int] = []
        self._columns = np.empty((2, 0), np.int64)

    def codes(self, templates: Sequence[Histogram], places: Sequence[Place | None]) -> CodeArray:
        """Return the code of each template at its place, new ones included, int32 (n,)."""
        return np.array([self._code(*each) for each in zip(templates, places, strict=True)], np.int32)

    @property
    def kind(self) -> Int64Array:
        """A number by code that those share whose template is equal; int64 (codes,)."""
        kinds: Int64Array = self._of_codes[0]
        return kinds

    def half_width_ms(
        self, u: CodeArray | Int64Array, v: CodeArray | Int64Array, others: TemplatesAtPlaces, window: WindowByDistance
    ) -> Int64Array:
        """Half of the window of codes `u` and of those of `others` by codes `v`, broadcast; -1 where there is none."""
        widths: Int64Array = window.half_width_ms(self.distance_m(u, v, others))
        return widths

    def distance_m(self, u: CodeArray | Int64Array, v: CodeArray | Int64Array, others: TemplatesAtPlaces) -> FloatArray:
        """Distance between the places of codes, in metres, broadcast; see `PlaceRegistry.distance_m`."""
        return self.places.distance_m(self._of_codes[1][u], others._of_codes[1][v], others.places)

    @property
    def _of_codes(self) -> Int64Array:
        if self._columns.shape[1] < len(self._kind):
            self._columns = np.array([self._kind, self._place], np.int64)
        return self._columns

    def _code(self, template: Histogram, place: Place | None) -> int:
        key = self._kinds.code(template), self.places.code(place)
        code = self._code_of.setdefault(key, len(self._code_of))
        if code == len(self.templates):
            self.has_clocks = self.has_clocks or are_clocked([template])
            self.templates.append(template)
            self._kind.append(key[0])
            self._place.append(key[1])
        return code
