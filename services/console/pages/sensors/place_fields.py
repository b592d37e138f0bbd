"""The place of a sensor: its fields in a form, of either kind, and in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

from nicegui import ui

from services.console.pages.field_faults import FieldFaults
from services.console.pages.shell import choice, number_field

KINDS = {"earth": "on the Earth", "frame": "in a local frame"}
FIELDS = {
    "earth": {"lat": "Degrees north", "lon": "Degrees east", "height_m": "Height, m"},
    "frame": {"x_m": "x, m", "y_m": "y, m", "z_m": "z, m upwards"},
}


class PlaceFields:
    """Asks for a place; `put` hears it whenever somebody changes it, None while all is empty."""

    def __init__(
        self,
        place: Mapping[str, float],
        faults: FieldFaults,
        put: Callable[[dict[str, float | str] | None], object],
    ) -> None:
        self._faults, self._put_place = faults, put
        self._said: dict[str, float | str] = dict(place)
        kind = "frame" if "x_m" in place else "earth"
        with ui.element("div").classes("row"):
            with faults.at("Place", "place"):
                choice("Place", KINDS, kind, self._choose)
            self._fields = ui.element("div").classes("row")
        self._draw(kind)

    def _choose(self, kind: str) -> None:
        """Ask for the other kind; what was said of this one is forgotten."""
        self._said = {}
        self._put_place(None)
        self._draw(kind)

    def _draw(self, kind: str) -> None:
        self._fields.clear()
        with self._fields:
            for name, words in FIELDS[kind].items():
                with self._faults.at(words, rf"place\.{re.escape(name)}"):
                    number_field(words, self._said.get(name), partial(self._put, name))

    def _put(self, name: str, number: float | str | None) -> None:
        self._said = {each: value for each, value in {**self._said, name: number}.items() if value is not None}
        self._put_place(self._said or None)


def place_words(place: Mapping[str, float]) -> str:
    """Return a place as a person says it."""
    if "x_m" in place:
        axes = ", ".join(f"{name} {place[f'{name}_m']:g} m" for name in "xyz" if f"{name}_m" in place)
        return f"{axes} in the area's frame"
    height = f", {place['height_m']:g} m high" if "height_m" in place else ""
    return f"{place['lat']:g}° north, {place['lon']:g}° east{height}"
