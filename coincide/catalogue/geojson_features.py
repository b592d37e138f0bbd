"""GeoJSON (RFC 7946) of matches: the most probable place of each as a point, and its region as polygons.

A place in a frame of an area has no longitude. It is a feature without geometry, whose properties say where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import cos, radians
from typing import Any

import msgspec

from coincide.catalogue.located_matches import LocatedMatch, instant_text
from coincide.places.place_columns import EARTH_RADIUS_M
from coincide.wire.results.source_place import DEGREE_DECIMALS, SourcePlace

A_DEGREE_M = EARTH_RADIUS_M * radians(1)
LEAST_COSINE = 1e-6  # of a latitude: at a pole a cell has all longitudes

encode = msgspec.json.Encoder().encode


def geojson(matches: Iterable[LocatedMatch]) -> Iterator[bytes]:
    r"""Yield a FeatureCollection in pieces, one for each match that has a place; others are left out.

    Examples
    --------
    >>> b"".join(geojson([]))
    b'{"type":"FeatureCollection","features":[]}\n'
    """
    yield b'{"type":"FeatureCollection","features":['
    between = b""
    for match in matches:
        if match.place is not None:
            yield between + b",\n".join(map(encode, _features(match, match.place)))
            between = b",\n"
    yield b"]}\n"


def _features(match: LocatedMatch, place: SourcePlace) -> Iterator[dict[str, Any]]:
    told = {"match": match.id, "query": match.query, "area": match.area}
    peak, ellipse = place.peak, place.ellipse
    is_on_earth = not isinstance(peak.lat, msgspec.UnsetType)
    properties = {
        **told,
        "probability": place.probability,
        "occurred": instant_text(place.occurred.mean_us),
        "occurred_p05": instant_text(place.occurred.p05_us),
        "occurred_p95": instant_text(place.occurred.p95_us),
        "members": len(match.members),
        "sensors": [member.sensor for member in match.members],
        "residual_s": place.residual_s,
        "ellipse_major_m": ellipse.major_m,
        "ellipse_minor_m": ellipse.minor_m,
        "ellipse_azimuth_deg": ellipse.azimuth_deg,
        "height_m": peak.height_m if is_on_earth else peak.z_m,
        **({} if is_on_earth else {"x_m": peak.x_m, "y_m": peak.y_m}),
    }
    point = {"type": "Point", "coordinates": [peak.lon, peak.lat, peak.height_m]} if is_on_earth else None
    yield {"type": "Feature", "id": match.id, "geometry": point, "properties": properties}
    if is_on_earth:
        region = {"type": "MultiPolygon", "coordinates": list(_cells(place))}
        properties = {**told, "covers": round(sum(place.cells.probability), 3)}
        yield {"type": "Feature", "id": f"{match.id}-region", "geometry": region, "properties": properties}


def _cells(place: SourcePlace) -> Iterator[list[list[list[float]]]]:
    """Yield a ring for each cell, against the clock; cells one above the other are one."""
    east_m, north_m, _ = place.cells.half_m
    for lat, lon in dict.fromkeys((lat, lon) for lat, lon, _ in place.cells.at):
        east, north = east_m / (A_DEGREE_M * max(cos(radians(lat)), LEAST_COSINE)), north_m / A_DEGREE_M
        corners = ((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1))
        yield [[[round(lon + x * east, DEGREE_DECIMALS), round(lat + y * north, DEGREE_DECIMALS)] for x, y in corners]]
