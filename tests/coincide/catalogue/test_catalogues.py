"""Matches as GeoJSON and QuakeML: what programs for maps and catalogues find in them."""

import json
import xml.etree.ElementTree as ET
from typing import Any

import msgspec
import numpy as np
import pytest

from coincide import Histogram
from coincide.catalogue import LocatedMatch, geojson, located_match, quakeml
from coincide.places import EarthPlace, FramePlace, Places
from coincide.places.place import Place
from coincide.sources import SourceRule, located_source
from coincide.wire.results.source_place import SourcePlace

BED = "{http://quakeml.org/xmlns/bed/1.2}"
SENSORS = ["IV.CAMP", "mic <2> & \x01", "a-station-with-a-long-name", "d", "e"]
STATIONS: list[Place] = [EarthPlace(42.8 + 0.2 * (nth % 2), 13.1 + 0.15 * nth, 500) for nth in range(5)]


def body(places: list[Place] = STATIONS, depth_m: float = 8000, **changes: Any) -> dict[str, Any]:
    rule = SourceRule(6000, slack_s=0.3, height_m=(-15_000, 0), reach_m=80_000)
    known = Places.of(places)
    way_m = np.hypot([known.distance_m(2, nth) for nth in range(5)], depth_m)
    times = [1_500_000_000_000_000 + round(each / 6000 * 1e6) for each in way_m]
    found = located_source(rule, known, [Histogram.uniform(-0.05, 0.05)] * 5, times)
    assert found is not None
    place = json.loads(msgspec.json.encode(SourcePlace.of(0.9, found, in_plane=False)))
    members = [
        {"role": f"r{nth}", "sensor": sensor, "id": f"p{nth}", "stream": "pick", "detected_at_us": at}
        | {"earliest_us": at, "latest_us": at, "template": "t-0", "attributes": {}}
        for nth, (sensor, at) in enumerate(zip(SENSORS, times, strict=True))
    ]
    return {"id": "m-1", "query": "quake", "area": "centre", "members": members, "place": place, **changes}


def read(match: dict[str, Any]) -> LocatedMatch:
    return located_match(json.dumps(match))


QUAKE = body()
UNPLACED = read({**QUAKE, "id": "m-2", "place": None})


def test_geojson_has_a_point_and_a_region_around_it() -> None:
    collection = json.loads(b"".join(geojson([UNPLACED, read(QUAKE), UNPLACED])))
    assert collection["type"] == "FeatureCollection"
    point, region = collection["features"]
    lon, lat, height_m = point["geometry"]["coordinates"]
    assert (lat, lon) == pytest.approx(STATIONS[2].coordinates[:2], abs=0.06)
    assert -15_000 <= height_m <= 0
    assert (point["id"], point["properties"]["sensors"]) == ("m-1", SENSORS)
    assert point["properties"]["occurred"].startswith("2017-07-14T02:39:59.9")
    assert 0.88 < region["properties"]["covers"] < 0.95
    rings = [ring for polygon in region["geometry"]["coordinates"] for ring in polygon]
    assert all(len(ring) == 5 and ring[0] == ring[-1] for ring in rings)
    corners = np.array(rings)
    assert (corners.min(axis=(0, 1)) < (lon, lat)).all()
    assert (corners.max(axis=(0, 1)) > (lon, lat)).all()


def test_quakeml_has_the_origin_and_what_is_left_of_each_pick() -> None:
    root = ET.fromstring(b"".join(quakeml([UNPLACED, read(QUAKE)])))
    [event] = root.iter(f"{BED}event")
    origin = event.find(f"{BED}origin")
    assert origin is not None
    assert event.findtext(f"{BED}preferredOriginID") == origin.get("publicID")
    values = {name: origin.findtext(f"{BED}{name}/{BED}value") for name in ("latitude", "longitude", "depth", "time")}
    assert float(values["depth"] or "") == -QUAKE["place"]["peak"]["height_m"]
    assert float(values["latitude"] or "") == QUAKE["place"]["peak"]["lat"]
    assert (values["time"] or "").startswith("2017-07-14T02:39:59.9")
    picks = {pick.get("publicID"): pick for pick in event.iter(f"{BED}pick")}
    arrivals = list(origin.iter(f"{BED}arrival"))
    assert [float(each.findtext(f"{BED}timeResidual") or "") for each in arrivals] == QUAKE["place"]["residual_s"]
    assert [each.findtext(f"{BED}pickID") for each in arrivals] == list(picks)
    stations = [pick.find(f"{BED}waveformID") for pick in picks.values()]
    codes = [(each.get("networkCode"), each.get("stationCode")) for each in stations if each is not None]
    assert codes[:3] == [("IV", "CAMP"), ("", "mic <2> "), ("", "a-statio")]
    comments = [pick.findtext(f"{BED}comment/{BED}text") for pick in picks.values()]
    assert comments[1:3] == ["sensor mic <2> & ?, detection p1", "sensor a-station-with-a-long-name, detection p2"]


def test_a_place_in_a_frame_has_no_geometry_and_is_no_earthquake() -> None:
    hall = read(body([FramePlace(9000 * (nth % 2), 7000 * nth) for nth in range(5)]))
    [feature] = json.loads(b"".join(geojson([hall])))["features"]
    assert feature["geometry"] is None
    assert feature["properties"]["y_m"] == pytest.approx(14_000, abs=6000)
    assert b"<event " not in b"".join(quakeml([hall]))


def test_each_match_is_a_piece_of_its_own() -> None:
    for write in (geojson, quakeml):
        assert len(list(write(read(QUAKE) for _ in range(7)))) == 9
