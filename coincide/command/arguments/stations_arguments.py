"""The command line of ``coincide stations``, and what the user asks for with it."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from coincide.command.arguments.options import Commands, add_command, filled, out_path

DESCRIPTION = """\
Read where stations are, and make them sensors: as YAML for config/sensors.yaml, or at once in a running system.

Files:
  CSV        the columns sensor (or Network and Station), Latitude, Longitude and perhaps Elevation; or in metres of a
             frame of the area sensor, x_m, y_m and perhaps z_m. Also lat, lon, height_m, net, sta, elevation_km ...
             FDSN's text format, with | between its cells, is one, too.
  .xml       StationXML: of each station its newest epoch
  .geojson   points, [longitude, latitude, height]; the property sensor, id or name, or network and station
A station of a network is the sensor NETWORK.STATION.
"""

EPILOG = """\
Without --stream and --uncertainty, --to changes nothing but the places of sensors that are registered.
The environment variable COINCIDE_KEY has the key, where the system needs one.

examples:
  coincide stations stations.csv --area italy --stream seismic --uncertainty normal:0.2 --out sensors.yaml
  coincide stations stations.xml --area italy --stream seismic --uncertainty normal:0.2 --to http://127.0.0.1:8000
  coincide stations microphones.csv --to http://127.0.0.1:8000

"""


@dataclass(frozen=True)
class StationsRequest:
    """What the user asks for; without `to` the answer is YAML, without `streams` places alone are changed."""

    files: tuple[Path, ...]
    area: str | None
    streams: tuple[str, ...]
    uncertainty: str | None
    templates: Path | None
    to: str | None
    overwrite: bool
    skip_bad: bool
    out: Path | None


def add_stations(commands: Commands) -> argparse.ArgumentParser:
    """Add ``stations`` to the commands; return its parser."""
    stations = add_command(commands, "stations", "say where sensors are, from files of stations", DESCRIPTION, EPILOG)
    stations.add_argument("files", type=Path, nargs="+", metavar="FILE", help="CSV, StationXML or GeoJSON")
    stations.add_argument("--area", type=filled, metavar="NAME", help="the area of the sensors")
    stations.add_argument(
        "--stream", type=filled, action="append", default=[], metavar="NAME", help="what they report; may be repeated"
    )
    forms = (
        "how uncertain their times are: a name in the templates, uniform:LO,HI, normal:SIGMA, normal:SIGMA,N or point"
    )
    stations.add_argument("--uncertainty", type=filled, metavar="U", help=forms)
    named = "templates by name, JSON or YAML: see coincide join --help"
    stations.add_argument("--templates", type=Path, metavar="FILE", help=named)
    stations.add_argument("--to", type=_address, metavar="URL", help="address of ingest: register them there")
    stations.add_argument("--overwrite", action="store_true", help="with --to: replace sensors that are there")
    stations.add_argument("--out", type=out_path, metavar="FILE", help="where to write YAML (standard output)")
    stations.add_argument("--skip-bad", action="store_true", help="leave out stations that cannot be used")
    return stations


def stations_request(options: argparse.Namespace, stations: argparse.ArgumentParser) -> StationsRequest:
    """Return what the user asks for; refuse, as argparse does, what does not fit together."""
    given = {"--area": options.area, "--stream": options.stream, "--uncertainty": options.uncertainty}
    missing = [name for name, value in given.items() if not value]
    if missing and (options.to is None or len(missing) < len(given)):
        stations.error(f"argument {missing[0]}: needed to make sensors of stations, as are all of {', '.join(given)}")
    if options.to is None and options.overwrite:
        stations.error("argument --overwrite: of --to, which is not given")
    if options.to is not None and options.out is not None:
        stations.error("argument --out: YAML is written without --to")
    return StationsRequest(
        tuple(options.files),
        options.area,
        tuple(options.stream),
        options.uncertainty,
        options.templates,
        options.to,
        options.overwrite,
        options.skip_bad,
        options.out,
    )


def _address(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise argparse.ArgumentTypeError(f"{text!r}: an address such as http://127.0.0.1:8000")
    return text
