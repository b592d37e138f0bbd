"""Where the source of a match was: a drawing of its region among the sensors, with a scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import UnsetType

from coincide.wire.results.source_place import PointRecord, SourcePlace
from services.console.drawing.plan import Plan, PlaneM, PlanText, draw_shape
from services.console.drawing.sensor_map import METRES_A_DEGREE
from services.console.rest.documents import MemberAnswer

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

    def metres(self, first: float, second: float) -> PlaneM:
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
    plan = Plan.of([*corners, *(at for _, at in sensors), (0.0, 0.0)], LEAST_METRES)
    wide, tall = (2 * half * plan.pixels_a_metre for half in half_m[:2])
    most = max(place.cells.probability)
    with plan.picture("img", label):
        for (x_m, y_m), share in zip(cells, place.cells.probability, strict=True):
            x, y = plan.at(x_m - half_m[0], y_m + half_m[1])
            cell = draw_shape("rect", "source-cell", x=x, y=y, width=wide, height=tall)
            cell.props["fill-opacity"] = f"{0.15 + 0.55 * share / most:.2f}"
        for name, at in sensors:
            x, y = plan.at(*at)
            draw_shape("circle", "heard", cx=x, cy=y, r=5)
            PlanText(x, y - 9, name[:24], "map-name")
        x, y = plan.at(0.0, 0.0)
        draw_shape("line", "source-peak", x1=x - 7, y1=y, x2=x + 7, y2=y)
        draw_shape("line", "source-peak", x1=x, y1=y - 7, x2=x, y2=y + 7)
        plan.draw_scale()
