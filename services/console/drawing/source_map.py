"""Where the source of a match was: a drawing of its region among the sensors, with a scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import UnsetType
from nicegui import ui

from coincide.wire.results.source_place import PointRecord, SourcePlace
from services.console.drawing.sensor_map import METRES_A_DEGREE, MapText, draw_scale
from services.console.rest.documents import MemberAnswer

WIDE, TALL, ROOM = 720, 320, 40
LEAST_METRES = 1.0  # that the drawing is wide


class MetreFrame(NamedTuple):
    """Metres east and north of a place; of places in an area's frame from there along its axes."""

    first: float
    second: float
    is_on_earth: bool

    @classmethod
    def at(cls, place: PointRecord) -> MetreFrame:
        """Return the frame around a place."""
        first, second, _ = place.coordinates or (0.0, 0.0, 0.0)
        return cls(first, second, not isinstance(place.lat, UnsetType))

    def metres(self, first: float, second: float) -> tuple[float, float]:
        """Return where latitude and longitude, or x and y, are."""
        if not self.is_on_earth:
            return first - self.first, second - self.second
        east = (second - self.second + 180) % 360 - 180
        return east * METRES_A_DEGREE * math.cos(math.radians(self.first)), (first - self.first) * METRES_A_DEGREE


def draw_source(place: SourcePlace, members: Sequence[MemberAnswer], label: str) -> None:
    """Draw the region, the most probable place and the sensors whose places are told."""
    frame = MetreFrame.at(place.peak)
    cells = [frame.metres(first, second) for first, second, _ in place.cells.at]
    half_m = place.cells.half_m
    sensors = [(each.sensor, frame.metres(*list(each.place.values())[:2])) for each in members if each.place]
    corners = [(x + sign * half_m[0], y + sign * half_m[1]) for x, y in cells for sign in (-1, 1)]
    every = [*corners, *(at for _, at in sensors), (0.0, 0.0)]
    (west, east), (south, north) = ((min(axis), max(axis)) for axis in zip(*every, strict=True))
    scale = min(
        (WIDE - 2 * ROOM) / max(east - west, LEAST_METRES), (TALL - 2 * ROOM) / max(north - south, LEAST_METRES)
    )
    picture = ui.element("svg").classes("sensor-map").props(f'viewBox="0 0 {WIDE} {TALL}" role=img')
    picture.props["aria-label"] = label

    def pixels(x_m: float, y_m: float) -> tuple[float, float]:
        return WIDE / 2 + (x_m - (west + east) / 2) * scale, TALL / 2 - (y_m - (south + north) / 2) * scale

    most = max(place.cells.probability)
    with picture:
        for (x_m, y_m), share in zip(cells, place.cells.probability, strict=True):
            x, y = pixels(x_m - half_m[0], y_m + half_m[1])
            cell = _shape("rect", "source-cell", x=x, y=y, width=2 * half_m[0] * scale, height=2 * half_m[1] * scale)
            cell.props["fill-opacity"] = f"{0.15 + 0.55 * share / most:.2f}"
        for name, at in sensors:
            x, y = pixels(*at)
            _shape("circle", "heard", cx=x, cy=y, r=5)
            MapText(x, y - 9, name[:24], "map-name")
        x, y = pixels(0.0, 0.0)
        _shape("line", "source-peak", x1=x - 7, y1=y, x2=x + 7, y2=y)
        _shape("line", "source-peak", x1=x, y1=y - 7, x2=x, y2=y + 7)
        draw_scale(scale)


def _shape(tag: str, kind: str, **numbers: float) -> ui.element:
    shape = ui.element(tag).classes(kind)
    for name, value in numbers.items():
        shape.props[name] = f"{value:.1f}"
    return shape
