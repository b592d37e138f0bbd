"""Stations of GeoJSON (RFC 7946): features that are points, with the name of the sensor among their properties."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from coincide.command.faults import CommandError
from coincide.command.stations.station import Stations

MOST_BYTES = 64 * 2**20
IDS = ("sensor", "id", "name")


def read_geojson(path: Path, stations: Stations) -> None:
    """Add the points of a file; their places count from 1 in what is said of bad ones."""
    for nth, feature in enumerate(_features(path), 1):
        said = feature if isinstance(feature, dict) else {}
        point = _point(said.get("geometry"))
        if point is None:
            stations.bad.add(nth, "no point with [longitude, latitude] or [longitude, latitude, height in metres]")
            continue
        stations.add(_id(said), dict(zip(("lon", "lat", "height_m"), point, strict=False)), nth)


def _point(geometry: object) -> list[Any] | None:
    point = geometry.get("coordinates") if isinstance(geometry, dict) and geometry.get("type") == "Point" else None
    return point if isinstance(point, list) and len(point) in (2, 3) else None


def _features(path: Path) -> list[Any]:
    if path.stat().st_size > MOST_BYTES:
        raise CommandError(f"{path}: larger than {MOST_BYTES // 2**20} MiB")
    try:
        read = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{path}: no JSON: {error}") from None
    features = read.get("features") if isinstance(read, dict) else None
    if not isinstance(features, list):
        raise CommandError(f"{path}: no GeoJSON: a FeatureCollection with a list of features is needed")
    if "crs" in read and "CRS84" not in json.dumps(read["crs"]):
        raise CommandError(
            f"{path}: crs is {json.dumps(read['crs'])[:100]}: longitude and latitude, WGS 84, are needed"
        )
    return features


def _id(feature: dict[str, Any]) -> str:
    properties = feature.get("properties")
    said = properties if isinstance(properties, dict) else {}
    named = [said.get(each) for each in IDS]
    if not any(named) and said.get("station"):
        named = [".".join(str(each) for each in (said.get("network"), said["station"]) if each)]
    return str(next((each for each in (*named, feature.get("id")) if isinstance(each, str | int) and each != ""), ""))
