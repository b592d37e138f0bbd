"""Known windows: those that distances give the sensors that are known, by which a query is explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from coincide.arrays.kinds import Int64Array, LabelArray
from coincide.places.distance_window import DistanceWindow, window_of_ms
from coincide.places.place_registry import PlaceRegistry
from coincide.queries.explaining.explanation import DistanceFigures
from coincide.queries.explaining.known_sensors import KnownSensor
from coincide.queries.joins.edges import Within
from coincide.queries.joins.join_query import Query

MOST_PLACES = 1_000  # of one area: of more these stand for all, as so many make a million pairs


def at_known_windows(query: Query, sensors: Sequence[KnownSensor]) -> tuple[Query, DistanceFigures | None]:
    """Return the query with each window by distance as long as the longest between sensors that are known.

    Also how short and how long these windows are; None where no window follows distances. Where there are no two
    places, the window is the longest that may be.
    """
    if not query.graph.is_by_distance:
        return query, None
    ours = [each for each in sensors if each.stream in query.streams]
    within, extents = [], []
    for edge in query.within:
        extent_ms = None if edge.by_distance is None else _extent_ms(query, edge, edge.by_distance, ours)
        if edge.by_distance is not None:
            window = edge.window if extent_ms is None else window_of_ms(extent_ms[1])
            edge = replace(edge, window=window, by_distance=None)  # noqa: PLW2901 - the same edge
        within.append(edge)
        extents += [] if extent_ms is None else [extent_ms]
    without = sum(each.place is None for each in ours)
    least_s = min(least for least, _ in extents) / 1000 if extents else None
    greatest_s = max(greatest for _, greatest in extents) / 1000 if extents else None
    return replace(query, within=tuple(within)), DistanceFigures(least_s, greatest_s, len(ours), without)


def _extent_ms(
    query: Query, edge: Within, window: DistanceWindow, sensors: Sequence[KnownSensor]
) -> tuple[int, int] | None:
    """Return half of the shortest and of the longest window of two sensors of one area; None if no two have one."""
    stream_of = dict(query.roles)
    places, widths = PlaceRegistry(), list[int]()
    for area in sorted({each.area for each in sensors}):
        sides = [_codes(places, sensors, area, stream_of[role]) for role in (edge.first, edge.second)]
        (names, i), (others, j) = sides
        found = window.half_width_ms(places.distance_m(i[:, None], j, places))
        may_meet = (found >= 0) & ((names[:, None] == others) == (query.sensors == "same"))
        if query.sensors == "any":
            may_meet = found >= 0
        widths += [int(found[may_meet].min()), int(found[may_meet].max())] if may_meet.any() else []
    return (min(widths), max(widths)) if widths else None


def _codes(
    places: PlaceRegistry, sensors: Sequence[KnownSensor], area: str, stream: str
) -> tuple[LabelArray, Int64Array]:
    known = [each for each in sensors if each.area == area and each.stream == stream and each.place is not None]
    known = known[:MOST_PLACES]
    names = np.array([each.sensor or f"\0{nth}" for nth, each in enumerate(known)], dtype=object)
    return names, np.array([places.code(each.place) for each in known], np.int64)
