"""Where sensors stand: a map, or a plan of their frame, with a scale; no picture comes from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nicegui import ui

from services.console.drawing.plan import Plan, PlaneM, PlanText, draw_shape

MOST_NAMED, NEAR = 40, 30.0
METRES_A_DEGREE = 111_320.0
CLOSEST, OF_ONE_PLACE = 1000.0, 10.0  # pixels a metre


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


def _plane_m(places: Sequence[Mapping[str, float]]) -> list[PlaneM]:
    """Return places of one kind in metres; a degree of longitude is as long as it is at their mean latitude."""
    if "lat" not in places[0]:
        return [(each["x_m"], each["y_m"]) for each in places]
    mean_lat = sum(each["lat"] for each in places) / len(places)
    shrink = max(math.cos(math.radians(mean_lat)), 0.01)
    return [(each["lon"] * shrink * METRES_A_DEGREE, each["lat"] * METRES_A_DEGREE) for each in places]


def _draw(sensors: Sequence[MappedSensor], words: str) -> None:
    places = _plane_m([each.place for each in sensors])
    plan = Plan.of(places, closest=CLOSEST if len({*places}) > 1 else OF_ONE_PLACE)
    at = [plan.at(*place) for place in places]
    names = _names(sensors, at) if len(sensors) <= MOST_NAMED else {}
    with plan.picture("group", words):
        for nth, (each, (x, y)) in enumerate(zip(sensors, at, strict=True)):
            _sensor(each, x, y, names.get(nth, ""))
        plan.draw_scale()


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
        draw_shape("circle", "silent" if sensor.is_silent else "heard", cx=x, cy=y, r=6)
        if words:
            PlanText(x, y - 10, words, "map-name")
