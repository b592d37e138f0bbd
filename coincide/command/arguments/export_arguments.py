"""The command line of ``coincide export``, and what the user asks for with it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from coincide.command.arguments.options import Commands, add_command, input_path, out_path, read_once

CatalogueFormat = Literal["geojson", "quakeml"]
FORMATS: tuple[CatalogueFormat, ...] = ("geojson", "quakeml")
DESCRIPTION = """\
Write the places of matches for other programs: GeoJSON for maps, QuakeML 1.2 for catalogues of earthquakes.

The files hold matches, one JSON object a line, as GET /v1/matches?format=ndjson gives them.
"""

EPILOG = """\
A match has a place if its query asks for one source. Others are left out, and counted. QuakeML knows places on the
Earth alone. A match is written as soon as it is read, however long the files are.

examples:
  curl -sS "http://127.0.0.1:8000/v1/matches?format=ndjson" | coincide export - --to quakeml
  coincide export matches.ndjson --to geojson --out bangs.geojson

"""


@dataclass(frozen=True)
class ExportRequest:
    """What the user asks ``coincide export`` for."""

    inputs: Sequence[Path]
    form: CatalogueFormat
    out: Path | None
    skip_bad: bool


def add_export(commands: Commands) -> argparse.ArgumentParser:
    """Add ``export`` to the commands; return its parser."""
    export = add_command(commands, "export", "write where matches were, for maps and catalogues", DESCRIPTION, EPILOG)
    files = "matches, NDJSON; - is standard input"
    export.add_argument("files", type=input_path, nargs="+", metavar="FILE", help=files)
    export.add_argument("--to", choices=FORMATS, required=True, help="geojson or quakeml")
    export.add_argument("--out", type=out_path, metavar="FILE", help="where to (standard output)")
    export.add_argument("--skip-bad", action="store_true", help="leave out lines that are no matches, and count them")
    return export


def export_request(options: argparse.Namespace, command: argparse.ArgumentParser) -> ExportRequest:
    """Return the request that the options make."""
    read_once(options.files, command)
    return ExportRequest(options.files, options.to, options.out, options.skip_bad)
