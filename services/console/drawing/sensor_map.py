"""Where sensors stand: a map, or a plan of their frame, with a scale; no picture comes from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

WIDE, TALL, ROOM = 720, 320, 40
MOST_NAMED, NEAR = 40, 30.0
METRES_A_DEGREE = 111_320.0
CLOSEST, OF_ONE_PLACE = 1000.0, 10.0  # pixels a metre
_SCALES_M = [step * 10.0**power for power in range(-2, 7) for step in (1, 2, 5)]


class MappedSensor(NamedTuple):
    """A sensor with its place, the address of its page, and whether something is wrong with it."""

    id: str
    area: str
    place: Mapping[str, float]
    address: str
    is_silent: bool

    @property
    def frame(self) -> str | None:
        """The area whose frame it stands in; None on the Earth."""
        return None if "lat" in self.place else self.area


def draw_sensor_maps(sensors: Sequence[MappedSensor]) -> None:
    """Draw the sensors on the Earth on one map, and those in a frame on a plan of each area."""
    for frame in sorted({each.frame for each in sensors}, key=lambda frame: frame or ""):
        drawn = [each for each in sensors if each.frame == frame]
        if frame is not None:
            ui.label(f"Plan of {frame}: x to the right, y upwards").classes("soft small")
        _draw(drawn, f"{'Map' if frame is None else f'Plan of {frame}'}: {len(drawn)} sensor{'s' * (len(drawn) > 1)}")


class MapText(TextElement):
    """A word on a map, its middle at a place."""

    def __init__(self, x: float, y: float, text: str, kind: str) -> None:
        super().__init__(tag="text", text=text)
        self.classes(kind).props("text-anchor=middle")
        self.props["x"], self.props["y"] = f"{x:.1f}", f"{y:.1f}"


def _plane_m(places: Sequence[Mapping[str, float]]) -> list[tuple[float, float]]:
    """Return places of one kind in metres; a degree of longitude is as long as it is at their mean latitude."""
    if "lat" not in places[0]:
        return [(each["x_m"], each["y_m"]) for each in places]
    mean_lat = sum(each["lat"] for each in places) / len(places)
    shrink = max(math.cos(math.radians(mean_lat)), 0.01)
    return [(each["lon"] * shrink * METRES_A_DEGREE, each["lat"] * METRES_A_DEGREE) for each in places]


def _draw(sensors: Sequence[MappedSensor], words: str) -> None:
    places = _plane_m([each.place for each in sensors])
    (west, east), (south, north) = ((min(axis), max(axis)) for axis in zip(*places, strict=True))
    closest = CLOSEST if max(east - west, north - south) > 0 else OF_ONE_PLACE
    scale = min((WIDE - 2 * ROOM) / max(east - west, 1e-6), (TALL - 2 * ROOM) / max(north - south, 1e-6), closest)
    picture = ui.element("svg").classes("sensor-map").props(f'viewBox="0 0 {WIDE} {TALL}" role=group')
    picture.props["aria-label"] = words
    at = [(WIDE / 2 + (x - (west + east) / 2) * scale, TALL / 2 - (y - (south + north) / 2) * scale) for x, y in places]
    names = _names(sensors, at) if len(sensors) <= MOST_NAMED else {}
    with picture:
        for nth, (each, (x, y)) in enumerate(zip(sensors, at, strict=True)):
            _sensor(each, x, y, names.get(nth, ""))
        draw_scale(scale)


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
            MapText(x, y - 10, words, "map-name")


def draw_scale(pixels_a_metre: float) -> None:
    """Draw the longest round distance that fits into a quarter of the map."""
    metres = max(each for each in _SCALES_M if each * pixels_a_metre <= WIDE / 4)
    line = ui.element("line").classes("map-scale")
    for name, value in (("x1", 12), ("x2", 12 + metres * pixels_a_metre), ("y1", TALL - 12), ("y2", TALL - 12)):
        line.props[name] = f"{value:.1f}"
    words = f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m" if metres >= 1 else f"{metres * 100:g} cm"
    MapText(12 + metres * pixels_a_metre / 2, TALL - 18, words, "axis-words")
