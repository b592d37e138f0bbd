"""Plan: places in metres fitted into a picture of one size, with words and a scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

WIDE, TALL, ROOM = 720, 320, 40
_SCALES_M = [step * 10.0**power for power in range(-2, 7) for step in (1, 2, 5)]

PlaneM = tuple[float, float]
"""Metres to the right and upwards."""


class Plan(NamedTuple):
    """A picture whose middle is a place, and how many pixels a metre has."""

    middle_m: PlaneM
    pixels_a_metre: float

    @classmethod
    def of(cls, places: Sequence[PlaneM], least_m: float = 1e-6, closest: float | None = None) -> Plan:
        """Return the plan on which all these places are, `least_m` either way at least, as close as `closest`."""
        (west, east), (south, north) = ((min(axis), max(axis)) for axis in zip(*places, strict=True))
        scale = min((WIDE - 2 * ROOM) / max(east - west, least_m), (TALL - 2 * ROOM) / max(north - south, least_m))
        return cls(((west + east) / 2, (south + north) / 2), scale if closest is None else min(scale, closest))

    def at(self, x_m: float, y_m: float) -> tuple[float, float]:
        """Return where a place is in the picture."""
        (middle_x, middle_y), scale = self
        return WIDE / 2 + (x_m - middle_x) * scale, TALL / 2 - (y_m - middle_y) * scale

    def picture(self, role: str, words: str) -> ui.element:
        """Return the picture, which has nothing yet."""
        picture = ui.element("svg").classes("sensor-map").props(f'viewBox="0 0 {WIDE} {TALL}" role={role}')
        picture.props["aria-label"] = words
        return picture

    def draw_scale(self) -> None:
        """Draw the longest round distance that fits into a quarter of the picture."""
        metres = max(each for each in _SCALES_M if each * self.pixels_a_metre <= WIDE / 4)
        long = metres * self.pixels_a_metre
        draw_shape("line", "map-scale", x1=12, x2=12 + long, y1=TALL - 12, y2=TALL - 12)
        words = (
            f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m" if metres >= 1 else f"{metres * 100:g} cm"
        )
        PlanText(12 + long / 2, TALL - 18, words, "axis-words")


class PlanText(TextElement):
    """A word on a plan, its middle at a place."""

    def __init__(self, x: float, y: float, text: str, kind: str) -> None:
        super().__init__(tag="text", text=text)
        self.classes(kind).props("text-anchor=middle")
        self.props["x"], self.props["y"] = f"{x:.1f}", f"{y:.1f}"


def draw_shape(tag: str, kind: str, **numbers: float) -> ui.element:
    """Draw a shape that these numbers describe."""
    shape = ui.element(tag).classes(kind)
    for name, value in numbers.items():
        shape.props[name] = f"{value:.1f}"
    return shape
