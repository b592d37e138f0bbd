"""Stations of a CSV file, under the names of columns that seismologists and engineers write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from coincide.command.faults import CommandError
from coincide.command.input.chunks import listed, opened_text
from coincide.command.input.csv_opening import Opening
from coincide.command.input.csv_rows import csv_chunks
from coincide.command.stations.station import Stations
from coincide.places.place_forms import EARTH, FRAME, OTHER_NAMES

NAMES = {
    **dict.fromkeys(("sensor", "sensor_id", "id", "name"), "sensor"),
    **dict.fromkeys(("station", "station_code", "sta", "stat", "code"), "station"),
    **dict.fromkeys(("network", "network_code", "net"), "network"),
    **OTHER_NAMES,
    **{name: name for name in (*EARTH, *FRAME)},
    **dict.fromkeys(("easting", "east", "easting_m"), "x_m"),
    **dict.fromkeys(("northing", "north", "northing_m"), "y_m"),
}
UNITS = {"_km": 1000.0, "_deg": 1.0, "_degrees": 1.0, "_ft": None, "_feet": None}
_between_words = re.compile(r"[\s()\[\]/-]+")
TAKES = "sensor, or Network and Station; and Latitude, Longitude and perhaps Elevation, or x_m, y_m and perhaps z_m"


def read_csv(path: Path, stations: Stations) -> None:
    """Add the stations of a file; raise CommandError where its header does not say which columns they are."""
    columns = _columns_of(path)
    with_units = {field: (name, factor) for name, (field, factor) in columns.items()}
    for chunk in csv_chunks(path, list(columns), stations.bad, lambda _: None):
        cells = {field: listed(chunk.column(name)) for field, (name, _) in with_units.items()}
        for row, line in enumerate(chunk.place.tolist()):
            said = {field: of[row] for field, of in cells.items()}
            form = {
                field: _number(said[field], factor)
                for field, (_, factor) in with_units.items()
                if field in (*EARTH, *FRAME) and said[field]
            }
            stations.add(_id(said), form, line)


def _columns_of(path: Path) -> dict[str, tuple[str, float]]:
    """Return by the name of a column what it says, and what its numbers are multiplied by."""
    with opened_text(path) as (text, _):
        names = Opening.of(path, text, ()).header.names
    found: dict[str, tuple[str, float]] = {}
    for name in names:
        meant = _meaning(path, name)
        if meant is None:
            continue
        if (other := next((each for each, (field, _) in found.items() if field == meant[0]), None)) is not None:
            raise CommandError(f"{path}: the columns {other!r} and {name!r} both say {meant[0]}")
        found[name] = meant
    fields = {field for field, _ in found.values()}
    if not fields & {"sensor", "station"} or not any(set(kind[:2]) <= fields for kind in (EARTH, FRAME)):
        raise CommandError(f"{path}: its columns are {', '.join(names)}: needed are {TAKES}")
    return found


def _meaning(path: Path, name: str) -> tuple[str, float] | None:
    plain = _between_words.sub("_", name.strip().lower()).strip("_")
    if plain in NAMES:
        return NAMES[plain], 1.0
    for unit, factor in UNITS.items():
        field = NAMES.get(plain.removesuffix(unit)) if plain.endswith(unit) else None
        if field is not None and factor is None:
            raise CommandError(f"{path}: the column {name!r} is in feet: metres are needed; a foot is 0.3048 m")
        if field is not None and factor is not None:
            return field, factor
    return None


def _number(cell: str, factor: float) -> object:
    """Return the number that a cell holds; what is none stays as it is, for the place to say what is wrong."""
    try:
        return float(cell) * factor
    except ValueError:
        return cell


def _id(said: Mapping[str, str]) -> str:
    """Return the sensor's name, or those of network and station with a point between."""
    if "sensor" in said:
        return said["sensor"]
    return ".".join(each for each in (said.get("network"), said["station"]) if each)
