"""Station: a sensor and its place as a file has it; and those of a file, each once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from coincide.command.faults import BadRows, CommandError, shown
from coincide.errors import PlaceError
from coincide.places import place_of_form
from coincide.places.place import Place
from coincide.wire.declarations.names import SENSOR_ID_IN_WORDS, SensorId

MOST_STATIONS = 100_000


@dataclass(frozen=True)
class Station:
    """A sensor with its place; `line` is where the file says so, `form` how."""

    id: str
    place: Place
    form: dict[str, float]
    line: int


@dataclass
class Stations:
    """The stations of a file. What says the same again, as a file of channels does, is no other station."""

    bad: BadRows
    _by_id: dict[str, Station] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Station]:
        return iter(self._by_id.values())

    def add(self, id_: str, form: dict[str, object], line: int) -> None:
        """Add a station, or note why it cannot be used."""
        if not id_:
            self.bad.add(line, "the name of the sensor is empty")
            return
        try:
            msgspec.convert(id_.encode().decode(), SensorId)
        except (msgspec.ValidationError, UnicodeError):
            self.bad.add(line, f"sensor {shown(id_)}: {SENSOR_ID_IN_WORDS} is allowed")
            return
        try:
            place = place_of_form(form)
        except PlaceError as error:
            self.bad.add(line, f"sensor {id_!r}: {error}")
            return
        read: dict[str, float] = {name: float(value) for name, value in form.items()}  # type: ignore[arg-type]
        before = self._by_id.setdefault(id_, Station(id_, place, read, line))
        if before.place != place:
            self.bad.add(line, f"sensor {id_!r} has another place on {self.bad.unit} {before.line}")
        if len(self._by_id) > MOST_STATIONS:
            raise CommandError(f"{self.bad.path}: more than {MOST_STATIONS} stations")
