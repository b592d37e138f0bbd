"""Where sensors stand: a drawing on their coordinates, with a scale; no picture comes from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

WIDE, TALL, ROOM = 720, 320, 40
MOST_NAMED, NEAR = 40, 30.0
METRES_A_DEGREE = 111_320.0
_SCALES_M = [step * 10**power for power in range(7) for step in (1, 2, 5)]


class MappedSensor(NamedTuple):
    """A sensor with its place, the address of its page, and whether something is wrong with it."""

    id: str
    lat: float
    lon: float
    address: str
    is_silent: bool


class _Text(TextElement):
    def __init__(self, x: float, y: float, text: str, kind: str) -> None:
        super().__init__(tag="text", text=text)
        self.classes(kind).props("text-anchor=middle")
        self.props["x"], self.props["y"] = f"{x:.1f}", f"{y:.1f}"


def draw_sensor_map(sensors: Sequence[MappedSensor]) -> None:
    """Draw the sensors; a degree of longitude is as long as it is at their mean latitude."""
    mean_lat = sum(each.lat for each in sensors) / len(sensors)
    shrink = max(math.cos(math.radians(mean_lat)), 0.01)
    places = [(each.lon * shrink, each.lat) for each in sensors]
    (west, east), (south, north) = ((min(axis), max(axis)) for axis in zip(*places, strict=True))
    scale = min((WIDE - 2 * ROOM) / max(east - west, 1e-6), (TALL - 2 * ROOM) / max(north - south, 1e-6), 1e7)
    picture = ui.element("svg").classes("sensor-map").props(f'viewBox="0 0 {WIDE} {TALL}" role=group')
    picture.props["aria-label"] = f"Map of {len(sensors)} sensors"
    at = [(WIDE / 2 + (x - (west + east) / 2) * scale, TALL / 2 - (y - (south + north) / 2) * scale) for x, y in places]
    names = _names(sensors, at) if len(sensors) <= MOST_NAMED else {}
    with picture:
        for nth, (each, (x, y)) in enumerate(zip(sensors, at, strict=True)):
            _sensor(each, x, y, names.get(nth, ""))
        _scale(scale)


def _names(sensors: Sequence[MappedSensor], at: Sequence[tuple[float, float]]) -> dict[int, str]:
    """Return what stands at which sensor: of those that are too near for a name each, the first has a name for all."""
    near: dict[int, list[str]] = {}
    for nth, (sensor, place) in enumerate(zip(sensors, at, strict=True)):
        first = next((each for each in near if math.dist(at[each], place) < NEAR), nth)
        near.setdefault(first, []).append(sensor.id[:24])
    return {nth: ids[0] if len(ids) == 1 else f"{ids[0]} and {len(ids) - 1} more" for nth, ids in near.items()}


def _sensor(sensor: MappedSensor, x: float, y: float, words: str) -> None:
    link = ui.element("a").classes("map-sensor")
    link.props["href"] = sensor.address
    link.props["aria-label"] = f"{sensor.id}, {'silent' if sensor.is_silent else 'heard of'}"
    with link:
        circle = ui.element("circle").classes("silent" if sensor.is_silent else "heard")
        for name, value in (("cx", x), ("cy", y), ("r", 6)):
            circle.props[name] = f"{value:.1f}"
        if words:
            _Text(x, y - 10, words, "map-name")


def _scale(pixels_a_degree: float) -> None:
    """Draw the longest round distance that fits into a quarter of the map."""
    metres_a_pixel = METRES_A_DEGREE / pixels_a_degree
    metres = max([each for each in _SCALES_M if each / metres_a_pixel <= WIDE / 4], default=1)
    line = ui.element("line").classes("map-scale")
    for name, value in (("x1", 12), ("x2", 12 + metres / metres_a_pixel), ("y1", TALL - 12), ("y2", TALL - 12)):
        line.props[name] = f"{value:.1f}"
    words = f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"
    _Text(12 + metres / metres_a_pixel / 2, TALL - 18, words, "axis-words")
