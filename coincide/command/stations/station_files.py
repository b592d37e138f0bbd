"""Files of stations: each by the reader that its name asks for, and what all of them say together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from coincide.command.faults import BadRows, CommandError, report_bad_rows
from coincide.command.stations.csv_stations import read_csv
from coincide.command.stations.geojson_points import read_geojson
from coincide.command.stations.station import Station, Stations
from coincide.command.stations.station_xml import read_station_xml
from coincide.places.place import Place

READERS = {
    ".xml": (read_station_xml, "line"),
    ".geojson": (read_geojson, "feature"),
    ".json": (read_geojson, "feature"),
}


def places_of(paths: Sequence[Path], *, skip_bad: bool) -> dict[str, Place]:
    """Return the place of each sensor that files of stations name; none if there are no files."""
    return {name: each.place for name, each in read_stations(paths, skip_bad=skip_bad).items()} if paths else {}


def read_stations(paths: Sequence[Path], *, skip_bad: bool) -> dict[str, Station]:
    """Return the stations of files by their names; raise CommandError where there is none, or one has two places."""
    files = [_read(path) for path in paths]
    report_bad_rows([each.bad for each in files], skip=skip_bad)
    stations = _once(files)
    if not stations:
        raise CommandError("no station is in the files")
    return stations


def _read(path: Path) -> Stations:
    reader, unit = READERS.get(path.suffix.lower(), (read_csv, "line"))
    stations = Stations(BadRows(path, unit))
    try:
        reader(path, stations)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None
    return stations


def _once(files: Iterable[Stations]) -> dict[str, Station]:
    found: dict[str, Station] = {}
    for file in files:
        for each in file:
            if found.setdefault(each.id, each).place != each.place:
                raise CommandError(f"{file.bad.path} {file.bad.unit} {each.line}: {each.id!r} has another place before")
    return found
