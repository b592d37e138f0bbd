"""Stations of StationXML (FDSN), read element by element; a document type, which could swell, is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from coincide.command.faults import CommandError
from coincide.command.stations.station import Stations

_STATION = ("FDSNStationXML", "Network", "Station")
_COORDINATES = {"Latitude": "lat", "Longitude": "lon", "Elevation": "height_m"}
LONGEST_TEXT = 200
DEEPEST = 64


@dataclass
class _Epoch:
    """What the file says of a station from one time on."""

    id: str
    since: str
    line: int
    form: dict[str, object] = field(default_factory=dict)


class _Reader:
    """Follows the elements; of the epochs of a station the one that began last counts."""

    def __init__(self, path: Path, stations: Stations) -> None:
        self._path, self._stations = path, stations
        self._open: list[str] = []
        self._network, self._text = "", ""
        self._epoch: _Epoch | None = None
        self._newest: dict[str, _Epoch] = {}
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._refuse_document_type
        self._parser.StartElementHandler, self._parser.EndElementHandler = self._begin, self._end
        self._parser.CharacterDataHandler = self._hear

    def read(self) -> None:
        try:
            with self._path.open("rb") as file:
                self._parser.ParseFile(file)
        except expat.ExpatError as error:
            raise CommandError(f"{self._path} line {error.lineno}: no XML: {expat.ErrorString(error.code)}") from None
        except (LookupError, ValueError) as error:  # of the encoding that it declares
            raise CommandError(f"{self._path}: no XML that can be read, such as UTF-8: {error}") from None
        for each in self._newest.values():
            self._stations.add(each.id, each.form, each.line)

    def _refuse_document_type(self, *_: object) -> None:
        line = self._parser.CurrentLineNumber
        raise CommandError(f"{self._path} line {line}: it declares a document type, which StationXML has not")

    def _begin(self, name: str, attributes: Mapping[str, str]) -> None:
        self._open.append(name.rpartition(":")[2])
        if self._open[0] != _STATION[0]:
            raise CommandError(f"{self._path}: no StationXML: it begins with <{self._open[0]}>, not <{_STATION[0]}>")
        if len(self._open) > DEEPEST:
            raise CommandError(f"{self._path}: no StationXML: elements are nested more than {DEEPEST} deep")
        self._text = ""
        if tuple(self._open) == _STATION[:2]:
            self._network = attributes.get("code", "")
        if tuple(self._open) == _STATION:
            id_ = ".".join(each for each in (self._network, attributes.get("code", "")) if each)
            self._epoch = _Epoch(id_, attributes.get("startDate", ""), self._parser.CurrentLineNumber)

    def _hear(self, text: str) -> None:
        self._text = (self._text + text)[:LONGEST_TEXT]

    def _end(self, _: str) -> None:
        name = self._open[-1]
        if self._epoch is not None and tuple(self._open[:-1]) == _STATION and name in _COORDINATES:
            self._epoch.form[_COORDINATES[name]] = _number(self._text.strip())
        if self._epoch is not None and tuple(self._open) == _STATION:
            before = self._newest.get(self._epoch.id)
            if before is None or before.since <= self._epoch.since:
                self._newest[self._epoch.id] = self._epoch
            self._epoch = None
        self._open.pop()


def read_station_xml(path: Path, stations: Stations) -> None:
    """Add the stations of a file: NETWORK.STATION, where its newest epoch says; raise CommandError if it is none."""
    _Reader(path, stations).read()


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text
